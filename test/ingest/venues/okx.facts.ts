// OKX for tests of the whole registry (test/support/venues/venue-facts.ts).
import type { VenueFacts } from '../../support/venues/venue-facts.ts';

export const facts: VenueFacts = {
  symbols: ['BTC-USDT-SWAP'],
  dated: [['BTC-USDT-SWAP', 'BTC-USDT-241227']],
  noCandles: { code: '0', msg: '', data: [] },
  elements: { paths: ['data.*'], name: 'instId' },
  needed: ['instId', 'code'],
  deciding: ['instType', 'ctType', 'state'],
  unknownChannel: { channel: 'nosuch' },
  side: { members: ['side'], isBuy: (word) => word === 'buy' },
  streams: ({ args }) => args as object[],
  candle: {
    volume: 'vol',
    frame: ({ openMs, volume: { vol } }) => ({
      arg: { channel: 'candle1m', instId: 'BTC-USDT-SWAP' },
      data: [[`${openMs}`, '61', '63', '60', '62', ...(vol === undefined ? [] : [vol])]],
    }),
  },
  refusals: {
    frames: [
      '{"event":"error","code":"60018","msg":"Wrong URL or channel:x,instId:y does not exist","connId":"c"}',
      '{"event":"channel-conn-count-error","channel":"books","connCount":"31","connId":"c"}',
    ],
    answers: [['/api/v5/market/books', '{"code":"51001","msg":"Instrument ID does not exist","data":[]}']],
    listings: [['/api/v5/public/instruments?instType=SWAP', '{"code":"50011","msg":"Too Many Requests","data":[]}']],
  },
};
