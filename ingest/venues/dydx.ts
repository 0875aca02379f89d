// dYdX v4 perpetuals, from its indexer. https://docs.dydx.xyz, checked 2026-11-21.
//
// One channel says oracle price, funding, open interest and turnover of every market; a book a market. Positions are margined at the oracle
// price: it is the mark, and there is no index beside it. Hardly anything has a venue stamp. Books have no sequence, and cross for real, because
// validators see orders at different moments; a crossed book is not served (L-03).
import type { BookRule, Slot, Venue } from '../venue.ts';
import { mapReference } from './dydx-listings.ts';
import { mapMessage, readChain } from './dydx-messages.ts';
import { NOT_PUBLISHED, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = { rest: 'https://indexer.dydx.trade', ws: 'wss://indexer.dydx.trade/v4/ws' };

/** Subscriptions of one channel on one connection. */
const BOOKS_PER_SOCKET = 32;
/** Sockets are planned half full, so that a hash seldom overfills one. */
const BOOKS_PLANNED = 16;
const SILENCE_MS = 30_000;
const RENEW_AFTER_MS = 23 * 3_600_000;

/** Nothing numbers a book's messages: what comes after the subscription's snapshot goes on from it. */
const bookRule: BookRule = { style: 'stream', bufferLimit: 0, continues: () => 'apply' };

const toSubscribe = (channel: string, id?: string): string => JSON.stringify({ type: 'subscribe', channel, id });

export const dydx: Venue = {
  id: 'dydx',
  name: 'dYdX',
  docs: 'https://docs.dydx.xyz',
  endpoints: ENDPOINTS,
  // The indexer closes what subscribes more than twice a second. REST: 100 requests in 10 s.
  limits: {
    streamsPerConnection: BOOKS_PER_SOCKET,
    subscribePerSecond: 2,
    restWeightPerMinute: 600,
    connectionsPerMinute: 30,
  },
  layers: {
    ticker: NOT_PUBLISHED,
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
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/v4/perpetualMarkets`, weight: 1 }],
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const url = env.endpoints.ws ?? '';
    const markets: Slot = {
      kind: 'socket',
      id: 'markets',
      shards: Array.from({ length: env.shards }, (_, shard) => shard),
      url,
      subscribe: [toSubscribe('v4_markets')],
      covers: [{ layers: ['mark', 'funding', 'oi', 'stats'], symbols: null }],
      silenceMs: SILENCE_MS,
      renewAfterMs: RENEW_AFTER_MS,
    };
    // Markets in final settlement stay listed for good and have no book.
    const traded = listings.filter(({ values }) => values.status !== 'settling');
    const books = spreadListings(traded, env, {
      sockets: toPowerOfTwo(traded.length / BOOKS_PLANNED),
      most: BOOKS_PER_SOCKET,
      slot: (members, { shard, tag }) => ({
        kind: 'socket',
        id: `book.${tag}`,
        shards: [shard],
        url,
        subscribe: members.map(({ venue_symbol }) => toSubscribe('v4_orderbook', venue_symbol)),
        covers: [{ layers: ['book', 'venue_depth'], symbols: members.map(({ venue_symbol }) => venue_symbol) }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      }),
    });
    return [markets, ...books];
  },
  classify: (text) => {
    switch (/"type":"(\w+)"/.exec(text.slice(0, 200))?.[1]) {
      case 'connected':
      case 'unsubscribed':
        return 'ack';
      case 'pong':
        return 'heartbeat';
      case 'error':
        return 'error';
      default:
        return 'data';
    }
  },
  sequence: readChain,
  bookRule,
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (_state, message) => mapMessage(message),
};

/** The number of sockets doubles when it must: a new listing does not move the others. */
const toPowerOfTwo = (wanted: number): number => 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, wanted))));
