// HTX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-USDT', 'BTC-USD'],
  dated: [['BTC-USDT', 'BTC-USDT-241227']],
  noCandles: { ch: 'market.BTC-USDT.kline.1min', data: [], status: 'ok', ts: 1 },
  elements: { paths: ['data.*'], name: 'contract_code' },
  needed: ['contract_code'],
  deciding: ['contract_status'],
  unknownChannel: { ch: 'market.BTC-USDT.nosuch', topic: 'public.*.nosuch' },
  side: { members: ['direction'], isBuy: (word) => word === 'buy' },
  streams: ({ sub, topic = sub }) => [topic],
  edited: ['jkorf-rest-examples.ndjson'],
  candle: {
    volume: 'vol',
    frame: ({ openMs, prices, volume }) => ({
      ch: 'market.BTC-USDT.kline.1min',
      ts: openMs,
      tick: { id: openMs / 1_000, ...prices, ...volume },
    }),
  },
  refusals: {
    frames: [
      '{"status":"error","ts":1,"id":"1","err-code":"bad-request","err-msg":"invalid topic"}',
      '{"op":"sub","cid":"1","topic":"public.X.funding_rate","ts":1,"err-code":2011,"err-msg":"invalid topic"}',
      '{"op":"error","ts":1,"err-code":2005,"err-msg":"invalid request"}',
    ],
    answers: [
      ['/linear-swap-ex/market/depth', '{"status":"error","err-code":"bad-request","err-msg":"invalid","ts":1}'],
      ['/linear-swap-api/v1/swap_funding_rate', '{"status":"error","err_code":1332,"err_msg":"no contract","ts":1}'],
      ['/linear-swap-api/v3/swap_liquidation_orders', '{"code":1030,"msg":"Abnormal service","ts":1}'],
      ...['funding_rate', 'open_interest', 'liquidation_orders'].map(
        (name) => [`/v5/market/${name}`, '{"code":400,"message":"invalid request"}'] as const,
      ),
    ],
    listings: [['/linear-swap-api/v1/swap_contract_info', '{"status":"error","err_code":1332,"err_msg":"x","ts":1}']],
  },
};
