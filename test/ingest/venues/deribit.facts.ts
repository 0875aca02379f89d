// Deribit for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-PERPETUAL'],
  dated: [['BTC-PERPETUAL', 'BTC-27DEC24']],
  noCandles: {
    jsonrpc: '2.0',
    result: { status: 'no_data', ticks: [], open: [], high: [], low: [], close: [], volume: [], cost: [] },
  },
  elements: { paths: ['result.*'], name: 'instrument_name' },
  deciding: ['kind', 'settlement_period', 'state'],
  unknownChannel: { channel: 'nosuch.BTC-PERPETUAL.100ms' },
  side: { members: ['direction'] },
  arithmetic: { percent: true, removals: true },
  streams: ({ params }) => (params as { channels?: string[] }).channels ?? [],
};
