// BitMEX perpetuals (linear, inverse, quanto). https://www.bitmex.com/app/wsAPI, checked 2026-11-21.
//
// Tables over one socket path: each begins with its partial. Nothing is numbered, so a hole in a book cannot be seen.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './bitmex-listings.ts';
import { mapMessage } from './bitmex-messages.ts';
import { impliedQuantity, readChain } from './bitmex-symbols.ts';
import { chunks, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://www.bitmex.com/api/v1',
  ws: 'wss://ws.bitmex.com/realtime',
};

const SOCKETS = 3;
/** The venue reads so many topics of one frame. */
const TOPICS_PER_FRAME = 20;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

const bookRule: BookRule = { style: 'stream', bufferLimit: 0, continues: () => 'apply' };

/** The columns a listing is made of: prices come from the sockets. */
const COLUMNS = [
  ...['symbol', 'typ', 'state', 'listing', 'expiry', 'underlying', 'quoteCurrency', 'isInverse', 'isQuanto'],
  ...['lotSize', 'tickSize', 'multiplier', 'underlyingToSettleMultiplier', 'quoteToSettleMultiplier'],
  ...['fundingInterval', 'timestamp'],
];

export const bitmex: Venue = {
  id: 'bitmex',
  name: 'BitMEX',
  docs: 'https://www.bitmex.com/app/wsAPI',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: 200,
    subscribePerSecond: 2,
    restWeightPerMinute: 30,
    connectionsPerMinute: 20,
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
  reference: (endpoints) => [
    {
      method: 'GET',
      url: `${endpoints.rest}/instrument/active?columns=${encodeURIComponent(JSON.stringify(COLUMNS))}`,
      weight: 1,
    },
  ],
  referenceEveryMs: 300_000,
  mapReference,
  // Books apart from prices, so that a busy book never delays a mark.
  plan: (listings, env) => [
    ...planSockets(listings, env, { table: 'orderBookL2', layers: ['book', 'venue_depth'] }),
    ...planSockets(listings, env, { table: 'instrument', layers: ['ticker', 'mark', 'funding', 'oi', 'stats'] }),
  ],
  classify: (text) => {
    if (text.startsWith('{"table":')) return 'data';
    if (text === 'pong' || text.startsWith('{"info":')) return 'heartbeat';
    return text.startsWith('{"success":true') ? 'ack' : 'error';
  },
  ping: { everyMs: 20_000, frame: 'ping' },
  sequence: readChain,
  bookRule,
  impliedQuantity,
  map: (state, message) => mapMessage(state, message),
};

type Table = { readonly table: string; readonly layers: readonly string[] };

const planSockets = (
  listings: readonly ListingRecord[],
  env: Parameters<Venue['plan']>[1],
  { table, layers }: Table,
): Slot[] =>
  spreadListings(listings, env, {
    sockets: SOCKETS,
    slot: (members, { shard, tag }) => {
      const symbols = members.map(({ venue_symbol }) => venue_symbol);
      const topics = symbols.map((symbol) => `${table}:${symbol}`);
      return {
        kind: 'socket',
        id: `${table}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: chunks(topics, TOPICS_PER_FRAME).map((args) => JSON.stringify({ op: 'subscribe', args })),
        covers: [{ layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      };
    },
  });
