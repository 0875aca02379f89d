// States of rules as callers are given them: of the account of a key, and of rules that others share (AG-04, AG-05).
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import type { Micros } from '../../schemas/records.ts';
import type { ChooseScope } from '../access/scope.ts';
import { findPlan, type Plan } from '../contract/plans.ts';
import type { HistoryStore } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';
import { evaluateNow, makeUnknown, type Outcome } from './evaluation.ts';
import { computeIntervalS, findInstantAfter } from './instants.ts';
import { isFaultOfRule, isOutsidePlan, Questions, Selections } from './questions.ts';
import { recordEvaluations } from './record.ts';
import type { Rule, RuleReason, RuleState } from './rule.ts';
import { fromRow, RULE_COLUMNS, type RuleRow, readMicros } from './store.ts';

/** The caller: a key reads the rules of its account, a payer (lower-case address) has none; both read shared rules, by name. */
export type RuleCaller = { readonly keyId: string } | { readonly payer: string };

export type RuleStatus = {
  readonly rule: Rule;
  readonly state: RuleState;
  readonly reason: RuleReason | null;
  /** The state this caller was given last; null at the first read. */
  readonly before: RuleState | null;
  readonly since: Micros;
  readonly evaluatedAt: Micros | null;
  /** Null while it is disabled. */
  readonly nextAt: Micros | null;
  readonly intervalS: number;
  readonly matched: readonly string[];
  readonly matchedTotal: number;
  readonly unknown: readonly string[];
  readonly unknownTotal: number;
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
  /** Evaluates those named now, but those that were within the second; `spend` takes so many of the day's quota or throws. */
  readonly evaluate: (ids: readonly string[], at: Micros, spend: (count: number) => Promise<void>) => Promise<void>;
};

export type DeskDeps = {
  readonly pool: Pool;
  readonly live: LiveMemory;
  readonly history: HistoryStore | null;
  readonly choose: ChooseScope;
};

const FRESH_EVERY: Micros = 1_000_000;

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
/** The process that claims the second evaluates the rule; the others get what is stored. Locked in the order in which evaluations lock. */
const CLAIM = `
  with due as (
    select s.rule_id from rule_states s join rules r using (rule_id)
    where s.rule_id = any($1) and r.enabled and (s.fresh_at is null or s.fresh_at <= $2::bigint - ${FRESH_EVERY})
    order by s.rule_id for update of s)
  update rule_states s set fresh_at = $2 from due join rules r using (rule_id) where s.rule_id = due.rule_id
  returning ${RULE_COLUMNS}, best_plan(r.account_id) as plan`;
const GIVE_BACK = `
  with given as (
    select rule_id from rule_states where rule_id = any($1) and fresh_at = $2 order by rule_id for update)
  update rule_states s set fresh_at = null from given where s.rule_id = given.rule_id`;

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
    evaluatedAt: row.evaluated_at === null ? null : readMicros(row.evaluated_at),
    nextAt: rule.enabled ? findInstantAfter(at, { phase: rule.phase, intervalS }) : null,
    matched: row.matched,
    matchedTotal: row.matched_total,
    unknown: row.unknown,
    unknownTotal: row.unknown_total,
  };
};

export const openAgentRules = ({ pool, live, history, choose }: DeskDeps): AgentRules => {
  const questions = new Questions(live);
  const selections = new Selections(live);

  const judge = async (rule: Rule, plan: Plan, at: Micros): Promise<Outcome> => {
    try {
      const question = questions.of(rule);
      const choice = choose(plan, at);
      if (isOutsidePlan(question, plan, choice)) return makeUnknown('plan_venue');
      return await evaluateNow(question, selections.at(at, question, choice), { live, history, at });
    } catch (error) {
      if (!isFaultOfRule(error)) throw error;
      return makeUnknown('evaluation_error');
    }
  };

  return {
    async find(ids, caller) {
      const { rows } = await pool.query<{ rule_id: string }>(FIND, [toKeyId(caller), ids]);
      return rows.map((row) => row.rule_id);
    },
    async read({ ids, caller, at }, reaches) {
      try {
        return await runInTransaction(pool, async (client) => {
          const { rows } = await client.query<StatusRow>(READ, [toKeyId(caller), ids, toCallerName(caller)]);
          const found = rows.map((row) => toStatus(row, at));
          if (!reaches(found)) throw new UntoldStates(found);
          return found;
        });
      } catch (error) {
        if (error instanceof UntoldStates) return error.found;
        throw error;
      }
    },
    async evaluate(ids, at, spend) {
      const { rows } = await pool.query<RuleRow & { readonly plan: string | null }>(CLAIM, [ids, at]);
      if (rows.length === 0) return;
      const claimed = rows.map((row) => row.rule_id);
      try {
        await spend(claimed.length);
      } catch (error) {
        await pool.query(GIVE_BACK, [claimed, at]);
        throw error;
      }
      // One after the other: each lets other calls run between its instruments.
      for (const row of rows) {
        const rule = fromRow(row);
        await recordEvaluations(pool, [{ rule, at, outcome: await judge(rule, findPlan(row.plan), at) }]);
      }
    },
  };
};
