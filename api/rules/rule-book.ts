// The enabled rules of the shards that this process holds, each with its next instant; read from PostgreSQL, and read again after a change.
import type { Pool } from 'pg';
import type { Micros } from '../../schemas/records.ts';
import { findPlan, type Plan } from '../contract/plans.ts';
import { computeIntervalS, findInstantAfter } from './instants.ts';
import { SHARDS } from './leases.ts';
import type { Rule } from './rule.ts';
import { fromRow, RULE_COLUMNS, type RuleRow, readMicros } from './store.ts';

export type HeldRule = { readonly rule: Rule; plan: Plan; next: Micros };

type Row = RuleRow & { readonly after: string; readonly plan: string | null };

const LOAD = `
  with found as (
    select ${RULE_COLUMNS}, s.after from rules r join rule_states s using (rule_id)
    where r.enabled and (r.phase % ${SHARDS}) = any($1) and ($2::text[] is null or r.rule_id = any($2))),
  plans as (select account_id, best_plan(account_id) as plan from (select distinct account_id from found) a)
  select f.*, p.plan from found f join plans p using (account_id)`;
const ANY = `select exists (select 1 from rules where enabled) as any`;

export class RuleBook {
  readonly #pool: Pick<Pool, 'query'>;
  readonly #held = new Map<string, HeldRule>();
  /** Rules by their next instant; an entry of a rule with another next instant by now is skipped. */
  readonly #agenda = new Map<Micros, HeldRule[]>();

  constructor(pool: Pick<Pool, 'query'>) {
    this.#pool = pool;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Whether anybody has an enabled rule. */
  async isAnyEnabled(): Promise<boolean> {
    return (await this.#pool.query<{ any: boolean }>(ANY)).rows[0]?.any ?? false;
  }

  /** Reads the rules of shards, or the named ones among them; instants before `from` are skipped. */
  async load(shards: ReadonlySet<number>, ids: readonly string[] | null, from: Micros): Promise<void> {
    const { rows } = await this.#pool.query<Row>(LOAD, [[...shards], ids]);
    for (const id of ids ?? [...this.#held.keys()]) this.#held.delete(id);
    if (ids === null) this.#agenda.clear();
    for (const row of rows) {
      const held: HeldRule = { rule: fromRow(row), plan: findPlan(row.plan), next: 0 };
      this.#held.set(row.rule_id, held);
      this.#schedule(held, Math.max(readMicros(row.after), from - 1));
    }
  }

  /** Rules of shards that are another's now. */
  drop(isKept: (shard: number) => boolean): void {
    for (const [id, { rule }] of this.#held) if (!isKept(rule.phase % SHARDS)) this.#held.delete(id);
  }

  /** The next instant of any rule; Infinity without rules. */
  oldest(): Micros {
    let oldest = Number.POSITIVE_INFINITY;
    for (const at of this.#agenda.keys()) oldest = Math.min(oldest, at);
    return oldest;
  }

  /** Instants that are due, ascending. */
  due(horizon: Micros): readonly Micros[] {
    return [...this.#agenda.keys()].filter((at) => at <= horizon).sort((a, b) => a - b);
  }

  /** The rules of an instant, which is then over for them: the next one is after it, and not before `from`. */
  take(at: Micros, from: Micros): readonly HeldRule[] {
    const due = (this.#agenda.get(at) ?? []).filter((held) => held.next === at && this.isHeld(held));
    this.#agenda.delete(at);
    for (const held of due) this.#schedule(held, Math.max(at, from - 1));
    return due;
  }

  isHeld(held: HeldRule): boolean {
    return this.#held.get(held.rule.ruleId) === held;
  }

  #schedule(held: HeldRule, after: Micros): void {
    const { phase, intervalS } = held.rule;
    held.next = findInstantAfter(after, { phase, intervalS: computeIntervalS(intervalS, held.plan) });
    const others = this.#agenda.get(held.next);
    if (others === undefined) this.#agenda.set(held.next, [held]);
    else others.push(held);
  }
}
