// The archive step on real PostgreSQL, QuestDB and disk: written when, kept how long, and that the same rows give the same bytes (AR-03, AR-04).
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zstdDecompressSync } from 'node:zlib';
import t from 'tap';
import { addDays, type Day, findDayStart } from '../../../processors/nightly/day.ts';
import { openLedger } from '../../../processors/nightly/ledger.ts';
import { runStep } from '../../../processors/nightly/runner.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { archive } from '../../../processors/nightly/steps/archive/archive.ts';
import { forgetFile } from '../../../processors/nightly/steps/archive/manifest.ts';
import { findTier, rankInstruments } from '../../../processors/nightly/steps/archive/tiers.ts';
import { makeGapRow, makeListingRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listing, listingValues, markReading } from '../../support/apps/live-fixture.ts';
import { openNightlyStores } from '../../support/days/nightly-stores.ts';

t.setTimeout(900_000);
const DAY: Day = '2026-01-10';
const BEGIN = findDayStart(DAY) * 1_000;
const SECOND = 1_000_000;

t.test('instruments rank by the mean of the midnights that have a figure, ties by code', (t) => {
  const midnight = (figures: Record<string, string | null>, other: Record<string, string | null> = {}) => ({
    binance: figures,
    okx: other,
  });
  const many = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`I${String(i).padStart(3, '0')}-PERP`, '1']));
  const tiers = rankInstruments([
    midnight({ ...many, 'BTC-PERP': '100', 'NEW-PERP': '5' }, { 'BTC-PERP': '50' }),
    midnight({ ...many, 'BTC-PERP': '0', 'NEW-PERP': null }),
  ]);
  t.equal(findTier(tiers, 'BTC-PERP'), 'core', 'the sum over venues, halved by a midnight with 0');
  t.equal(findTier(tiers, 'NEW-PERP'), 'core', 'a midnight without a figure does not count');
  t.equal(findTier(tiers, 'I017-PERP'), 'core', 'the twentieth');
  t.equal(findTier(tiers, 'I018-PERP'), 'top100');
  t.equal(findTier(tiers, 'I097-PERP'), 'top100', 'the hundredth');
  t.equal(findTier(tiers, 'I098-PERP'), 'other');
  const quiet = rankInstruments([midnight({ 'A-PERP': null, 'B-PERP': '0' }, { 'A-PERP': null, 'C-PERP': null })]);
  t.same(quiet, { 'B-PERP': 'core' }, 'a listing without a figure has no turnover of zero');
  t.same(rankInstruments([]), {}, 'without any figure every instrument is other');
  t.end();
});

const { pool, folder, store, write, makeContext } = await openNightlyStores(t, { readers: 1 });

const markRow = (symbol: string, window: number, { late = false, srcOffset = window, recordedAt = 0 } = {}): Row => {
  const at = BEGIN + window * 10 * SECOND;
  const recorded_at = recordedAt || at + (late ? 500 : 1) * SECOND;
  return makeReadingRow(
    { venue: 'binance', symbol, layer: 'mark' },
    { from: at - 10 * SECOND, at, srcOffset, late },
    markReading(String(60_000 + srcOffset), { received_at: at - 1, recorded_at }),
  );
};
let nowMs = findDayStart(addDays(DAY)) + 6 * 3_600_000;
let reachedMs = nowMs;
const context = makeContext({
  nowMs: () => nowMs,
  historyWatermark: async () => ({ at: reachedMs * 1_000, of: 'binance/0' }),
});

