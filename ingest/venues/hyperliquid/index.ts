// Hyperliquid perpetuals, its own and those of builders (HIP-3). https://hyperliquid.gitbook.io/hyperliquid-docs, checked 2026-11-21.
//
// Every request is a POST to one path, so answers are distinguished by their shape. Coin names are case-sensitive (`kPEPE` is a thousand
// PEPE); a builder's coin has its market as prefix (`xyz:AAPL`). Spot pairs (`@2`, `PURR/USDC`) and outcomes (`#10`) share the channels and
// are never mapped. Last prices, liquidations and times of prices are not public.
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, NOT_PUBLISHED } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { GREETING, mapMessage, readChain, readNewestMinute, readSubscription } from './messages.ts';
import { ask, askedMinutes, planHyperliquid, toCandlesRequest, toRenewal } from './plan.ts';

/** Limits of one address over all sockets: 1,000 subscriptions, 2,000 messages a minute, 10 connections, 30 new ones a minute. */
const LIMITS = {
  streamsPerConnection: 1000,
  subscribePerSecond: 15,
  restWeightPerMinute: 1200,
  connectionsPerMinute: 30,
};

/** Every book message is whole and has no sequence. */
const bookRule: BookRule = { style: 'full', bufferLimit: 0, continues: () => 'apply' };

export const hyperliquid: Venue = {
  id: 'hyperliquid',
  name: 'Hyperliquid',
  docs: 'https://hyperliquid.gitbook.io/hyperliquid-docs',
  endpoints: { rest: 'https://api.hyperliquid.xyz', ws: 'wss://api.hyperliquid.xyz/ws' },
  limits: LIMITS,
  layers: {
    ...ALL_ON_CHANGE,
    ticker: NOT_PUBLISHED,
    liquidation: NOT_PUBLISHED,
  },
  /** Requests the names of collateral tokens first: a builder's market is quoted in its own. */
  reference: (endpoints) => [ask(endpoints, { type: 'spotMeta' }, 20), ask(endpoints, { type: 'allPerpMetas' }, 20)],
  referenceEveryMs: 300_000,
  mapReference,
  plan: planHyperliquid,
  classify: (text) => {
    // The greeting acknowledges no subscription.
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
  subscriptionOf: readSubscription,
  renew: toRenewal,
  newestMinute: readNewestMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (state, message) => mapMessage(state, message),
};
