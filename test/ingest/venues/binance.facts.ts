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
  deciding: ['contractType', 'status'],
  unknownChannel: { e: 'noSuchEvent' },
  side: { members: ['m', 'isBuyerMaker'] },
  arithmetic: { percent: true },
  streams: ({ params }) => params as string[],
};
