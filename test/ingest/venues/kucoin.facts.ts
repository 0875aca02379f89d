// KuCoin for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['XBTUSDTM'],
  dated: [['XBTUSDTM', 'XBTMZ24']],
  noCandles: { code: '200000', data: [] },
  elements: { paths: ['data.*', 'data'], name: 'symbol' },
  needed: ['symbol', 'baseCurrency', 'quoteCurrency', 'isInverse', 'code'],
  deciding: ['type', 'status'],
  unknownChannel: { topic: '/contractMarket/nosuch:XBTUSDTM' },
  side: { members: ['side'], isBuy: (word) => word === 'buy' },
  streams: ({ topic }) => [topic],
  candle: {
    volume: 'volume',
    frame: ({ openMs, volume: { volume } }) => ({
      topic: '/contractMarket/limitCandle:XBTUSDTM_1min',
      subject: 'candle.stick',
      data: {
        symbol: 'XBTUSDTM',
        candles: [`${openMs / 1_000}`, '61', '62', '63', '60', '7', ...(volume === undefined ? [] : [volume])],
      },
    }),
  },
  refusals: {
    frames: ['{"id":"1","type":"error","code":404,"data":"topic /contractMarket/x is not found"}'],
    answers: [['/api/v1/level2/snapshot', '{"code":"100001","msg":"symbol invalid"}']],
    listings: [['/api/v1/contracts/active', '{"code":"429000","msg":"too many requests"}']],
  },
};
