// A full disk under the archive: the step fails and is tried again, the manifest names nothing that is not whole, nothing crashes the process.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { addDays, type Day, findDayStart } from '../../../processors/nightly/day.ts';
import { openLedger } from '../../../processors/nightly/ledger.ts';
import { runStep } from '../../../processors/nightly/runner.ts';
import type { Step } from '../../../processors/nightly/step.ts';
import { archive } from '../../../processors/nightly/steps/archive/archive.ts';
import { close } from '../../../processors/nightly/steps/merkle/close.ts';
import { makeListingRow, makeReadingRow } from '../../../processors/task/rows.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listing, listingValues, markReading } from '../../support/apps/live-fixture.ts';
import { openNightlyStores } from '../../support/days/nightly-stores.ts';
import { noSmallDisk, smallDisk } from '../../support/engines/small-disk.ts';

t.setTimeout(900_000);
const DAY: Day = '2026-01-10';
const BEGIN = findDayStart(DAY) * 1_000;
const SECOND = 1_000_000;
const ROWS = 8_000;

/** Figures that do not compress: the files of a day are larger than the disk. */
const makeFigure = (window: number): string =>
  `6${BigInt(`0x${createHash('sha256').update(String(window)).digest('hex')}`)}`.slice(0, 15);
const listRows = (symbol: string): Row[] => [
  makeListingRow(
    { venue: 'binance', task: 'binance/0', srcOffset: 0, recordedAt: BEGIN },
    listing('binance', listingValues({ venue_symbol: symbol, instrument: 'BTC-PERP' }), { writtenAt: BEGIN }),
  ),
  ...Array.from({ length: ROWS }, (_, window) => {
    const at = BEGIN + (window + 1) * 10 * SECOND;
    const reading = markReading(makeFigure(window), { received_at: at - 1, recorded_at: at + SECOND });
    return makeReadingRow(
      { venue: 'binance', symbol, layer: 'mark' },
      { from: at - 10 * SECOND, at, srcOffset: window, late: false },
      reading,
    );
  }),
];

t.test('archive and close on a disk that is full, then has room', { skip: noSmallDisk }, async (t) => {
  const { pool, write, makeContext } = await openNightlyStores(t, { readers: 1 });
  await write(listRows('BTCUSDT'));
  const disk = smallDisk(t, '256k') ?? '';
  const resize = (size: string): unknown => execFileSync('mount', ['-o', `remount,size=${size}`, disk]);
  const store = openFolderStore(disk);
  let nowMs = findDayStart(addDays(DAY)) + 6 * 3_600_000;
  const context = makeContext({ nowMs: () => nowMs, store });
  const run = (step: Step): Promise<string | null> =>
    runStep({ step, day: DAY }, openLedger(pool), { context, mode: 'again' });
  const files = async () =>
    (
      await pool.query<{ key: string; bytes: string; sha256: string }>(
        'select object_key as key, bytes, sha256 from archive_files',
      )
    ).rows;
  const readIncidents = async () => (await pool.query('select kind, subject, state from incidents order by 2')).rows;

  for (const attempt of [1, 2]) await t.rejects(run(archive), { code: 'ENOSPC' }, `attempt ${attempt}`);
  t.same(await files(), []);
  t.same((await pool.query('select 1 from archive_sets')).rows, []);
  t.same(await readIncidents(), [{ kind: 'disk_full', subject: 'archive', state: 'open' }], 'reported once');
  t.match((await openLedger(pool).states(DAY))[0], { step: 'archive', state: 'failed', report: /ENOSPC/ });
  resize('4m');
  t.match(await run(archive), new RegExp(`^1 sets of ${ROWS} rows`));
  for (const { key, bytes, sha256 } of await files()) {
    const held = await buffer(await store.read(key));
    t.equal(held.length, Number(bytes), key);
    t.equal(createHash('sha256').update(held).digest('hex'), sha256, key);
  }

  nowMs = findDayStart(addDays(DAY, 7));
  const used = (await files()).reduce((sum, { bytes }) => sum + Number(bytes), 0);
  resize(`${Math.ceil(used / 1_024) + 128}k`);
  await t.rejects(run(close), { code: 'ENOSPC' });
  t.same(
    (await pool.query('select 1 from anchor_partitions union all select 1 from archive_sets where final')).rows,
    [],
  );
  resize('8m');
  t.match(await run(close), new RegExp(`^${ROWS} leaves in 1 partitions`));
  for (const { key, sha256 } of await files())
    t.equal(
      createHash('sha256')
        .update(await buffer(await store.read(key)))
        .digest('hex'),
      sha256,
      key,
    );
});
