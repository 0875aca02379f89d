// `node --max-semi-space-size=8 infra/dev/bench/anchors.ts [--rows N] [--proofs N]` (the flag of the nightly process): a day of N rows of one table through the
// closing, step by step and as a whole, and the time of a proof. Uses its own engines in .local/bench-anchors. A measurement, never a test.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { openAnchors } from '../../../api/anchors/anchors.ts';
import { openClosedDays } from '../../../api/anchors/closed-days.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { openParquetRows, openRowFiles } from '../../../processors/nightly/steps/archive/row-files.ts';
import { close } from '../../../processors/nightly/steps/merkle/close.ts';
import { openTreeFile } from '../../../processors/nightly/steps/merkle/tree-file.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { ANCHORED_TABLES, type AnchoredTable, createRowWriter } from '../../../schemas/anchored.ts';
import { hashLeaf } from '../../../schemas/merkle/hash.ts';
import { migrate } from '../../postgres/migrate.ts';
import { type ObjectStore, openFolderStore } from '../../runtime/files/object-store.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createLog } from '../../runtime/process/log.ts';
import { type LeafRow, type LeafSource, readLeafRows } from '../../runtime/questdb/leaf-rows.ts';
import { openQuestdbReader } from '../../runtime/questdb/reader.ts';
import { startEngines } from '../engines/engines.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import {
  type Figure,
  findQuantile,
  makeFigure,
  makeLowerAim,
  makeUpperAim,
  renderTable,
} from './instruments/figures.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench-anchors');
const VENUE = 'binance';
const NAMESPACE = 'bench.';
const DAY = '2026-01-10';
const CLOSING_MS = Date.parse('2026-01-17T00:00:00.000Z');
/** Windows of ten seconds in a day of one listing. */
const WINDOWS = 8_640;
/** With more listings than this every proof would be a first one. */
const PROVED_LISTINGS = 30;
/** Rows a second of a core through the tree, and limits for a proof and the closing. */
const AIM_ROWS = 100_000;
const AIM_PROOF_MS = 20;
const AIM_MB = 300;

const MARK = ANCHORED_TABLES.find(({ table }) => table === 'mark') as AnchoredTable;
const makeSymbol = (at: number): string => `B${at}USDT`;
const log = createLog('bench-anchors', 'silent');
const print = (line: string): void => console.log(line);

/** Windows of all listings in the order of time; every tenth row has more digits than a double holds. */
const fillText = (listings: number): string => `INSERT INTO 'bench_mark'
(at, from_at, listing, venue, status, venue_ts, received_at, recorded_at, mark, index_price, digits, src_offset, late)
SELECT dateadd('s', 10 + 10 * ((x - 1) / ${listings})::int, '${DAY}'), dateadd('s', 10 * ((x - 1) / ${listings})::int, '${DAY}'),
'${VENUE}:B' || ((x - 1) % ${listings}) || 'USDT', '${VENUE}', 'present',
dateadd('s', 9 + 10 * ((x - 1) / ${listings})::int, '${DAY}'), dateadd('s', 9 + 10 * ((x - 1) / ${listings})::int, '${DAY}'),
dateadd('s', 10 + 10 * ((x - 1) / ${listings})::int, '${DAY}'), 60000 + (x % 9973) / 10.0, 60001 + (x % 9967) / 10.0,
CASE WHEN x % 10 = 0 THEN '{"mark":"60000.12345678901234567890"}' ELSE null END, x, false
FROM long_sequence(${listings * WINDOWS})`;

type Bench = {
  readonly source: LeafSource;
  readonly pool: Pool;
  readonly store: ObjectStore;
  readonly listings: number;
};
const makeQuestion = (at: number) => ({
  table: MARK,
  listing: `${VENUE}:${makeSymbol(at)}`,
  day: DAY,
  closedAt: CLOSING_MS * 1_000,
});

/** CPU seconds used by this process. */
const measureCpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
};

/** Rows a second of a core, of `work` over rows in memory. */
const measureRate = async (rows: readonly LeafRow[], work: (rows: readonly LeafRow[]) => unknown): Promise<number> => {
  await work(rows);
  let done = 0;
  const began = measureCpuSeconds();
  while (measureCpuSeconds() - began < 1) {
    await work(rows);
    done += rows.length;
  }
  return done / (measureCpuSeconds() - began);
};

