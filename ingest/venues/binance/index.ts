// Binance USD-M and COIN-M perpetuals. https://developers.binance.com/docs/derivatives, checked 2026-11-21.
//
// USD-M sockets are split since 2026-04-23: books on /public, everything else on /market; the old path acknowledges and then stays silent.
// COIN-M has one path. Instruments with a delivery date (`BTCUSD_210924`) share the sockets of both and are never mapped.

import type { Delivery } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ON_CHANGE } from '../shared/shape.ts';
import { polledEvery } from './budget.ts';
import { askedMinutes } from './events.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import { candlesRequest, confirmRequest, planBinance, restBase, STREAMS_PER_CONNECTION, toRenewal } from './plan.ts';
import {
  CONFIRMING_LEVELS,
  marketOf,
  quantityUnitOf,
  readChain,
  readClosedMinute,
  readSubscription,
} from './symbols.ts';

const ENDPOINTS = {
  usdm_rest: 'https://fapi.binance.com',
  usdm_public_ws: 'wss://fstream.binance.com/public/ws',
  usdm_market_ws: 'wss://fstream.binance.com/market/ws',
  coinm_rest: 'https://dapi.binance.com',
  coinm_ws: 'wss://dstream.binance.com/ws',
};

/** `@markPrice@1s`: a stated rate, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1000, horizonMs: 2000, horizonSource: 'documented' };

/**
 * Snapshot `lastUpdateId`; diffs behind it are dropped, the first kept one contains it or continues it directly (`pu` equals it: seen live,
 * not in the docs), then each `pu` is the previous `u`. A repeat of the last diff says nothing new.
 */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 300,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    if (next.previous === last) return 'apply';
    if (joined) return next.last === last ? 'skip' : 'break';
    if (next.last < last) return 'skip';
    return next.first <= last ? 'apply' : 'break';
  },
};

export const binance: Venue = {
  id: 'binance',
  name: 'Binance',
  docs: 'https://developers.binance.com/docs/derivatives',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 2400,
    // 300 attempts in five minutes an address: after an outage all sockets come back at once.
    connectionsPerMinute: 150,
    connectionBurst: { most: 300, ms: 300_000 },
  },
  layers: {
    ticker: ON_CHANGE,
    mark: EVERY_SECOND,
    funding: EVERY_SECOND,
    oi: polledEvery([]),
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: ON_CHANGE,
    // At most one a second and symbol: a lower bound.
    liquidation: { ...ON_CHANGE, completeness: 'sampled' },
    candles: ON_CHANGE,
  },
  deliveries: (listings) => ({ oi: polledEvery(listings) }),
  reference: (endpoints) =>
    [`${endpoints.usdm_rest}/fapi/v1`, `${endpoints.coinm_rest}/dapi/v1`].flatMap((base) => [
      { method: 'GET' as const, url: `${base}/fundingInfo`, weight: 1 },
      { method: 'GET' as const, url: `${base}/exchangeInfo`, weight: 1 },
    ]),
  referenceEveryMs: 300_000,
  mapReference,
  plan: planBinance,
  classify: (text) => {
    const head = text.slice(0, 40);
    if (head.startsWith('{"result":')) return 'ack';
    return /^\{"(error|code)":/.test(head) || /^\{"id":[^,]*,"error":/.test(head) ? 'error' : 'data';
  },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${restBase(venue_symbol, endpoints)}/depth?symbol=${encodeURIComponent(venue_symbol)}&limit=1000`,
    weight: 20,
  }),
  bookConfirmation: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${restBase(venue_symbol, endpoints)}/depth?symbol=${encodeURIComponent(venue_symbol)}&limit=${CONFIRMING_LEVELS}`,
    weight: 2,
  }),
  subscriptionOf: readSubscription,
  renew: toRenewal,
  confirm: confirmRequest,
  closedMinute: readClosedMinute,
  candles: candlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) => {
    const market = marketOf(venueSymbol);
    return {
      venue_kind: market === 'usdm' ? 'linear' : 'inverse',
      contract_size: market === 'usdm' ? '1' : null,
      quantity_unit: quantityUnitOf(venueSymbol),
    };
  },
  map: (_state, message, context) => mapMessage(message, context),
};
