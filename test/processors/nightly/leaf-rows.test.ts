// Leaves of a day out of real stored history: which rows, in which order, with which cells and `seq`; and their files (AN-02, AN-07, AR-03, AR-07).
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import t from 'tap';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { type LeafRow, readLeafRows } from '../../../infra/runtime/questdb/leaf-rows.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { type FileRow, openRowFiles } from '../../../processors/nightly/steps/archive/row-files.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import {
  makeCandleRow,
  makeEventGapRow,
  makeEventRow,
  makeGapRow,
  makeReadingRow,
} from '../../../processors/task/rows.ts';
import { ANCHORED_TABLES, type AnchoredTable, createRowWriter } from '../../../schemas/anchored.ts';
import { formatCanonicalJson } from '../../../schemas/canonical-json.ts';
import { formatInstantMicros } from '../../../schemas/instants.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { markReading } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const DAY = '2026-01-10';
const BEGIN = Date.parse(`${DAY}T00:00:00Z`) * 1_000;
const SECOND = 1_000_000;
const NEXT = BEGIN + 86_400 * SECOND;
const CLOSED = BEGIN + 7 * 86_400 * SECOND;
const LISTING = { venue: 'binance', symbol: "BTC'USDT" };
const ID = `${LISTING.venue}:${LISTING.symbol}`;

const { endpoints, namespace: newNamespace } = await useEngines(t, ['questdb']);
const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
const log = createLog('leaf-rows', 'silent');
const questdb = openQuestdbReader(endpoints.questdb_pg, { max: 1, timeoutMs: 15_000, auth, log });
const sender = createRowSender(endpoints.questdb_http, { auth, log });
const namespace = `${newNamespace()}.`;
await ensureTables((text) => questdb.query({ text }), { namespace });
t.teardown(async () => {
  await sender.close();
  await questdb.close();
});

const span = (at: number, srcOffset: number, late = false) => ({ from: at - 10 * SECOND, at, srcOffset, late });
const mark = (at: number, srcOffset: number, figures: { mark: string; index?: string }, late = false): Row =>
  makeReadingRow(
    { ...LISTING, layer: 'mark' },
    span(at, srcOffset, late),
    markReading(figures.mark, {
      values: figures,
      received_at: at - 5,
      recorded_at: at + (late ? 200 * SECOND : SECOND),
      venue_ts: at - 7,
    }),
  );
const trade = (at: number, id: string, srcOffset: number): Row =>
  makeEventRow('trades', { ...LISTING, id, connId: 'c', recordedAt: at + 1_000, srcOffset, late: false }, {
    layer: 'trade',
    venue: LISTING.venue,
    venue_symbol: LISTING.symbol,
    venue_ts: null,
    received_at: at,
    values: { id, side: 'buy', price: '63000.10', quantity: '0.1000', quantity_unit: 'base' },
  } as never);

const LONG = '123456789012345678.123456789012345678';
const WRITTEN: Readonly<Record<string, readonly Row[]>> = {
  mark: [
    mark(BEGIN, 1, { mark: '1' }),
    mark(BEGIN + 10 * SECOND, 9, { mark: LONG, index: '63000.1' }),
    mark(BEGIN + 20 * SECOND, 12, { mark: '0.00000001' }),
    mark(BEGIN + 10 * SECOND, 30, { mark: '63001' }, true),
    mark(BEGIN + 10 * SECOND, 4, { mark: '63002' }, true),
    makeGapRow({ ...LISTING, layer: 'mark' }, { ...span(NEXT, 40), from: BEGIN + 20 * SECOND }, 'collector_down'),
    mark(NEXT + 10 * SECOND, 50, { mark: '2' }),
    { ...mark(BEGIN + 30 * SECOND, 60, { mark: '3' }, true), ...lateAt(BEGIN + 30 * SECOND, CLOSED) },
    makeReadingRow(
      { venue: 'binance', symbol: 'ETHUSDT', layer: 'mark' },
      span(BEGIN + 10 * SECOND, 9),
      markReading('9'),
    ),
  ],
  trades: [
    trade(BEGIN, '10', 5),
    trade(BEGIN, '9', 5),
    trade(BEGIN, '\u{1F602}', 5),
    trade(BEGIN, '\uFB33', 6),
    trade(NEXT - 1, '11', 3),
    trade(NEXT, '12', 8),
    trade(BEGIN + 60 * SECOND, '13', 20),
    makeEventGapRow('trades', LISTING, {
      from: BEGIN + SECOND,
      at: BEGIN + 60 * SECOND,
      cause: 'connection_lost',
      srcOffset: 7,
    }),
  ],
  candles: [
    makeCandleRow(
      { ...LISTING, priceType: 'trade' },
      {
        openTime: BEGIN,
        closeTime: BEGIN + 60 * SECOND,
        timeframe: '1m',
        minute: null,
        figures: { volume: '0' },
        trades: null,
        gapCause: null,
        counted: { expected: 1, present: 0, noTrades: 1 },
      },
      77,
    ),
    makeCandleRow(
      { ...LISTING, priceType: 'trade' },
      {
        openTime: BEGIN,
        closeTime: BEGIN + 3_600 * SECOND,
        timeframe: '1h',
        minute: null,
        figures: {},
        trades: null,
        gapCause: 'unknown',
        counted: { expected: 60, present: 0, noTrades: 1 },
      },
      78,
    ),
  ],
};
function lateAt(at: number, recordedAt: number): Pick<Row, 'instants'> {
  return { instants: { from_at: at - 10 * SECOND, received_at: at - 5, recorded_at: recordedAt } };
}
for (const [table, rows] of Object.entries(WRITTEN)) await sender.send(toTableName(namespace, table), rows);
await sender.waitVisible(Object.keys(WRITTEN).map((table) => toTableName(namespace, table)));

