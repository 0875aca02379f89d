// Bitget perpetuals margined in USDT, USDC and coins. https://www.bitget.com/api-doc/uta/intro, checked 2026-11-21.
//
// We collect v3 (unified): one ticker topic carries last, mark, index, funding, open interest and 24 h figures; books chain by `pseq`; candles of
// mark and index prices are published by REST only. The older v1 and v2 messages are read too. Sizes are amounts of the base asset, those of the
// unified coin-margined line (`BTCUSD_CM`) of dollars. Dated futures share the sockets and are never mapped.
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage } from './messages.ts';
import {
  askedMinutes,
  planBitget,
  RENEW_EVERY_MS,
  TOPICS_PER_CONNECTION,
  toCandlesRequest,
  toRenewal,
} from './plan.ts';
import { readChain, readNewestMinute, readSubscription, toMarket, toQuantityUnit } from './symbols.ts';

const PRODUCTS = ['USDT-FUTURES', 'USDC-FUTURES', 'COIN-FUTURES'];

/** Each `pseq` is the last `seq`; the first after a snapshot may begin before it. Without one (v1, v2) only the order is known. Only a new subscription repairs a break. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last, joined }, next) => {
    if (next.last === null) return 'apply';
    if (next.last === last) return 'skip';
    const isAfter = next.last > last;
    if (next.previous === null) return isAfter ? 'apply' : 'break';
    const isNext = next.previous === last || (!joined && isAfter && next.previous < last);
    return isNext ? 'apply' : 'break';
  },
};

export const bitget: Venue = {
  id: 'bitget',
  name: 'Bitget',
  docs: 'https://www.bitget.com/api-doc/uta/intro',
  endpoints: {
    rest: 'https://api.bitget.com',
    ws: 'wss://ws.bitget.com/v3/ws/public',
  },
  limits: {
    streamsPerConnection: TOPICS_PER_CONNECTION,
    subscribePerSecond: 5,
    // For the path of candles; all paths together allow 6,000.
    restWeightPerMinute: 1_200,
    restBurst: { most: 20, ms: 1_000 },
    // 300 in five minutes.
    connectionsPerMinute: 60,
    renewEveryMs: RENEW_EVERY_MS,
  },
  layers: {
    ...ALL_ON_CHANGE,
    // The venue publishes the largest of a second, side and listing: a lower bound.
    liquidation: { ...ON_CHANGE, completeness: 'sampled' },
  },
  reference: (endpoints) =>
    PRODUCTS.map((product) => ({
      method: 'GET' as const,
      url: `${endpoints.rest}/api/v3/market/instruments?category=${product}`,
      weight: 1,
    })),
  referenceEveryMs: 300_000,
  mapReference,
  plan: planBitget,
  classify: (text) => {
    if (text === 'pong') return 'heartbeat';
    const event = /^\{"event":"(\w+)"/.exec(text)?.[1] ?? (text.includes('"data":') ? null : 'ack');
    if (event === null) return 'data';
    return event === 'error' ? 'error' : 'ack';
  },
  ping: { everyMs: 30_000, frame: 'ping' },
  sequence: readChain,
  bookRule,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  newestMinute: readNewestMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: toMarket(venueSymbol),
    contract_size: '1',
    quantity_unit: toQuantityUnit(venueSymbol),
  }),
  map: (_state, message) => mapMessage(message),
};
