// Bybit linear (USDT, USDC) and inverse perpetuals, API v5. https://bybit-exchange.github.io/docs/v5/intro, checked 2026-11-21.
//
// One ticker topic carries last, mark, index, funding, open interest and 24 h figures; books are a snapshot and deltas on the socket. Dated
// futures share the sockets and are never mapped.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './bybit-listings.ts';
import { mapMessage } from './bybit-messages.ts';
import { type Market, marketOf, quantityUnitOf, readChain } from './bybit-symbols.ts';
import { chunks, OFF, ON_CHANGE } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://api.bybit.com',
  linear_ws: 'wss://stream.bybit.com/v5/public/linear',
  inverse_ws: 'wss://stream.bybit.com/v5/public/inverse',
};

/** Tickers come every 100 ms at most and leave out what did not change: what was said holds until the connection is lost (F-02). */

/** Levels a side of the book we follow, sent every 200 ms. */
const BOOK_DEPTH = 1000;
/** The venue limits the characters of all topics of a connection to 21,000; fewer keep a lost socket small. */
const TICKERS_PER_CONNECTION = 200;
const BOOKS_PER_CONNECTION = 50;
const TOPICS_PER_FRAME = 10;
const SILENCE_MS = 30_000;
/** No age limit is documented. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/** The socket sends its own snapshots; then each `u` is the last one plus one. A repeat of the last says nothing new. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.last === last) return 'skip';
    return next.last === last + 1n ? 'apply' : 'break';
  },
};

export const bybit: Venue = {
  id: 'bybit',
  name: 'Bybit',
  docs: 'https://bybit-exchange.github.io/docs/v5/intro',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: TICKERS_PER_CONNECTION,
    subscribePerSecond: 5,
    // 600 requests in five seconds a host; past them the venue refuses for ten minutes.
    restWeightPerMinute: 1200,
    connectionsPerMinute: 60,
  },
  layers: {
    ticker: ON_CHANGE,
    mark: ON_CHANGE,
    funding: ON_CHANGE,
    oi: ON_CHANGE,
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: (endpoints) =>
    ['linear&status=PreLaunch', 'linear', 'inverse'].map((category) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/v5/market/instruments-info?category=${category}&limit=1000`,
      weight: 1,
    })),
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
    if (text.includes('"topic":"')) return 'data';
    const head = text.slice(0, 400);
    if (head.includes('"success":false')) return 'error';
    // A pong names its operation `ping` or `pong`, by market.
    return /"(op|ret_msg)":"p[io]ng"/.test(head) ? 'heartbeat' : 'ack';
  },
  ping: { everyMs: 20_000, frame: '{"op":"ping"}' },
  sequence: readChain,
  bookRule,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: marketOf(venueSymbol),
    contract_size: '1',
    quantity_unit: quantityUnitOf(venueSymbol),
  }),
  map: mapMessage,
};

// ---- plan ----

/** Slots of one shard: books apart from tickers, so that a busy book never delays a mark. */
const planShard = (
  listings: readonly ListingRecord[],
  shard: number,
  endpoints: Readonly<Record<string, string>>,
): Slot[] =>
  (['linear', 'inverse'] as const).flatMap((market) => {
    const own = listings.filter(({ venue_symbol }) => marketOf(venue_symbol) === market);
    const url = urlOf(market, endpoints);
    return [
      ...planSockets(own, {
        id: `${market}-book.${shard}`,
        shard,
        url,
        layers: ['book', 'venue_depth'],
        topic: `orderbook.${BOOK_DEPTH}`,
        perSocket: BOOKS_PER_CONNECTION,
      }),
      ...planSockets(own, {
        id: `${market}-ticker.${shard}`,
        shard,
        url,
        layers: ['ticker', 'mark', 'funding', 'oi', 'stats'],
        topic: 'tickers',
        perSocket: TICKERS_PER_CONNECTION,
      }),
    ];
  });

const urlOf = (market: Market, endpoints: Readonly<Record<string, string>>): string =>
  (market === 'linear' ? endpoints.linear_ws : endpoints.inverse_ws) ?? '';

type SocketPlan = {
  readonly id: string;
  readonly shard: number;
  readonly url: string;
  readonly layers: readonly string[];
  readonly topic: string;
  readonly perSocket: number;
};

/** Listings by age, so that a new one changes only the last socket. */
const planSockets = (listings: readonly ListingRecord[], plan: SocketPlan): Slot[] => {
  const { id, shard, url, layers, topic, perSocket } = plan;
  const byAge = listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );
  return chunks(byAge, perSocket).map((chunk, i) => {
    const symbols = chunk.map(({ venue_symbol }) => venue_symbol);
    return {
      kind: 'socket',
      id: `${id}.${i}`,
      shards: [shard],
      url,
      subscribe: toSubscribe(symbols.map((symbol) => `${topic}.${symbol}`)),
      covers: [{ layers, symbols }],
      silenceMs: SILENCE_MS,
      renewAfterMs: RENEW_AFTER_MS,
    };
  });
};

const toSubscribe = (topics: readonly string[]): string[] =>
  chunks(topics, TOPICS_PER_FRAME).map((args, i) => JSON.stringify({ req_id: String(i + 1), op: 'subscribe', args }));