const findTable = (name: string): AnchoredTable => ANCHORED_TABLES.find(({ table }) => table === name) as AnchoredTable;
const readLeaves = async (name: string, closedAt = CLOSED): Promise<LeafRow[]> => {
  const leaves: LeafRow[] = [];
  const question = { table: findTable(name), listing: ID, day: DAY, closedAt };
  for await (const batch of readLeafRows({ questdb, namespace }, question)) leaves.push(...batch);
  return leaves;
};
const named = (name: string, leaves: readonly LeafRow[]): Record<string, unknown>[] => {
  const { columns } = findTable(name);
  return leaves.map(({ cells }) => Object.fromEntries(columns.map((column, at) => [column.name, cells[at] ?? null])));
};
const iso = formatInstantMicros;

t.test('readings of a day: windows that end in it, gaps and late rows, digits as they were sent', async (t) => {
  const rows = named('mark', await readLeaves('mark'));
  t.same(
    rows.map(({ window_end, mark, late, seq }) => [window_end, mark, late, seq]),
    [
      [iso(BEGIN + 10 * SECOND), '63002', true, '0'],
      [iso(BEGIN + 10 * SECOND), LONG, false, '1'],
      [iso(BEGIN + 10 * SECOND), '63001', true, '3'],
      [iso(BEGIN + 20 * SECOND), '0.00000001', false, '2'],
      [iso(NEXT), null, false, '4'],
    ],
    'seq ranks by raw offset; 00:00 belongs to the day before; what was recorded at the closing is no leaf',
  );
  t.same(rows[1], {
    segment: 'binance',
    symbol: LISTING.symbol,
    window_end: iso(BEGIN + 10 * SECOND),
    window_start: iso(BEGIN),
    status: 'present',
    gap_cause: null,
    received_at: iso(BEGIN + 10 * SECOND - 5),
    venue_ts: iso(BEGIN + 10 * SECOND - 7),
    mark: LONG,
    index: '63000.1',
    seq: '1',
    late: false,
  });
  t.match(rows[4], {
    status: 'missing',
    gap_cause: 'collector_down',
    received_at: null,
    window_start: iso(BEGIN + 20 * SECOND),
  });
  const early = await readLeaves('mark', BEGIN + 110 * SECOND + 1_000);
  t.same(
    named('mark', early).map(({ window_end, mark }) => [window_end, mark]),
    [[iso(BEGIN + 10 * SECOND), LONG]],
    'a closing on the same day: ended 100.001 s before it, and recorded before it',
  );
});

t.test('a day of more rows than one statement reads: whole, in order, each ranked over the day', async (t) => {
  // Seven statements, which divide no day into whole microseconds; the last row is at its very end.
  const count = 12_001;
  const symbol = 'MANYUSDT';
  // Every ninth row is late: it was read after the whole day.
  const planned = Array.from({ length: count }, (_, n) => ({
    at: n === count - 1 ? NEXT : BEGIN + (n + 1) * 7 * SECOND,
    offset: n % 9 === 0 ? 20_000 + n : n,
    late: n % 9 === 0,
  }));
  const ofNextDay = { at: NEXT + 1, offset: count, late: false };
  const rows = [...planned, ofNextDay].map(({ at, offset, late }) =>
    makeReadingRow({ venue: 'binance', symbol, layer: 'mark' }, span(at, offset, late), {
      ...markReading(String(offset)),
      received_at: at - 5,
      recorded_at: at + SECOND,
    }),
  );
  await sender.send(toTableName(namespace, 'mark'), rows);
  await sender.waitVisible([toTableName(namespace, 'mark')]);
  const question = { table: findTable('mark'), listing: `binance:${symbol}`, day: DAY, closedAt: CLOSED };
  const leaves: LeafRow[] = [];
  for await (const batch of readLeafRows({ questdb, namespace }, question)) leaves.push(...batch);
  const ranks = new Map(
    planned
      .map(({ offset }) => offset)
      .toSorted((a, b) => a - b)
      .map((offset, rank) => [offset, rank]),
  );
  t.same(
    named('mark', leaves).map(({ window_end, mark, late, seq }) => [window_end, mark, late, seq]),
    planned.map(({ at, offset, late }) => [iso(at), String(offset), late, String(ranks.get(offset))]),
  );
});

