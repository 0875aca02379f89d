// `fresh=true` locks the states of its rules in the order in which evaluations lock them, whatever their order on the disk: two that met would
// end one of them as a deadlock (AG-03).
import type { Pool, PoolClient } from 'pg';
import t from 'tap';
import { openAgentRules } from '../../../api/rules/desk.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { makeRuleId } from '../../../api/rules/rule-id.ts';
import { createRule } from '../../../api/rules/store.ts';
import { market } from '../../support/apps/live-fixture.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);

const DRAFT: RuleDraft = {
  ...{ name: 'r', query: 'any(venues where mark > 1)', intervalS: 10, units: 'published', freshness: null },
  ...{ enabled: true, shared: false },
};

const LOCK = 'select 1 from rule_states where rule_id = $1 for update nowait';
const WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

const awaitWaiter = (pool: Pool): Promise<unknown> =>
  waitFor('a statement that waits for a lock', async () => (await pool.query(WAITING)).rowCount === 1);

/** The two rules, the first of which is written behind the other. */
const makeRules = async (pool: Pool): Promise<readonly [first: string, second: string]> => {
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const [first = '', second = ''] = [makeRuleId(), makeRuleId()].sort();
  for (const ruleId of [second, first]) await createRule(pool, DRAFT, { accountId: 'acc_a', actor: 'test', ruleId });
  return [first, second];
};

t.test('a claim, and a claim that is given back, wait for the first rule before they lock the second', async (t) => {
  const pool = await freshPool(t);
  const [first, second] = await makeRules(pool);
  const feed = market();
  const choose = () => ({ venues: null, instruments: null });
  const nowMicros = () => Date.now() * 1_000;
  const desk = openAgentRules({ pool, live: feed.memory, history: null, choose, nowMicros });
  const other = await pool.connect();
  t.teardown(() => other.release());
  const checkSecondIsFree = async (client: PoolClient): Promise<void> => {
    await awaitWaiter(pool);
    await t.resolves(client.query(LOCK, [second]), 'the second is not locked');
    await client.query('rollback');
  };

  await other.query('begin');
  await other.query(LOCK, [first]);
  const claimed = Promise.withResolvers<void>();
  const claiming = desk.evaluate([second, first], Date.now() * 1_000, async (count) => {
    t.equal(count, 2);
    await other.query('begin');
    await other.query(LOCK, [first]);
    claimed.resolve();
    throw new Error('over the limit of the day');
  });
  const ended = t.rejects(claiming, { message: 'over the limit of the day' });
  await checkSecondIsFree(other);
  await claimed.promise;
  await checkSecondIsFree(other);
  await ended;
  const { rows } = await pool.query('select fresh_at from rule_states');
  t.same(rows, [{ fresh_at: null }, { fresh_at: null }], 'given back');
  let spent = 0;
  const spend = async (count: number): Promise<void> => {
    spent += count;
  };
  await desk.evaluate([second, first], Date.now() * 1_000, spend);
  await desk.evaluate([second, first], Date.now() * 1_000, spend);
  t.equal(spent, 2, 'each at most once a second');
});
