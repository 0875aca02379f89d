// The bytes that a table is judged by are those of its body, whatever its rows look like (N-15, H-08).
import t from 'tap';
import { type RowFormat, writeRows } from '../../../api/data-app/row-formats.ts';
import type { RowGroup } from '../../../api/history/row-groups.ts';
import { makeFigure } from '../../../schemas/json.ts';

const head = (symbol: string): RowGroup['head'] => ({
  venue: 'binance',
  venue_symbol: symbol,
  instrument: 'BTC-PERP',
  quote: 'USDT',
  units: { 'a,"b"': 'base', mark: 'quote' },
});

/** Columns that come late, a quoted name and cell, letters of several bytes, rows that lack what others have. */
const GROUPS: readonly RowGroup[] = [
  {
    head: head('BTCUSDT'),
    rows: [{ status: 'missing' }, { status: 'present', values: { mark: makeFigure('97003.5') } }],
  },
  { head: head('"Ä",1'), rows: [{}, { status: 'stale', withheld: { values: { 'a,"b"': 'ö\r\n' } }, late: true }] },
  {
    head: head('ETHUSDT'),
    rows: Array.from({ length: 600 }, (_, index) => ({ status: 'present', values: { [`v${index % 40}`]: index } })),
  },
];
const CASES: readonly (readonly RowGroup[])[] = [GROUPS, GROUPS.slice(0, 1), GROUPS.slice(1, 2), GROUPS.toReversed()];

for (const format of ['ndjson', 'csv', 'parquet'] satisfies RowFormat[]) {
  t.test(`${format} is judged by all bytes of its body`, async (t) => {
    for (const groups of CASES) {
      const judged: number[] = [];
      const onBytes = (bytes: number): void => void judged.push(bytes);
      const body = await writeRows({
        format,
        columns: ['venue', 'late', 'x'],
        groups,
        numberFormat: 'json',
        metadata: {},
        onBytes,
      });
      t.equal(judged.at(-1), body.length);
      t.same(
        judged,
        judged.toSorted((a, b) => a - b),
        'rows only add bytes',
      );
    }
  });
}
