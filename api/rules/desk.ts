// States of rules as they are returned to callers: rules of the account of a key, and rules that others share (AG-04, AG-05).
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import type { Micros } from '../../schemas/records.ts';
import { findPlan } from '../contract/plans.ts';
import type { Outcome } from './evaluation.ts';
import { type EvaluateFresh, type FreshDeps, openFreshEvaluation } from './fresh.ts';
import { computeIntervalS, findInstantAfter } from './instants.ts';
import type { Rule, RuleReason, RuleState } from './rule.ts';
import { fromRow, RULE_COLUMNS, type RuleRow, readMicros } from './store.ts';

/** The caller: a key reads the rules of its account, a payer (lower-case address) has none; both read shared rules, by name. */
export type RuleCaller = { readonly keyId: string } | { readonly payer: string };

export type RuleStatus = Outcome & {
  readonly rule: Rule;
  /** The state this caller was given last; null at the first read. */
  readonly before: RuleState | null;
  readonly since: Micros;
  readonly evaluatedAt: Micros | null;
  /** Null while it is disabled. */
  readonly nextAt: Micros | null;
  readonly intervalS: number;
};

export type AgentRules = {
  /** Names of rules that the caller may read: of those named, or of its account. */
  readonly find: (ids: readonly string[] | null, caller: RuleCaller) => Promise<readonly string[]>;
  /**
   * States, oldest rule first, and the note of what the caller was given, in one step. Nothing is noted of states that do not reach
   * the caller: the next read still tells what has changed.
   */
  readonly read: (
    asked: { readonly ids: readonly string[] | null; readonly caller: RuleCaller; readonly at: Micros },
    reaches: (found: readonly RuleStatus[]) => boolean,
  ) => Promise<readonly RuleStatus[]>;
  readonly evaluate: EvaluateFresh;
};

type StatusRow = RuleRow & {
  readonly before: RuleState | null;
  readonly state: RuleState;
  readonly reason: RuleReason | null;
  readonly since: string;
  readonly evaluated_at: string | null;
  readonly matched: readonly string[];
  readonly matched_total: number;
  readonly unknown: readonly string[];
  readonly unknown_total: number;
  readonly plan: string | null;
};

const ACCOUNT = '(select account_id from api_keys where key_id = $1)';
const FIND = `
  select rule_id from rules r
  where case when $2::text[] is null then account_id = ${ACCOUNT}
    else rule_id = any($2) and (shared or account_id = ${ACCOUNT}) end
  order by created_at, rule_id`;
const READ = `
  select ${RULE_COLUMNS}, t.before, t.state, t.reason, t.since, t.evaluated_at, t.matched, t.matched_total, t.unknown,
    t.unknown_total, best_plan(r.account_id) as plan
  from tell_rule_states($3, ${ACCOUNT}, $2) t join rules r using (rule_id) order by r.created_at, r.rule_id`;
/** Takes back the note of states that were read and do not reach their caller. */
class UntoldStates extends Error {
  override readonly name = 'UntoldStates';
  readonly found: readonly RuleStatus[];

  constructor(found: readonly RuleStatus[]) {
    super('the states do not reach their caller');
    this.found = found;
  }
}

const toKeyId = (caller: RuleCaller): string | null => ('keyId' in caller ? caller.keyId : null);
const toCallerName = (caller: RuleCaller): string => ('keyId' in caller ? caller.keyId : caller.payer);

const readEvaluatedAt = ({ evaluated_at: at }: StatusRow): Micros | null => (at === null ? null : readMicros(at));

/** `at`: later states have a later instant. */
const toStatus = (row: StatusRow, at: Micros): RuleStatus => {
  const rule = fromRow(row);
  const intervalS = computeIntervalS(rule.intervalS, findPlan(row.plan));
  return {
    rule,
    intervalS,
    state: row.state,
    reason: row.reason,
    before: row.before,
    since: readMicros(row.since),
    evaluatedAt: readEvaluatedAt(row),
    nextAt: rule.enabled ? findInstantAfter(at, { phase: rule.phase, intervalS }) : null,
    matched: row.matched,
    matchedTotal: row.matched_total,
    unknown: row.unknown,
    unknownTotal: row.unknown_total,
  };
};

export const openAgentRules = (deps: FreshDeps): AgentRules => {
  const { pool } = deps;
  return {
    async find(ids, caller) {
      const { rows } = await pool.query<{ rule_id: string }>(FIND, [toKeyId(caller), ids]);
      return rows.map((row) => row.rule_id);
    },
    async read({ ids, caller, at }, reaches) {
      try {
        return await runInTransaction(pool, async (client) => {
          const { rows } = await client.query<StatusRow>(READ, [toKeyId(caller), ids, toCallerName(caller)]);
          const newest = Math.max(at, ...rows.map((row) => readEvaluatedAt(row) ?? at));
          const found = rows.map((row) => toStatus(row, newest));
          if (!reaches(found)) throw new UntoldStates(found);
          return found;
        });
      } catch (error) {
        if (error instanceof UntoldStates) return error.found;
        throw error;
      }
    },
    evaluate: openFreshEvaluation(deps),
  };
};
