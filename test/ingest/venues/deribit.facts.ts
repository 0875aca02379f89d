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
  needed: ['instrument_name', 'base_currency', 'quote_currency', 'expiration_timestamp', 'tick_size'],
  deciding: ['kind', 'settlement_period', 'state'],
  unknownChannel: { channel: 'nosuch.BTC-PERPETUAL.100ms' },
  side: { members: ['direction'], isBuy: (word) => word === 'buy' },
  arithmetic: { percent: true, removals: true },
  streams: ({ params }) => (params as { channels?: string[] }).channels ?? [],
  candle: {
    volume: 'volume',
    frame: ({ openMs, prices, volume }) => ({
      method: 'subscription',
      params: { channel: 'chart.trades.BTC-PERPETUAL.1', data: { tick: openMs, ...prices, ...volume } },
    }),
  },
  refusals: {
    frames: ['{"jsonrpc":"2.0","id":5,"error":{"code":11050,"message":"bad_request"},"testnet":false}'],
    answers: [
      ['/api/v2/public/ticker', '{"jsonrpc":"2.0","error":{"message":"Invalid params","code":-32602},"usIn":1}'],
    ],
    listings: [
      ['/api/v2/public/get_instruments', '{"jsonrpc":"2.0","error":{"message":"Invalid params","code":-32602}}'],
    ],
  },
};
