// Kill -9 at each numbered place of archive, close and anchor, in a real process: nothing half, nothing twice, the same bytes and root in the end.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { addDays, type Day, findDayStart } from '../../../processors/nightly/day.ts';
import { POSTING_PLACES } from '../../../processors/nightly/steps/anchor/posting.ts';
import { ARCHIVE_PLACES } from '../../../processors/nightly/steps/archive/archive.ts';
import { CLOSE_PLACES } from '../../../processors/nightly/steps/merkle/close.ts';
import { makeListingRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listing, listingValues, markReading } from '../../support/apps/live-fixture.ts';
import { addClosedDay, openAnchors } from '../../support/days/anchor-chain.ts';
import { readClosing } from '../../support/days/closed-day.ts';
import { type KilledStep, runKilled } from '../../support/days/killed-step.ts';
import { openNightlyStores } from '../../support/days/nightly-stores.ts';
import { ownEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const DAY: Day = '2026-01-10';
const BEGIN = findDayStart(DAY) * 1_000;
const SECOND = 1_000_000;
const ARCHIVED = findDayStart(addDays(DAY)) + 6 * 3_600_000;
const CLOSED = findDayStart(addDays(DAY, 7));
const SYMBOLS = ['AAAUSDT', 'BTCUSDT'];

const { endpoints, namespace, databaseUrl, pool, folder, store, write } = await openNightlyStores(t, {
  readers: 1,
});
const chains = await ownEngines(t, ['anvil']);

const markRow = (symbol: string, window: number): Row => {
  const at = BEGIN + window * 10 * SECOND;
  const reading = markReading(`${60_000 + window}.10`, { received_at: at - 1, recorded_at: at + SECOND });
  return makeReadingRow(
    { venue: 'binance', symbol, layer: 'mark' },
    { from: at - 10 * SECOND, at, srcOffset: window, late: false },
    reading,
  );
};
const listed = (symbol: string): Row =>
  makeListingRow(
    { venue: 'binance', task: 'binance/0', srcOffset: 0, recordedAt: BEGIN },
    listing('binance', listingValues({ venue_symbol: symbol, instrument: symbol.replace('USDT', '-PERP') }), {
      writtenAt: BEGIN,
    }),
  );
await write(
  SYMBOLS.flatMap((symbol) => [listed(symbol), ...Array.from({ length: 50 }, (_, at) => markRow(symbol, at + 1))]),
);
await pool.query("insert into daily_turnover (day, source, turnover) values ($1, 'history', '{}')", [addDays(DAY)]);

const makeWork = (over: Pick<KilledStep, 'step' | 'nowMs'> & Partial<KilledStep>): KilledStep => ({
  ...{ day: DAY, databaseUrl, endpoints, namespace, folder, killedAt: null },
  ...over,
});
const readAll = (): Promise<unknown[]> => readClosing(pool);
/** Files named by a manifest are whole, and final sets come with their partition. */
const findHalf = async (): Promise<string[]> => {
  const { rows: files } = await pool.query<{ key: string; bytes: string | null }>(
    'select object_key as key, bytes from archive_files union all select tree_key, null from anchor_partitions',
  );
  const broken: string[] = [];
  for (const { key, bytes } of files) {
    const size = await store.size(key);
    if (size === null || (bytes !== null && size !== Number(bytes))) broken.push(`${key}: ${size} of ${bytes} bytes`);
  }
  const { rows: sets } = await pool.query<{ name: string }>(
    `select layer || ' ' || venue_symbol as name from archive_sets s where final <> exists (
       select 1 from anchor_partitions p where p.day = s.day and p.table_name = s.layer)
     or (select count(*) from archive_files f where replaced_at is null
       and (f.day, f.venue, f.venue_symbol, f.layer) = (s.day, s.venue, s.venue_symbol, s.layer)) <> 3`,
  );
  return [...broken, ...sets.map(({ name }) => `set ${name}`)];
};
const forget = async (): Promise<void> => {
  await pool.query('truncate archive_days cascade');
  await pool.query('truncate archive_files');
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
};
/** Times a place is reached: the first, and the last of those that come for each file. */
const listTimes = (place: string): readonly number[] => (place === 'file-stored' ? [1, 3] : [1]);

t.test('an archive that is killed at any place ends with the same files', async (t) => {
  /** The day archived, rows added, archived again: what was replaced an hour ago is removed. */
  const prepare = async (): Promise<void> => {
    await forget();
    await runKilled(makeWork({ step: 'archive', nowMs: ARCHIVED - 60_000 }));
    await pool.query("update archive_sets set rows = rows - 1 where venue_symbol = 'BTCUSDT'");
    await pool.query(
      `insert into archive_files (object_key, day, venue, venue_symbol, layer, format, bytes, sha256, replaced_at)
       select object_key || '.old', day, venue, venue_symbol, layer, format, bytes, sha256, 'epoch' from archive_files limit 1`,
    );
  };
  await prepare();
  t.match(await runKilled(makeWork({ step: 'archive', nowMs: ARCHIVED })), /^1 sets of 50 rows/);
  const right = await readAll();
  for (const place of ARCHIVE_PLACES) {
    for (const time of listTimes(place)) {
      const name = `${place} ${time}`;
      await prepare();
      t.equal(
        await runKilled(makeWork({ step: 'archive', nowMs: ARCHIVED, killedAt: { place, time } })),
        null,
        `killed at ${name}`,
      );
      t.same(
        (await findHalf()).filter((found) => !found.includes('.old')),
        [],
        `${name}: nothing half`,
      );
      await runKilled(makeWork({ step: 'archive', nowMs: ARCHIVED }));
      t.same(await readAll(), right, `${name}: the same in the end`);
    }
  }
});

t.test('a closing that is killed at any place ends with the same root and files', async (t) => {
  const close = makeWork({ step: 'close', nowMs: CLOSED + MS_PER_DAY });
  await forget();
  t.match(await runKilled(close), /^100 leaves in 1 partitions; root/);
  const right = await readAll();
  for (const place of CLOSE_PLACES) {
    for (const time of listTimes(place)) {
      const name = `${place} ${time}`;
      await forget();
      t.equal(await runKilled({ ...close, killedAt: { place, time } }), null, `killed at ${name}`);
      t.same(await findHalf(), [], `${name}: nothing half`);
      await runKilled(close);
      t.same(await readAll(), right, `${name}: the same root and files`);
    }
  }
});

t.test('a posting that is killed at any place posts the root once', async (t) => {
  const { node, contract, settings } = await openAnchors(pool, chains.endpoints.rpc_url);
  const sent: unknown[] = [];
  for (const [at, place] of POSTING_PLACES.entries()) {
    const day = addDays('2026-02-01', at);
    const root = await addClosedDay(pool, day);
    const post = makeWork({ step: 'anchor', day, nowMs: Date.now(), anchors: settings });
    t.equal(await runKilled({ ...post, killedAt: { place, time: 1 } }), null, `killed at ${place}`);
    const { rows: before } = await pool.query('select tx_hash from anchor_transactions where day = $1', [day]);
    t.match(await runKilled(post), new RegExp(place === 'confirmed' ? '^confirmed before' : `^${root} in block`));
    const { rows } = await pool.query(
      'select status, problem, tx_hash from anchor_days where day = $1 and block is not null and anchored_at is not null',
      [day],
    );
    const { rows: stored } = await pool.query('select tx_hash, state from anchor_transactions where day = $1', [day]);
    t.match(rows, [{ status: 'confirmed', problem: null }], `${place}: confirmed`);
    t.same(stored, [{ tx_hash: rows[0]?.tx_hash, state: 'mined' }], `${place}: one transaction`);
    if (before.length > 0) t.same(before, [{ tx_hash: rows[0]?.tx_hash }], `${place}: the very same bytes`);
    sent.push(rows[0]?.tx_hash);
    t.same(await node.postings(contract), sent, `${place}: posted once`);
  }
});
