// OKX perpetual swaps, linear and inverse. https://www.okx.com/docs-v5/en, checked 2026-11-21.
//
// One public socket carries everything but candles, which have a URL of their own (`business`). An index is subscribed by pair and shared by
// the listings that use it. Every quantity counts contracts.
import type { Delivery } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import {
  askedMinutes,
  listReferenceRequests,
  planOkx,
  RENEW_EVERY_MS,
  STREAMS_PER_CONNECTION,
  toCandlesRequest,
  toConfirmRequest,
  toRenewal,
  withoutRefused,
} from './plan.ts';
import { isInverse, readChain, readClosedMinute, readSubscription } from './symbols.ts';

/** Documented: every 30 to 90 seconds; two of the longest (F-02). */
const FUNDING: Delivery = { policy: 'on', cadence: 90_000, horizonMs: 180_000, horizonSource: 'documented' };

/**
 * Each `prevSeqId` is the last `seqId`; a quiet book repeats its id as its own predecessor. Messages without ids prove nothing about a book
 * with one. A repeat of the last message is skipped.
 */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.previous === null) return last === 0n && next.last === null ? 'apply' : 'break';
    if (next.previous === last) return 'apply';
    return next.last === last ? 'skip' : 'break';
  },
};

export const okx: Venue = {
  id: 'okx',
  name: 'OKX',
  docs: 'https://www.okx.com/docs-v5/en',
  // Since 2026-10-31 the port 8443 takes no connection.
  endpoints: {
    rest: 'https://www.okx.com',
    public_ws: 'wss://ws.okx.com/ws/v5/public',
    business_ws: 'wss://ws.okx.com/ws/v5/business',
  },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 3,
    restWeightPerMinute: 2_400,
    restBurst: { most: 80, ms: 2_000 },
    connectionsPerMinute: 180,
    connectionBurst: { most: 3, ms: 1_000 },
    renewEveryMs: RENEW_EVERY_MS,
  },
  layers: {
    ...ALL_ON_CHANGE,
    funding: FUNDING,
    // The venue publishes at most one a second and contract: a lower bound.
    liquidation: { ...ON_CHANGE, completeness: 'sampled' },
  },
  reference: listReferenceRequests,
  referenceEveryMs: 300_000,
  mapReference,
  plan: planOkx,
  classify: (text) => {
    if (text === 'pong') return 'heartbeat';
    if (!text.startsWith('{"event":"') && !text.startsWith('{"id":"')) return 'data';
    // `notice` announces that the venue will close the connection (64008).
    return /"event":"(error|notice|channel-conn-count-error)"/.test(text.slice(0, 100)) ? 'error' : 'ack';
  },
  ping: { everyMs: 20_000, frame: 'ping' },
  sequence: readChain,
  bookRule,
  sendsMarksApart: true,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  without: withoutRefused,
  confirm: toConfirmRequest,
  closedMinute: readClosedMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: isInverse(venueSymbol) ? 'inverse' : 'linear',
    contract_size: null,
    quantity_unit: 'contracts',
  }),
  map: (_state, message, context) => mapMessage(message, context),
};
