// The close step on real PostgreSQL, QuestDB and disk: the same rows give the same root and bytes, through any interruption (AN-02, AR-03).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import t from 'tap';
import { type ObjectStore, openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { runCommand } from '../../../processors/nightly/command.ts';
import { addDays, type Day, findDayStart } from '../../../processors/nightly/day.ts';
import { openLedger } from '../../../processors/nightly/ledger.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { archive } from '../../../processors/nightly/steps/archive/archive.ts';
import { close } from '../../../processors/nightly/steps/merkle/close.ts';
import { compare } from '../../../processors/nightly/steps/merkle/compare.ts';
import { makeGapRow, makeListingRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { createTileReader } from '../../../schemas/merkle/tiles.ts';
import { verifyInclusion } from '../../../schemas/merkle/verify.ts';
import { RETENTION_DAYS } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listing, listingValues, markReading } from '../../support/apps/live-fixture.ts';
import { readClosing } from '../../support/days/closed-day.ts';
import { openNightlyStores } from '../../support/days/nightly-stores.ts';
import { runBoth } from '../../support/days/verifiers.ts';

t.setTimeout(900_000);
const DAY: Day = '2026-01-10';
const BEGIN = findDayStart(DAY) * 1_000;
const SECOND = 1_000_000;
const CLOSING = findDayStart(addDays(DAY, 7));
const SYMBOLS = ['AAAUSDT', 'BTCUSDT', '币安人生USDT'];
const WINDOWS = 100;

const stores = await openNightlyStores(t, { readers: 1 });
const { pool, folder, write } = stores;
const replayed = await stores.openNamespace();
const store = openFolderStore(join(folder, 'store'));

const markRow = (symbol: string, window: number, { late = false, recordedAt = 0, venue = 'binance' } = {}): Row => {
  const at = BEGIN + window * 10 * SECOND;
  const srcOffset = late ? 10_000 + window : window;
  return makeReadingRow(
    { venue, symbol, layer: 'mark' },
    { from: at - 10 * SECOND, at, srcOffset, late },
    markReading(`${60_000 + srcOffset}.10`, { received_at: at - 1, recorded_at: recordedAt || at + SECOND }),
  );
};
const listRows = (symbol: string): Row[] => [
  makeListingRow(
    { venue: 'binance', task: 'binance/0', srcOffset: 0, recordedAt: BEGIN },
    listing('binance', listingValues({ venue_symbol: symbol, instrument: symbol.replace('USDT', '-PERP') }), {
      writtenAt: BEGIN,
    }),
  ),
  ...Array.from({ length: WINDOWS }, (_, at) => markRow(symbol, at + 1)),
  markRow(symbol, 7, { late: true, recordedAt: CLOSING * 1_000 - 1_000 }),
  // Recorded at the closing instant: stored, and no leaf.
  markRow(symbol, 8, { late: true, recordedAt: CLOSING * 1_000 }),
  makeGapRow(
    { venue: 'binance', symbol, layer: 'ticker' },
    { from: BEGIN, at: BEGIN + 60 * SECOND, srcOffset: 9, late: false },
    'no_update',
  ),
];
const rows = [
  ...SYMBOLS.flatMap(listRows),
  // A listing of which all was recorded after the closing has no leaf and no file.
  markRow('LATEUSDT', 1, { late: true, recordedAt: CLOSING * 1_000 + 1_000 }),
];
await write(rows);
// The replay writes in another order, and part of it twice.
await write([...rows].reverse(), replayed);
await write(rows.slice(0, 40), replayed);
await pool.query("insert into daily_turnover (day, source, turnover) values ($1, 'history', $2)", [
  addDays(DAY),
  { binance: { 'BTC-PERP': '10' } },
]);

let nowMs = CLOSING;
let reachedMs = CLOSING;
const makeContext = (over: Partial<NightlyContext> = {}): NightlyContext =>
  stores.makeContext({
    nowMs: () => nowMs,
    historyWatermark: async () => ({ at: reachedMs * 1_000, of: 'binance/0' }),
    store,
    ...over,
  });

const readAll = (): Promise<unknown[]> => readClosing(pool);
const forget = (): Promise<unknown> => pool.query('truncate archive_days cascade');

t.test('a day waits for history W of every task, and by hand until it is due', async (t) => {
  reachedMs = CLOSING - 1;
  await t.rejects(close.run(DAY, makeContext()), /has reached 2026-01-16T23:59:59.999000Z, not 2026-01-17T00:00/);
  t.same(await readAll(), [[], [], [], [], []]);
  reachedMs = CLOSING;
  const words = ['--step', 'close', '--day', DAY];
  const run = (context: NightlyContext, more: readonly string[] = []): Promise<string> =>
    runCommand([...words, ...more], { steps: [close], ledger: openLedger(pool), context });
  nowMs = CLOSING - 1;
  await t.rejects(run(makeContext()), /close of 2026-01-10 is due at 2026-01-17T00:00:00.000Z/);
  await t.rejects(run(makeContext({ isBinding: async () => true }), ['--early']), /the anchor binds/);
  reachedMs = findDayStart(addDays(DAY)) + 3_600_000;
  t.match(await run(makeContext(), ['--early']), /^303 leaves in 2 partitions/, 'late rows are of later');
  const closings = async () => (await pool.query('select closed_at from archive_days')).rows;
  const early = [{ closed_at: new Date(reachedMs) }];
  t.same(await closings(), early);
  reachedMs += 3_600_000;
  t.match(await run(makeContext(), ['--early']), /^303 leaves/);
  t.same(await closings(), early, 'the instant of the first run holds for every later one');
  await forget();
  reachedMs = findDayStart(DAY) + 100_000;
  await t.rejects(run(makeContext(), ['--early']), /2026-01-10 has not begun in stored history/);
  t.same(await closings(), [], 'it is not closed without rows for ever');
  reachedMs += 300_001;
  t.match(await run(makeContext(), ['--early']), /^93 leaves/, 'a day that runs: the rows sealed by now');
  t.same(await closings(), [{ closed_at: new Date(reachedMs) }]);
  nowMs = CLOSING;
  reachedMs = CLOSING;
  t.match(await run(makeContext()), /^93 leaves/, 'also once it is due');
  await forget();
  nowMs = CLOSING;
  reachedMs = CLOSING + 3_600_000;
  await run(makeContext(), ['--early']);
  t.same(await closings(), [{ closed_at: new Date(CLOSING) }], 'a day closes at D+7 at the latest (AN-02)');
  await forget();
  reachedMs = CLOSING;
});

let first: unknown[] = [];
t.test('the day archived, then closed: final files, trees, root; a second run changes nothing', async (t) => {
  nowMs = findDayStart(addDays(DAY)) + 6 * 3_600_000;
  await archive.run(DAY, makeContext());
  nowMs = CLOSING + MS_PER_DAY;
  t.match(await close.run(DAY, makeContext()), /^306 leaves in 2 partitions; root [0-9a-f]{64}$/);
  first = await readAll();
  const [partitions, sets] = first as [{ table_name: string; rows: string }[], Record<string, unknown>[]];
  t.same(
    partitions.map(({ table_name, rows }) => `${table_name} ${rows}`),
    ['mark 303', 'ticker 3'],
  );
  t.same(
    sets
      .filter(({ layer }) => layer === 'mark')
      .map(({ venue_symbol, first_leaf, final }) => [venue_symbol, first_leaf, final]),
    [
      ['AAAUSDT', '101', true],
      ['BTCUSDT', '0', true],
      ['币安人生USDT', '202', true],
    ],
    'the core class comes first',
  );
  await close.run(DAY, makeContext());
  await archive.run(DAY, makeContext());
  t.same(await readAll(), first);
});

t.test('every leaf has its proof out of the kept hashes', async (t) => {
  const { rows: kept } = await pool.query<{ rows: string; root: string; tree_key: string }>(
    'select rows, root, tree_key from anchor_partitions',
  );
  t.ok(kept.length > 0);
  for (const { rows, root, tree_key } of kept) {
    const file = await buffer(await store.read(tree_key));
    const size = Number(rows);
    const reader = createTileReader(size, async (at, count) => file.subarray(32 * at, 32 * (at + count)));
    for (let index = 0; index < size; index++)
      verifyInclusion(
        { index, size, leaf: await reader.leaf(index), path: await reader.path(index) },
        Buffer.from(root, 'hex'),
      );
    t.pass(`${size} proofs`);
  }
});

t.test('both verifiers accept the final files with the answer of the day', async (t) => {
  const { rows: partitions } = await pool.query<{ table: string; rows: string; root: string; leaf: string }>(
    'select table_name as table, rows, root, leaf from anchor_partitions order by 1',
  );
  const { rows: days } = await pool.query<{ day_root: string }>('select day_root from anchor_days');
  const none = { contract: null, tx_hash: null, block: null, anchored_at: null };
  const answer = {
    evaluated_at: '2026-01-20T00:00:00.000Z',
    ...{ day: DAY, network: 'eip155:8453', binding: false, schema_version: 1 },
    ...{ closed_at: new Date(CLOSING).toISOString(), day_root: days[0]?.day_root },
    partitions: partitions.map((partition, index) => ({ ...partition, rows: Number(partition.rows), index })),
    anchor: { anchored: false, status: 'pending', ...none, anchored_lag_days: null, explorer_url: null },
  };
  writeFileSync(join(folder, 'day.json'), JSON.stringify(answer));
  for (const format of ['parquet', 'csv', 'jsonl']) {
    const { rows: files } = await pool.query<{ object_key: string }>(
      "select object_key from archive_files where layer = 'mark' and format = $1 and replaced_at is null",
      [format],
    );
    const { python, node } = await runBoth(
      ['day.json', ...files.map(({ object_key }) => join('store', object_key))],
      folder,
    );
    t.equal(python.code, 0, `${format}: ${python.out}${python.err}`);
    t.equal(node.code, 0, `${format}: ${node.out}${node.err}`);
  }
});

t.test('a replay of the same rows in another order has the same root and the same bytes', async (t) => {
  await forget();
  const other = openFolderStore(join(folder, 'replay'));
  await close.run(DAY, makeContext({ namespace: replayed, store: other }));
  t.same(await readAll(), first);
  const [partitions, , files] = first as [{ tree_key: string }[], unknown, { object_key: string }[]];
  for (const key of [...partitions.map(({ tree_key }) => tree_key), ...files.map(({ object_key }) => object_key)])
    t.ok((await buffer(await other.read(key))).equals(await buffer(await store.read(key))), key);
});

t.test(
  'stored rows are compared with their leaves: a changed or added row is reported until it is right again',
  async (t) => {
    await forget();
    await close.run(DAY, makeContext());
    const state = async () =>
      (await pool.query('select table_name, difference from anchor_partitions where changed_at is not null')).rows;
    t.equal(await compare.run(DAY, makeContext()), '2 partitions compared, 0 differ');
    t.equal(await compare.run(DAY, makeContext()), '0 partitions compared, 0 differ', 'not again within its time');
    nowMs += 29 * MS_PER_DAY;
    const right = markRow('BTCUSDT', 5);
    await write([{ ...right, figures: { ...right.figures, mark: '60005.2' } }]);
    t.equal(await compare.run(DAY, makeContext()), '2 partitions compared, 1 differ');
    t.same(await state(), [{ table_name: 'mark', difference: 'binance:BTCUSDT: leaf 4 differs from its stored row' }]);
    await write([right]);
    t.equal(
      await compare.run(DAY, makeContext()),
      '1 partitions compared, 0 differ',
      'what differs is looked at every night',
    );
    t.same(await state(), []);
    const { rows: incidents } = await pool.query('select kind, subject, state from incidents');
    t.same(
      incidents,
      [{ kind: 'anchored_rows_changed', subject: `${DAY} mark`, state: 'open' }],
      'it stays for a person',
    );
    await pool.query('update anchor_partitions set compared_at = null');
    const { rows: trees } = await pool.query<{ key: string; other: string }>(
      `select tree_key as key, (select table_name from anchor_partitions where table_name <> 'mark') as other
       from anchor_partitions where table_name = 'mark'`,
    );
    const [{ key: treeKey, other }] = trees as [{ key: string; other: string }];
    const hashes = await buffer(await store.read(treeKey));
    await store.remove(treeKey);
    const elsewhere = makeContext({ store: openFolderStore(join(folder, 'empty')) });
    await t.rejects(compare.run(DAY, elsewhere), { code: 'ENOENT' }, 'a store without any file says nothing');
    t.same(await state(), []);
    t.equal(await compare.run(DAY, makeContext()), '2 partitions compared, 1 differ', `${other} is compared too`);
    t.match(await state(), [{ table_name: 'mark', difference: `binance:BTCUSDT: ${treeKey} is lost` }]);
    writeFileSync(join(folder, 'hashes'), hashes);
    await store.put(treeKey, join(folder, 'hashes'));
    t.equal(await compare.run(DAY, makeContext()), '1 partitions compared, 0 differ');
    nowMs += 29 * MS_PER_DAY;
    await write([markRow('NEWUSDT', 3)], replayed);
    t.equal(await compare.run(DAY, makeContext({ namespace: replayed })), '2 partitions compared, 1 differ');
    t.match(await state(), [{ difference: 'binance:NEWUSDT: 1 stored rows and no leaf' }]);
    nowMs = CLOSING + 120 * MS_PER_DAY;
    t.equal(await compare.run(DAY, makeContext()), '2 partitions compared, 0 differ', 'readings outlive events');
    const lastDay = findDayStart(addDays(DAY, RETENTION_DAYS.readings - 2));
    nowMs = lastDay;
    const order = 'select table_name from anchor_partitions order by compared_at nulls first, table_name desc';
    await pool.query("update anchor_partitions set compared_at = '2026-01-20' where table_name = 'mark'");
    await pool.query("update anchor_partitions set compared_at = '2026-01-19' where table_name <> 'mark'");
    const before = (await pool.query(order)).rows;
    const ticking = makeContext({ nowMs: () => nowMs++ });
    t.equal(await compare.run(DAY, ticking), '2 partitions compared, 0 differ', 'on the last day with all of its rows');
    t.same((await pool.query(order)).rows, before, 'the one that waited longest first');
    nowMs = lastDay + MS_PER_DAY;
    await pool.query('update anchor_partitions set compared_at = null');
    t.equal(await compare.run(DAY, makeContext()), '0 partitions compared, 0 differ', 'they are in final files only');
    await pool.query("update anchor_partitions set changed_at = now(), difference = 'one' where table_name = 'mark'");
    const [key] = (
      await pool.query<{ key: string }>(
        `select object_key as key from archive_files where layer = 'mark' and venue_symbol = 'BTCUSDT' and format = 'jsonl' and replaced_at is null`,
      )
    ).rows.map((file) => file.key);
    const bytes = await buffer(await store.read(key ?? ''));
    const put = async (content: Uint8Array): Promise<void> => {
      const path = join(folder, 'put');
      writeFileSync(path, content);
      await store.put(key ?? '', path);
    };
    await store.remove(key ?? '');
    t.equal(await compare.run(DAY, makeContext()), '1 partitions compared, 1 differ', 'a final file that is lost');
    t.match(await state(), [{ difference: /^binance:BTCUSDT: .*jsonl\.zst or its kept hashes are lost$/ }]);
    await put(zstdCompressSync(zstdDecompressSync(bytes).subarray(1)));
    t.equal(await compare.run(DAY, makeContext()), '1 partitions compared, 1 differ', 'one that is damaged');
    await put(zstdCompressSync(zstdDecompressSync(bytes).toString().replace('60005.1', '60005.2')));
    t.equal(await compare.run(DAY, makeContext()), '1 partitions compared, 1 differ', 'one with another row');
    t.match(await state(), [{ difference: 'binance:BTCUSDT: leaf 4 differs from its stored row' }]);
    await put(bytes);
    t.equal(
      await compare.run(DAY, makeContext()),
      '1 partitions compared, 0 differ',
      'a partition that differed is compared with its final files, which are its stored rows then (AR-08)',
    );
    t.same(await state(), []);
    nowMs = CLOSING + MS_PER_DAY;
  },
);

/** A process that is killed at its `budget`th call to the database or the store: no later call arrives. */
const killedAfter = (budget: number): { readonly context: NightlyContext; readonly isDead: () => boolean } => {
  let left = budget;
  const step = (): void => {
    left -= 1;
    if (left < 0) throw new Error('killed');
  };
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (held, name) => {
        const member = Reflect.get(held, name) as unknown;
        if (typeof member !== 'function') return member;
        if (name === 'connect') return async () => counted(await (member as () => Promise<object>).call(held));
        if (name !== 'query' && name !== 'put') return (member as (...words: unknown[]) => unknown).bind(held);
        return async (...words: unknown[]) => {
          step();
          return (member as (...words: unknown[]) => unknown).apply(held, words);
        };
      },
    });
  return {
    context: makeContext({ database: counted(pool), store: counted<ObjectStore>(store) }),
    isDead: () => left < 0,
  };
};

