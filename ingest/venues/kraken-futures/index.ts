// Kraken Futures perpetuals (PF multi-collateral, PI inverse). https://docs.kraken.com/exchange/api-reference/futures-websocket, checked 2026-11-21.
//
// One socket path for everything but candles, which are published by REST only; a book's snapshot comes with its subscription, then one price level
// a message. Liquidations are marked on trades.
import type { Delivery } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import { COUNTED_STREAM } from '../shared/book-rules.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import { askedMinutes, planKrakenFutures, STREAMS_PER_CONNECTION, toCandlesRequest, toRenewal } from './plan.ts';
import { readChain, readSubscription, toQuantity } from './symbols.ts';

/** Requested once the minute is over (F-02). */
const EVERY_MINUTE: Delivery = { policy: 'on', cadence: 60_000, horizonMs: 120_000, horizonSource: 'assumed' };

export const krakenFutures: Venue = {
  id: 'kraken-futures',
  name: 'Kraken Futures',
  docs: 'https://docs.kraken.com/exchange/api-reference/futures-websocket',
  endpoints: {
    rest: 'https://futures.kraken.com/derivatives/api/v3',
    charts: 'https://futures.kraken.com/api/charts/v1',
    ws: 'wss://futures.kraken.com/ws/v1',
  },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 20,
    restWeightPerMinute: 3_000,
    restBurst: { most: 500, ms: 10_000 },
    connectionsPerMinute: 60,
  },
  layers: {
    ...ALL_ON_CHANGE,
    liquidation: { ...ON_CHANGE, completeness: 'full' },
    candles: EVERY_MINUTE,
  },
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/instruments`, weight: 1 }],
  referenceEveryMs: 300_000,
  mapReference,
  plan: planKrakenFutures,
  classify: (text) => {
    const event = /^\{"event":"([a-z_]+)"/.exec(text)?.[1];
    if (event === 'info' || text.startsWith('{"feed":"heartbeat"')) return 'heartbeat';
    if (event === undefined) return 'data';
    return event === 'subscribed' || event === 'unsubscribed' ? 'ack' : 'error';
  },
  // The venue closes a socket that has not pinged for 60 s.
  ping: { everyMs: 20_000, frame: null },
  sequence: readChain,
  // `seq` of a product; a snapshot has its own.
  bookRule: COUNTED_STREAM,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  // No frame has minutes: each is requested once it is over.
  closedMinute: () => null,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) =>
    toQuantity(venueSymbol) ?? { venue_kind: null, contract_size: null, quantity_unit: 'contracts' },
  map: (_state, message) => mapMessage(message),
};
