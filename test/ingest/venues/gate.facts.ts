// Gate for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

/** As many as the collector asks for in one request: the venue repeats the request before the refusal. */
const CONTRACTS = Array.from({ length: 50 }, (_, i) => `CONTRACT${i}_USDT`);

export const facts: VenueFacts = {
  symbols: ['BTC_USDT', 'BTC_USD'],
  dated: [['BTC_USDT', 'BTC_USDT_20241227']],
  noCandles: [],
  elements: { paths: ['*', ''], name: 'name' },
  needed: ['name'],
  deciding: ['status'],
  unknownChannel: { channel: 'futures.nosuch' },
  /** The sign of the size is the side. */
  side: { members: ['size'], isBuy: (size) => !String(size).startsWith('-'), none: ['0', 0] },
  arithmetic: { percent: true, signed: true },
  streams: ({ channel, payload }) => [`${channel} ${payload}`],
  edited: ['jkorf-ws-examples.ndjson'],
  candle: {
    volume: 'v',
    frame: ({ openMs, letters, volume }) => ({
      time: openMs / 1_000,
      channel: 'futures.candlesticks',
      event: 'update',
      result: [{ t: openMs / 1_000, n: '1m_BTC_USDT', ...letters, ...volume }],
    }),
  },
  refusals: {
    frames: [
      '{"time":1,"channel":"futures.tickers","event":"subscribe","error":{"code":2,"message":"unknown contract X"}}',
      JSON.stringify({
        time: 1_789_456_896,
        time_ms: 1_789_456_896_882,
        conn_id: 'bf37dda1698c8b1e',
        trace_id: '8d22020b2227c599fc38c061b09df478',
        channel: 'futures.tickers',
        event: 'subscribe',
        payload: CONTRACTS,
        error: { code: 2, message: 'unknown currency pair: CONTRACT7_USDT' },
        result: { status: 'fail' },
      }),
    ],
    answers: [['/api/v4/futures/usdt/order_book', '{"label":"CONTRACT_NOT_FOUND"}']],
    listings: ['contracts', 'contracts/BTC_USDT'].map((name) => [
      `/api/v4/futures/usdt/${name}`,
      '{"label":"TOO_MANY_REQUESTS","message":"Request Rate limit Exceeded"}',
    ]),
  },
};
