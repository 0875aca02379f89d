// Moves and messages of months: what a webhook has waiting, and what has been delivered, costs the next message nothing (AG-06).
import type { Pool, PoolClient } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { Sending } from '../../../api/rules/deliveries.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { createRule } from '../../../api/rules/store.ts';
import { addWebhook } from '../../../api/rules/webhooks.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { startReceiver } from '../../support/services/webhook-receiver.ts';

t.setTimeout(900_000);

const MOVES = 5_000;
const MADE = `
  insert into rule_transitions (rule_id, version, at, from_state, to_state)
  select $1, 1, n, 'true', 'false' from generate_series(1, $2::integer) n`;

/** Moves of a new rule of the account, each with its message to each of the account's webhooks. */
const move = async (pool: Pool, accountId: string): Promise<void> => {
  const draft = { name: 'r', query: 'any(venues where mark > 1)', intervalS: 10, freshness: null } as const;
  const rule = await createRule(
    pool,
    { ...draft, units: 'published', enabled: true, shared: false },
    { accountId, actor: 'test' },
  );
  await pool.query(MADE, [rule.ruleId, MOVES]);
};

/** Rows of messages that this transaction has read so far. */
const countRead = async (client: PoolClient): Promise<number> => {
  const sql = `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables where relname = 'rule_deliveries'`;
  return (await client.query<{ read: number }>(sql)).rows[0]?.read ?? 0;
};

t.test('one message of each webhook is read, whatever waits behind it or for a disabled one', async (t) => {
  const pool = await freshPool(t);
  const { url } = await startReceiver(t, (reply) => reply.writeHead(500).end());
  for (const account of ['acc_failing', 'acc_disabled']) {
    await pool.query("insert into accounts (account_id, plan) values ($1, 'pro')", [account]);
    await addWebhook(pool, { accountId: account, url, allowsLoopback: true });
    await move(pool, account);
  }
  await pool.query(`update rule_webhooks set disabled_at = now() where account_id = 'acc_disabled'`);
  await pool.query('analyze');

  const client = await pool.connect();
  await client.query('begin');
  const deps = { pool: client, count: createRuleMetrics(new Registry()), log: createLog('test', 'silent') };
  const sending = new Sending({ ...deps, calls: { allowsLoopback: true, nowMs: Date.now } }, (error) => {
    throw error;
  });
  t.equal(await sending.begin(), 1, 'the oldest of the one that is not disabled');
  const read = await countRead(client);
  t.ok(read < 50, `${read} rows were read of ${2 * MOVES}`);
  await sending.allEnd();
  await client.query('rollback');
  client.release();
});
