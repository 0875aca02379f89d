// HTX's slots: sockets of books, of trades and candles, of marks and indexes; one of notices and one poll a market; the request that fills in minutes.

import type { ListingRecord } from '../../../schemas/records.ts';
import type { PlanEnv, Slot, Watched } from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { readNumber, readRequest, toAsked } from '../shared/asked.ts';
import { isOpen, spreadListings } from '../shared/shape.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { type Market, marketOf } from './symbols.ts';

/** The docs limit no subscriptions, but normal connections to 30: two hundred contracts need twenty. */
export const STREAMS_PER_CONNECTION = 200;
export const FUNDING_EVERY_MS = 60_000;
export const OI_EVERY_MS = 5_000;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

export const planHtx = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] =>
  (['linear', 'inverse'] as const).flatMap((market) => {
    const members = listings.filter((l) => isOpen(l) && marketOf(l.venue_symbol) === market);
    return members.length === 0 ? [] : planMarket(market, members, env);
  });

/** Books apart from prices, so that a busy book never delays a mark. Trades and candles may rest; the day's figures of all share their socket. */
const planMarket = (market: Market, members: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const { endpoints } = env;
  const market_ws = endpoints[`${market}_ws`];
  return [
    ...planSockets(members, env, {
      name: `${market}-book`,
      url: market_ws,
      layers: ['book', 'venue_depth'],
      about: 30,
      topics: ['depth.size_150.high_freq'],
      steady: [],
    }),
    ...planSockets(members, env, {
      name: `${market}-trade`,
      url: market_ws,
      layers: ['ticker', 'stats', 'trades', 'candles'],
      about: 40,
      topics: ['detail', 'trade.detail', 'kline.1min'],
      steady: [],
    }),
    ...planSockets(members, env, {
      name: `${market}-price`,
      url: endpoints.index_ws,
      layers: ['mark', 'price_candles'],
      about: 40,
      topics: ['mark_price.1min', 'basis.1min.close', 'index.1min'],
      // Pushed once they change.
      steady: ['mark_price.1min', 'index.1min'],
    }),
    planNotices(market, members, env),
    planOpenInterest(market, members, env),
  ];
};

type SocketPlan = {
  readonly name: string;
  readonly url: string | undefined;
  readonly layers: readonly string[];
  /** About so many listings share a socket. */
  readonly about: number;
  readonly topics: readonly string[];
  /** Of those, what never rests for long. */
  readonly steady: readonly string[];
};

const planSockets = (members: readonly ListingRecord[], env: PlanEnv, plan: SocketPlan): Slot[] =>
  spreadListings(members, env, {
    sockets: Math.ceil(members.length / plan.about),
    most: Math.floor(STREAMS_PER_CONNECTION / plan.topics.length),
    slot: (listings, { shard, tag }) => {
      const watched = watch(listChannels(listings, plan.steady));
      return {
        kind: 'socket',
        id: `${plan.name}.${tag}`,
        shards: [shard],
        url: plan.url ?? '',
        subscribe: listChannels(listings, plan.topics).map(toSubscribe),
        covers: [{ layers: plan.layers, symbols: listSymbols(listings) }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
        ...(watched.length === 0 ? {} : { watched }),
      };
    },
  });

const listChannels = (listings: readonly ListingRecord[], topics: readonly string[]): string[] =>
  listings.flatMap(({ venue_symbol }) => topics.map((topic) => `market.${venue_symbol}.${topic}`));

const watch = (subscriptions: readonly string[]): Watched[] =>
  subscriptions.length === 0 ? [] : [{ subscriptions, silenceMs: SILENCE_MS }];

/** One channel a frame; a book in increments has to be asked for as such. */
const toSubscribe = (sub: string): string =>
  JSON.stringify(sub.endsWith('.high_freq') ? { sub, data_type: 'incremental', id: sub } : { sub, id: sub });

export const toRenewal = (channels: readonly string[]): string[] =>
  channels.flatMap((channel) => [JSON.stringify({ unsub: channel, id: channel }), toSubscribe(channel)]);

/**
 * One topic tells the rates of all contracts of a market, and nothing between two rounds; another their liquidations, which may rest for long: the
 * rates tell that the socket lives.
 */
const planNotices = (market: Market, members: readonly ListingRecord[], { endpoints, shards }: PlanEnv): Slot => ({
  kind: 'socket',
  id: `${market}-notices`,
  shards: Array.from({ length: shards }, (_, shard) => shard),
  url: endpoints[`${market}_notification_ws`] ?? '',
  subscribe: ['funding_rate', 'liquidation_orders'].map((name) =>
    JSON.stringify({ op: 'sub', cid: name, topic: `public.*.${name}` }),
  ),
  covers: [{ layers: ['funding', 'liquidation'], symbols: listSymbols(members) }],
  silenceMs: 2 * FUNDING_EVERY_MS + SILENCE_MS,
  renewAfterMs: RENEW_AFTER_MS,
});

const planOpenInterest = (market: Market, members: readonly ListingRecord[], { endpoints, shards }: PlanEnv): Slot => ({
  kind: 'poll',
  id: `${market}-oi`,
  shards: Array.from({ length: shards }, (_, shard) => shard),
  requests: [{ method: 'GET', url: openInterestUrl(market, endpoints), weight: 1 }],
  everyMs: OI_EVERY_MS,
  covers: [{ layers: ['oi'], symbols: listSymbols(members) }],
});

const openInterestUrl = (market: Market, { rest }: Endpoints): string =>
  `${rest}/${market === 'linear' ? 'linear-swap' : 'swap'}-api/v1/swap_open_interest`;

const listSymbols = (listings: readonly ListingRecord[]): string[] =>
  listings.map(({ venue_symbol }) => venue_symbol).toSorted();

/** Bounds are seconds and inclusive: the last one is that of the minute after `toMs`, which shows that it is over. */
export const candlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, { rest }) => {
  const api = marketOf(venue_symbol) === 'linear' ? 'linear-swap-ex' : 'swap-ex';
  const range = `from=${fromMs / 1000}&to=${toMs / 1000 + 119}`;
  const url = `${rest}/${api}/market/history/kline?contract_code=${encodeURIComponent(venue_symbol)}&period=1min&${range}`;
  return { method: 'GET', url, weight: 1 };
};

/** The most candles of an answer. */
const CANDLES_LIMIT = 2_000;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"ch"') ?? {};
  const symbol = query.get('contract_code');
  const [from, to] = [readNumber(query, 'from'), readNumber(query, 'to')];
  if (!path.endsWith('/market/history/kline') || symbol === null || query.get('period') !== '1min') return null;
  if (from === null || to === null) return null;
  return toAsked([symbol], 'trade', { fromMs: from * 1_000, toMs: to * 1_000, limit: CANDLES_LIMIT });
};
