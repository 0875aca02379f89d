// OKX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-USDT-SWAP'],
  dated: [['BTC-USDT-SWAP', 'BTC-USDT-241227']],
  noCandles: { code: '0', msg: '', data: [] },
  elements: { paths: ['data.*'], name: 'instId' },
  deciding: ['instType', 'ctType', 'state'],
  unknownChannel: { channel: 'nosuch' },
  side: { members: ['side'] },
  streams: ({ args }) => args as object[],
};
