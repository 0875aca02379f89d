// Aster's slots: sockets of books, of marks and of trades, each apart; polls of open interest and of candles of mark and index prices. The venue's
// frames, weights and limit of weight are those of Binance's USD-M, and so is what fits into it.
import type { ListingRecord } from '../../../schemas/records.ts';
import { listShards } from '../../../schemas/shards.ts';
import { computeOiEveryMs, PRICE_CANDLES_EVERY_MS } from '../binance/budget.ts';
import { type PlanEnv, type PollRequest, RENEW_AFTER_MS, SILENCE_MS, type Slot } from '../contract/feed.ts';
import type { Endpoints } from '../contract/listings.ts';
import { hasPriceCandles, isOpen, listSymbols, sortByAge } from '../shared/chosen-listings.ts';
import { splitChunks, spreadListings } from '../shared/spread-listings.ts';

export const STREAMS_PER_CONNECTION = 200;
/** The spread by names is uneven: the mean stays below the limit. */
const STREAMS_PER_SOCKET = 100;
const STREAMS_PER_FRAME = 50;
/** A third of the bound of tickers is left for the answer (F-03). */
const CONFIRM_AFTER_MS = 20_000;

type SocketKind = {
  readonly name: string;
  readonly layers: readonly string[];
  /** Streams of a listing that are never quiet for long. */
  readonly steady: readonly string[];
  readonly restless: readonly string[];
  readonly confirmAfterMs?: number;
};

/** Separate sockets: a busy book never delays a mark, nor trades a book. `aggTrade` excludes fills of the insurance fund and of auto-deleveraging. */
const KINDS: readonly SocketKind[] = [
  { name: 'book', layers: ['book', 'venue_depth'], steady: ['depth@100ms'], restless: [] },
  { name: 'mark', layers: ['mark', 'funding'], steady: ['markPrice@1s'], restless: [] },
  {
    name: 'trade',
    layers: ['ticker', 'stats', 'trades', 'liquidation', 'candles'],
    steady: ['ticker'],
    restless: ['aggTrade', 'kline_1m', 'forceOrder'],
    confirmAfterMs: CONFIRM_AFTER_MS,
  },
];

export const planAster = (listings: readonly ListingRecord[], env: PlanEnv): Slot[] => {
  const open = listings.filter(isOpen);
  const everyMs = computeOiEveryMs(open);
  return [
    ...KINDS.flatMap((kind) => planSockets(open, env, kind)),
    ...listShards(env.shards).flatMap((shard) => {
      const members = sortByAge(open.filter(({ venue_symbol }) => env.shardOf(venue_symbol) === shard));
      return members.length === 0 ? [] : planPolls(members, { shard, everyMs, endpoints: env.endpoints });
    }),
  ];
};

const planSockets = (
  open: readonly ListingRecord[],
  env: PlanEnv,
  { name, layers, steady, restless, confirmAfterMs }: SocketKind,
): Slot[] => {
  const kinds = [...steady, ...restless];
  return spreadListings(open, env, {
    sockets: Math.ceil((open.length * kinds.length) / STREAMS_PER_SOCKET),
    most: Math.floor(STREAMS_PER_CONNECTION / kinds.length),
    slot: (members, { shard, tag }) => {
      const symbols = listSymbols(members);
      const confirm = confirmAfterMs === undefined ? {} : { confirmAfterMs };
      return {
        kind: 'socket',
        id: `${name}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: splitChunks(listStreams(symbols, kinds), STREAMS_PER_FRAME).map((params, i) =>
          JSON.stringify({ method: 'SUBSCRIBE', params, id: i + 1 }),
        ),
        covers: [{ layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
        watched: [{ subscriptions: listStreams(symbols, steady), silenceMs: SILENCE_MS, ...confirm }],
      };
    },
  });
};

const listStreams = (symbols: readonly string[], kinds: readonly string[]): string[] =>
  symbols.flatMap((symbol) => kinds.map((kind) => `${symbol.toLowerCase()}@${kind}`));

const toGet = (name: string, query: string, { rest }: Endpoints): PollRequest => ({
  method: 'GET',
  url: `${rest}/fapi/v3/${name}?${query}`,
  weight: 1,
});

type Group = { readonly shard: number; readonly everyMs: number; readonly endpoints: Endpoints };

const planPolls = (members: readonly ListingRecord[], { shard, everyMs, endpoints }: Group): Slot[] => {
  const priced = members.filter(hasPriceCandles);
  const openInterest: Slot = {
    kind: 'poll',
    id: `oi.${shard}`,
    shards: [shard],
    requests: members.map(({ venue_symbol }) =>
      toGet('openInterest', `symbol=${encodeURIComponent(venue_symbol)}`, endpoints),
    ),
    everyMs,
    covers: [{ layers: ['oi'], symbols: listSymbols(members) }],
  };
  const priceCandles: Slot = {
    kind: 'poll',
    id: `price-candles.${shard}`,
    shards: [shard],
    requests: priced.flatMap((listing) => toPriceCandles(listing, endpoints)),
    everyMs: PRICE_CANDLES_EVERY_MS,
    covers: [{ layers: ['price_candles'], symbols: listSymbols(priced) }],
  };
  return priced.length === 0 ? [openInterest] : [openInterest, priceCandles];
};

/** The running minute and those that ended since the last answer. */
const toPriceCandles = ({ venue_symbol, values }: ListingRecord, endpoints: Endpoints): PollRequest[] => {
  const subjects = {
    markPriceKlines: `symbol=${encodeURIComponent(venue_symbol)}`,
    indexPriceKlines: `pair=${encodeURIComponent(values.pair ?? venue_symbol)}`,
  };
  return Object.entries(subjects).map(([name, subject]) => ({
    ...toGet(name, `${subject}&interval=1m&limit=3`, endpoints),
    urgency: 'price_candle',
  }));
};
