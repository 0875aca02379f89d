// Bybit for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTCUSDT', 'BTCUSD'],
  dated: [
    ['BTCUSDT', 'BTCUSDT-27DEC24'],
    ['BTCUSD', 'BTCUSDZ24'],
  ],
  noCandles: { retCode: 0, result: { symbol: 'BTCUSDT', list: [] }, time: 1 },
  elements: { paths: ['result.list.*'], name: 'symbol' },
  needed: ['symbol', 'baseCoin', 'quoteCoin', 'category'],
  deciding: ['contractType', 'status'],
  unknownChannel: { topic: 'nosuch.BTCUSDT' },
  side: { members: ['S', 'side'], isBuy: (word) => word === 'Buy' },
  streams: ({ args }) => args as string[],
  candle: {
    volume: 'volume',
    frame: ({ openMs, prices, volume }) => ({
      topic: 'kline.1.AUSDT',
      type: 'snapshot',
      ts: openMs,
      data: [{ start: openMs, interval: '1', ...prices, confirm: true, timestamp: openMs, ...volume }],
    }),
  },
  refusals: {
    frames: ['{"success":false,"ret_msg":"error:handler not found,topic:tickers.X","conn_id":"c","op":"subscribe"}'],
    answers: [['/v5/market/tickers', '{"retCode":10001,"retMsg":"params error","result":{},"retExtInfo":{},"time":1}']],
    listings: [
      ['/v5/market/instruments-info?category=linear', '{"retCode":10006,"retMsg":"Too many visits!","result":{}}'],
    ],
  },
};
