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
  deciding: ['contractType', 'status'],
  unknownChannel: { topic: 'nosuch.BTCUSDT' },
  side: { members: ['S', 'side'] },
  streams: ({ args }) => args as string[],
};
