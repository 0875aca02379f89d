// BitMEX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['XBTUSD'],
  dated: [['XBTUSD', 'XBTZ24']],
  noCandles: [],
  elements: { paths: ['*'], name: 'symbol' },
  deciding: ['typ', 'state'],
  unknownChannel: { table: 'nosuch' },
  side: { members: ['side'] },
  arithmetic: { removals: true },
  streams: ({ args }) => args as string[],
};
