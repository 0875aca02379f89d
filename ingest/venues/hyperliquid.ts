// Hyperliquid perpetuals, its own and those of builders (HIP-3). https://hyperliquid.gitbook.io/hyperliquid-docs, checked 2026-11-21.
//
// Everything is asked by POST to one path, so answers are told apart by their shape. Coin names are case-sensitive (`kPEPE` is a thousand
// PEPE); a builder's coin carries its market's name (`xyz:AAPL`). Spot pairs (`@2`, `PURR/USDC`) and outcomes (`#10`) share the channels and
// are never mapped. No last price, no liquidations and no times of prices are public.
import type { BookRule, Slot, Venue, VenueRequest } from '../venue.ts';
import { mapReference } from './hyperliquid-listings.ts';
import { GREETING, mapMessage, readChain } from './hyperliquid-messages.ts';
import { NOT_PUBLISHED, OFF, ON_CHANGE, spreadListings } from './shape.ts';

const ENDPOINTS = { rest: 'https://api.hyperliquid.xyz', ws: 'wss://api.hyperliquid.xyz/ws' };

/** Limits of one address over all sockets: 1,000 subscriptions, 2,000 messages a minute, 10 connections, 30 new ones a minute. */
const LIMITS = {
  streamsPerConnection: 1000,
  subscribePerSecond: 15,
  restWeightPerMinute: 1200,
  connectionsPerMinute: 30,
};
const BOOK_SOCKETS = 3;
const CONTEXT_SOCKETS = 2;
const SILENCE_MS = 30_000;
/** No age limit is documented; a subscription may die on a socket that lives, so sockets are not kept for days. */
const RENEW_AFTER_MS = 23 * 3_600_000;

/** Every book message is whole and has no sequence. */
const bookRule: BookRule = { style: 'full', bufferLimit: 0, continues: () => 'apply' };

const ask = (endpoints: Readonly<Record<string, string>>, body: unknown, weight: number): VenueRequest => ({
  method: 'POST',
  url: `${endpoints.rest}/info`,
  body: JSON.stringify(body),
  weight,
});

export const hyperliquid: Venue = {
  id: 'hyperliquid',
  name: 'Hyperliquid',
  docs: 'https://hyperliquid.gitbook.io/hyperliquid-docs',
  endpoints: ENDPOINTS,
  limits: LIMITS,
  layers: {
    ticker: NOT_PUBLISHED,
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
  /** Names of collateral tokens first: a builder's market is quoted in its own. */
  reference: (endpoints) => [ask(endpoints, { type: 'spotMeta' }, 20), ask(endpoints, { type: 'allPerpMetas' }, 20)],
  referenceEveryMs: 300_000,
  mapReference,
  plan: (listings, env) => {
    const socket =
      (name: string, type: string, layers: readonly string[]) =>
      (members: readonly { readonly venue_symbol: string }[], place: { shard: number; tag: string }): Slot => ({
        kind: 'socket',
        id: `${name}.${place.tag}`,
        shards: [place.shard],
        url: env.endpoints.ws ?? '',
        subscribe: members.map(({ venue_symbol }) =>
          JSON.stringify({ method: 'subscribe', subscription: { type, coin: venue_symbol } }),
        ),
        covers: [{ layers, symbols: members.map(({ venue_symbol }) => venue_symbol) }],
        silenceMs: SILENCE_MS,
        renewAfterMs: RENEW_AFTER_MS,
      });
    const context = socket('context', 'activeAssetCtx', ['mark', 'funding', 'oi', 'stats']);
    return [
      ...spreadListings(listings, env, {
        sockets: BOOK_SOCKETS,
        slot: socket('book', 'l2Book', ['book', 'venue_depth']),
      }),
      ...spreadListings(listings, env, { sockets: CONTEXT_SOCKETS, slot: context }),
    ];
  },
  classify: (text) => {
    // It answers no subscription.
    if (text === GREETING) return 'heartbeat';
    const channel = /"channel":"([a-zA-Z]+)"/.exec(text)?.[1];
    if (channel === 'pong') return 'heartbeat';
    if (channel === 'subscriptionResponse') return 'ack';
    return channel === 'error' ? 'error' : 'data';
  },
  /** A socket without traffic for 60 s is closed. */
  ping: { everyMs: 30_000, frame: '{"method":"ping"}' },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ask(endpoints, { type: 'l2Book', coin: venue_symbol }, 2),
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (state, message) => mapMessage(state, message),
};
