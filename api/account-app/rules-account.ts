// The rules of an account when it is closed, and their part of its export (AG-06, AC-04).
import type { OnClose } from '../accounts/close-account.ts';
import type { ExportPart } from '../accounts/export-account.ts';
import { toRuleJson } from '../rules/rule.ts';
import { listRules, readOwnStates } from '../rules/store.ts';

/** All moves that are kept: those of the last 30 days. */
const MOVES = `
  select t.rule_id, t.version, to_timestamp(t.at / 1e6) as at, t.from_state, t.to_state, t.reason, t.matched, t.matched_total
  from rule_transitions t join rules r using (rule_id) where r.account_id = $1 order by t.transition_id`;
const VERSIONS = `
  select v.rule_id, v.version, v.at, v.actor, v.rule from rule_versions v join rules r using (rule_id)
  where r.account_id = $1 order by v.rule_id, v.version`;
/** The secret is left out, as all secrets are. */
const WEBHOOKS = `
  select webhook_id, url, created_at, disabled_at, notice from rule_webhooks where account_id = $1 order by created_at, webhook_id`;
const DELIVERIES = `
  select d.webhook_id, d.transition_id, d.state, d.made_at, d.attempts, d.outcome, d.tried_at, d.ended_at
  from rule_deliveries d join rule_webhooks w using (webhook_id) where w.account_id = $1 order by d.delivery_id`;

/** In the order in which evaluations lock them, and before the rules, as every change does. */
const HOLD = `
  select 1 from rule_states s join rules r using (rule_id) where r.account_id = $1 order by s.rule_id for update of s`;

/** Sends no more notifications: states, moves and waiting messages are deleted with the rules. */
export const endRules: OnClose = async (db, accountId) => {
  await db.query(HOLD, [accountId]);
  await db.query('delete from rule_webhooks where account_id = $1', [accountId]);
  await db.query('delete from rules where account_id = $1', [accountId]);
};

export const exportRules: ExportPart = async (pool, accountId) => {
  const states = await readOwnStates(pool, accountId);
  const rows = async (sql: string): Promise<unknown[]> => (await pool.query(sql, [accountId])).rows;
  const rules = (await listRules(pool, accountId)).map((rule) => {
    const { state = null, reason = null } = states.get(rule.ruleId) ?? {};
    return { ...toRuleJson(rule), version: rule.version, state, reason };
  });
  return [
    'rules',
    {
      rules,
      versions: await rows(VERSIONS),
      moves: await rows(MOVES),
      webhooks: await rows(WEBHOOKS),
      messages: await rows(DELIVERIES),
    },
  ];
};
