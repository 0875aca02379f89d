// `fresh=true`: rules evaluated at the instant of a call, each at most once per second over all processes (AG-03).
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Micros } from '../../schemas/records.ts';
import type { ChooseScope } from '../access/scope.ts';
import { findPlan, type Plan } from '../contract/plans.ts';
import type { HistoryStore } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';
import { evaluateNow, makeUnknown, type Outcome } from './evaluation.ts';
import { isFaultOfRule, isOutsidePlan, Questions, Selections } from './questions.ts';
import { recordEvaluations } from './record.ts';
import type { Rule } from './rule.ts';
import { fromRow, RULE_COLUMNS, type RuleRow } from './store.ts';

export type FreshDeps = {
  readonly pool: Pool;
  readonly live: LiveMemory;
  readonly history: HistoryStore | null;
  readonly choose: ChooseScope;
  readonly nowMicros: () => Micros;
};

type Spend = (count: number) => Promise<void>;

/**
 * Evaluates those named now, but those that were within the second. One that is just being evaluated for another call is waited for:
 * what was stored before may be as old as the rule's interval. Each is evaluated at the instant at which its inputs are read, never before
 * `at`, that of the call. `spend` takes so many of the day's quota or throws.
 */
export type EvaluateFresh = (ids: readonly string[], at: Micros, spend: Spend) => Promise<void>;

const FRESH_EVERY: Micros = 1_000_000;
/** An evaluation has as long (E-07). */
const LONGEST_WAIT_MS = 5_000;
const LOOK_EVERY_MS = 20;

/** The call that claims the second evaluates the rule. Locked in the order in which evaluations lock. */
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
/** The second that follows an evaluation begins with its instant. */
const STAMP = 'update rule_states set fresh_at = $3 where rule_id = $1 and fresh_at = $2';
/** A rule that was claimed within the second and whose state has neither been written nor reset since. */
const AWAITED = `
  select 1 from rule_states s join rules r using (rule_id)
  where s.rule_id = any($1) and r.enabled and s.fresh_at > $2::bigint - ${FRESH_EVERY}
    and s.since < s.fresh_at and coalesce(s.evaluated_at, 0) < s.fresh_at
  limit 1`;

type ClaimedRow = RuleRow & { readonly plan: string | null };

const createJudge = ({ live, history, choose }: FreshDeps) => {
  const questions = new Questions(live);
  const selections = new Selections(live);
  return async (rule: Rule, plan: Plan, at: Micros): Promise<Outcome> => {
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
};

export const openFreshEvaluation = (deps: FreshDeps): EvaluateFresh => {
  const { pool, nowMicros } = deps;
  const judge = createJudge(deps);

  /** Evaluates those whose second is free and answers which. What could not be evaluated is given back, so a call that waits may try. */
  const evaluateClaimed = async (ids: readonly string[], at: Micros, spend: Spend): Promise<ReadonlySet<string>> => {
    const { rows } = await pool.query<ClaimedRow>(CLAIM, [ids, at]);
    const claimed = new Set(rows.map((row) => row.rule_id));
    if (claimed.size === 0) return claimed;
    const left = new Set(claimed);
    try {
      await spend(claimed.size);
      // One after the other: each lets other calls run between its instruments.
      for (const row of rows) {
        const rule = fromRow(row);
        const readAt = Math.max(at, nowMicros());
        const outcome = await judge(rule, findPlan(row.plan), readAt);
        await recordEvaluations(pool, [{ rule, at: readAt, outcome }]);
        left.delete(rule.ruleId);
        await pool.query(STAMP, [rule.ruleId, at, readAt]);
      }
    } catch (error) {
      await pool.query(GIVE_BACK, [[...left], at]);
      throw error;
    }
    return claimed;
  };

  return async (ids, at, spend) => {
    const until = performance.now() + LONGEST_WAIT_MS;
    let isAwaited = true;
    for (let others = ids; ; ) {
      const claimed = await evaluateClaimed(others, at, spend);
      others = others.filter((id) => !claimed.has(id));
      if (others.length === 0 || !isAwaited || performance.now() >= until) return;
      // A rule that no process evaluates any more may have been released since it was read: it is claimed once more.
      isAwaited = (await pool.query(AWAITED, [others, at])).rowCount !== 0;
      if (isAwaited) await pause(LOOK_EVERY_MS);
    }
  };
};
