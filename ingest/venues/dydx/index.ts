// dYdX v4 perpetuals, from its indexer. https://docs.dydx.xyz, checked 2026-11-21.
//
// One channel carries oracle price, funding, open interest and turnover of every market; a book has a channel for each market. Positions are
// margined at the oracle price: it is the mark, and there is no separate index. Most messages have no venue stamp. Books have no sequence, and
// really cross, because validators see orders at different moments; a crossed book is not served (L-03).
import type { Venue } from '../contract/venue.ts';
import { UNNUMBERED_STREAM } from '../shared/book-rules.ts';
import { ALL_ON_CHANGE, NOT_PUBLISHED, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage, readChain, readNewestMinute, readSubscription } from './messages.ts';
import { askedMinutes, planDydx, STREAMS_PER_CONNECTION, toCandlesRequest, toRenewal } from './plan.ts';

export const dydx: Venue = {
  id: 'dydx',
  name: 'dYdX',
  docs: 'https://docs.dydx.xyz',
  endpoints: { rest: 'https://indexer.dydx.trade', ws: 'wss://indexer.dydx.trade/v4/ws' },
  // The indexer closes a connection that subscribes to one channel of one market more than twice a second (dydxprotocol/v4-chain@02d669f1,
  // `indexer/services/socks/src/lib/subscription.ts`); it queries its own database for each. REST: 100 requests in 10 s.
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 6,
    restWeightPerMinute: 600,
    connectionsPerMinute: 30,
  },
  layers: {
    ...ALL_ON_CHANGE,
    ticker: NOT_PUBLISHED,
    // The venue marks each trade that filled a liquidation; a deleveraging matched no order and is no trade.
    liquidation: { ...ON_CHANGE, completeness: 'full' },
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
  bookRule: UNNUMBERED_STREAM,
  subscriptionOf: readSubscription,
  renew: toRenewal,
  newestMinute: readNewestMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
  map: (_state, message) => mapMessage(message),
};
