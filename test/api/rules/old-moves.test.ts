// What is kept of earlier moves and versions of a rule: 30 days, and never less than the current version (AG-06).
import type { Pool } from 'pg';
import t from 'tap';
import { recordEvaluations } from '../../../api/rules/record.ts';
import {
  changeRule,
  createRule,
  dropOldMoves,
  listRules,
  readTransitions,
  removeRule,
} from '../../../api/rules/store.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

const OWNER = { accountId: 'acc_a', actor: 'account acc_a' };
const DRAFT = { name: 'rule', query: 'any(venues where mark > 1)', intervalS: 10, freshness: null } as const;

const makeRule = async (pool: Pool, changes: number): Promise<string> => {
  const { ruleId } = await createRule(pool, { ...DRAFT, units: 'published', enabled: true, shared: false }, OWNER);
  for (let i = 0; i < changes; i++) await changeRule(pool, { ruleId, draft: { name: `rule ${i}` } }, OWNER);
  return ruleId;
};

const listVersions = async (pool: Pool, ruleId: string): Promise<readonly number[]> => {
  const sql = 'select version from rule_versions where rule_id = $1 order by version';
  return (await pool.query<{ version: number }>(sql, [ruleId])).rows.map(({ version }) => version);
};

/** Makes versions up to this one 31 days older. */
const age = (pool: Pool, ruleId: string, upTo: number) =>
  pool.query(`update rule_versions set at = at - interval '31 days' where rule_id = $1 and version <= $2`, [
    ruleId,
    upTo,
  ]);

t.test('a version goes 30 days after the next one came; the current one and those of kept moves stay', async (t) => {
  const pool = await freshPool(t);
  await createKey(pool, { plan: 'pro', name: 'test', accountId: 'acc_a', expiresAt: null }, 'test');
  const [replaced, old, moved] = [await makeRule(pool, 3), await makeRule(pool, 2), await makeRule(pool, 2)];
  const listed = (await listRules(pool, 'acc_a')).map(({ ruleId }) => ruleId);
  t.same(listed, [replaced, old, moved], 'oldest first');
  const rule = await changeRule(pool, { ruleId: moved, draft: { name: 'moved' } }, OWNER);
  const outcome = { state: 'true', reason: null, matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;
  await recordEvaluations(pool, [{ rule, at: Date.now() * 1_000 + 60_000_000, outcome }]);
  await changeRule(pool, { ruleId: moved, draft: { name: 'last' } }, OWNER);
  await age(pool, replaced, 3);
  await age(pool, old, 3);
  await age(pool, moved, 5);

  await dropOldMoves(pool);
  t.same(await listVersions(pool, replaced), [3, 4], 'the third was replaced within 30 days');
  t.same(await listVersions(pool, old), [3]);
  t.same(await listVersions(pool, moved), [rule.version, 5]);

  await pool.query(`update rule_transitions set recorded_at = recorded_at - interval '31 days'`);
  await dropOldMoves(pool);
  t.same(await readTransitions(pool, moved), []);
  t.same(await listVersions(pool, moved), [5], 'the version goes with its move');
});

t.test(
  'an account that changes its rules without end is refused until a day has passed; removing is not',
  async (t) => {
    const pool = await freshPool(t);
    const fill = (
      accountId: string,
      events: number,
      { ago, action = 'rule_changed' }: { ago: string; action?: string },
    ) =>
      pool.query(
        `insert into account_events (account_id, action, actor, at)
      select $1, $4, 'owner', now() - $3::interval from generate_series(1, $2)`,
        [accountId, events, ago, action],
      );
    await createKey(pool, { plan: 'pro', name: 'test', accountId: 'acc_a', expiresAt: null }, 'test');
    const ruleId = await makeRule(pool, 0);
    await fill('acc_a', 1_998, { ago: '1 hour' });
    await fill('acc_a', 2_000, { ago: '1 hour', action: 'sign_in_failed' });
    await changeRule(pool, { ruleId, draft: { name: 'the 2,000th' } }, OWNER);
    const refused = { errors: [{ code: 'PLAN_LIMIT', message: 'An account has at most 2000 changes in 24 hours.' }] };
    await t.rejects(changeRule(pool, { ruleId, draft: { name: 'one more' } }, OWNER), refused);
    await t.rejects(makeRule(pool, 0), refused);
    await changeRule(pool, { ruleId, draft: { enabled: false } }, { accountId: null, actor: 'operator' });
    await removeRule(pool, ruleId, OWNER);
    t.same(await listVersions(pool, ruleId), []);

    await createKey(pool, { plan: 'pro', name: 'test', accountId: 'acc_b', expiresAt: null }, 'test');
    await fill('acc_b', 2_500, { ago: '25 hours' });
    // The clock of the database was set back since (D-1172).
    await createKey(pool, { plan: 'pro', name: 'test', accountId: 'acc_c', expiresAt: null }, 'test');
    await fill('acc_c', 2_500, { ago: '-40 days' });
    for (const accountId of ['acc_b', 'acc_c'])
      await createRule(
        pool,
        { ...DRAFT, units: 'published', enabled: true, shared: false },
        { accountId, actor: `account ${accountId}` },
      );
  },
);
