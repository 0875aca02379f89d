// Random rules, the moves they should have made by the slow evaluation of the log, and those that are stored.
import type { Pool } from 'pg';
import { PLANS } from '../../../api/contract/plans.ts';
import { computeIntervalS, findInstantAfter } from '../../../api/rules/instants.ts';
import type { Rule } from '../../../api/rules/rule.ts';
import { createRule, readTransitions } from '../../../api/rules/store.ts';
import type { Micros } from '../../../schemas/records.ts';
import { chooseOne, type Found, type LogEntry, randomQuery, slowMarketAt } from './rule-log.ts';

type Move = { readonly at: Micros; readonly from: string; readonly to: string; readonly matched: readonly string[] };

/** The moves of a rule by the slow evaluation of its instants. */
const findMoves = async (instants: readonly Micros[], found: (at: Micros) => Promise<Found>): Promise<Move[]> => {
  const moves: Move[] = [];
  let state = 'unknown';
  for (const at of instants) {
    const { state: to, matched } = await found(at);
    if (to !== state) moves.push({ at, from: state, to, matched });
    state = to;
  }
  return moves;
};

export const listInstants = ({ phase, intervalS }: Rule, from: Micros, to: Micros): Micros[] => {
  const rhythm = { phase, intervalS: computeIntervalS(intervalS, PLANS.pro_plus) };
  const instants: Micros[] = [];
  for (let at = findInstantAfter(from, rhythm); at <= to; at = findInstantAfter(at, rhythm)) instants.push(at);
  return instants;
};

/** The newest instants of all rules are evaluated. */
export const isCaughtUp = async (pool: Pool, rules: readonly Rule[], from: Micros, to: Micros): Promise<boolean> => {
  const { rows } = await pool.query<{ rule_id: string; after: string }>('select rule_id, after from rule_states');
  const after = new Map(rows.map((row) => [row.rule_id, Number(row.after)]));
  return rules.every((rule) => (after.get(rule.ruleId) ?? 0) >= (listInstants(rule, from, to).at(-1) ?? 0));
};

/** The given number of rules of one account whose plan allows them. */
export const makeRules = async (pool: Pool, count: number, random: () => number): Promise<readonly Rule[]> => {
  await pool.query("insert into accounts (account_id, plan) values ('acc_rules', 'pro_plus')");
  const rules: Rule[] = [];
  for (let i = 0; i < count; i++) {
    const draft = {
      name: `rule ${i}`,
      query: randomQuery(random),
      intervalS: 10 + Math.floor(random() * 5),
      units: 'published' as const,
      freshness: chooseOne(random, [null, '4s', { mark: '8s' }]),
    };
    const owner = { accountId: 'acc_rules', actor: 'test' };
    rules.push(await createRule(pool, { ...draft, enabled: true, shared: false }, owner));
  }
  return rules;
};

type Assertions = { readonly same: (found: unknown, wanted: unknown, words: string) => unknown };
type Compared = {
  readonly rules: readonly Rule[];
  readonly log: readonly LogEntry[];
  /** Every instant at which a rule should have been evaluated, ascending. */
  readonly listInstants: (rule: Rule) => readonly Micros[];
};

/** Every move is stored, at its instant, once; which kinds of move the log made. */
export const compareMoves = async (
  t: Assertions,
  pool: Pool,
  { rules, log, listInstants: of }: Compared,
): Promise<ReadonlySet<string>> => {
  const slow = new Map<Micros, ReturnType<typeof slowMarketAt>>();
  const seen = new Set<string>();
  for (const rule of rules) {
    const expected = await findMoves(of(rule), async (at) => {
      const market = slow.get(at) ?? slowMarketAt(log, at);
      slow.set(at, market);
      return market(rule);
    });
    const stored = [...(await readTransitions(pool, rule.ruleId, 1_000))].reverse();
    const found = stored.map(({ at, from, to, matched }) => ({ at, from, to, matched }));
    for (const { from, to } of expected) seen.add(`${from} ${to}`);
    t.same(found, expected, rule.query);
  }
  const { rows } = await pool.query(
    'select rule_id, at from rule_transitions group by rule_id, at having count(*) > 1',
  );
  t.same(rows, [], 'no move is there twice');
  return seen;
};
