// A row without a stamp of its own has that of its message: the first of those there are (records.md).
import t from 'tap';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { gate } from '../../../ingest/venues/gate/index.ts';
import { mexc } from '../../../ingest/venues/mexc/index.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const SENT = 1_700_000_000_500;
const OWN = 1_700_000_000_123;

type Case = readonly [venue: Venue, layer: string, name: string, toMessage: (row: object) => object, row: object];

const CASES: readonly Case[] = [
  [
    bybit,
    'trade',
    'T',
    (row) => ({ topic: 'publicTrade.AUSDT', type: 'snapshot', ts: SENT, data: [row] }),
    { s: 'AUSDT', S: 'Buy', v: '1', p: '2', i: 'x' },
  ],
  [
    bybit,
    'liquidation',
    'T',
    (row) => ({ topic: 'allLiquidation.AUSDT', type: 'snapshot', ts: SENT, data: [row] }),
    { s: 'AUSDT', S: 'Buy', v: '1', p: '2' },
  ],
  [
    bybit,
    'liquidation',
    'updatedTime',
    (row) => ({ topic: 'liquidation.AUSDT', type: 'snapshot', ts: SENT, data: row }),
    { symbol: 'AUSDT', side: 'Sell', size: '1', price: '2' },
  ],
  [
    bitget,
    'trade',
    'T',
    (row) => ({
      action: 'update',
      arg: { instType: 'usdt-futures', topic: 'publicTrade', symbol: 'AUSDT' },
      data: [row],
      ts: SENT,
    }),
    { i: '1', S: 'buy', v: '1', p: '2' },
  ],
  [
    bitget,
    'liquidation',
    'ts',
    (row) => ({ action: 'update', arg: { instType: 'usdt-futures', topic: 'liquidation' }, data: [row], ts: SENT }),
    { symbol: 'AUSDT', side: 'buy', amount: '1', price: '2' },
  ],
  [
    gate,
    'trade',
    'create_time_ms',
    (row) => ({ channel: 'futures.trades', event: 'update', time_ms: SENT, result: [row] }),
    { contract: 'A_USDT', id: 1, size: 1, price: '2' },
  ],
  [
    gate,
    'liquidation',
    'time',
    (row) => ({ channel: 'futures.public_liquidates', event: 'update', time_ms: SENT, result: [row] }),
    { contract: 'A_USDT', size: 1, price: '2' },
  ],
  [
    mexc,
    'trade',
    't',
    (row) => ({ channel: 'push.deal', symbol: 'A_USDT', ts: SENT, data: [row] }),
    { p: 2, v: 1, T: 1, O: 1, M: 1 },
  ],
];

t.test('the row has its own stamp, else that of its message', (t) => {
  for (const [venue, layer, name, toMessage, row] of CASES) {
    const { frame, map } = venueBench(venue);
    for (const [stamp, at] of [
      [OWN, OWN],
      [undefined, SENT],
      [null, SENT],
      ['', SENT],
    ] as const) {
      const [record] = map(frame(toMessage({ ...row, [name]: stamp })));
      t.match(record, { layer, venue_ts: at * 1_000 }, `${venue.id} ${layer}: ${name} ${JSON.stringify(stamp)}`);
    }
  }
  t.end();
});

t.test('so has what is of now: a book that was requested, statistics of a contract', (t) => {
  for (const absent of [undefined, null, '']) {
    const [book] = venueBench(bybit).map(
      venueBench(bybit).answer('GET https://api.bybit.com/v5/market/orderbook?category=linear&symbol=AUSDT', {
        ...{ retCode: 0, time: SENT },
        result: { s: 'AUSDT', b: [['1', '2']], a: [['3', '4']], u: 7, ts: absent },
      }),
    );
    t.match(book, { layer: 'book', venue_ts: SENT * 1_000 }, 'bybit book');
    const statistics = venueBench(gate).map(
      venueBench(gate).frame({
        ...{ channel: 'futures.contract_stats', event: 'update', time_ms: SENT },
        result: [{ contract: 'A_USDT', mark_price: 1.5, open_interest: 7, time: absent }],
      }),
    );
    t.match(statistics, [
      { layer: 'mark', venue_ts: SENT * 1_000 },
      { layer: 'oi', venue_ts: SENT * 1_000 },
    ]);
  }
  t.end();
});
