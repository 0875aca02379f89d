// BitMEX perpetuals (linear, inverse, quanto). https://www.bitmex.com/app/wsAPI, checked 2026-11-21.
//
// Tables over one socket path: each starts with its partial. Nothing is numbered, so a gap in a book is not detectable. Candles are of trades only.
import type { Venue } from '../contract/venue.ts';
import { UNNUMBERED_STREAM } from '../shared/book-rules.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import { askedMinutes, planBitmex, STREAMS_PER_CONNECTION, toCandlesRequest, toRenewal } from './plan.ts';
import { inferQuantity, readChain, readClosedMinute, readSubscription } from './symbols.ts';

/** The columns a listing is made of; prices come from the sockets. */
const COLUMNS = [
  ...['symbol', 'typ', 'state', 'listing', 'expiry', 'underlying', 'quoteCurrency', 'isInverse', 'isQuanto'],
  ...['lotSize', 'tickSize', 'multiplier', 'underlyingToSettleMultiplier', 'quoteToSettleMultiplier'],
  ...['fundingInterval', 'timestamp'],
];

export const bitmex: Venue = {
  id: 'bitmex',
  name: 'BitMEX',
  docs: 'https://www.bitmex.com/app/wsAPI',
  endpoints: {
    rest: 'https://www.bitmex.com/api/v1',
    ws: 'wss://ws.bitmex.com/realtime',
  },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 2,
    restWeightPerMinute: 30,
    connectionsPerMinute: 20,
    renewEveryMs: 30_000,
  },
  layers: {
    ...ALL_ON_CHANGE,
    // Every order of the liquidation engine.
    liquidation: { ...ON_CHANGE, completeness: 'full' },
  },
  reference: (endpoints) => [
    {
      method: 'GET',
      url: `${endpoints.rest}/instrument/active?columns=${encodeURIComponent(JSON.stringify(COLUMNS))}`,
      weight: 1,
    },
  ],
  referenceEveryMs: 300_000,
  mapReference,
  plan: planBitmex,
  classify: (text) => {
    if (text.startsWith('{"table":')) return 'data';
    if (text === 'pong' || text.startsWith('{"info":')) return 'heartbeat';
    return text.startsWith('{"success":true') ? 'ack' : 'error';
  },
  ping: { everyMs: 20_000, frame: 'ping' },
  sequence: readChain,
  bookRule: UNNUMBERED_STREAM,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  closedMinute: readClosedMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: inferQuantity,
  map: (state, message) => mapMessage(state, message),
};
