// HTX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-USDT', 'BTC-USD'],
  dated: [['BTC-USDT', 'BTC-USDT-241227']],
  noCandles: { ch: 'market.BTC-USDT.kline.1min', data: [], status: 'ok', ts: 1 },
  elements: { paths: ['data.*'], name: 'contract_code' },
  deciding: ['contract_status'],
  unknownChannel: { ch: 'market.BTC-USDT.nosuch', topic: 'public.*.nosuch' },
  side: { members: ['direction'] },
  streams: ({ sub, topic = sub }) => [topic],
};
