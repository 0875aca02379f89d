// Binance USD-M and COIN-M perpetuals. https://developers.binance.com/docs/derivatives, checked 2026-11-21.
//
// USD-M sockets are split since 2026-04-23: books on /public, everything else on /market; the old path acknowledges and then stays silent.
// COIN-M has one path. Instruments with a delivery date (`BTCUSD_210924`) share the sockets of both and are never mapped.
import { makeBinanceDialect } from './dialect.ts';
import { planBinance, STREAMS_PER_CONNECTION, toRestBase } from './plan.ts';
import { toMarket, toQuantityUnit } from './symbols.ts';

export const binance = makeBinanceDialect({
  id: 'binance',
  name: 'Binance',
  docs: 'https://developers.binance.com/docs/derivatives',
  endpoints: {
    usdm_rest: 'https://fapi.binance.com',
    usdm_public_ws: 'wss://fstream.binance.com/public/ws',
    usdm_market_ws: 'wss://fstream.binance.com/market/ws',
    coinm_rest: 'https://dapi.binance.com',
    coinm_ws: 'wss://dstream.binance.com/ws',
  },
  limits: {
    streamsPerConnection: STREAMS_PER_CONNECTION,
    subscribePerSecond: 5,
    // For both markets together, since 2026-06-30.
    restWeightPerMinute: 2400,
    restWeightIsShared: true,
    // 300 attempts in five minutes for each address: after an outage all sockets reconnect at once.
    connectionsPerMinute: 150,
    connectionBurst: { most: 300, ms: 300_000 },
  },
  toRestBases: ({ usdm_rest, coinm_rest }) => [`${usdm_rest}/fapi/v1`, `${coinm_rest}/dapi/v1`],
  toRestBase: toRestBase,
  confirmationWeight: 2,
  plan: planBinance,
  impliedQuantity: (venueSymbol) => {
    const market = toMarket(venueSymbol);
    return {
      venue_kind: market === 'usdm' ? 'linear' : 'inverse',
      contract_size: market === 'usdm' ? '1' : null,
      quantity_unit: toQuantityUnit(venueSymbol),
    };
  },
});
