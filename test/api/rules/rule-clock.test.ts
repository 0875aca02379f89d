// The instant at which a rule is made, changed or disabled, on a real PostgreSQL: by its clock, whatever the process has (AG-06).
import t from 'tap';
import type { Outcome } from '../../../api/rules/evaluation.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { changeRule, createRule } from '../../../api/rules/store.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

const OWNER = { accountId: 'acc_a', actor: 'account acc_a' };
const DRAFT: RuleDraft = {
  ...{ name: 'rule', query: 'any(venues where mark > 1)', intervalS: 10, units: 'published', freshness: null },
  ...{ enabled: true, shared: false },
};
const HOLDS: Outcome = {
  ...{ state: 'true', reason: null, matched: ['BTC-PERP'], matchedTotal: 1, unknown: [], unknownTotal: 0 },
};

t.test(
  'a rule of a process whose clock is an hour ahead is evaluated at once, and has no move of the future',
  async (t) => {
    const pool = await freshPool(t);
    await createKey(pool, { plan: 'pro', name: 'test', accountId: 'acc_a', expiresAt: null }, 'test');
    const readNow = Date.now;
    t.intercept(Date, 'now', { value: () => readNow() + 3_600_000 });
    const rule = await createRule(pool, DRAFT, OWNER);
    const soon = readNow() + 60_000;
    t.equal(await recordEvaluations(pool, [{ rule, at: soon * 1_000, outcome: HOLDS }]), 1);
    await changeRule(pool, { ruleId: rule.ruleId, draft: { enabled: false } }, OWNER);
    const { rows } = await pool.query<{ at: string }>('select at from rule_transitions order by at');
    t.equal(rows.length, 2);
    t.ok(rows.every(({ at }) => Number(at) <= soon * 1_000));
  },
);
