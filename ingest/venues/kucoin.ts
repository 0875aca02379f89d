// KuCoin Futures perpetuals, linear and inverse. https://www.kucoin.com/docs-new/3470081w0, checked 2026-11-21.
//
// Sockets have no address of their own: each connection asks for one with a token. Books are a snapshot by REST and one level a message; open
// interest and the coming settlement are published in the list of contracts only, which is polled. No liquidations are public.
import type { ListingRecord } from '../../schemas/records.ts';
import { type BookRule, type Delivery, type Slot, type Venue, VenueError } from '../venue.ts';
import { mapReference, readAnswer } from './kucoin-listings.ts';
import { mapMessage } from './kucoin-messages.ts';
import { quantityOf, readChain } from './kucoin-symbols.ts';
import { chunks, isOpen, NOT_PUBLISHED, OFF, ON_CHANGE, spreadListings } from './shape.ts';
import { readFields, readList, readMessage, readText } from './wire.ts';

const ENDPOINTS = { rest: 'https://api-futures.kucoin.com' };

/** A connection holds at least 100 topics; a topic names one kind and one symbol. */
const STREAMS_PER_CONNECTION = 100;
/** Symbols one subscription may name. */
const SYMBOLS_PER_FRAME = 50;
const BOOKS_PER_SOCKET = 40;
const SILENCE_MS = 30_000;
/** Tokens hold for 24 h. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/** Stated rates, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1_000, horizonMs: 2_000, horizonSource: 'documented' };
const EVERY_5_SECONDS: Delivery = { policy: 'on', cadence: 5_000, horizonMs: 10_000, horizonSource: 'documented' };
const POLL_MS = 6_000;
const POLLED: Delivery = { policy: 'on', cadence: POLL_MS, horizonMs: 2 * POLL_MS, horizonSource: 'assumed' };

/** Updates up to the snapshot are dropped, then each sequence is the last one plus one. The snapshot of a book that never had an order stands at 0 or -1. */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 2_000,
  continues: ({ last, joined }, next) => {
    if (next.last === null) return 'break';
    // A repeat says nothing new; an older id in a joined book is a numbering that began anew.
    if (next.last <= last) return joined && next.last !== last ? 'break' : 'skip';
    return next.last === last + 1n || (!joined && last <= 0n) ? 'apply' : 'break';
  },
};

export const kucoin: Venue = {
  id: 'kucoin',
  name: 'KuCoin Futures',
  docs: 'https://www.kucoin.com/docs-new/3470081w0',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    // 100 messages in ten seconds.
    subscribePerSecond: 5,
    // 2,000 in 30 seconds.
    restWeightPerMinute: 4_000,
    connectionsPerMinute: 30,
  },
  layers: {
    ticker: EVERY_5_SECONDS,
    mark: EVERY_SECOND,
    funding: POLLED,
    oi: POLLED,
    book: ON_CHANGE,
    stats: EVERY_5_SECONDS,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: NOT_PUBLISHED,
    candles: OFF,
  },
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/api/v1/contracts/active`, weight: 3 }],
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const count = listings.filter(isOpen).length;
    const rest = env.endpoints.rest ?? '';
    const sockets = (kind: SocketKind): Slot[] =>
      spreadListings(listings, env, {
        sockets: Math.ceil((count * kind.topics.length) / kind.topicsPerSocket),
        slot: (members, { shard, tag }) => toSocket(kind, members, { shard, tag, rest }),
      });
    const poll: Slot = {
      kind: 'poll',
      id: 'contracts',
      shards: Array.from({ length: env.shards }, (_, shard) => shard),
      requests: [{ method: 'GET', url: `${rest}/api/v1/contracts/active`, weight: 3 }],
      everyMs: POLL_MS,
      covers: [{ layers: ['funding', 'oi'], symbols: null }],
    };
    return [...sockets(BOOKS), ...sockets(PRICES), ...(count === 0 ? [] : [poll])];
  },
  classify: (text) => {
    if (text.includes('"topic":"/')) return 'data';
    if (/"type":"(pong|welcome)"/.test(text)) return 'heartbeat';
    return text.includes('"type":"error"') ? 'error' : 'ack';
  },
  /** A connection without a ping for 60 s is closed; 18 s is what its address asks for. */
  ping: { everyMs: 18_000, frame: '{"id":"ping","type":"ping"}' },
  prepare: {
    request: (slotUrl) => ({ method: 'POST', url: slotUrl, weight: 10 }),
    socketUrl: (answer) => readMessage(answer, readAddress),
  },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${endpoints.rest}/api/v1/level2/snapshot?symbol=${encodeURIComponent(venue_symbol)}`,
    weight: 3,
  }),
  impliedQuantity: quantityOf,
  map: (_state, message, context) => mapMessage(message, context),
};

/** `{token, instanceServers: [{endpoint, …}]}` to the socket's URL. */
const readAddress = (body: unknown): string => {
  const data = readFields(readAnswer(body), 'data');
  const [server] = readList(data.instanceServers, 'instanceServers');
  const url = URL.parse(readText(readFields(server, 'instance server').endpoint, 'endpoint'));
  if (url === null) throw new VenueError('VENUE_BAD_FRAME', 'the endpoint is no URL');
  url.searchParams.set('token', readText(data.token, 'token'));
  return url.href;
};

// ---- plan ----

type SocketKind = {
  readonly name: string;
  readonly topics: readonly string[];
  readonly topicsPerSocket: number;
  readonly layers: readonly string[];
};

const BOOKS: SocketKind = {
  name: 'book',
  topics: ['/contractMarket/level2'],
  topicsPerSocket: BOOKS_PER_SOCKET,
  layers: ['book', 'venue_depth'],
};
/** Books apart from prices, so that a busy book never delays a mark. */
const PRICES: SocketKind = {
  name: 'price',
  topics: ['/contract/instrument', '/contractMarket/snapshot'],
  // A spread by names is uneven: the mean leaves room to the limit.
  topicsPerSocket: STREAMS_PER_CONNECTION / 2,
  layers: ['ticker', 'mark', 'stats'],
};

const toSocket = (
  { name, topics, layers }: SocketKind,
  members: readonly ListingRecord[],
  { shard, tag, rest }: { readonly shard: number; readonly tag: string; readonly rest: string },
): Slot => {
  const symbols = members.map(({ venue_symbol }) => venue_symbol);
  return {
    kind: 'socket',
    id: `${name}.${tag}`,
    shards: [shard],
    url: `${rest}/api/v1/bullet-public`,
    subscribe: topics.flatMap((topic) =>
      chunks(symbols, SYMBOLS_PER_FRAME).map((part, i) =>
        JSON.stringify({
          id: `${topic} ${i + 1}`,
          type: 'subscribe',
          topic: `${topic}:${part.join(',')}`,
          response: true,
        }),
      ),
    ),
    covers: [{ layers, symbols }],
    silenceMs: SILENCE_MS,
    renewAfterMs: RENEW_AFTER_MS,
  };
};
