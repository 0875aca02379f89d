// Messages that wait while their webhook is disabled, and one that two processes send at once, over a real PostgreSQL (AG-06).
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { Sending } from '../../../api/rules/deliveries.ts';
import type { Outcome } from '../../../api/rules/evaluation.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { createRule } from '../../../api/rules/store.ts';
import { addWebhook, enableWebhook, listWebhooks } from '../../../api/rules/webhooks.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { startReceiver } from '../../support/services/webhook-receiver.ts';

t.setTimeout(900_000);

const DRAFT: RuleDraft = {
  ...{ name: 'r', query: 'any(venues where mark > 1)', intervalS: 10, units: 'published', freshness: null },
  ...{ enabled: true, shared: false },
};
const HOLDS: Outcome = {
  ...{ state: 'true', reason: null, matched: ['BTC-PERP'], matchedTotal: 1, unknown: [], unknownTotal: 0 },
};

/** So many moves of rules of the account, one of each. */
const move = async (pool: Pool, count: number): Promise<void> => {
  const at = Date.now() * 1_000 + 10_000_000;
  for (let i = 0; i < count; i++) {
    const rule = await createRule(pool, DRAFT, { accountId: 'acc_a', actor: 'test' });
    await recordEvaluations(pool, [{ rule, at, outcome: HOLDS }]);
  }
};

const deliverDue = async (pool: Pick<Pool, 'query'>): Promise<number> => {
  const deps = { pool, count: createRuleMetrics(new Registry()), log: createLog('test', 'silent') };
  const sending = new Sending({ ...deps, calls: { allowsLoopback: true, nowMs: Date.now } }, (error) => {
    throw error;
  });
  const begun = await sending.begin();
  await sending.allEnd();
  return begun;
};

t.test(
  'a webhook that is enabled again after days is sent what moved since, and nothing older than a day',
  async (t) => {
    const pool = await freshPool(t);
    await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
    let status = 500;
    const { received, url } = await startReceiver(t, (reply) => reply.writeHead(status).end());
    const { webhookId } = await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
    await move(pool, 3);
    await pool.query("update rule_deliveries set made_at = now() - interval '25 hours', attempts = 30");
    t.equal(await deliverDue(pool), 1);
    t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 2, dead: 1, disabled_at: Date }]);
    await enableWebhook(pool, webhookId, 'acc_a');
    t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 0, dead: 3, disabled_at: null, outcome: 'answered 500' }]);
    t.equal(await deliverDue(pool), 0);
    await move(pool, 1);
    t.equal(await deliverDue(pool), 1);
    t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 1, disabled_at: null }], 'one failure does not disable it');
    status = 200;
    await pool.query('update rule_deliveries set next_at = now()');
    t.equal(await deliverDue(pool), 1);
    t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 0, delivered: 1, dead: 3, disabled_at: null }]);
    t.equal(received.length, 3);
  },
);

t.test('a message that another process delivered meanwhile stays delivered, and disables nothing', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const { url } = await startReceiver(t, async (reply) => {
    // This process was held up for longer than its lease: the other one sent the message, and noted it.
    await pool.query("update rule_deliveries set state = 'delivered', outcome = 'answered 200', ended_at = made_at");
    reply.writeHead(500).end();
  });
  await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  await move(pool, 1);
  await pool.query("update rule_deliveries set made_at = now() - interval '25 hours'");
  t.equal(await deliverDue(pool), 1);
  t.match(await listWebhooks(pool, 'acc_a'), [
    { waiting: 0, delivered: 1, dead: 0, disabled_at: null, outcome: 'answered 200' },
  ]);
});

t.test('after a day without the service a message is tried eight times, or until it is two days old', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const { received, url } = await startReceiver(t, (reply) => reply.writeHead(500).end());
  const { webhookId } = await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  const age = (hours: number): Promise<unknown> =>
    pool.query('update rule_deliveries set next_at = now(), made_at = now() - make_interval(hours => $1)', [hours]);
  const readWait = async (): Promise<number> => {
    const sql =
      'select extract(epoch from next_at - tried_at)::float as s from rule_deliveries order by tried_at desc limit 1';
    return (await pool.query<{ s: number }>(sql)).rows[0]?.s ?? 0;
  };
  const waits: number[] = [];
  await move(pool, 1);
  for (let attempt = 1; attempt <= 8; attempt++) {
    await age(47);
    t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 1, dead: 0, disabled_at: null }], `attempt ${attempt}`);
    t.equal(await deliverDue(pool), 1);
    waits.push(await readWait());
  }
  t.same(waits, [5, 10, 20, 40, 80, 160, 320, 640], 'ten minutes at least');
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 0, dead: 1, disabled_at: Date }]);
  await enableWebhook(pool, webhookId, 'acc_a');
  await move(pool, 1);
  await pool.query("update rule_deliveries set made_at = now() - interval '49 hours' where state = 'waiting'");
  t.equal(await deliverDue(pool), 1);
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 0, dead: 2, disabled_at: Date }]);
  await enableWebhook(pool, webhookId, 'acc_a');
  await move(pool, 1);
  await pool.query("update rule_deliveries set attempts = 30 where state = 'waiting'");
  t.equal(await deliverDue(pool), 1);
  t.equal(await readWait(), 3_600, 'never longer than an hour');
  t.equal(received.length, 10);
});

t.test('a clock of the database that is set back puts off no message for longer than a wait (D-1046)', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const { received, url } = await startReceiver(t, (reply) => reply.writeHead(200).end());
  await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  await move(pool, 3);
  const putOff = (seconds: number): Promise<unknown> =>
    pool.query("update rule_deliveries set next_at = now() + make_interval(secs => $1) where state = 'waiting'", [
      seconds,
    ]);
  await putOff(3_590);
  t.equal(await deliverDue(pool), 0, 'the longest wait');
  await putOff(86_400 + 5);
  await pool.query(
    'update rule_deliveries set next_at = now() where delivery_id = (select max(delivery_id) from rule_deliveries)',
  );
  t.equal(await deliverDue(pool), 1, 'those that are due go first');
  t.equal(await deliverDue(pool), 1);
  t.equal(await deliverDue(pool), 1);
  t.equal(await deliverDue(pool), 0);
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 0, delivered: 3, dead: 0 }]);
  t.equal(received.length, 3);
});

t.test('the longest wait holds for a process that began to look before the attempt failed', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const { received, url } = await startReceiver(t, (reply) => reply.writeHead(500).end());
  await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  await move(pool, 1);
  await pool.query('update rule_deliveries set attempts = 30');
  const early = await pool.connect();
  t.teardown(() => early.release());
  // Its instant is from here on that of its transaction.
  await early.query('begin');
  t.equal(await deliverDue(pool), 1);
  t.equal(await deliverDue(early), 0);
  t.equal(received.length, 1);
});
