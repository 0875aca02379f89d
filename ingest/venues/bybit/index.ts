// Bybit linear (USDT, USDC) and inverse perpetuals, API v5. https://bybit-exchange.github.io/docs/v5/intro, checked 2026-11-21.
//
// One ticker topic carries last, mark, index, funding, open interest and 24 h figures; books are a snapshot and deltas on the socket; candles of
// mark and index prices are published by REST only. Dated futures share the sockets and are never mapped.
import type { Venue } from '../contract/venue.ts';
import { COUNTED_STREAM } from '../shared/book-rules.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import {
  askedMinutes,
  bookConfirmation,
  planBybit,
  STREAMS_PER_CONNECTION,
  toCandlesRequest,
  toConfirmRequest,
  toRenewal,
  withoutRefused,
} from './plan.ts';
import { readChain, readClosedMinute, readSubscription, toMarket, toQuantityUnit } from './symbols.ts';

export const bybit: Venue = {
  id: 'bybit',
  name: 'Bybit',
  docs: 'https://bybit-exchange.github.io/docs/v5/intro',
  endpoints: {
    rest: 'https://api.bybit.com',
    linear_ws: 'wss://stream.bybit.com/v5/public/linear',
    inverse_ws: 'wss://stream.bybit.com/v5/public/inverse',
  },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 10,
    // 600 requests in five seconds a host; above that the venue refuses for ten minutes.
    restWeightPerMinute: 7_200,
    restBurst: { most: 600, ms: 5_000 },
    // 500 in five minutes.
    connectionsPerMinute: 60,
  },
  // Tickers arrive every 100 ms at most and omit unchanged members: a value is valid until the connection is lost (F-02).
  layers: {
    ...ALL_ON_CHANGE,
    liquidation: { ...ON_CHANGE, completeness: 'full' },
  },
  reference: (endpoints) =>
    ['linear&status=PreLaunch', 'linear', 'inverse'].map((category) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/v5/market/instruments-info?category=${category}&limit=1000`,
      weight: 1,
    })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: planBybit,
  classify: (text) => {
    if (text.includes('"topic":"')) return 'data';
    const head = text.slice(0, 400);
    if (head.includes('"success":false')) return 'error';
    // The operation of a pong is `ping` or `pong`, by market.
    return /"(op|ret_msg)":"p[io]ng"/.test(head) ? 'heartbeat' : 'ack';
  },
  ping: { everyMs: 20_000, frame: '{"op":"ping"}' },
  sequence: readChain,
  // `u`; the socket sends its own snapshots.
  bookRule: COUNTED_STREAM,
  bookConfirmation,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  without: withoutRefused,
  confirm: toConfirmRequest,
  closedMinute: readClosedMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: toMarket(venueSymbol),
    contract_size: '1',
    quantity_unit: toQuantityUnit(venueSymbol),
  }),
  map: mapMessage,
};
