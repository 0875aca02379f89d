// HTX's slots: sockets of books, of trades and candles, of marks and indexes; one of notices and one poll a market; fill-in requests.
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import { type PlanEnv, RENEW_AFTER_MS, SILENCE_MS, type Slot, type Watched } from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { isOpen, listSymbols } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { spreadListings } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';
import { type Market, toMarket } from './symbols.ts';

/** The docs limit no subscriptions, but connections to 30: two hundred contracts need twenty. */
export const STREAMS_PER_CONNECTION = 200;
export const FUNDING_EVERY_MS = 60_000;
export const OI_EVERY_MS = 5_000;

export const planHtx = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] =>
  (['linear', 'inverse'] as const).flatMap((market) => {
    const members = listings.filter((l) => isOpen(l) && toMarket(l.venue_symbol) === market);
    return members.length === 0 ? [] : planMarket(market, members, env);
  });

/** Books have their own sockets, so that a busy book never delays a mark. Trades and candles may be quiet; the day's figures share their socket. */
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
      // Pushed with the first change.
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
  /** Approximate number of listings on a socket. */
  readonly about: number;
  readonly topics: readonly string[];
  /** The topics that are never quiet for long. */
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
        covers: [{ layers: plan.layers, symbols: sortSymbols(listings) }],
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

/** One channel a frame; an incremental book must be requested as such. */
const toSubscribe = (sub: string): string =>
  JSON.stringify(sub.endsWith('.high_freq') ? { sub, data_type: 'incremental', id: sub } : { sub, id: sub });

export const toRenewal = (channels: readonly string[]): string[] =>
  channels.flatMap((channel) => [JSON.stringify({ unsub: channel, id: channel }), toSubscribe(channel)]);

/**
 * One topic carries the rates of all contracts of a market, once a round; another their liquidations, which may be quiet for long: the rates
 * show that the socket is alive.
 */
const planNotices = (market: Market, members: readonly ListingRecord[], { endpoints, shards }: PlanEnv): Slot => ({
  kind: 'socket',
  id: `${market}-notices`,
  shards: listShards(shards),
  url: endpoints[`${market}_notification_ws`] ?? '',
  subscribe: ['funding_rate', 'liquidation_orders'].map((name) =>
    JSON.stringify({ op: 'sub', cid: name, topic: `public.*.${name}` }),
  ),
  covers: [{ layers: ['funding', 'liquidation'], symbols: sortSymbols(members) }],
  silenceMs: 2 * FUNDING_EVERY_MS + SILENCE_MS,
  renewAfterMs: RENEW_AFTER_MS,
});

const planOpenInterest = (market: Market, members: readonly ListingRecord[], { endpoints, shards }: PlanEnv): Slot => ({
  kind: 'poll',
  id: `${market}-oi`,
  shards: listShards(shards),
  requests: [{ method: 'GET', url: openInterestUrl(market, endpoints), weight: 1 }],
  everyMs: OI_EVERY_MS,
  covers: [{ layers: ['oi'], symbols: sortSymbols(members) }],
});

const openInterestUrl = (market: Market, { rest }: Endpoints): string =>
  `${rest}/${market === 'linear' ? 'linear-swap' : 'swap'}-api/v1/swap_open_interest`;

const sortSymbols = (listings: readonly ListingRecord[]): readonly string[] => listSymbols(listings).toSorted();

/** Bounds are inclusive seconds: the last one covers the minute after `toMs`, which shows that `toMs` is over. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, { rest }) => {
  const api = toMarket(venue_symbol) === 'linear' ? 'linear-swap-ex' : 'swap-ex';
  const range = `from=${fromMs / 1000}&to=${toMs / 1000 + 119}`;
  const url = `${rest}/${api}/market/history/kline?contract_code=${encodeURIComponent(venue_symbol)}&period=1min&${range}`;
  return { method: 'GET', url, weight: 1 };
};

/** Maximum number of candles in an answer. */
const CANDLES_LIMIT = 2_000;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"ch"') ?? {};
  const symbol = query.get('contract_code');
  const [from, to] = [readNumber(query, 'from'), readNumber(query, 'to')];
  if (!path.endsWith('/market/history/kline') || symbol === null || query.get('period') !== '1min') return null;
  if (from === null || to === null) return null;
  return toAsked([symbol], 'trade', { fromMs: from * 1_000, toMs: to * 1_000, limit: CANDLES_LIMIT });
};