const readRows = async ({ source }: Bench, at: number): Promise<LeafRow[]> => {
  const rows: LeafRow[] = [];
  for await (const batch of readLeafRows(source, makeQuestion(at))) rows.push(...batch);
  return rows;
};

const makeFolder = (name: string): string => {
  const folder = join(DIR, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
};

const measureSteps = async (bench: Bench): Promise<Figure[]> => {
  const rows = await readRows(bench, 0);
  const write = createRowWriter(MARK);
  const texts = rows.map(({ cells }) => write(cells));
  const leaves = texts.map((text) => hashLeaf(text));
  const withIndex = rows.map((row, leafIndex) => ({ ...row, leafIndex }));
  const hashing = await measureRate(rows, () => texts.forEach((text) => void hashLeaf(text)));
  const writing = await measureRate(rows, () => rows.forEach(({ cells }) => void write(cells)));
  const growing = await measureRate(rows, async () => {
    const tree = await openTreeFile(makeFolder('tree'));
    for (const leaf of leaves) await tree.append(leaf);
    await tree.finish();
  });
  const parquet = await measureRate(rows, async () => {
    const file = await openParquetRows(MARK, join(makeFolder('parquet'), 'rows.parquet'));
    await file.append(withIndex);
    await file.finish();
  });
  const files = await measureRate(rows, async () => {
    const all = await openRowFiles(MARK, makeFolder('files'));
    await all.append(withIndex);
    await all.finish();
  });
  return [
    makeFigure({ name: 'canonical text', unit: '/s', measured: writing }),
    makeFigure({ name: 'hash of a leaf', unit: '/s', measured: hashing }),
    makeFigure({ name: 'tree, kept hashes to disk', unit: '/s', measured: growing }),
    makeFigure({ name: 'Parquet of a listing', unit: '/s', measured: parquet }),
    makeFigure({ name: 'all three files of a listing', unit: '/s', measured: files }),
  ];
};

/** From the store to the root, without files. */
const measureTree = async (bench: Bench): Promise<Figure[]> => {
  const rate = async (work: (batch: readonly LeafRow[]) => void | Promise<void>): Promise<number> => {
    const began = performance.now();
    for (let at = 0; at < bench.listings; at++)
      for await (const batch of readLeafRows(bench.source, makeQuestion(at))) await work(batch);
    return ((bench.listings * WINDOWS) / (performance.now() - began)) * 1_000;
  };
  const reading = await rate(() => undefined);
  const write = createRowWriter(MARK);
  const tree = await openTreeFile(makeFolder('tree'));
  const cpu = measureCpuSeconds();
  const through = await rate(async (batch) => {
    for (const { cells } of batch) await tree.append(hashLeaf(write(cells)));
  });
  await tree.finish();
  const aCore = (bench.listings * WINDOWS) / (measureCpuSeconds() - cpu);
  return [
    makeFigure({ name: 'read from QuestDB, in leaf order', unit: '/s', measured: reading }),
    makeFigure({ name: 'read, text, hash, tree', unit: '/s', measured: through, note: 'wall' }),
    makeFigure({ name: 'the same, a core of this process', unit: '/s', measured: aCore, aim: makeLowerAim(AIM_ROWS) }),
  ];
};

const measureClosing = async ({ source, pool, store, listings }: Bench): Promise<Figure[]> => {
  const context: NightlyContext = {
    ...{ database: pool, ...source, api: null, store, log, metrics: createNightlyMetrics(new Registry()) },
    historyWatermark: async () => ({ at: CLOSING_MS * 1_000, of: 'binance/0' }),
    isBinding: async () => false,
    nowMs: () => CLOSING_MS,
    progress: () => undefined,
  };
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 50);
  const began = performance.now();
  print(await close.run(DAY, context));
  const seconds = (performance.now() - began) / 1_000;
  clearInterval(watch);
  return [
    makeFigure({
      name: 'the close step: tree and all files',
      unit: '/s',
      measured: (listings * WINDOWS) / seconds,
      note: `${seconds.toFixed(1)} s`,
    }),
    makeFigure({
      name: 'memory of the closing, at most',
      unit: 'MB',
      measured: peak / 1_048_576,
      aim: makeUpperAim(AIM_MB),
    }),
  ];
};

