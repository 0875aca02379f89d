// The shared rule of a local run, which anyone may read by its name, also with a payment (AC-06, AG-05): the rule that the documents name.
import { agentState } from '../../../api/operations/agent-state.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { createRule, listRules } from '../../../api/rules/store.ts';
import { runOnDatabase } from '../../postgres/migrate.ts';

const SHARED: RuleDraft = {
  name: 'funding of BTC or ETH above a basis point',
  query: 'any(venues where funding_8h > 1bps) where base in (BTC, ETH)',
  intervalS: 30,
  units: 'published',
  freshness: null,
  enabled: true,
  shared: true,
};

const [DOCUMENTED = ''] = agentState.example.input['rule_id'] as readonly string[];

/** Ensures that an account shares a rule; idempotent. Returns the ids of its shared rules. */
export const ensureDemoRules = (databaseUrl: string, accountId: string): Promise<readonly string[]> =>
  runOnDatabase({ url: databaseUrl, max: 1 }, async (pool) => {
    const held = (await listRules(pool, accountId)).filter(({ shared }) => shared).map(({ ruleId }) => ruleId);
    if (held.includes(DOCUMENTED)) return held;
    await createRule(pool, SHARED, { accountId, actor: 'demo', ruleId: DOCUMENTED });
    return [...held, DOCUMENTED];
  });
