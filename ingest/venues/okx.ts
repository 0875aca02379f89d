// OKX perpetual swaps, linear and inverse. https://www.okx.com/docs-v5/en, checked 2026-11-21.
//
// One public socket carries everything but candles, which have a URL of their own (`business`). An index is subscribed by pair and shared by
// the listings that use it. Every quantity counts contracts.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Delivery, Slot, Venue } from '../venue.ts';
import { mapReference } from './okx-listings.ts';
import { mapMessage } from './okx-messages.ts';
import { indexOf, isInverse, readChain } from './okx-symbols.ts';
import { chunks, isOpen, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://www.okx.com',
  public_ws: 'wss://ws.okx.com:8443/ws/v5/public',
};

/** The docs say every 30 to 90 seconds: two of the longest (F-02). */
const FUNDING: Delivery = { policy: 'on', cadence: 90_000, horizonMs: 180_000, horizonSource: 'documented' };

/** Channels a connection holds; the docs name no limit, fewer keep a lost socket small. */
const STREAMS_PER_CONNECTION = 250;
/** Arguments of one frame: a connection may send 480 frames an hour, each of at most 64 KB. */
const ARGUMENTS_PER_FRAME = 100;
/** Books are the bulk of the traffic: fewer share a socket than prices do. */
const BOOKS_PER_SOCKET = 40;
const PRICES_PER_SOCKET = 40;

/** Each `prevSeqId` is the last `seqId`; a quiet book repeats its id as its own predecessor. Messages without ids prove nothing about a book that has one. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.previous === null) return last === 0n && next.last === null ? 'apply' : 'break';
    return next.previous === last ? 'apply' : 'break';
  },
};

export const okx: Venue = {
  id: 'okx',
  name: 'OKX',
  docs: 'https://www.okx.com/docs-v5/en',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 3,
    // 20 requests a 2 seconds on the reference endpoint.
    restWeightPerMinute: 600,
    connectionsPerMinute: 60,
  },
  layers: {
    ticker: ON_CHANGE,
    mark: ON_CHANGE,
    funding: FUNDING,
    oi: ON_CHANGE,
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: OFF,
    liquidation: OFF,
    candles: OFF,
  },
  reference: (endpoints) => [
    { method: 'GET', url: `${endpoints.rest}/api/v5/public/instruments?instType=SWAP`, weight: 1 },
  ],
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const count = listings.filter(isOpen).length;
    const url = env.endpoints.public_ws ?? '';
    const prices = spreadListings(listings, env, {
      sockets: Math.ceil(count / PRICES_PER_SOCKET),
      slot: (members, { shard, tag }) =>
        toSocket(`prices.${tag}`, members, {
          url,
          shard,
          layers: ['ticker', 'mark', 'funding', 'oi', 'stats'],
          args: toPriceArguments(members),
        }),
    });
    const books = spreadListings(listings, env, {
      sockets: Math.ceil(count / BOOKS_PER_SOCKET),
      slot: (members, { shard, tag }) =>
        toSocket(`books.${tag}`, members, {
          url,
          shard,
          layers: ['book', 'venue_depth'],
          args: members.map(({ venue_symbol }) => ({ channel: 'books', instId: venue_symbol })),
        }),
    });
    return [...prices, ...books];
  },
  classify: (text) => {
    if (text === 'pong') return 'heartbeat';
    if (!text.startsWith('{"event":"') && !text.startsWith('{"id":"')) return 'data';
    // `notice` announces that the venue is about to close the connection (64008).
    return /"event":"(error|notice|channel-conn-count-error)"/.test(text.slice(0, 100)) ? 'error' : 'ack';
  },
  ping: { everyMs: 20_000, frame: 'ping' },
  sequence: readChain,
  bookRule,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: isInverse(venueSymbol) ? 'inverse' : 'linear',
    contract_size: null,
    quantity_unit: 'contracts',
  }),
  map: (_state, message, context) => mapMessage(message, context),
};

// ---- plan ----

type Argument = { readonly channel: string; readonly instId: string };

const toPriceArguments = (members: readonly ListingRecord[]): Argument[] => {
  const indexes = new Set(members.flatMap(({ values }) => (values.pair === null ? [] : [indexOf(values.pair)])));
  const channels = ['tickers', 'mark-price', 'funding-rate', 'open-interest'];
  return [
    ...channels.flatMap((channel) => members.map(({ venue_symbol }) => ({ channel, instId: venue_symbol }))),
    ...[...indexes].map((instId) => ({ channel: 'index-tickers', instId })),
  ];
};

type SocketParts = {
  readonly url: string;
  readonly shard: number;
  readonly layers: readonly string[];
  readonly args: readonly Argument[];
};

const toSocket = (id: string, members: readonly ListingRecord[], { url, shard, layers, args }: SocketParts): Slot => ({
  kind: 'socket',
  id,
  shards: [shard],
  url,
  subscribe: chunks(args, ARGUMENTS_PER_FRAME).map((part) => JSON.stringify({ op: 'subscribe', args: part })),
  covers: [{ layers, symbols: members.map(({ venue_symbol }) => venue_symbol) }],
  silenceMs: 30_000,
  renewAfterMs: 23 * 3_600_000,
});
