// HTX perpetual swaps, USDT-margined and coin-margined. https://www.htx.com/en-us/opend/newApiPages, checked 2026-11-21.
//
// Each market has a socket for trading data and one for notices; a third carries marks and indexes of both. Frames are gzip. The venue pings,
// in two styles, and closes connections that do not answer. Open interest is only published by request. Every quantity counts contracts.
import type { Delivery } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import { COUNTED_STREAM } from '../shared/book-rules.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import {
  askedMinutes,
  FUNDING_EVERY_MS,
  OI_EVERY_MS,
  planHtx,
  STREAMS_PER_CONNECTION,
  toCandlesRequest,
  toRenewal,
} from './plan.ts';
import { inflate, readChain, readClosedMinute, readSubscription, toMarket } from './symbols.ts';

/** Documented: pushed every 60 seconds; two intervals (F-02). */
const FUNDING: Delivery = {
  policy: 'on',
  cadence: FUNDING_EVERY_MS,
  horizonMs: 2 * FUNDING_EVERY_MS,
  horizonSource: 'documented',
};
const POLLED: Delivery = {
  policy: 'on',
  cadence: OI_EVERY_MS,
  horizonMs: 2 * OI_EVERY_MS,
  horizonSource: 'assumed',
};

export const htx: Venue = {
  id: 'htx',
  name: 'HTX',
  docs: 'https://www.htx.com/en-us/opend/newApiPages',
  endpoints: {
    rest: 'https://api.hbdm.com',
    linear_ws: 'wss://api.hbdm.com/linear-swap-ws',
    linear_notification_ws: 'wss://api.hbdm.com/linear-swap-notification',
    inverse_ws: 'wss://api.hbdm.com/swap-ws',
    inverse_notification_ws: 'wss://api.hbdm.com/swap-notification',
    index_ws: 'wss://api.hbdm.com/ws_index',
  },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    // 40 messages a second, pongs included.
    subscribePerSecond: 20,
    // 800 a second for market data, 120 in three for reference data.
    restWeightPerMinute: 1200,
    connectionsPerMinute: 60,
  },
  layers: {
    ...ALL_ON_CHANGE,
    funding: FUNDING,
    oi: POLLED,
    // Documented: each order that the liquidation account takes over, without a limit.
    liquidation: { ...ON_CHANGE, completeness: 'full' },
  },
  reference: ({ rest }) =>
    [
      'linear-swap-api/v1/swap_query_elements',
      'linear-swap-api/v1/swap_contract_info',
      'swap-api/v1/swap_contract_info',
    ].map((path) => ({ method: 'GET', url: `${rest}/${path}`, weight: 1 })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: planHtx,
  classify: (text) => {
    const head = text.slice(0, 200);
    if (/^\{"ping":|^\{"op":"ping"/.test(head)) return 'heartbeat';
    if (head.includes('"status":"error"') || head.includes('"op":"error"') || head.includes('"op":"close"')) {
      return 'error';
    }
    if (/"op":"(sub|unsub)"/.test(head)) return /"err-code":"?0\b/.test(text) ? 'ack' : 'error';
    return /"(subbed|unsubbed)":/.test(head) ? 'ack' : 'data';
  },
  replyTo: (text) => {
    const [, market] = /^\{"ping":("?\d+"?)\}$/.exec(text) ?? [];
    if (market !== undefined) return `{"pong":${market}}`;
    if (!text.startsWith('{"op":"ping"')) return null;
    const [, ts] = /"ts":("?\d+"?)/.exec(text) ?? [];
    return ts === undefined ? null : `{"op":"pong","ts":${ts}}`;
  },
  decode: inflate,
  sequence: readChain,
  // Of `high_freq`; only a new subscription sends a snapshot.
  bookRule: COUNTED_STREAM,
  sendsMarksApart: true,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  closedMinute: readClosedMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: toMarket(venueSymbol),
    contract_size: null,
    quantity_unit: 'contracts',
  }),
  map: (_state, message) => mapMessage(message),
};
