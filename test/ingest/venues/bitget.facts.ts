// Bitget for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTCUSDT', 'BTCPERP', 'BTCUSD', 'BTCUSD_CM'],
  dated: [
    ['BTCUSDT', 'BTCUSDTZ24'],
    ['BTCUSD_CM', 'BTCCMZ26'],
  ],
  noCandles: { code: '00000', requestTime: 1695865615662, data: [] },
  elements: { paths: ['data.*'], name: 'symbol' },
  needed: ['symbol', 'baseCoin', 'quoteCoin', 'code'],
  deciding: ['type', 'symbolStatus'],
  unknownChannel: { channel: 'nosuch', topic: 'nosuch' },
  side: { members: ['side', 'S', '3'], isBuy: (word) => word === 'buy' || word === 'Buy' },
  streams: ({ args }) => args as object[],
  candle: {
    volume: 'volume',
    frame: ({ openMs, prices, volume }) => ({
      action: 'update',
      arg: { instType: 'usdt-futures', topic: 'kline', symbol: 'AUSDT', interval: '1m' },
      data: [{ start: `${openMs}`, ...prices, ...volume }],
      ts: openMs,
    }),
  },
  refusals: {
    frames: ['{"event":"error","arg":{"instType":"x","topic":"y"},"code":30001,"msg":"channel does not exist"}'],
    answers: [
      ['/api/v3/market/tickers', '{"code":"40034","msg":"Parameter x does not exist","requestTime":1,"data":null}'],
    ],
    listings: [['/api/v3/market/instruments?category=USDT-FUTURES', '{"code":"40034","msg":"x","data":null}']],
  },
};
