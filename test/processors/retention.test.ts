// What the nightly step deletes of PostgreSQL: rows of processes and keys that are gone, and none of those that somebody may still read.
import t from 'tap';
import { migrate } from '../../infra/postgres/migrate.ts';
import { createLog } from '../../infra/runtime/log.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import type { QuestdbReader } from '../../infra/runtime/questdb/reader.ts';
import { retention } from '../../processors/nightly/retention.ts';
import type { NightlyContext } from '../../processors/nightly/step.ts';
import { useEngines } from '../support/engines.ts';

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

t.test('rows of API processes and keys that ended long ago go, others stay', async (t) => {
  await makeRows();
  const questdb = { query: async () => [] } as unknown as QuestdbReader;
  const context = { database: pool, questdb, namespace: 'replay.', nowMs: () => NOW, log: createLog('t', 'silent') };
  await retention.run('2026-06-01', context as unknown as NightlyContext);
  const read = async (text: string): Promise<unknown[]> =>
    (await pool.query<{ name: string }>(text)).rows.map(({ name }) => name);
  t.same(await read('select node as name from meter_tellings'), ['runs']);
  t.same(await read('select caller as name from rule_told order by caller'), [
    '0x2e0d72793462f34e9c9f7d3c576cbbb19a1d8510',
    'lately revoked',
    'live',
  ]);
});
