// The anchored tables against AN-07 as it is written, and rows, partitions and the day root of the worked example (AN-11).
import { readFileSync } from 'node:fs';
import t from 'tap';
import {
  ANCHORED_TABLES,
  type AnchoredCell,
  type AnchoredTable,
  createRowWriter,
  formatPartitionLeaf,
  toPlace,
} from '../../schemas/anchored.ts';
import { formatCanonicalJson } from '../../schemas/canonical-json.ts';
import { hashLeaf } from '../../schemas/merkle/hash.ts';
import { createTree } from '../../schemas/merkle/tree.ts';
import { compareBytes } from '../../schemas/text-order.ts';
import { createLeafOrder } from '../support/days/leaf-order.ts';

const reading = 'window_end, window_start, status, gap_cause, received_at, venue_ts';
const event = 'received_at, gap_start, status, gap_cause, venue_ts, id';
const band = (b: string): string =>
  `depth_bid_${b}, depth_ask_${b}, depth_bid_value_${b}, depth_ask_value_${b}, levels_bid_${b}, levels_ask_${b}`;
/** AN-07, column for column. */
const LAW: Readonly<Record<string, string>> = {
  book_bands: `${reading}, mid, ${['10bps', '25bps', '50bps', '100bps'].map(band).join(', ')}, quantity_unit`,
  candles:
    'open_time, price_type, status, gap_cause, open, high, low, close, volume, volume_unit, turnover, trades, received_at',
  funding: `${reading}, funding, funding_interval_ms, next_funding_at`,
  liquidations: `${event}, side, price, price_kind, quantity, quantity_unit`,
  mark: `${reading}, mark, index`,
  open_interest: `${reading}, oi, oi_unit`,
  stats: `${reading}, volume_24h, volume_unit, turnover_24h, change_24h`,
  ticker: `${reading}, last`,
  trades: `${event}, side, price, quantity, quantity_unit`,
};

t.test('tables, columns and their order are those of AN-07', (t) => {
  const names = ANCHORED_TABLES.map(({ table }) => table);
  t.same(names, Object.keys(LAW), 'every table');
  t.same(names, [...names].sort(compareBytes), 'in the order of the day tree');
  for (const { table, columns } of ANCHORED_TABLES) {
    const expected = ['segment', 'symbol', ...(LAW[table] ?? '').split(', '), 'seq', 'late'];
    t.same(
      columns.map(({ name }) => name),
      expected,
      table,
    );
  }
  t.end();
});

type Example = {
  day: string;
  day_root: string;
  partitions: {
    table: string;
    rows: number;
    root: string;
    leaf_text: string;
    leaf_hash: string;
    rows_detail: { row: Record<string, AnchoredCell>; canonical: string; leaf_hash: string }[];
  }[];
};
const EXAMPLE = JSON.parse(
  readFileSync(new URL('../fixtures/merkle/day-tree-example.json', import.meta.url), 'utf8'),
) as Example;

const computeRoot = (leaves: readonly Buffer[]): string | undefined => {
  const tree = createTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.root()?.toString('hex');
};

t.test('the worked example: rows, partitions, day root', (t) => {
  const dayLeaves: Buffer[] = [];
  for (const { table, rows, root, leaf_text, leaf_hash, rows_detail } of EXAMPLE.partitions) {
    const leaves = rows_detail.map(({ row, canonical, leaf_hash }) => {
      const columns = Object.keys(row).map((name) => ({ name, kind: 'text', stored: name }) as const);
      const shape: AnchoredTable = {
        ...(ANCHORED_TABLES[0] as AnchoredTable),
        columns,
      };
      const text = createRowWriter(shape)(Object.values(row));
      t.equal(text, canonical);
      t.equal(text, formatCanonicalJson(row), 'the writer of a table is the general form');
      t.equal(hashLeaf(Buffer.from(text)).toString('hex'), leaf_hash);
      return hashLeaf(Buffer.from(text));
    });
    t.equal(computeRoot(leaves), root, table);
    const text = formatPartitionLeaf({ day: EXAMPLE.day, table, rows, root });
    t.equal(text, leaf_text);
    t.equal(hashLeaf(Buffer.from(text)).toString('hex'), leaf_hash);
    dayLeaves.push(hashLeaf(Buffer.from(text)));
  }
  t.equal(computeRoot(dayLeaves), EXAMPLE.day_root);
  t.end();
});

t.test('each table escapes what a text may contain', (t) => {
  for (const table of ANCHORED_TABLES) {
    const cells = table.columns.map(({ name, kind }) => (kind === 'text' ? `"\\\u0001${name}` : '1.5'));
    const row = Object.fromEntries(table.columns.map(({ name }, at) => [name, cells[at] ?? null]));
    t.equal(createRowWriter(table)(cells), formatCanonicalJson(row), table.table);
  }
  t.end();
});

t.test('leaves of a listing: null before texts, texts by bytes, seq as a number', (t) => {
  const trades = ANCHORED_TABLES.find(({ table }) => table === 'trades') as AnchoredTable;
  const row = (received_at: string, id: string | null, seq: string): AnchoredCell[] => {
    const cells: AnchoredCell[] = trades.columns.map(() => null);
    for (const [name, cell] of Object.entries({ received_at, id, seq })) cells[toPlace(trades, name)] = cell;
    return cells;
  };
  const [first, later] = ['2026-01-10T00:00:00.000001Z', '2026-01-10T00:00:00.000002Z'];
  const ordered = [
    row(first, null, '7'),
    row(first, '10', '2'),
    row(first, '10', '11'),
    row(first, '9', '0'),
    row(first, '\uFB33', '1'),
    row(first, '\u{1F602}', '1'),
    row(later, null, '3'),
  ];
  t.same([...ordered].reverse().sort(createLeafOrder(trades)), ordered);
  t.throws(() => toPlace(trades, 'window_end'), /no anchored column/);
  t.end();
});
