// Aster for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTCUSDT'],
  dated: [['BTCUSDT', 'BTCUSDT_241227']],
  noCandles: [],
  asksWithoutEnd: true,
  elements: { paths: ['symbols.*'], name: 'symbol' },
  needed: ['symbol', 'baseAsset', 'quoteAsset'],
  deciding: ['contractType', 'status'],
  unknownChannel: { e: 'noSuchEvent' },
  side: { members: ['m', 'isBuyerMaker'], isBuy: (word) => word === false },
  arithmetic: { percent: true },
  streams: ({ params }) => params as string[],
  edited: ['jkorf-rest-examples.ndjson', 'tardis-tests-aster-futures.ndjson'],
  candle: {
    volume: 'v',
    frame: ({ openMs, letters, volume }) => ({
      e: 'kline',
      E: openMs,
      s: 'AUSDT',
      k: { t: openMs, i: '1m', ...letters, x: true, ...volume },
    }),
  },
  refusals: {
    frames: ['{"error":{"code":2,"msg":"Invalid request"},"id":1}'],
    answers: [['/fapi/v3/depth', '{"code":-1121,"msg":"Invalid symbol."}']],
    listings: ['exchangeInfo', 'fundingInfo'].map((name) => [
      `/fapi/v3/${name}`,
      '{"code":-1003,"msg":"Too many requests"}',
    ]),
  },
};
