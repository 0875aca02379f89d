// A runner whose lock connection is cut while it writes files, and another that takes its place: the first one stops, nothing half-written is named (AR-03).
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import type { QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { addDays, type Day, findDayStart } from '../../../processors/nightly/day.ts';
import { openLedger } from '../../../processors/nightly/ledger.ts';
import { runStep } from '../../../processors/nightly/runner.ts';
import type { NightlyContext, Step } from '../../../processors/nightly/step.ts';
import { archive } from '../../../processors/nightly/steps/archive/archive.ts';
import { close } from '../../../processors/nightly/steps/merkle/close.ts';
import { makeListingRow, makeReadingRow } from '../../../processors/task/rows.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listing, listingValues, markReading } from '../../support/apps/live-fixture.ts';
import { openNightlyStores } from '../../support/days/nightly-stores.ts';

t.setTimeout(900_000);
const DAY: Day = '2026-01-10';
const BEGIN = findDayStart(DAY) * 1_000;
const SECOND = 1_000_000;
const CLOSED = findDayStart(addDays(DAY, 7));

const { questdb, pool, folder, store, write, makeContext } = await openNightlyStores(t, { readers: 2 });

const rows: readonly Row[] = [
  makeListingRow(
    { venue: 'binance', task: 'binance/0', srcOffset: 0, recordedAt: BEGIN },
    listing('binance', listingValues({ venue_symbol: 'BTCUSDT', instrument: 'BTC-PERP' }), { writtenAt: BEGIN }),
  ),
  ...Array.from({ length: 50 }, (_, window) => {
    const at = BEGIN + (window + 1) * 10 * SECOND;
    return makeReadingRow(
      { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark' },
      { from: at - 10 * SECOND, at, srcOffset: window, late: false },
      markReading(String(60_000 + window), { received_at: at - 1, recorded_at: at + SECOND }),
    );
  }),
];
await write(rows);

const context = makeContext({ nowMs: () => CLOSED });

/** Cuts the connection that holds a lock, as a restart of the database or a lost line does. */
const cutLock = async (): Promise<void> => {
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
     and database = (select oid from pg_database where datname = current_database())`,
  );
  t.equal(rowCount, 1, 'one connection holds the lock');
};

type Gate = { readonly reached: Promise<void>; readonly pass: () => Promise<void>; readonly open: () => void };
const makeGate = (): Gate => {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return {
    reached: reached.promise,
    pass: () => {
      reached.resolve();
      return opened.promise;
    },
    open: opened.resolve,
  };
};

/** Waits with all rows in its files and none of them stored. */
const stopAtPut = (gate: Gate): NightlyContext => ({
  ...context,
  store: {
    ...store,
    put: async (key, path) => {
      await gate.pass();
      await store.put(key, path);
    },
  },
});

/** Waits with its files open and no row in them. */
const stopAtRows = (gate: Gate): NightlyContext => {
  const gated: QuestdbReader = {
    ...questdb,
    query: async (query) => {
      if (query.text.includes('src_offset')) await gate.pass();
      return questdb.query(query);
    },
  };
  return { ...context, questdb: gated };
};

type Named = { readonly key: string; readonly sha256: string };
/** Files of the manifest whose content is not what the manifest says. */
const findBroken = async (): Promise<readonly string[]> => {
  const { rows: named } = await pool.query<Named>('select object_key as key, sha256 from archive_files');
  const broken: string[] = [];
  for (const { key, sha256 } of named) {
    const content = (await store.size(key)) === null ? null : await buffer(await store.read(key));
    if (content === null || createHash('sha256').update(content).digest('hex') !== sha256) broken.push(key);
  }
  return broken;
};

const run = (step: Step, context: NightlyContext): Promise<string | null> =>
  runStep({ step, day: DAY }, openLedger(pool), { context, mode: 'again' });

for (const step of [archive, close])
  t.test(`${step.name}: a runner that lost its lock names no file of the one that follows`, async (t) => {
    const [first, second] = [makeGate(), makeGate()];
    const loser = run(step, stopAtPut(first)).then(
      () => 'done',
      (error: Error) => error.message,
    );
    await first.reached;
    await cutLock();
    const follower = run(step, stopAtRows(second));
    await second.reached;
    first.open();
    t.match(await loser, /lost/, 'the first one says why it stopped');
    t.same(await findBroken(), [], 'no file is named that is not whole');
    second.open();
    t.match(await follower, /50 (?:rows|leaves)/);
    t.same(await findBroken(), []);
    const { rows: ended } = await pool.query('select state from nightly_steps where step = $1', [step.name]);
    t.same(ended, [{ state: 'done' }], 'the one that has the lock says how the step ended');
    t.same(readdirSync(join(folder, '.partial')), [], 'no work folder is left');
  });

t.test(
  'a step that is under way is told when its lock is lost, and folders of killed attempts are removed',
  async (t) => {
    const told = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<void>();
    const long: Step = {
      ...archive,
      name: 'long',
      run: async (_day, { signal }) => {
        signal?.addEventListener('abort', () => told.resolve(signal.reason));
        begun.resolve();
        await told.promise;
        signal?.throwIfAborted();
        return 'went on';
      },
    };
    // Awaited from the beginning: it may fail before the cut is reported.
    const stopped = t.rejects(run(long, context), /lost/);
    await begun.promise;
    await cutLock();
    await stopped;
    t.match(await told.promise, { message: /lost/ });
    const left = join(folder, '.partial', 'killed-attempt');
    mkdirSync(left, { recursive: true });
    writeFileSync(join(left, 'rows.parquet'), 'half');
    await run(archive, context);
    t.same(readdirSync(join(folder, '.partial')), []);
  },
);
