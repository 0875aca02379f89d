// MEXC for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC_USDT'],
  dated: [['BTC_USDT', 'BTC_USDT_241227']],
  noCandles: { success: true, code: 0, data: { time: [], open: [], close: [], high: [], low: [], vol: [] } },
  elements: { paths: ['data.*', 'data'], name: 'symbol' },
  deciding: ['futureType', 'state'],
  unknownChannel: { channel: 'push.nosuch' },
  side: { members: ['T'] },
  streams: ({ method, param }) => [`${method} ${JSON.stringify(param)}`],
};
