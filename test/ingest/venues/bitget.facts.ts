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
  deciding: ['type', 'symbolStatus'],
  unknownChannel: { channel: 'nosuch', topic: 'nosuch' },
  side: { members: ['side', 'S', '3'] },
  streams: ({ args }) => args as object[],
};