const measureProofs = async ({ source, pool, store, listings }: Bench, proofs: number): Promise<Figure[]> => {
  const anchors = openAnchors({ days: openClosedDays(pool), store, stored: source }, { verifyUrl: '' });
  const times: Record<'first' | 'again', number[]> = { first: [], again: [] };
  const compared = new Set<number>();
  const cpu = measureCpuSeconds();
  for (let n = 0; n < proofs; n++) {
    const began = performance.now();
    const day = await anchors.days.find(DAY);
    if (day === null) throw new Error(`${DAY} is not closed`);
    const listing = (n * 7) % Math.min(listings, PROVED_LISTINGS);
    const named = { table: MARK, venue: VENUE, venueSymbol: makeSymbol(listing), priceType: null, id: null };
    const at = (Date.parse(`${DAY}T00:00:10.000Z`) + ((n * 7_919) % WINDOWS) * 10_000) * 1_000;
    await anchors.prove({ ...named, seq: null, at, day, evaluatedAt: (CLOSING_MS + 86_400_000) * 1_000 });
    times[compared.has(listing) ? 'again' : 'first'].push(performance.now() - began);
    compared.add(listing);
  }
  const note = `${times.first.length} listings; each compares the ${WINDOWS} rows of its listing (AN-05)`;
  const again = `${times.again.length} proofs; each compares one digest of these rows`;
  return [
    makeFigure({ name: 'first proof of a listing, p50', unit: 'ms', measured: findQuantile(times.first, 0.5), note }),
    makeFigure({ name: 'first proof of a listing, p99', unit: 'ms', measured: findQuantile(times.first, 0.99) }),
    makeFigure({
      name: 'further proof, p50',
      unit: 'ms',
      measured: findQuantile(times.again, 0.5),
      aim: makeUpperAim(AIM_PROOF_MS),
      note: again,
    }),
    makeFigure({ name: 'further proof, p99', unit: 'ms', measured: findQuantile(times.again, 0.99) }),
    makeFigure({
      name: 'a proof, time of a core',
      unit: 'ms',
      measured: ((measureCpuSeconds() - cpu) * 1_000) / proofs,
    }),
  ];
};

const { values } = parseArgs({ options: { rows: { type: 'string' }, proofs: { type: 'string' } } });
const listings = Math.max(1, Math.round(Number(values.rows ?? 500_000) / WINDOWS));
rmSync(DIR, { recursive: true, force: true });
const engines = await startEngines({ dir: DIR, kafka: false, anvil: false, ports: 'free', env: {} });
try {
  const { questdb_pg: pg, questdb_user: user, questdb_password: password, database_url: database } = engines.endpoints;
  const questdb = openQuestdbReader(pg ?? '', {
    max: 3,
    timeoutMs: 600_000,
    auth: { user: user ?? '', password: password ?? '' },
    log,
  });
  const pool = openPostgres(database ?? '', { max: 2 });
  await migrate(pool);
  await ensureTables((text) => questdb.query({ text }), { namespace: NAMESPACE });
  await questdb.query({ text: fillText(listings) });
  const filled = async (): Promise<boolean> =>
    Number((await questdb.query({ text: "SELECT count() FROM 'bench_mark'" }))[0]?.[0]) === listings * WINDOWS;
  while (!(await filled())) await questdb.query({ text: 'SELECT sleep(0.2)' }).catch(() => undefined);
  const bench: Bench = {
    source: { questdb, namespace: NAMESPACE },
    pool,
    store: openFolderStore(join(DIR, 'store')),
    listings,
  };
  print(`a day of ${listings} listings, ${(listings * WINDOWS).toLocaleString('en-US')} rows of mark`);
  // First, so that no other step's memory is counted.
  const closing = await measureClosing(bench);
  const figures = [
    ...(await measureTree(bench)),
    ...(await measureSteps(bench)),
    ...closing,
    ...(await measureProofs(bench, Number(values.proofs ?? 300))),
  ];
  print(renderTable(figures));
  await questdb.close();
  await pool.end();
} finally {
  await engines.stop();
  rmSync(DIR, { recursive: true, force: true });
}
