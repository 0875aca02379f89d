// Hyperliquid for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC', 'xyz:GOLD'],
  noCandles: [],
  elements: { paths: ['universe.*', '*.universe.*'], name: 'name' },
  /** Universes hold perpetuals only, and flags instead of enumerations. */
  deciding: [],
  unknownChannel: { channel: 'nosuch' },
  side: { members: ['side'] },
  streams: ({ subscription }) => [subscription],
};