type Held = { venue_symbol: string; layer: string; format: string; bytes: string; sha256: string; object_key: string };
const current = async (day: Day): Promise<Held[]> => {
  const { rows } = await pool.query<Held>(
    `select venue_symbol, layer, format, bytes, sha256, object_key from archive_files
     where day = $1 and replaced_at is null order by venue_symbol, layer, format`,
    [day],
  );
  return rows;
};
const readContent = async (key: string): Promise<Buffer> => buffer(await store.read(key));
const readLines = async (files: readonly Held[], symbol: string): Promise<Record<string, unknown>[]> => {
  const key = files.find(({ format, venue_symbol }) => format === 'jsonl' && venue_symbol === symbol)?.object_key ?? '';
  const text = zstdDecompressSync(await readContent(key)).toString();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

await write([
  ...['BTCUSDT', '币安人生USDT'].map((symbol) =>
    makeListingRow(
      { venue: 'binance', task: 'binance/0', srcOffset: 0, recordedAt: BEGIN },
      listing('binance', listingValues({ venue_symbol: symbol, instrument: symbol.replace('USDT', '-PERP') }), {
        writtenAt: BEGIN,
      }),
    ),
  ),
  ...[1, 2, 3].map((window) => markRow('BTCUSDT', window)),
  markRow('币安人生USDT', 1),
  makeGapRow(
    { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark' },
    { from: BEGIN + 30 * SECOND, at: BEGIN + 60 * SECOND, srcOffset: 9, late: false },
    'no_update',
  ),
  markRow('BTCUSDT', 8_641),
]);
// A day has thirty midnights, the last and the first of them here; the other instrument's lie before and after.
for (const [back, instrument] of [
  [0, 'BTC-PERP'],
  [29, 'ETH-PERP'],
  [30, '币安人生-PERP'],
  [-1, '币安人生-PERP'],
] as const)
  await pool.query("insert into daily_turnover (day, source, turnover) values ($1, 'history', $2)", [
    addDays(DAY, 1 - back),
    { binance: { [instrument]: String(10 + back) } },
  ]);

t.test('a day is written only once its rows can be read', async (t) => {
  reachedMs = findDayStart(addDays(DAY)) + 100_000;
  await t.rejects(archive.run(DAY, context), /has reached 2026-01-11T00:01:40/);
  t.same(await current(DAY), []);
  reachedMs = nowMs;
});

t.test('a set a listing and layer, in three formats, true to its manifest; a second run changes nothing', async (t) => {
  t.equal(await archive.run(DAY, context), '2 sets of 5 rows; 0 sets of earlier days written again');
  const files = await current(DAY);
  t.same(
    files.map(({ venue_symbol, layer, format }) => `${venue_symbol} ${layer} ${format}`),
    ['BTCUSDT', '币安人生USDT'].flatMap((symbol) =>
      ['csv', 'jsonl', 'parquet'].map((format) => `${symbol} mark ${format}`),
    ),
  );
  for (const { object_key, bytes, sha256 } of files) {
    const content = await readContent(object_key);
    t.equal(createHash('sha256').update(content).digest('hex'), sha256);
    t.equal(String(content.length), bytes);
    t.equal(await store.size(object_key), content.length);
  }
  const rows = await readLines(files, 'BTCUSDT');
  t.same(
    rows.map(({ mark, status, leaf_index }) => [mark, status, leaf_index]),
    [
      ['60001', 'present', null],
      ['60002', 'present', null],
      ['60003', 'present', null],
      [null, 'missing', null],
    ],
  );
  const { rows: sets } = await pool.query(
    'select venue_symbol, instrument, tier, rows, final from archive_sets order by 1',
  );
  t.same(sets, [
    { venue_symbol: 'BTCUSDT', instrument: 'BTC-PERP', tier: 'core', rows: 4, final: false },
    { venue_symbol: '币安人生USDT', instrument: '币安人生-PERP', tier: 'other', rows: 1, final: false },
  ]);
  t.equal(await archive.run(DAY, context), '0 sets of 0 rows; 0 sets of earlier days written again');
  t.same(await current(DAY), files);
});

t.test(
  'late rows are written with the next day’s run; the replaced file stays until its links have ended',
  async (t) => {
    const before = await current(DAY);
    const writtenAt = async (): Promise<readonly Date[]> => {
      const text = 'select written_at from archive_sets where day = $1 order by venue_symbol';
      const { rows } = await pool.query<{ written_at: Date }>(text, [DAY]);
      return rows.map(({ written_at }) => written_at);
    };
    const [btcAt, otherAt] = await writtenAt();
    await write([markRow('BTCUSDT', 2, { late: true, srcOffset: 77 })]);
    await pool.query("update daily_turnover set turnover = '{}'");
    nowMs += MS_PER_DAY;
    reachedMs = nowMs;
    t.equal(await archive.run(addDays(DAY), context), '1 sets of 1 rows; 1 sets of earlier days written again');
    const after = await current(DAY);
    const rows = await readLines(after, 'BTCUSDT');
    t.same(
      rows.map(({ mark, late, seq }) => [mark, late, seq]),
      [
        ['60001', false, '0'],
        ['60002', false, '1'],
        ['60077', true, '4'],
        ['60003', false, '2'],
        [null, false, '3'],
      ],
    );
    t.same(
      after.filter(({ venue_symbol }) => venue_symbol !== 'BTCUSDT'),
      before.filter(({ venue_symbol }) => venue_symbol !== 'BTCUSDT'),
      'what gained no row is not touched',
    );
    const [btcAgainAt, otherStillAt] = await writtenAt();
    t.ok(btcAgainAt && btcAt && btcAgainAt > btcAt, 'written_at is that of the newest file (AR-01)');
    t.same(otherStillAt, otherAt);
    const { rows: tiers } = await pool.query('select tiers from archive_days where day = $1', [DAY]);
    const fixed = { 'BTC-PERP': 'core', 'ETH-PERP': 'core' };
    t.same(tiers, [{ tiers: fixed }], 'tiers stay as the first run fixed them');
    const replaced = before.filter(({ venue_symbol }) => venue_symbol === 'BTCUSDT');
    nowMs = Date.now();
    reachedMs = nowMs;
    const runAfter = async (minutes: number): Promise<unknown> => {
      const age =
        'update archive_files set replaced_at = now() - $1 * interval $$1 minute$$ where replaced_at is not null';
      await pool.query(age, [minutes]);
      return archive.run(addDays(DAY), context);
    };
    await runAfter(59);
    for (const { object_key } of replaced) t.ok(await store.size(object_key), 'still readable');
    const [still] = after.map(({ object_key }) => object_key);
    await forgetFile(pool, still ?? '');
    t.same(await current(DAY), after, 'a file that is current again is not forgotten');
    await runAfter(61);
    for (const { object_key } of replaced) t.equal(await store.size(object_key), null, 'gone');
    t.same(await current(DAY), after);
    t.same(
      readdirSync(join(folder, '.partial')).flatMap((name) => readdirSync(join(folder, '.partial', name))),
      [],
    );
  },
);

t.test('two runners on two days at once take turns, because both write the days before again', async (t) => {
  await write([markRow('BTCUSDT', 3, { late: true, srcOffset: 78 })]);
  const [busy, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  /** Pauses with its first file in progress, until the other runner waits or is working itself. */
  const slow: NightlyContext = {
    ...context,
    store: {
      ...store,
      put: async (key, path) => {
        busy.resolve();
        await free.promise;
        await store.put(key, path);
      },
    },
  };
  const other: NightlyContext = {
    ...context,
    store: {
      ...store,
      workFolder: async (name) => {
        const path = await store.workFolder(name);
        free.resolve();
        return path;
      },
    },
    progress: (line) => {
      if (line.includes('waits for another runner')) free.resolve();
    },
  };
  const run = (back: number, context: NightlyContext): Promise<string | null> =>
    runStep({ step: archive, day: addDays(DAY, back) }, openLedger(pool), { context, mode: 'again' });
  const first = run(1, slow);
  await busy.promise;
  const reports = await Promise.all([first, run(2, other)]);
  t.same(reports, [
    '0 sets of 0 rows; 1 sets of earlier days written again',
    '0 sets of 0 rows; 0 sets of earlier days written again',
  ]);
  const marks = (await readLines(await current(DAY), 'BTCUSDT')).map(({ mark }) => mark);
  t.same(marks, ['60001', '60002', '60077', '60003', '60078', null]);
});

t.test('the files of a day are written again up to its sixth day (AR-03)', async (t) => {
  await write([markRow('BTCUSDT', 3, { late: true, srcOffset: 79 })]);
  t.match(await archive.run(addDays(DAY, 6), context), '0 sets of earlier days written again');
  t.match(await archive.run(addDays(DAY, 5), context), '1 sets of earlier days written again');
});

t.test('a run that is days late writes no row that was recorded after the day had closed (AN-02)', async (t) => {
  const closing = findDayStart(addDays(DAY, 7)) * 1_000;
  const before = await current(DAY);
  await write(['BTCUSDT', 'LATEUSDT'].map((symbol) => markRow(symbol, 4, { late: true, recordedAt: closing })));
  nowMs = findDayStart(addDays(DAY, 9));
  for (const back of [0, 1])
    t.equal(
      await archive.run(addDays(DAY, back), context),
      '0 sets of 0 rows; 0 sets of earlier days written again',
      'the day of its own run, and of the next day’s',
    );
  t.same(await current(DAY), before, 'neither the file of a listing with rows of then, nor one of a listing without');
  await write([markRow('BTCUSDT', 5, { late: true, recordedAt: closing - 1 })]);
  t.match(await archive.run(DAY, context), '1 sets of');
});

t.test('a key that leads out of the store is refused', async (t) => {
  for (const key of ['../x', 'a/../../x', '/etc/passwd', '', 'a//b', '.partial/x', 'a/.hidden'])
    await t.rejects(store.read(key), /is not a key/, key);
  t.equal(await store.size('2026-01-10/none'), null);
});
