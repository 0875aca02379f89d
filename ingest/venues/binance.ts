// Binance USD-M and COIN-M perpetuals. https://developers.binance.com/docs/derivatives, checked 2026-11-21.
//
// USD-M sockets are split since 2026-04-23: books on /public, everything else on /market; the old path acknowledges and then stays silent.
// COIN-M has one path. Instruments with a delivery date (`BTCUSD_210924`) share the sockets of both and are never mapped.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Delivery, Slot, Venue } from '../venue.ts';
import { mapReference } from './binance-listings.ts';
import { mapMessage } from './binance-messages.ts';
import { marketOf, quantityUnitOf, readChain } from './binance-symbols.ts';
import { chunks, OFF, ON_CHANGE } from './shape.ts';

const ENDPOINTS = {
  usdm_rest: 'https://fapi.binance.com',
  usdm_public_ws: 'wss://fstream.binance.com/public/ws',
  usdm_market_ws: 'wss://fstream.binance.com/market/ws',
  coinm_rest: 'https://dapi.binance.com',
  coinm_ws: 'wss://dstream.binance.com/ws',
};

/** `@markPrice@1s`: a stated rate, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1000, horizonMs: 2000, horizonSource: 'documented' };

/** The docs allow 1,024; fewer keep a lost socket small. */
const STREAMS_PER_CONNECTION = 200;
/** Streams named by one SUBSCRIBE frame, which the venue limits to a few kilobytes. */
const STREAMS_PER_FRAME = 50;
const SILENCE_MS = 30_000;
/** The venue closes sockets at 24 h. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/**
 * Snapshot `lastUpdateId`; diffs behind it are dropped, the first kept one contains it or continues it directly (`pu` equals it: seen live,
 * not in the docs), then each `pu` is the previous `u`. A repeat of the last diff says nothing new.
 */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 300,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    if (next.previous === last) return 'apply';
    if (joined) return next.last === last ? 'skip' : 'break';
    if (next.last < last) return 'skip';
    return next.first <= last ? 'apply' : 'break';
  },
};

export const binance: Venue = {
  id: 'binance',
  name: 'Binance',
  docs: 'https://developers.binance.com/docs/derivatives',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 2400,
    connectionsPerMinute: 60,
  },
  layers: {
    ticker: OFF,
    mark: EVERY_SECOND,
    funding: EVERY_SECOND,
    oi: OFF,
    book: ON_CHANGE,
    stats: OFF,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: (endpoints) =>
    [`${endpoints.usdm_rest}/fapi/v1`, `${endpoints.coinm_rest}/dapi/v1`].flatMap((base) => [
      { method: 'GET' as const, url: `${base}/fundingInfo`, weight: 1 },
      { method: 'GET' as const, url: `${base}/exchangeInfo`, weight: 1 },
    ]),
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const open = listings.filter(({ values }) => values.status !== 'delisted' && values.status !== 'pre_launch');
    return Array.from({ length: env.shards }, (_, shard) => shard).flatMap((shard) =>
      planShard(
        open.filter(({ venue_symbol }) => env.shardOf(venue_symbol) === shard),
        shard,
        env.endpoints,
      ),
    );
  },
  classify: (text) => {
    const head = text.slice(0, 40);
    if (head.startsWith('{"result":')) return 'ack';
    return /^\{"(error|code)":/.test(head) || /^\{"id":[^,]*,"error":/.test(head) ? 'error' : 'data';
  },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => {
    const base = marketOf(venue_symbol) === 'usdm' ? `${endpoints.usdm_rest}/fapi` : `${endpoints.coinm_rest}/dapi`;
    return { method: 'GET', url: `${base}/v1/depth?symbol=${encodeURIComponent(venue_symbol)}&limit=1000`, weight: 20 };
  },
  impliedQuantity: (venueSymbol) => {
    const market = marketOf(venueSymbol);
    return {
      venue_kind: market === 'usdm' ? 'linear' : 'inverse',
      contract_size: market === 'usdm' ? '1' : null,
      quantity_unit: quantityUnitOf(venueSymbol),
    };
  },
  map: (_state, message, context) => mapMessage(message, context),
};

// ---- plan ----

/** Slots of one shard: books apart from prices, so that a busy book never delays a mark. */
const planShard = (
  listings: readonly ListingRecord[],
  shard: number,
  endpoints: Readonly<Record<string, string>>,
): Slot[] => {
  const usdm = listings.filter(({ venue_symbol }) => marketOf(venue_symbol) === 'usdm');
  const coinm = listings.filter(({ venue_symbol }) => marketOf(venue_symbol) === 'coinm');
  const depth = (listing: ListingRecord): string[] => [`${lower(listing.venue_symbol)}@depth@100ms`];
  const mark = (listing: ListingRecord): string[] => [`${lower(listing.venue_symbol)}@markPrice@1s`];
  // COIN-M sends the index apart, by pair.
  const markAndIndex = (listing: ListingRecord): string[] => [
    ...mark(listing),
    `${lower(listing.values.pair ?? '')}@indexPrice@1s`,
  ];
  const book = ['book', 'venue_depth'];
  const price = ['mark', 'funding'];
  return [
    ...planSockets(usdm, { name: 'usdm-book', shard, url: endpoints.usdm_public_ws, layers: book, streams: depth }),
    ...planSockets(usdm, { name: 'usdm-mark', shard, url: endpoints.usdm_market_ws, layers: price, streams: mark }),
    ...planSockets(coinm, { name: 'coinm-book', shard, url: endpoints.coinm_ws, layers: book, streams: depth }),
    ...planSockets(coinm, {
      name: 'coinm-mark',
      shard,
      url: endpoints.coinm_ws,
      layers: price,
      streams: markAndIndex,
    }),
  ];
};

type SocketPlan = {
  readonly name: string;
  readonly shard: number;
  readonly url: string | undefined;
  readonly layers: readonly string[];
  readonly streams: (listing: ListingRecord) => string[];
};

/** Listings by age, so that a new one changes only the last socket. */
const planSockets = (listings: readonly ListingRecord[], { name, shard, url, layers, streams }: SocketPlan): Slot[] => {
  const byAge = listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );
  const perSocket = Math.floor(
    STREAMS_PER_CONNECTION / Math.max(1, ...byAge.slice(0, 1).map((first) => streams(first).length)),
  );
  return chunks(byAge, perSocket).map((chunk, i) => ({
    kind: 'socket',
    id: `${name}.${shard}.${i}`,
    shards: [shard],
    url: url ?? '',
    subscribe: toSubscribe([...new Set(chunk.flatMap(streams))]),
    covers: [{ layers, symbols: chunk.map(({ venue_symbol }) => venue_symbol) }],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
  }));
};

const toSubscribe = (streams: readonly string[]): string[] =>
  chunks(streams, STREAMS_PER_FRAME).map((params, i) => JSON.stringify({ method: 'SUBSCRIBE', params, id: i + 1 }));

const lower = (symbol: string): string => symbol.toLowerCase();
