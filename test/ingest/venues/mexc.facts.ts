// MEXC for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC_USDT'],
  dated: [['BTC_USDT', 'BTC_USDT_241227']],
  noCandles: { success: true, code: 0, data: { time: [], open: [], close: [], high: [], low: [], vol: [] } },
  elements: { paths: ['data.*', 'data'], name: 'symbol' },
  needed: ['symbol', 'baseCoin', 'quoteCoin', 'success'],
  deciding: ['futureType', 'state'],
  unknownChannel: { channel: 'push.nosuch' },
  side: { members: ['T'], isBuy: (word) => word === 1 },
  streams: ({ method, param }) => [`${method} ${JSON.stringify(param)}`],
  candle: {
    volume: 'q',
    frame: ({ openMs, letters, volume }) => ({
      channel: 'push.kline',
      symbol: 'BTC_USDT',
      ts: openMs,
      data: { symbol: 'BTC_USDT', interval: 'Min1', t: openMs / 1_000, ...letters, ...volume },
    }),
  },
  refusals: {
    frames: ['{"channel":"rs.error","data":"Contract [X_USDT] not exists","ts":1}'],
    answers: [['/api/v1/contract/depth/X', '{"success":false,"code":1001,"message":"Contract does not exist!"}']],
    listings: [['/api/v1/contract/detail', '{"success":false,"code":510,"message":"Requests are too frequent"}']],
  },
};
