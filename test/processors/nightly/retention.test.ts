// What the nightly step deletes of PostgreSQL: rows of processes and keys that are gone, and none of those that somebody may still read.
import t from 'tap';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import type { QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { retention } from '../../../processors/nightly/steps/retention.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { useEngines } from '../../support/engines/engines.ts';

const { database } = await useEngines(t, ['postgres']);
const pool = openPostgres(await database(), { max: 2 });
await migrate(pool);
t.teardown(() => pool.end());

const NOW = Date.parse('2026-06-01T06:00:00Z');
const LONG_AGO = '2026-04-01';
const LATELY = '2026-05-30';

const KEYS: readonly (readonly [name: string, revokedAt: string | null, expiresAt: string | null])[] = [
  ['live', null, null],
  ['long revoked', LONG_AGO, null],
  ['lately revoked', LATELY, null],
  ['long expired', null, LONG_AGO],
  ['revoked before its end', LONG_AGO, '2027-01-01'],
];

const makeRows = async (): Promise<void> => {
  await pool.query("insert into accounts (account_id) values ('acc_one')");
  await pool.query(`insert into rules (rule_id, account_id, name, query, interval_s, units, enabled, shared, phase)
    values ('rule_2VZNMB69MZW55TPFMV1TS69KK3', 'acc_one', 'r', 'any(venues where mark > 1)', 60, 'published', true, true, 0)`);
  for (const [i, [name, revokedAt, expiresAt]] of KEYS.entries()) {
    await pool.query(
      `insert into api_keys (key_id, account_id, hash, display, name, plan, revoked_at, expires_at)
      values ($1, 'acc_one', $2, 'sk_12345', $1, 'free', $3, $4)`,
      [name, Buffer.alloc(32, i), revokedAt, expiresAt],
    );
  }
  const callers = [...KEYS.map(([name]) => name), '0x2e0d72793462f34e9c9f7d3c576cbbb19a1d8510'];
  for (const caller of callers)
    await pool.query("insert into rule_told values ('rule_2VZNMB69MZW55TPFMV1TS69KK3', $1, 'true', $2)", [
      caller,
      LONG_AGO,
    ]);
  for (const [node, at] of [
    ['ended', LONG_AGO],
    ['runs', LATELY],
  ])
    await pool.query('insert into meter_tellings values ($1, 1, $2)', [node, at]);
};

/** Tables by the days that their rows are kept, and a row of an instant (docs/deployment.md). */
const KEPT: readonly (readonly [table: string, days: number, insert: string])[] = [
  [
    'settled_requests',
    60,
    "(request_hash, path, request, items_sha256, earliest, asked_at) values (sha256($1::timestamptz::text::bytea), '/v2/candles', '{}', repeat('a', 64), $1, $1)",
  ],
  ['nightly_steps', 400, "(day, step, state) values ($1, 'turnover', 'done')"],
  ['daily_turnover', 90, "(day, source, turnover) values ($1, 'history', '{}')"],
  ['daily_presence', 400, "values ($1, 'binance', 'mark', 1, 1, 1)"],
  ['key_usage', 400, "values ('key', $1, 'screen', 1)"],
  ['key_meters', 30, 'values ($1::timestamptz::text, 1, $1, $1, 1)'],
  ['incidents', 400, "(kind, subject, state, note, closed_at) values ('gap', $1::timestamptz::text, 'closed', '', $1)"],
  [
    'incidents',
    400,
    "(kind, subject, state, note, closed_at) values ('gap', $1::timestamptz::text, 'wontfix', '', $1)",
  ],
  ['meter_tellings', 30, 'values ($1::timestamptz::text, 1, $1)'],
];
const run = async (): Promise<void> => {
  const questdb = { query: async () => [] } as unknown as QuestdbReader;
  const context = { database: pool, questdb, namespace: 'replay.', nowMs: () => NOW, log: createLog('t', 'silent') };
  await retention.run('2026-06-01', context as unknown as NightlyContext);
};

t.test('each table keeps its rows for the days that the manual says, and an open incident stays', async (t) => {
  await pool.query("insert into incidents (kind, subject, note, opened_at) values ('gap', 'open', '', '2020-01-01')");
  for (const [table, days, insert] of KEPT) {
    const count = async () => (await pool.query(`select from ${table}`)).rowCount ?? 0;
    const before = await count();
    for (const age of [days + 1, days - 1])
      await pool.query(`insert into ${table} ${insert}`, [new Date(NOW - age * MS_PER_DAY).toISOString()]);
    await run();
    t.equal(await count(), before + 1, `${table}: the one of ${days + 1} days goes, the one of ${days - 1} stays`);
    await run();
    t.equal(await count(), before + 1);
  }
  await pool.query('delete from meter_tellings');
});

t.test('rows of API processes and keys that ended long ago go, others stay', async (t) => {
  await makeRows();
  await run();
  const read = async (text: string): Promise<unknown[]> =>
    (await pool.query<{ name: string }>(text)).rows.map(({ name }) => name);
  t.same(await read('select node as name from meter_tellings'), ['runs']);
  t.same(await read('select caller as name from rule_told order by caller'), [
    '0x2e0d72793462f34e9c9f7d3c576cbbb19a1d8510',
    'lately revoked',
    'live',
  ]);
});
