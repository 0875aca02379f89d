// KuCoin for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['XBTUSDTM'],
  dated: [['XBTUSDTM', 'XBTMZ24']],
  noCandles: { code: '200000', data: [] },
  elements: { paths: ['data.*', 'data'], name: 'symbol' },
  deciding: ['type', 'status'],
  unknownChannel: { topic: '/contractMarket/nosuch:XBTUSDTM' },
  side: { members: ['side'] },
  streams: ({ topic }) => [topic],
};
