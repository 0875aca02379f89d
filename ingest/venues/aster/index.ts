// Aster perpetuals. https://docs.asterdex.com/product/aster-perpetuals/api, checked 2026-11-21.
//
// A dialect of Binance's USD-M: the same frames, answers and chain of book messages, on one socket path. Open interest and candles of mark and
// index prices are published by REST and symbol by symbol only.
import { makeBinanceDialect } from '../binance/dialect.ts';
import { planAster, STREAMS_PER_CONNECTION } from './plan.ts';

export const aster = makeBinanceDialect({
  id: 'aster',
  name: 'Aster',
  docs: 'https://docs.asterdex.com/product/aster-perpetuals/api',
  endpoints: { rest: 'https://fapi.asterdex.com', ws: 'wss://fstream.asterdex.com/ws' },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 5,
    restWeightPerMinute: 2_400,
    connectionsPerMinute: 60,
  },
  toRestBases: ({ rest }) => [`${rest}/fapi/v3`],
  toRestBase: (_venueSymbol, { rest }) => `${rest}/fapi/v3`,
  confirmationWeight: null,
  plan: planAster,
  impliedQuantity: () => ({ venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }),
});
