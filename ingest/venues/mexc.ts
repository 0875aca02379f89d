// MEXC perpetuals, linear and inverse. https://www.mexc.com/api-docs/futures/websocket-api, checked 2026-11-21.
//
// One socket path for everything, one subscription a symbol. Updates of a book are merged over 200 ms and cover a range of versions; the
// snapshot they continue is asked for. No liquidations are public.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './mexc-listings.ts';
import { mapMessage } from './mexc-messages.ts';
import { quantityOf, readChain } from './mexc-symbols.ts';
import { isOpen, NOT_PUBLISHED, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = { rest: 'https://api.mexc.com', ws: 'wss://contract.mexc.com/edge' };

/** The docs name no limit; 150 are known to work, fewer keep a lost socket small. */
const STREAMS_PER_CONNECTION = 150;
const SYMBOLS_PER_SOCKET = 100;
const SNAPSHOT_LEVELS = 1_000;
const SILENCE_MS = 30_000;
/** Rates are pushed when they change, about once a minute. */
const FUNDING_SILENCE_MS = 120_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

/** An update that ends at or before the book is old, one that begins behind the next version leaves a hole; sizes are absolute, so one that straddles is applied whole. */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 500,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    // A repeat says nothing new; an older version in a joined book is a numbering that began anew.
    if (next.last <= last) return joined && next.last !== last ? 'break' : 'skip';
    return next.first <= last + 1n ? 'apply' : 'break';
  },
};

export const mexc: Venue = {
  id: 'mexc',
  name: 'MEXC',
  docs: 'https://www.mexc.com/api-docs/futures/websocket-api',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 20,
    // 20 requests in two seconds an endpoint.
    restWeightPerMinute: 600,
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
    liquidation: NOT_PUBLISHED,
    candles: OFF,
  },
  /** Funding cycles first: the contracts do not tell them. */
  reference: (endpoints) =>
    ['funding_rate', 'detail'].map((name) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/api/v1/contract/${name}`,
      weight: 1,
    })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => KINDS.flatMap((kind) => planSockets(listings, env, kind)),
  classify: (text) => {
    if (text.includes('"channel":"push.')) return 'data';
    if (text.includes('"channel":"pong"')) return 'heartbeat';
    return text.includes('"channel":"rs.error"') ? 'error' : 'ack';
  },
  /** A socket without a ping for a minute is closed, whatever comes over it. */
  ping: { everyMs: 15_000, frame: '{"method":"ping"}' },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${endpoints.rest}/api/v1/contract/depth/${encodeURIComponent(venue_symbol)}?limit=${SNAPSHOT_LEVELS}`,
    weight: 1,
  }),
  impliedQuantity: quantityOf,
  map: (_state, message) => mapMessage(message),
};

// ---- plan ----

type SocketKind = {
  readonly name: string;
  readonly method: string;
  readonly layers: readonly string[];
  readonly silenceMs: number;
};

/** Books apart from prices, so that a busy book never delays a mark; funding apart from tickers, which tell a rate without its settlement. */
const KINDS: readonly SocketKind[] = [
  { name: 'book', method: 'sub.depth', layers: ['book', 'venue_depth'], silenceMs: SILENCE_MS },
  { name: 'ticker', method: 'sub.ticker', layers: ['ticker', 'mark', 'oi', 'stats'], silenceMs: SILENCE_MS },
  { name: 'funding', method: 'sub.funding.rate', layers: ['funding'], silenceMs: FUNDING_SILENCE_MS },
];

const planSockets = (
  listings: readonly ListingRecord[],
  env: Parameters<Venue['plan']>[1],
  { name, method, layers, silenceMs }: SocketKind,
): Slot[] =>
  spreadListings(listings, env, {
    sockets: Math.ceil(listings.filter(isOpen).length / SYMBOLS_PER_SOCKET),
    slot: (members, { shard, tag }) => {
      const symbols = members.map(({ venue_symbol }) => venue_symbol);
      return {
        kind: 'socket',
        id: `${name}.${tag}`,
        shards: [shard],
        url: env.endpoints.ws ?? '',
        subscribe: symbols.map((symbol) => JSON.stringify({ method, param: { symbol } })),
        covers: [{ layers, symbols }],
        silenceMs,
        renewAfterMs: RENEW_AFTER_MS,
      };
    },
  });
