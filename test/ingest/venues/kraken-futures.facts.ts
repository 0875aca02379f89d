// Kraken Futures for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['PF_XBTUSD'],
  dated: [
    ['PI_XBTUSD', 'FI_XBTUSD_241227'],
    ['PF_XBTUSD', 'FF_XBTUSD_241227'],
  ],
  noCandles: { candles: [], more_candles: false },
  elements: { paths: ['instruments.*'], name: 'symbol' },
  /** The prefix of a symbol is its kind; states are flags. */
  needed: ['symbol'],
  deciding: [],
  unknownChannel: { feed: 'nosuch' },
  side: { members: ['side', 'direction'], isBuy: (word) => word === 'buy' },
  /** A size below zero is one the venue ran out of: nothing rests there. */
  arithmetic: { percent: true, removals: true },
  streams: ({ feed, product_ids }) => (product_ids as string[]).map((symbol) => `${feed} ${symbol}`),
  edited: ['nautilus-rest-singles.ndjson'],
  candle: {
    volume: 'volume',
    frame: ({ openMs, prices, volume }) => ({
      feed: 'candles_trade_1m',
      product_id: 'PF_XBTUSD',
      candle: { time: openMs, ...prices, ...volume },
    }),
  },
  refusals: {
    frames: [
      '{"event":"alert","message":"Bad websocket message"}',
      '{"event":"error","message":"Invalid product id"}',
      '{"event":"subscribed_failed","feed":"book","product_ids":["PF_X"]}',
    ],
    answers: [['/derivatives/api/v3/tickers', '{"result":"error","error":"apiLimitExceeded"}']],
    listings: [['/derivatives/api/v3/instruments', '{"result":"error","error":"apiLimitExceeded"}']],
  },
};
