// Binance for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTCUSDT', 'BTCUSD_PERP'],
  dated: [
    ['BTCUSDT', 'BTCUSDT_241227'],
    ['BTCUSD_PERP', 'BTCUSD_241227'],
  ],
  noCandles: [],
  asksWithoutEnd: true,
  elements: { paths: ['symbols.*'], name: 'symbol' },
  needed: ['symbol', 'baseAsset', 'quoteAsset'],
  deciding: ['contractType', 'status'],
  unknownChannel: { e: 'noSuchEvent' },
  side: { members: ['m', 'isBuyerMaker'], isBuy: (word) => word === false },
  arithmetic: { percent: true },
  streams: ({ params }) => params as string[],
  edited: ['tardis-tests-binance-futures.ndjson', 'jkorf-rest-examples.ndjson', 'jkorf-ws-examples.ndjson'],
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
    frames: ['{"error":{"code":2,"msg":"Invalid request"},"id":1}', '{"code":-1121,"msg":"Invalid symbol."}'],
    answers: [['/fapi/v1/openInterest', '{"code":-1121,"msg":"Invalid symbol."}']],
    listings: ['/fapi/v1', '/dapi/v1'].flatMap((base) => [
      [`${base}/exchangeInfo`, '{"code":-1003,"msg":"Too many requests"}'] as const,
      [`${base}/fundingInfo`, '{"code":-1003,"msg":"Too many requests"}'] as const,
    ]),
  },
};
