// Stores the states that evaluations found: one statement for many rules, in which each rule counts at most once per instant.
import type { Pool } from 'pg';
import type { Micros } from '../../schemas/records.ts';
import type { Outcome } from './evaluation.ts';
import type { Rule } from './rule.ts';

export type Evaluated = {
  readonly rule: Pick<Rule, 'ruleId' | 'version'>;
  readonly at: Micros;
  readonly outcome: Outcome;
};

/** A statement of many thousand rows would hold its locks long. */
const MOST_AT_ONCE = 2_000;

const toRow = ({ rule, at, outcome }: Evaluated) => ({
  rule_id: rule.ruleId,
  version: rule.version,
  at,
  state: outcome.state,
  reason: outcome.reason,
  matched: outcome.matched,
  matched_total: outcome.matchedTotal,
  unknown: outcome.unknown,
  unknown_total: outcome.unknownTotal,
});

/** Each rule at most once. How many were written; the others are of an earlier version, or were evaluated later already. */
export const recordEvaluations = async (
  pool: Pick<Pool, 'query'>,
  evaluated: readonly Evaluated[],
): Promise<number> => {
  let written = 0;
  for (let i = 0; i < evaluated.length; i += MOST_AT_ONCE) {
    const rows = evaluated.slice(i, i + MOST_AT_ONCE).map(toRow);
    const answer = await pool.query('select * from record_evaluations($1)', [JSON.stringify(rows)]);
    written += answer.rowCount ?? 0;
  }
  return written;
};
