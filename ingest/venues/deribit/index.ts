// Deribit perpetuals, inverse in USD and linear in USDC or USDT. https://docs.deribit.com, checked 2026-11-21.
//
// JSON-RPC over one socket: a ticker has price, mark, index, funding, open interest and the day's figures; options, dated futures and combos
// share the channels and are never mapped. Inverse instruments count amounts of USD, linear ones of base. Figures are JSON numbers.
import type { Venue } from '../contract/venue.ts';
import type { BookRule } from '../shared/book-sync.ts';
import { ALL_ON_CHANGE, ON_CHANGE } from '../shared/deliveries.ts';
import { mapReference } from './listings.ts';
import { mapMessage, readChain, readChannel, readNewestMinute } from './messages.ts';
import {
  askedMinutes,
  planDeribit,
  STREAMS_PER_CONNECTION,
  toCall,
  toCandlesRequest,
  toConfirmRequest,
  toRenewal,
} from './plan.ts';
import { isLinear, toQuantityUnit } from './symbols.ts';

/** The subscription sends the whole book; each change names the change before it. Only a new subscription of that book repairs a gap. */
const bookRule: BookRule = {
  style: 'stream',
  bufferLimit: 0,
  continues: ({ last }, next) => {
    if (next.previous === last) return 'apply';
    // A repeat is skipped; any other id is a gap, or a restarted numbering.
    return next.last === last ? 'skip' : 'break';
  },
};

export const deribit: Venue = {
  id: 'deribit',
  name: 'Deribit',
  docs: 'https://docs.deribit.com',
  endpoints: { rest: 'https://www.deribit.com/api/v2', ws: 'wss://streams.deribit.com/ws/api/v2' },
  // 10,000 credits a second, 500 a request; a subscribe request costs 3,000.
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 3,
    restWeightPerMinute: 600,
    connectionsPerMinute: 30,
  },
  layers: {
    ...ALL_ON_CHANGE,
    // The venue marks each trade that filled a liquidation.
    liquidation: { ...ON_CHANGE, completeness: 'full' },
  },
  reference: (endpoints) => [
    {
      method: 'GET',
      url: `${endpoints.rest}/public/get_instruments?currency=any&kind=future&expired=false`,
      weight: 60,
    },
  ],
  referenceEveryMs: 300_000,
  mapReference,
  plan: planDeribit,
  classify: (text) => {
    const head = text.slice(0, 200);
    if (head.includes('"method":"subscription"')) return 'data';
    if (head.includes('"method":"heartbeat"')) return 'heartbeat';
    return /"error":\{/.test(head) ? 'error' : 'ack';
  },
  replyTo: (text) => (text.length < 400 && text.includes('"test_request"') ? toCall(0, 'public/test', {}) : null),
  sequence: readChain,
  bookRule,
  subscriptionOf: readChannel,
  renew: toRenewal,
  confirm: toConfirmRequest,
  newestMinute: readNewestMinute,
  candles: toCandlesRequest,
  askedMinutes,
  impliedQuantity: (venueSymbol) => ({
    venue_kind: isLinear(venueSymbol) ? 'linear' : 'inverse',
    contract_size: '1',
    quantity_unit: toQuantityUnit(venueSymbol),
  }),
  map: (_state, message, context) => mapMessage(message, context),
};
