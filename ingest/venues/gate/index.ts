// Gate perpetuals, settled in USDT, in USD1 and in bitcoin. https://www.gate.com/docs/developers/futures/ws/en, checked 2026-11-21.
//
// One socket path and one REST folder for each settlement currency. Books are diffs over a REST snapshot of the best 100 levels: the venue caches
// larger ones for half a minute. Candles of all three prices come by socket. The coming settlement is only in the lists of contracts, which are
// polled for it: the rate is new once a minute.
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import {
  askedMinutes,
  bookSnapshot,
  FUNDING_MS,
  PING,
  planGate,
  STREAMS_PER_CONNECTION,
  toCandlesRequest,
  toContractsRequest,
  toRenewal,
  withoutRefused,
} from './plan.ts';
import { inferQuantity, MARKETS, readChain, readClosedMinute, readNewestMinute, readSubscription } from './symbols.ts';

/** The first diff holds the id after the snapshot's; then each begins where the last one ended. */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 300,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    // A repeat is skipped; an older id in a joined book is a restarted numbering.
    if (next.last <= last) return joined && next.last !== last ? 'break' : 'skip';
    const isNext = joined ? next.first === last + 1n : next.first <= last + 1n;
    return isNext ? 'apply' : 'break';
  },
};

export const gate: Venue = {
  id: 'gate',
  name: 'Gate',
  docs: 'https://www.gate.com/docs/developers/futures/ws/en',
  endpoints: {
    rest: 'https://api.gateio.ws/api/v4',
    usdt_ws: 'wss://fx-ws.gateio.ws/v4/ws/usdt',
    usd1_ws: 'wss://fx-ws.gateio.ws/v4/ws/usd1',
    btc_ws: 'wss://fx-ws.gateio.ws/v4/ws/btc',
  },
  // Without this header the sizes of contracts that trade in fractions are not sent as decimals.
  headers: { 'x-gate-size-decimal': '1' },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 10,
    // 200 in ten seconds a path; all paths together stay below the limit of one.
    restWeightPerMinute: 1_200,
    restBurst: { most: 200, ms: 10_000 },
    connectionsPerMinute: 60,
  },
  layers: {
    ...ALL_ON_CHANGE,
    funding: { policy: 'on', cadence: FUNDING_MS, horizonMs: 2 * FUNDING_MS, horizonSource: 'assumed' },
    // One message contains all of a second and contract, since 2026-08-20.
    liquidation: { ...ON_CHANGE, completeness: 'full' },
  },
  reference: (endpoints) => MARKETS.map((market) => toContractsRequest(market, endpoints)),
  referenceEveryMs: 300_000,
  mapReference,
  plan: planGate,
  classify: (text) => {
    const head = text.slice(0, 400);
    const isAnswer = /"event":"(un)?subscribe"/.test(head);
    // An answer repeats the request's contracts before its error.
    if (/"error":\{/.test(isAnswer ? text : head)) return 'error';
    if (head.includes('"channel":"futures.pong"')) return 'heartbeat';
    return isAnswer ? 'ack' : 'data';
  },
  ping: { everyMs: 15_000, frame: PING },
  sequence: readChain,
  bookRule,
  bookSnapshot,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  without: withoutRefused,
  closedMinute: readClosedMinute,
  newestMinute: readNewestMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: inferQuantity,
  map: (_state, message) => mapMessage(message),
};