t.test('killed at each step: nothing partial is published, and the next run has the same root and bytes', async (t) => {
  let steps = 0;
  for (let isDead = true; isDead; steps++) {
    await forget();
    const killed = killedAfter(steps);
    await close.run(DAY, killed.context).catch(() => undefined);
    isDead = killed.isDead();
    const { rows: half } = await pool.query(
      `select layer from archive_sets s where final <> exists (
         select 1 from anchor_partitions p where p.day = s.day and p.table_name = s.layer)`,
    );
    t.same(half, [], `step ${steps}: final sets and their partition come together`);
    const { rows: keys } = await pool.query<{ key: string }>(
      'select tree_key as key from anchor_partitions union all select object_key from archive_files',
    );
    for (const { key } of keys) t.ok((await store.size(key)) !== null, `step ${steps}: ${key} is whole`);
    await close.run(DAY, makeContext());
    t.same(await readAll(), first, `step ${steps}: the same in the end`);
  }
  t.ok(steps > 30, `${steps} steps`);
});

t.test('leaves lie by cold class, then by venue and symbol in the order of bytes (AN-07)', async (t) => {
  const back = 20;
  const day = addDays(DAY, back);
  const window = back * 8_640 + 1;
  // By bytes the letter precedes the picture, by UTF-16 it follows.
  const others = ['AAAUSDT', '\uFB33', '\u{1F602}'];
  // More than are read at once.
  const count = 1_002;
  await write([
    ...['BTCUSDT', ...others].map((symbol) => markRow(symbol, window)),
    ...Array.from({ length: count }, (_, at) => markRow('AAB', window + at, { venue: 'okx' })),
  ]);
  reachedMs = CLOSING + back * MS_PER_DAY;
  await close.run(day, makeContext());
  const { rows: sets } = await pool.query<{ name: string }>(
    `select venue || ':' || venue_symbol as name from archive_sets where day = $1 and layer = 'mark' order by first_leaf`,
    [day],
  );
  t.same(
    sets.map(({ name }) => name),
    ['binance:BTCUSDT', ...others.map((symbol) => `binance:${symbol}`), 'okx:AAB'],
  );
  const { rows: files } = await pool.query<{ key: string }>(
    "select object_key as key from archive_files where day = $1 and venue = 'okx' and format = 'jsonl'",
    [day],
  );
  const lines = zstdDecompressSync(await buffer(await store.read(files[0]?.key ?? '')))
    .toString()
    .trim()
    .split('\n');
  t.same(
    lines.map((line) => (JSON.parse(line) as { leaf_index: number }).leaf_index),
    Array.from({ length: count }, (_, at) => sets.length - 1 + at),
    'each row names its leaf',
  );
  await pool.query(
    `insert into archive_sets (day, venue, venue_symbol, layer, instrument, tier, rows, schema_version, final)
     values ($1, 'binance', 'GONEUSDT', 'mark', 'GONE-PERP', 'other', 1, 1, false)`,
    [day],
  );
  await close.run(day, makeContext());
  const { rows: incidents } = await pool.query(
    "select subject, details from incidents where kind = 'archived_rows_lost'",
  );
  t.same(
    incidents,
    [{ subject: day, details: { sets: ['mark of binance:GONEUSDT'] } }],
    'rows that were archived and could not be read',
  );
});

