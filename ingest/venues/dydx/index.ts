// dYdX v4 perpetuals, from its indexer. https://docs.dydx.xyz, checked 2026-11-21.
//
// One channel says oracle price, funding, open interest and turnover of every market; a book a market. Positions are margined at the oracle
// price: it is the mark, and there is no index beside it. Hardly anything has a venue stamp. Books have no sequence, and cross for real, because
// validators see orders at different moments; a crossed book is not served (L-03).

import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { NOT_PUBLISHED, ON_CHANGE } from '../shared/shape.ts';
import { mapReference } from './listings.ts';
import { mapMessage, readChain, readNewestMinute, readSubscription } from './messages.ts';
import { askedMinutes, candlesRequest, planDydx, STREAMS_PER_CONNECTION, toRenewal } from './plan.ts';

const ENDPOINTS = { rest: 'https://indexer.dydx.trade', ws: 'wss://indexer.dydx.trade/v4/ws' };

/** Nothing numbers a book's messages: what comes after the subscription's snapshot goes on from it. */
const bookRule: BookRule = { style: 'stream', bufferLimit: 0, continues: () => 'apply' };

export const dydx: Venue = {
  id: 'dydx',
  name: 'dYdX',
  docs: 'https://docs.dydx.xyz',
  endpoints: ENDPOINTS,
  // The indexer closes what subscribes to one channel of one market more than twice a second (dydxprotocol/v4-chain@02d669f1,
  // `indexer/services/socks/src/lib/subscription.ts`); it asks its own database for each. REST: 100 requests in 10 s.
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 6,
    restWeightPerMinute: 600,
    connectionsPerMinute: 30,
  },
  layers: {
    ticker: NOT_PUBLISHED,
    mark: ON_CHANGE,
    funding: ON_CHANGE,
    oi: ON_CHANGE,
    book: ON_CHANGE,
    stats: ON_CHANGE,
    venue_depth: ON_CHANGE,
    trades: ON_CHANGE,
    // A mark of each trade that filled one; what was deleveraged met no order and is no trade.
    liquidation: { ...ON_CHANGE, completeness: 'full' },
    candles: ON_CHANGE,
  },
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/v4/perpetualMarkets`, weight: 1 }],
  referenceEveryMs: 300_000,
  mapReference,
  plan: planDydx,
  classify: (text) => {
    switch (/"type":"(\w+)"/.exec(text.slice(0, 200))?.[1]) {
      case 'connected':
      case 'unsubscribed':
        return 'ack';
      case 'pong':
        return 'heartbeat';
      case 'error':
        return 'error';
      default:
        return 'data';
    }
  },
  sequence: readChain,
  bookRule,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  newestMinute: readNewestMinute,
  candles: candlesRequest,
  askedMinutes,
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (_state, message) => mapMessage(message),
};
