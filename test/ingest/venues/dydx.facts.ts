// dYdX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-USD', 'BUFFI,uniswap_v3-USD'],
  noCandles: { candles: [] },
  elements: { paths: ['markets.*'], name: 'ticker' },
  deciding: ['status'],
  unknownChannel: { channel: 'v4_nosuch' },
  side: { members: ['side'] },
  streams: ({ channel, id = '' }) => [`${channel} ${id}`],
  listingsFrame: {
    answer: /^\{"type":"subscribed".*"channel":"v4_markets","contents":(\{.*\})\}$/,
    request: 'GET https://indexer.dydx.trade/v4/perpetualMarkets',
  },
};