t.test('what is stored after the root adds no table to a closed day (AN-12)', async (t) => {
  const day = addDays(DAY, 20);
  const begin = BEGIN + 20 * MS_PER_DAY * 1_000;
  const read = async () =>
    (await pool.query('select table_name, root from anchor_partitions where day = $1', [day])).rows;
  const before = await read();
  const name = { venue: 'binance', symbol: 'BTCUSDT', layer: 'ticker' } as const;
  const gap = { from: begin, at: begin + 60 * SECOND, srcOffset: 9, late: false };
  await write([makeGapRow(name, gap, 'no_update')]);
  t.match(await close.run(day, makeContext()), /^1006 leaves in 1 partitions/);
  t.same(await read(), before);
});

t.test(
  'the first archive run fixes the tier of every listing, also of one whose instrument changes (AR-04)',
  async (t) => {
    const back = 21;
    const day = addDays(DAY, back);
    const end = findDayStart(addDays(day));
    await write(['AAAUSDT', 'BTCUSDT'].map((symbol) => markRow(symbol, back * 8_640 + 1)));
    reachedMs = end + 6 * 3_600_000;
    nowMs = reachedMs;
    await archive.run(day, makeContext());
    const writtenAt = (end + 12 * 3_600_000) * 1_000;
    const renamed = listing('binance', listingValues({ venue_symbol: 'AAAUSDT', instrument: 'BTC-PERP' }), {
      writtenAt,
    });
    const from = { venue: 'binance', task: 'binance/0', srcOffset: 1, recordedAt: writtenAt };
    await write([makeListingRow(from, renamed), markRow('AAAUSDT', back * 8_640 + 2)]);
    const read = async () =>
      (
        await pool.query(
          `select venue_symbol || ' ' || instrument || ' ' || tier as set from archive_sets where day = $1 and layer = 'mark'
         order by first_leaf, venue_symbol`,
          [day],
        )
      ).rows.map(({ set }) => set as string);
    nowMs += MS_PER_DAY;
    reachedMs += MS_PER_DAY;
    await archive.run(addDays(day), makeContext());
    t.same(await read(), ['AAAUSDT AAA-PERP other', 'BTCUSDT BTC-PERP core']);
    reachedMs = CLOSING + back * MS_PER_DAY;
    nowMs = reachedMs;
    await close.run(day, makeContext());
    t.same(
      await read(),
      ['BTCUSDT BTC-PERP core', 'AAAUSDT AAA-PERP other'],
      'its leaves lie in the class of its tier',
    );
  },
);
