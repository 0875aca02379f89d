// Gate perpetuals, settled in USDT and in bitcoin. https://www.gate.com/docs/developers/futures/ws/en, checked 2026-11-21.
//
// A socket path and a REST folder for each settlement currency. Books are diffs over a REST snapshot of the best 100 levels: larger ones are
// cached for half a minute by the venue.
import type { ListingRecord } from '../../schemas/records.ts';
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './gate-listings.ts';
import { mapMessage } from './gate-messages.ts';
import { impliedQuantity, type Market, marketOf, readChain } from './gate-symbols.ts';
import { chunks, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = {
  rest: 'https://api.gateio.ws/api/v4',
  usdt_ws: 'wss://fx-ws.gateio.ws/v4/ws/usdt',
  btc_ws: 'wss://fx-ws.gateio.ws/v4/ws/btc',
};

const MARKETS: readonly Market[] = ['usdt', 'btc'];
/** Some 600 contracts in USDT; a handful in bitcoin. */
const SOCKETS: Readonly<Record<Market, number>> = { usdt: 6, btc: 1 };
const CONTRACTS_PER_FRAME = 50;
const DEPTH = 100;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;
/** Requests carry the time they are made at; a public channel does not look at it, and a plan has no clock. */
const REQUEST_TIME = 1_700_000_000;

/** The first diff holds the id after the snapshot's, then each begins where the last one ended. */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 300,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    // A repeat says nothing new; an older id in a joined book is a numbering that began anew.
    if (next.last <= last) return joined && next.last !== last ? 'break' : 'skip';
    const isNext = joined ? next.first === last + 1n : next.first <= last + 1n;
    return isNext ? 'apply' : 'break';
  },
};

export const gate: Venue = {
  id: 'gate',
  name: 'Gate',
  docs: 'https://www.gate.com/docs/developers/futures/ws/en',
  endpoints: ENDPOINTS,
  // Sizes of contracts that trade in fractions come as decimals only to those who ask.
  headers: { 'x-gate-size-decimal': '1' },
  limits: {
    streamsPerConnection: 200,
    subscribePerSecond: 10,
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
    MARKETS.map((market) => ({ method: 'GET', url: `${endpoints.rest}/futures/${market}/contracts`, weight: 1 })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) =>
    MARKETS.flatMap((market) => {
      const own = listings.filter(({ venue_symbol }) => marketOf(venue_symbol) === market);
      const at = { market, url: env.endpoints[`${market}_ws`] ?? '' };
      return [...planSockets(own, env, { ...at, ...BOOKS }), ...planSockets(own, env, { ...at, ...TICKERS })];
    }),
  classify: (text) => {
    const head = text.slice(0, 400);
    if (/"error":\{/.test(head)) return 'error';
    if (head.includes('"channel":"futures.pong"')) return 'heartbeat';
    return /"event":"(un)?subscribe"/.test(head) ? 'ack' : 'data';
  },
  ping: { everyMs: 15_000, frame: JSON.stringify({ time: REQUEST_TIME, channel: 'futures.ping' }) },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => {
    const query = `contract=${encodeURIComponent(venue_symbol)}&limit=${DEPTH}&with_id=true`;
    return {
      method: 'GET',
      url: `${endpoints.rest}/futures/${marketOf(venue_symbol)}/order_book?${query}`,
      weight: 1,
    };
  },
  impliedQuantity,
  map: (_state, message) => mapMessage(message),
};

// ---- plan ----

type Feed = {
  readonly channel: string;
  readonly layers: readonly string[];
  /** What the subscriptions of these contracts name, one item a frame. */
  readonly payloads: (symbols: readonly string[]) => readonly (readonly string[])[];
};

/** One contract a frame. No depth is named: with one the venue is silent about levels that leave it. */
const BOOKS: Feed = {
  channel: 'futures.order_book_update',
  layers: ['book', 'venue_depth'],
  payloads: (symbols) => symbols.map((symbol) => [symbol, '100ms']),
};
const TICKERS: Feed = {
  channel: 'futures.tickers',
  layers: ['ticker', 'mark', 'funding', 'oi', 'stats'],
  payloads: (symbols) => chunks(symbols, CONTRACTS_PER_FRAME),
};

type SocketPlan = Feed & { readonly market: Market; readonly url: string };

const planSockets = (
  listings: readonly ListingRecord[],
  env: Parameters<Venue['plan']>[1],
  { market, url, channel, layers, payloads }: SocketPlan,
): Slot[] =>
  spreadListings(listings, env, {
    sockets: SOCKETS[market],
    slot: (members, { shard, tag }) => {
      const symbols = members.map(({ venue_symbol }) => venue_symbol);
      return {
        kind: 'socket',
        id: `${market}-${channel.slice('futures.'.length)}.${tag}`,
        shards: [shard],
        url,
        subscribe: payloads(symbols).map((payload) =>
          JSON.stringify({ time: REQUEST_TIME, channel, event: 'subscribe', payload }),
        ),
        covers: [{ layers, symbols }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      };
    },
  });