t.test('events of a day: null ids first, ids by bytes, the id of a gap is none', async (t) => {
  const rows = named('trades', await readLeaves('trades'));
  t.same(
    rows.map(({ received_at, id, seq, status }) => [received_at, id, seq, status]),
    [
      [iso(BEGIN), '10', '1', 'present'],
      [iso(BEGIN), '9', '2', 'present'],
      [iso(BEGIN), '\uFB33', '4', 'present'],
      [iso(BEGIN), '\u{1F602}', '3', 'present'],
      [iso(BEGIN + 60 * SECOND), null, '5', 'missing'],
      [iso(BEGIN + 60 * SECOND), '13', '6', 'present'],
      [iso(NEXT - 1), '11', '0', 'present'],
    ],
  );
  t.match(rows[4], { gap_start: iso(BEGIN + SECOND), gap_cause: 'connection_lost', price: null, quantity_unit: null });
  t.match(rows[0], { price: '63000.1', quantity: '0.1', quantity_unit: 'base', side: 'buy' });
});

t.test('candles: minutes only; a proven empty minute has volume 0, no price and no receipt', async (t) => {
  t.same(named('candles', await readLeaves('candles')), [
    {
      ...{ segment: 'binance', symbol: LISTING.symbol, open_time: iso(BEGIN), price_type: 'trade', status: 'present' },
      ...{ gap_cause: null, open: null, high: null, low: null, close: null, volume: '0', volume_unit: null },
      ...{ turnover: null, trades: null, received_at: null, seq: '0', late: false },
    },
  ]);
  const sealedAt = BEGIN + 160 * SECOND + 1_000;
  t.same(await readLeaves('candles', sealedAt - 1), [], 'a minute counts from its end');
  t.equal((await readLeaves('candles', sealedAt)).length, 1);
});

t.test('three files hold the same rows, and the same rows are the same bytes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rows-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['mark', 'trades', 'candles']) {
    const table = findTable(name);
    const rows: FileRow[] = (await readLeaves(name)).map((row, at) => ({ ...row, leafIndex: at + 5 }));
    const write = async (batches: readonly (readonly FileRow[])[]) => {
      const files = await openRowFiles(table, folder);
      for (const batch of batches) await files.append(batch);
      const written = await files.finish();
      return written.map((file) => ({ ...file, content: readFileSync(file.path) }));
    };
    const whole = await write([rows]);
    const single = await write(rows.map((row) => [row]));
    for (const [at, { format, sha256, bytes, content }] of whole.entries()) {
      t.equal(createHash('sha256').update(content).digest('hex'), sha256, `${name} ${format}`);
      t.equal(content.length, bytes);
      t.equal(single[at]?.sha256, sha256, 'however the rows came');
    }
    const [parquet, csv, jsonl] = whole.map(({ content }) => content) as [Buffer, Buffer, Buffer];
    const hashed = rows.map(({ cells }) => createRowWriter(table)(cells));
    const lines = zstdDecompressSync(jsonl).toString().trim().split('\n');
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, string | boolean | null>);
    t.same(
      parsed.map(({ recorded_at, leaf_index, ...row }) => formatCanonicalJson(row)),
      hashed,
      'without the two columns that are not hashed a line is the canonical row',
    );
    t.same(
      parsed.map(({ leaf_index }) => leaf_index),
      rows.map(({ leafIndex }) => leafIndex),
    );
    t.same(Object.keys(parsed[0] ?? {}), [...table.columns.map(({ name }) => name), 'recorded_at', 'leaf_index']);
    const text = zstdDecompressSync(csv).toString();
    t.equal(text.split('\n').length, rows.length + 2, 'a header, a line a row, LF at the end');
    t.equal(text.split('\n')[0], Object.keys(parsed[0] ?? {}).join(','));
    const file = parquet.buffer.slice(parquet.byteOffset, parquet.byteOffset + parquet.length) as ArrayBuffer;
    const objects = await parquetReadObjects({
      file,
      compressors: { ZSTD: (bytes) => new Uint8Array(zstdDecompressSync(bytes)) },
      parsers: { timestampFromMicroseconds: (micros) => iso(Number(micros)) },
    });
    t.same(
      objects.map((object) =>
        Object.fromEntries(Object.entries(object).map(([column, cell]) => [column, asText(cell)])),
      ),
      parsed.map((row) => ({ ...row, leaf_index: String(row.leaf_index) })),
      'Parquet reads back as the same rows',
    );
  }
});

/** Integers are bigints to the reader. */
function asText(cell: unknown): unknown {
  return typeof cell === 'bigint' ? String(cell) : (cell ?? null);
}
