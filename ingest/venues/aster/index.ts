// Aster perpetuals. https://docs.asterdex.com/product/aster-perpetuals/api, checked 2026-11-21.
//
// A dialect of Binance's USD-M: the same frames, answers and chain of book messages, on one socket path. Open interest and candles of mark and
// index prices are told by REST and symbol by symbol only.

import { polledEvery } from '../binance/budget.ts';
import { askedMinutes } from '../binance/events.ts';
import { binance } from '../binance/index.ts';
import { mapReference } from '../binance/listings.ts';
import { mapMessage } from '../binance/messages.ts';
import { toRenewal } from '../binance/plan.ts';
import { readClosedMinute, readSubscription } from '../binance/symbols.ts';
import type { Delivery } from '../contract/feed.ts';
import type { Mapped } from '../contract/mapping.ts';
import type { Venue } from '../contract/venue.ts';
import { ON_CHANGE } from '../shared/shape.ts';
import { candlesRequest, confirmRequest, planAster, STREAMS_PER_CONNECTION } from './plan.ts';

const ENDPOINTS = { rest: 'https://fapi.asterdex.com', ws: 'wss://fstream.asterdex.com/ws' };

/** `@markPrice@1s`: a stated rate, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1_000, horizonMs: 2_000, horizonSource: 'documented' };

export const aster: Venue = {
  id: 'aster',
  name: 'Aster',
  docs: 'https://docs.asterdex.com/product/aster-perpetuals/api',
  endpoints: ENDPOINTS,
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 2_400,
    connectionsPerMinute: 60,
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
    // The latest one a second and symbol: a lower bound.
    liquidation: { ...ON_CHANGE, completeness: 'sampled' },
    candles: ON_CHANGE,
  },
  deliveries: (listings) => ({ oi: polledEvery(listings) }),
  reference: (endpoints) =>
    ['fundingInfo', 'exchangeInfo'].map((name) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/fapi/v3/${name}`,
      weight: 1,
    })),
  referenceEveryMs: 300_000,
  mapReference: (state, message) => {
    const answer = mapReference(state, message);
    return answer && { ...answer, listings: answer.listings.map((listing) => ({ ...listing, venue: 'aster' })) };
  },
  plan: planAster,
  classify: binance.classify,
  sequence: binance.sequence,
  bookRule: binance.bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${endpoints.rest}/fapi/v3/depth?symbol=${encodeURIComponent(venue_symbol)}&limit=1000`,
    weight: 20,
  }),
  subscriptionOf: readSubscription,
  renew: toRenewal,
  confirm: confirmRequest,
  closedMinute: readClosedMinute,
  candles: candlesRequest,
  askedMinutes,
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (_state, message, context) => mapMessage(message, context).filter(saysSomething).map(toOwn),
};

const toOwn = (mapped: Mapped): Mapped => ({ ...mapped, record: { ...mapped.record, venue: 'aster' } });

/** Tickers may carry the last price alone. */
const saysSomething = ({ record }: Mapped): boolean =>
  record.layer !== 'stats' ||
  record.values.volume_24h !== null ||
  record.values.turnover_24h !== null ||
  record.values.change_24h !== null;
