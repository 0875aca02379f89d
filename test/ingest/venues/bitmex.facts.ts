// BitMEX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

/** As many as the collector asks for in one request: the venue repeats the request before the refusal. */
const CONTRACTS = Array.from({ length: 50 }, (_, i) => `CONTRACT${i}_USDT`);

export const facts: VenueFacts = {
  symbols: ['XBTUSD'],
  dated: [['XBTUSD', 'XBTZ24']],
  noCandles: [],
  elements: { paths: ['*'], name: 'symbol' },
  needed: ['symbol', 'underlying', 'quoteCurrency'],
  deciding: ['typ', 'state'],
  unknownChannel: { table: 'nosuch' },
  side: { members: ['side'], isBuy: (word) => word === 'Buy' },
  arithmetic: { removals: true },
  streams: ({ args }) => args as string[],
  unnumbered: true,
  edited: ['tardis-tests-bitmex.ndjson'],
  candle: {
    volume: 'volume',
    frame: ({ openMs, prices, volume }) => ({
      table: 'tradeBin1m',
      action: 'insert',
      data: [{ timestamp: new Date(openMs + 60_000).toISOString(), symbol: 'XBTUSD', ...prices, ...volume }],
    }),
  },
  refusals: {
    frames: [
      '{"status":400,"error":"Unknown table: x","meta":{},"request":{}}',
      JSON.stringify({
        status: 400,
        error: 'Unknown table: x',
        meta: {},
        request: { op: 'subscribe', args: CONTRACTS },
      }),
    ],
    answers: [['/api/v1/trade/bucketed', '{"error":{"message":"Invalid symbol","name":"HTTPError"}}']],
    listings: [['/api/v1/instrument/active', '{"error":{"message":"Rate limit exceeded","name":"RateLimitError"}}']],
  },
};
