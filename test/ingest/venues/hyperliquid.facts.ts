// Hyperliquid for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC', 'xyz:GOLD'],
  dated: [],
  noCandles: [],
  elements: { paths: ['universe.*', '*.universe.*'], name: 'name' },
  /** Universes hold perpetuals only, and flags instead of enumerations. */
  needed: ['name', 'szDecimals'],
  deciding: [],
  unknownChannel: { channel: 'nosuch' },
  side: { members: ['side'], isBuy: (word) => word === 'B' },
  streams: ({ subscription }) => [subscription],
  unnumbered: true,
  candle: {
    volume: 'v',
    frame: ({ openMs, letters, volume }) => ({
      channel: 'candle',
      data: { t: openMs, s: 'BTC', i: '1m', ...letters, ...volume },
    }),
  },
  refusals: { frames: ['{"channel":"error","data":"Invalid subscription"}'] },
};
