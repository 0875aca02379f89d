// Gate for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC_USDT', 'BTC_USD'],
  dated: [['BTC_USDT', 'BTC_USDT_20241227']],
  noCandles: [],
  elements: { paths: ['*', ''], name: 'name' },
  deciding: ['status'],
  unknownChannel: { channel: 'futures.nosuch' },
  /** The sign of the size is the side. */
  side: { members: ['size'], none: ['0', 0] },
  arithmetic: { percent: true, signed: true },
  streams: ({ channel, payload }) => [`${channel} ${payload}`],
};
