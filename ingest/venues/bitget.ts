// Bitget perpetuals margined in USDT, USDC and coins. https://www.bitget.com/api-doc/uta/intro, checked 2026-11-21.
//
// We collect v3 (unified): one ticker topic carries last, mark, index, funding, open interest and 24 h figures; books chain by `pseq`. The older
// v1 and v2 messages are read too. Every size is an amount of the base asset. Dated futures share the sockets and are never mapped.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './bitget-listings.ts';
import { mapMessage } from './bitget-messages.ts';
import { marketOf, productOf, readChain } from './bitget-symbols.ts';
import { chunks, OFF, ON_CHANGE } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://api.bitget.com',
  ws: 'wss://ws.bitget.com/v3/ws/public',
};

const PRODUCTS = ['USDT-FUTURES', 'USDC-FUTURES', 'COIN-FUTURES'];

/** The venue allows 1,000 and urges to stay within 50. */
const TOPICS_PER_CONNECTION = 50;
const TOPICS_PER_FRAME = 5;
const SILENCE_MS = 30_000;
/** The venue closes sockets at 24 h. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/** Each `pseq` is the last `seq`; without one (v1, v2) only the order is known. A break is healed by a new subscription alone. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.last === null) return 'apply';
    if (next.last === last) return 'skip';
    if (next.previous !== null) return next.previous === last ? 'apply' : 'break';
    return next.last > last ? 'apply' : 'break';
  },
};

export const bitget: Venue = {
  id: 'bitget',
  name: 'Bitget',
  docs: 'https://www.bitget.com/api-doc/uta/intro',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: TOPICS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 1200,
    // 300 in five minutes.
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
    PRODUCTS.map((product) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/api/v3/market/instruments?category=${product}`,
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
        env.endpoints.ws ?? '',
      ),
    );
  },
  classify: (text) => {
    if (text === 'pong') return 'heartbeat';
    const event = /^\{"event":"(\w+)"/.exec(text)?.[1] ?? (text.includes('"data":') ? null : 'ack');
    if (event === null) return 'data';
    return event === 'error' ? 'error' : 'ack';
  },
  ping: { everyMs: 30_000, frame: 'ping' },
  sequence: readChain,
  bookRule,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: marketOf(venueSymbol),
    contract_size: '1',
    quantity_unit: 'base',
  }),
  map: (_state, message) => mapMessage(message),
};

// ---- plan ----

/** Slots of one shard: books apart from tickers, so that a busy book never delays a mark. */
const planShard = (listings: readonly ListingRecord[], shard: number, url: string): Slot[] => [
  ...planSockets(listings, { id: `book.${shard}`, shard, url, topic: 'books', layers: ['book', 'venue_depth'] }),
  ...planSockets(listings, {
    id: `ticker.${shard}`,
    shard,
    url,
    topic: 'ticker',
    layers: ['ticker', 'mark', 'funding', 'oi', 'stats'],
  }),
];

type SocketPlan = {
  readonly id: string;
  readonly shard: number;
  readonly url: string;
  readonly topic: string;
  readonly layers: readonly string[];
};

/** Listings by age, so that a new one changes only the last socket. */
const planSockets = (listings: readonly ListingRecord[], { id, shard, url, topic, layers }: SocketPlan): Slot[] => {
  const byAge = listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );
  return chunks(byAge, TOPICS_PER_CONNECTION).map((chunk, i) => {
    const symbols = chunk.map(({ venue_symbol }) => venue_symbol);
    return {
      kind: 'socket',
      id: `${id}.${i}`,
      shards: [shard],
      url,
      subscribe: toSubscribe(symbols.map((symbol) => ({ instType: productOf(symbol), topic, symbol }))),
      covers: [{ layers, symbols }],
      silenceMs: SILENCE_MS,
      renewAfterMs: RENEW_AFTER_MS,
    };
  });
};

const toSubscribe = (topics: readonly object[]): string[] =>
  chunks(topics, TOPICS_PER_FRAME).map((args) => JSON.stringify({ op: 'subscribe', args }));
