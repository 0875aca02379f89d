// BitMEX's liquidity pools, since 2026: books and bins are those of both pools or of the public one, trades those of every pool.
import t from 'tap';
import { bitmex as venue } from '../../../ingest/venues/bitmex/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { map, mapLine, frame, answer, record } = venueBench(venue);
const LIVE = 'senken-2026-09.ndjson';

/** In the venue's order of members; the filter names the pool first. */
const toFrame = (table: string, action: string, pool: string, rows: readonly object[]): VenueMessage =>
  frame({ table, action, keys: [], filter: { pool, symbol: 'XBTUSD' }, data: rows.map((row) => ({ ...row, pool })) });

t.test('live messages with pools', (t) => {
  const book = {
    kind: 'snapshot',
    bids: [
      ['77556.2', '519600'],
      ['77549.4', '74900'],
      ['77547.8', '124800'],
      ['77545.3', '314700'],
      ['77523.7', '372800'],
    ],
    asks: [
      ['77576.3', '519700'],
      ['77584.1', '74900'],
      ['77585.6', '124900'],
      ['77587.9', '314800'],
      ['77611', '97300'],
    ],
    sequence: null,
  };
  t.same(mapLine(LIVE, 1), [record('book', 'XBTUSD', [Date.UTC(2026, 8, 2, 7, 0, 52, 301), null], book)]);
  for (const line of [2, 3, 4, 5, 6]) t.same(mapLine(LIVE, line), [], `line ${line}`);
  t.end();
});

t.test('an empty book is found though its filter names the pool first', (t) => {
  const empty = toFrame('orderBookL2', 'partial', 'Aggregated', []);
  t.match(map(empty), [{ venue_symbol: 'XBTUSD', values: { kind: 'snapshot', bids: [], asks: [] } }]);
  t.match(venue.sequence(empty.payload.toString()), { symbol: 'XBTUSD', kind: 'snapshot' });
  t.end();
});

const LEVEL = { symbol: 'XBTUSD', id: 234027001384, side: 'Sell', size: 519700, price: 77576.3 };
const TOP = { symbol: 'XBTUSD', bids: [[77556.2, 519600]], asks: [[77576.3, 519700]] };
const BIN = {
  ...{ timestamp: '2026-09-02T07:01:00.000Z', symbol: 'XBTUSD', open: 1, high: 1, low: 1, close: 1 },
  ...{ trades: 1, volume: 100, foreignNotional: 100 },
};

t.test('the other pool has another book and other bins, which give nothing', (t) => {
  const other = { symbol: 'XBTUSD', id: 234027001384, side: 'Sell', size: 7 };
  const state = {};
  const give = (message: VenueMessage): unknown[] =>
    venue.map(state, message, { listings: new Map() }).map(({ record: { values } }) => values);
  t.match(give(toFrame('orderBookL2', 'partial', 'Aggregated', [LEVEL])), [{ asks: [['77576.3', '519700']] }]);
  for (const action of ['insert', 'update', 'delete', 'partial'])
    t.same(give(toFrame('orderBookL2', action, 'Secondary', [{ ...other, price: 99 }])), [], action);
  t.same(give(toFrame('orderBookL2', 'partial', 'Secondary', [])), [], 'an empty one');
  t.match(
    give(toFrame('orderBookL2', 'update', 'Aggregated', [other])),
    [{ kind: 'update', asks: [['77576.3', '7']] }],
    'the book goes on at its own prices',
  );
  t.equal(venue.sequence(toFrame('orderBookL2', 'update', 'Secondary', [other]).payload.toString()), null);
  for (const [table, row] of [
    ['orderBook10', TOP],
    ['tradeBin1m', BIN],
  ] as const) {
    t.same(give(toFrame(table, 'insert', 'Secondary', [row])), [], table);
    for (const pool of ['Aggregated', 'Primary', ''])
      t.equal(give(toFrame(table, 'insert', pool, [row])).length, 1, `${table} ${pool}`);
  }
  const url = 'GET https://www.bitmex.com/api/v1';
  t.same(map(answer(`${url}/orderBook/L2?symbol=XBTUSD&pool=Secondary`, [{ ...LEVEL, pool: 'Secondary' }])), []);
  t.same(map(answer(`${url}/trade/bucketed?symbol=XBTUSD&binSize=1m`, [{ ...BIN, pool: 'Secondary' }])), []);
  t.end();
});

t.test('a trade in either pool is a trade of the contract', (t) => {
  const row = { timestamp: '2026-09-02T07:34:37.309Z', symbol: 'XBTUSD', side: 'Buy', size: 8000, price: 77454.5 };
  for (const pool of ['Primary', 'Secondary'])
    t.match(map(toFrame('trade', 'insert', pool, [row])), [{ layer: 'trade', values: { quantity: '8000' } }], pool);
  t.end();
});
