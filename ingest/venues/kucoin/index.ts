// KuCoin Futures perpetuals, linear and inverse. https://www.kucoin.com/docs-new/3470081w0, checked 2026-11-21.
//
// Sockets have no fixed address: each connection requests one with a token. Books are a snapshot by REST and one level a message; open
// interest and the coming settlement are only in the list of contracts, which is polled. Liquidations are not public.
import type { Delivery } from '../contract/feed.ts';
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, NOT_PUBLISHED } from '../shared/deliveries.ts';
import { makeBadFrame, readFields, readList, readMessage, readText } from '../shared/wire.ts';
import { mapReference, readAnswer } from './listings.ts';
import { mapMessage } from './messages.ts';
import { askedMinutes, POLL_MS, planKucoin, STREAMS_PER_CONNECTION, toCandlesRequest, toRenewal } from './plan.ts';
import { readChain, readClosedMinute, readSubscription, toQuantity } from './symbols.ts';

/** Stated rates, hence two intervals (F-02). */
const EVERY_SECOND: Delivery = { policy: 'on', cadence: 1_000, horizonMs: 2_000, horizonSource: 'documented' };
const EVERY_5_SECONDS: Delivery = { policy: 'on', cadence: 5_000, horizonMs: 10_000, horizonSource: 'documented' };
const POLLED: Delivery = { policy: 'on', cadence: POLL_MS, horizonMs: 2 * POLL_MS, horizonSource: 'assumed' };

/** Updates up to the snapshot are dropped, then each sequence is the last one plus one. The snapshot of a book without any order has 0 or -1. */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 2_000,
  continues: ({ last, joined }, next) => {
    if (next.last === null) return 'break';
    // A repeat is skipped; an older id in a joined book is a restarted numbering.
    if (next.last <= last) return joined && next.last !== last ? 'break' : 'skip';
    return next.last === last + 1n || (!joined && last <= 0n) ? 'apply' : 'break';
  },
};

export const kucoin: Venue = {
  id: 'kucoin',
  name: 'KuCoin Futures',
  docs: 'https://www.kucoin.com/docs-new/3470081w0',
  endpoints: { rest: 'https://api-futures.kucoin.com' },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    // 100 messages in ten seconds.
    subscribePerSecond: 5,
    restWeightPerMinute: 4_000,
    restBurst: { most: 2_000, ms: 30_000 },
    connectionsPerMinute: 30,
  },
  layers: {
    ...ALL_ON_CHANGE,
    ticker: EVERY_5_SECONDS,
    mark: EVERY_SECOND,
    funding: POLLED,
    oi: POLLED,
    stats: EVERY_5_SECONDS,
    liquidation: NOT_PUBLISHED,
  },
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/api/v1/contracts/active`, weight: 3 }],
  referenceEveryMs: 300_000,
  mapReference,
  plan: planKucoin,
  classify: (text) => {
    if (text.includes('"topic":"/')) return 'data';
    if (/"type":"(pong|welcome)"/.test(text)) return 'heartbeat';
    return text.includes('"type":"error"') ? 'error' : 'ack';
  },
  /** A connection without a ping for 60 s is closed; its address states an interval of 18 s. */
  ping: { everyMs: 18_000, frame: '{"id":"ping","type":"ping"}' },
  prepare: {
    request: (slotUrl) => ({ method: 'POST', url: slotUrl, weight: 10 }),
    socketUrl: (answer) => readMessage(answer, readAddress),
  },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${endpoints.rest}/api/v1/level2/snapshot?symbol=${encodeURIComponent(venue_symbol)}`,
    weight: 3,
  }),
  subscriptionOf: readSubscription,
  renew: toRenewal,
  closedMinute: readClosedMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: toQuantity,
  map: (_state, message, context) => mapMessage(message, context),
};

/** `{token, instanceServers: [{endpoint, …}]}` to the socket's URL. */
const readAddress = (body: unknown): string => {
  const data = readFields(readAnswer(body), 'data');
  const [server] = readList(data.instanceServers, 'instanceServers');
  const url = URL.parse(readText(readFields(server, 'instance server').endpoint, 'endpoint'));
  if (url === null || !/^wss?:$/.test(url.protocol)) throw makeBadFrame('the endpoint is no address of a WebSocket');
  // A WebSocket is opened without a fragment.
  url.hash = '';
  url.searchParams.set('token', readText(data.token, 'token'));
  return url.href;
};
