// dYdX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-USD', 'BUFFI,uniswap_v3-USD'],
  dated: [],
  noCandles: { candles: [] },
  elements: { paths: ['markets.*'], name: 'ticker' },
  needed: ['ticker'],
  deciding: ['status'],
  unknownChannel: { channel: 'v4_nosuch' },
  side: { members: ['side'], isBuy: (word) => word === 'BUY' },
  streams: ({ channel, id = '' }) => [`${channel} ${id}`],
  listingsFrame: {
    answer: /^\{"type":"subscribed".*"channel":"v4_markets","contents":(\{.*\})\}$/,
    request: 'GET https://indexer.dydx.trade/v4/perpetualMarkets',
  },
  unnumbered: true,
  candle: {
    volume: 'baseTokenVolume',
    frame: ({ openMs, prices, volume }) => ({
      type: 'channel_data',
      channel: 'v4_candles',
      id: 'BTC-USD/1MIN',
      contents: {
        startedAt: new Date(openMs).toISOString(),
        ticker: 'BTC-USD',
        resolution: '1MIN',
        ...prices,
        ...volume,
      },
    }),
  },
  refusals: {
    frames: ['{"type":"error","message":"Invalid subscription id for channel","connection_id":"c","message_id":1}'],
  },
};
