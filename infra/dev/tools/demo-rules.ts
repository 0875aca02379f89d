// The shared rule of a local run, which anyone may read by its name, also with a payment (AC-06, AG-05).
import type { RuleDraft } from '../../../api/rules/rule.ts';
import { createRule, listRules } from '../../../api/rules/store.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';

const SHARED: RuleDraft = {
  name: 'funding of BTC or ETH above a basis point',
  query: 'any(venues where funding_8h > 1bps) where base in (BTC, ETH)',
  intervalS: 30,
  units: 'published',
  freshness: null,
  enabled: true,
  shared: true,
};

/** Ensures that an account shares a rule; idempotent. Requires the tables. Returns the ids of its shared rules. */
export const ensureDemoRules = async (databaseUrl: string, accountId: string): Promise<readonly string[]> => {
  const pool = openPostgres(databaseUrl, { max: 1 });
  try {
    const held = (await listRules(pool, accountId)).filter(({ shared }) => shared);
    const rules = held.length > 0 ? held : [await createRule(pool, SHARED, { accountId, actor: 'demo' })];
    return rules.map(({ ruleId }) => ruleId);
  } finally {
    await pool.end();
  }
};
