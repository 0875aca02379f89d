// MEXC's slots: sockets of books, of prices and trades, of funding; a poll of candles of mark and index prices; fill-in requests.
import type { ListingRecord, PriceType } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import { type PlanEnv, type PollRequest, RENEW_AFTER_MS, SILENCE_MS, type Slot } from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import type { Venue } from '../contract/venue.ts';
import { hasPriceCandles, isOpen, listOldest, listSymbols, sortByAge } from '../shared/chosen-listings.ts';
import { readNumber, readRequest, toAsked } from '../shared/covered-minutes.ts';
import { spreadListings } from '../shared/spread-listings.ts';
import { NO_QUERY } from '../shared/wire.ts';

/** The docs state no limit; 150 are known to work. */
export const STREAMS_PER_CONNECTION = 150;
/** Rates are pushed when they change, about once a minute. */
const FUNDING_SILENCE_MS = 120_000;
/** Every minute's candle must be recorded within 100 s of its end (N-11). */
const PRICE_CANDLES_EVERY_MS = 80_000;
/** The running minute and those that ended since the last answer; without a start the venue sends 2,000. */
const PRICE_CANDLES_SINCE_MS = 180_000;
/**
 * Number of listings, the oldest, whose candles of mark and index prices are requested, with two requests each: 60 a minute. Of 600 a minute the
 * collector uses 360 for periodic requests; minutes of the many quiet listings need most of them.
 */
const PRICE_CANDLES_OF = 40;

type SocketKind = {
  readonly name: string;
  readonly channels: readonly string[];
  /** Approximate number of listings on a socket. */
  readonly about: number;
  readonly layers: readonly string[];
  readonly silenceMs: number;
  /** Channels that are never quiet for long. */
  readonly steady: readonly string[];
};

/**
 * Books have their own sockets, so that a busy book never delays a mark; funding too, because tickers have a rate without its settlement.
 * Trades and candles may be quiet: tickers show that their socket is alive.
 */
const KINDS: readonly SocketKind[] = [
  {
    name: 'book',
    channels: ['depth'],
    about: 100,
    layers: ['book', 'venue_depth'],
    silenceMs: SILENCE_MS,
    steady: [],
  },
  {
    name: 'ticker',
    channels: ['ticker', 'deal', 'kline'],
    about: 40,
    layers: ['ticker', 'mark', 'oi', 'stats', 'trades', 'candles'],
    silenceMs: SILENCE_MS,
    steady: ['ticker'],
  },
  {
    name: 'funding',
    channels: ['funding.rate'],
    about: 100,
    layers: ['funding'],
    silenceMs: FUNDING_SILENCE_MS,
    steady: [],
  },
];

export const planMexc = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => [
  ...KINDS.flatMap((kind) => planSockets(listings, env, kind)),
  ...listShards(env.shards).flatMap((shard) =>
    planPriceCandles(
      listings.filter((l) => isOpen(l) && env.shardOf(l.venue_symbol) === shard),
      { shard, endpoints: env.endpoints },
    ),
  ),
];

const planSockets = (
  listings: readonly ListingRecord[],
  env: PlanEnv,
  { name, channels, about, layers, silenceMs, steady }: SocketKind,
): Slot[] =>
  spreadListings(listings, env, {
    sockets: Math.ceil(listings.filter(isOpen).length / about),
    most: Math.floor(STREAMS_PER_CONNECTION / channels.length),
    slot: (members, { shard, tag }) => {
      const symbols = listSymbols(members);
      const subscriptions = steady.flatMap((channel) => symbols.map((symbol) => `${channel}:${symbol}`));
      return {
        kind: 'socket',
        id: `${name}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: channels.flatMap((channel) => symbols.map((symbol) => toFrame('sub', channel, symbol))),
        covers: [{ layers, symbols }],
        silenceMs,
        renewAfterMs: RENEW_AFTER_MS,
        ...(subscriptions.length === 0 ? {} : { watched: [{ subscriptions, silenceMs: SILENCE_MS }] }),
      };
    },
  });

const toFrame = (verb: 'sub' | 'unsub', channel: string, symbol: string): string =>
  JSON.stringify({
    method: `${verb}.${channel}`,
    param: { symbol, ...(channel === 'kline' ? { interval: 'Min1' } : {}) },
  });

export const toRenewal = (subscriptions: readonly string[]): string[] =>
  subscriptions.flatMap((subscription) => {
    const [channel = '', symbol = ''] = subscription.split(':');
    return [toFrame('unsub', channel, symbol), toFrame('sub', channel, symbol)];
  });

/** Symbols whose candles of mark and index prices fit the budget. */
export const listPriceCandleSymbols = (listings: readonly ListingRecord[]): ReadonlySet<string> =>
  listOldest(listings, PRICE_CANDLES_OF);

type Group = { readonly shard: number; readonly endpoints: Endpoints };

const planPriceCandles = (listings: readonly ListingRecord[], { shard, endpoints }: Group): Slot[] => {
  const priced = sortByAge(listings.filter(hasPriceCandles));
  if (priced.length === 0) return [];
  const symbols = listSymbols(priced);
  return [
    {
      kind: 'poll',
      id: `price-candles.${shard}`,
      shards: [shard],
      requests: symbols.flatMap((symbol) =>
        ['fair_price', 'index_price'].map(
          (name): PollRequest => ({
            ...toKlines(`${name}/${encodeURIComponent(symbol)}`, 'start={since}', endpoints),
            urgency: 'price_candle',
            sinceMs: PRICE_CANDLES_SINCE_MS,
          }),
        ),
      ),
      everyMs: PRICE_CANDLES_EVERY_MS,
      covers: [{ layers: ['price_candles'], symbols }],
    },
  ];
};

const toKlines = (path: string, range: string, { rest }: Endpoints): PollRequest => ({
  method: 'GET',
  url: `${rest}/api/v1/contract/kline/${path}?interval=Min1&${range}`,
  weight: 1,
});

/** In seconds, to the last one of the minute after `toMs`, which shows that `toMs` is over. */
export const toCandlesRequest: NonNullable<Venue['candles']> = ({ venue_symbol }, { fromMs, toMs }, endpoints) =>
  toKlines(encodeURIComponent(venue_symbol), `start=${fromMs / 1000}&end=${toMs / 1000 + 119}`, endpoints);

const PRICES: ReadonlyMap<string, PriceType> = new Map([
  ['fair_price', 'mark'],
  ['index_price', 'index'],
]);
/** Maximum number of candles in an answer. */
const CANDLES_LIMIT = 2_000;

export const askedMinutes: NonNullable<Venue['askedMinutes']> = (message) => {
  const { path = '', query = NO_QUERY } = readRequest(message, '"time":[') ?? {};
  const [, price, symbol] = /\/contract\/kline\/(?:([a-z_]+)\/)?([^/]+)$/.exec(path) ?? [];
  const [start, end] = [readNumber(query, 'start'), readNumber(query, 'end')];
  const priceType = price === undefined ? 'trade' : PRICES.get(price);
  if (symbol === undefined || priceType === undefined || start === null) return null;
  if (query.get('interval') !== 'Min1') return null;
  const bounds = { fromMs: start * 1_000, toMs: end === null ? null : end * 1_000, limit: CANDLES_LIMIT };
  return toAsked([symbol], priceType, bounds);
};
