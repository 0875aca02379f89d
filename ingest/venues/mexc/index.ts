// MEXC perpetuals, linear and inverse. https://www.mexc.com/api-docs/futures/websocket-api, checked 2026-11-21.
//
// One socket path for everything, one subscription a symbol. Updates of a book are merged over 200 ms and cover a range of versions; their
// snapshot is requested by REST. Liquidations are not public.
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, NOT_PUBLISHED } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import { askedMinutes, planMexc, STREAMS_PER_CONNECTION, toCandlesRequest, toRenewal } from './plan.ts';
import { readChain, readNewestMinute, readSubscription, toQuantity } from './symbols.ts';

const SNAPSHOT_LEVELS = 1_000;

/** Updates up to the book's version are skipped; a start after the next version is a gap. Sizes are absolute: an overlap is applied whole. */
const bookRule: BookRule = {
  style: 'snapshot',
  bufferLimit: 500,
  continues: ({ last, joined }, next) => {
    if (next.first === null || next.last === null) return 'break';
    // A repeat is skipped; an older version in a joined book is a restarted numbering.
    if (next.last <= last) return joined && next.last !== last ? 'break' : 'skip';
    return next.first <= last + 1n ? 'apply' : 'break';
  },
};

export const mexc: Venue = {
  id: 'mexc',
  name: 'MEXC',
  docs: 'https://www.mexc.com/api-docs/futures/websocket-api',
  endpoints: { rest: 'https://api.mexc.com', ws: 'wss://contract.mexc.com/edge' },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 20,
    // 20 requests in two seconds an endpoint, all together here; 10 for books and contracts, which therefore weigh 2.
    restWeightPerMinute: 600,
    restBurst: { most: 20, ms: 2_000 },
    connectionsPerMinute: 60,
  },
  layers: {
    ...ALL_ON_CHANGE,
    liquidation: NOT_PUBLISHED,
  },
  /** Requests the funding cycles first: the contracts do not have them. */
  reference: (endpoints) =>
    [['funding_rate', 1] as const, ['detail', 2] as const].map(([name, weight]) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/api/v1/contract/${name}`,
      weight,
    })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: planMexc,
  classify: (text) => {
    if (text.includes('"channel":"push.')) return 'data';
    if (text.includes('"channel":"pong"')) return 'heartbeat';
    return text.includes('"channel":"rs.error"') ? 'error' : 'ack';
  },
  /** A socket without a ping for a minute is closed, whatever other traffic it has. */
  ping: { everyMs: 15_000, frame: '{"method":"ping"}' },
  sequence: readChain,
  bookRule,
  bookSnapshot: ({ venue_symbol }, endpoints) => ({
    method: 'GET',
    url: `${endpoints.rest}/api/v1/contract/depth/${encodeURIComponent(venue_symbol)}?limit=${SNAPSHOT_LEVELS}`,
    weight: 2,
  }),
  subscriptionOf: readSubscription,
  renew: toRenewal,
  newestMinute: readNewestMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: toQuantity,
  map: (_state, message) => mapMessage(message),
};
