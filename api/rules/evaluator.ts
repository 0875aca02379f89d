// Evaluates the rules of this process's shards, each at its instants, as the log reaches them (AG-03, AG-06): the clock is the served
// watermark. The result for an instant depends on the log alone, so it makes no difference which process evaluates it, or when.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog, type OutageLog } from '../../infra/runtime/process/outage-log.ts';
import { Turns } from '../../infra/runtime/process/turns.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';
import { MarketAt, makeUnknown, type Outcome } from './evaluation.ts';
import type { FreshDeps } from './fresh.ts';
import { type Leases, openLeases } from './leases.ts';
import type { CountRules } from './metrics.ts';
import { isFaultOfRule, isOutsidePlan, type Question, Questions, Selections } from './questions.ts';
import { RecentStates } from './recent-states.ts';
import { type Evaluated, recordEvaluations } from './record.ts';
import { type HeldRule, RuleBook } from './rule-book.ts';
import { dropOldMoves } from './store.ts';

/** The watermark is published every 250 ms. */
const TURN_MS = 100;
/** Longest time without a turn for the requests of this process. */
const SLICE_MS = 4;
/** Questions that wait for the store of history do not hold up the others. */
const AT_ONCE = 4;
const TIDY_EVERY_MS = 3_600_000;
/** Plans of accounts may have changed. */
const RELOAD_EVERY_MS = 60_000;

type EvaluatorDeps = FreshDeps & {
  readonly nowMicros: () => Micros;
  readonly count: CountRules;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly leaseMs?: number;
};

export type Evaluator = {
  /** A rule was changed, by whomever. */
  readonly noteChange: (ruleId: string) => void;
  /** Changes may have been missed. */
  readonly noteAll: () => void;
  /** Ends after the instant under way and gives the shards up. */
  readonly stop: () => Promise<void>;
};

/** Everything recorded up to this instant is applied; venues that are too far behind are not considered (L-07 `state_lag`). */
const computeHorizon = (live: LiveMemory, now: Micros): Micros => {
  const watermarks = [...live.venues()]
    .map(({ venue }) => live.watermark(venue) ?? 0)
    .filter((w) => now - w <= STATE_LAG);
  return watermarks.length === 0 ? now - STATE_LAG : Math.min(...watermarks);
};

/** Lets others run when this slice has been long. */
const createSlice = () => {
  let began = performance.now();
  return async (): Promise<void> => {
    if (performance.now() - began < SLICE_MS) return;
    await nextTurn();
    began = performance.now();
  };
};

type Group = { readonly question: Question; readonly held: HeldRule; readonly rules: HeldRule[] };

class Instants {
  readonly #deps: EvaluatorDeps;
  readonly #questions: Questions;
  readonly #selections: Selections;
  readonly #recent: RecentStates;

  constructor(deps: EvaluatorDeps, recent: RecentStates) {
    this.#deps = deps;
    this.#recent = recent;
    this.#questions = new Questions(deps.live);
    this.#selections = new Selections(deps.live);
  }

  /** The result of each rule at the instant; no rule fails because of another. */
  async evaluate(at: Micros, rules: readonly HeldRule[]): Promise<Evaluated[]> {
    const evaluated: Evaluated[] = [];
    const market = new MarketAt(at, this.#deps, this.#recent);
    const turns = new Turns(AT_ONCE);
    const breathe = createSlice();
    const note = (held: HeldRule, outcome: Outcome): void => void evaluated.push({ rule: held.rule, at, outcome });
    const groups = await this.#listGroups(at, rules, { note, breathe });
    await Promise.all(
      groups.map((group) =>
        turns.run(async () => {
          const outcome = await this.#evaluateGroup(market, group);
          for (const held of group.rules) note(held, outcome);
          await breathe();
        }),
      ),
    );
    this.#deps.count.evaluated(groups.length, rules.length);
    return evaluated;
  }

  /** Rules with the same query under the same scope are evaluated once. */
  async #listGroups(
    at: Micros,
    rules: readonly HeldRule[],
    { note, breathe }: { note: (held: HeldRule, outcome: Outcome) => void; breathe: () => Promise<void> },
  ): Promise<Group[]> {
    const groups = new Map<string, Group>();
    for (const held of rules) {
      // A question that is new is compiled.
      await breathe();
      try {
        const question = this.#questions.of(held.rule);
        const choice = this.#deps.choose(held.plan, at);
        if (isOutsidePlan(question, held.plan, choice)) {
          note(held, makeUnknown('plan_venue'));
          continue;
        }
        const isNarrowed = choice.venues !== null || choice.instruments !== null;
        const key = `${isNarrowed ? held.plan.code : ''}|${question.key}`;
        const group = groups.get(key);
        if (group === undefined) groups.set(key, { question, held, rules: [held] });
        else group.rules.push(held);
      } catch (error) {
        note(held, this.#toFailure(error, held));
      }
    }
    return [...groups.values()];
  }

  async #evaluateGroup(market: MarketAt, { question, held }: Group): Promise<Outcome> {
    try {
      const choice = this.#deps.choose(held.plan, market.at);
      return await market.evaluate(question, this.#selections.at(market.at, question, choice));
    } catch (error) {
      return this.#toFailure(error, held);
    }
  }

  #toFailure(err: unknown, { rule }: HeldRule): Outcome {
    if (!isFaultOfRule(err)) this.#deps.log.error({ err, rule_id: rule.ruleId }, 'a rule could not be evaluated');
    this.#deps.count.failed();
    return makeUnknown('evaluation_error');
  }
}

class Loop {
  readonly #deps: EvaluatorDeps;
  readonly #leases: Leases;
  readonly #book: RuleBook;
  readonly #recent: RecentStates;
  readonly #instants: Instants;
  readonly #stopping = new AbortController();
  readonly #outages: OutageLog;
  #shards: ReadonlySet<number> = new Set();
  #changed = new Set<string>();
  /** An instant that is taken from the book and whose states are not stored yet. */
  #unstored = Number.POSITIVE_INFINITY;
  #mustReload = true;
  #renewAt = 0;
  #reloadAt = 0;
  #tidyAt = 0;

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
    this.#outages = createOutageLog(deps.log, 'rules cannot be evaluated now, trying again');
    this.#leases = openLeases(deps.pool, deps.leaseMs);
    this.#book = new RuleBook(deps.pool);
    this.#recent = new RecentStates(deps.live);
    this.#instants = new Instants(deps, this.#recent);
    deps.count.watch(() => ({
      rules: this.#book.size,
      changes: this.#recent.changes,
      overdue: deps.nowMicros() - Math.min(this.#unstored, this.#book.oldest()),
    }));
  }

  noteChange(ruleId: string): void {
    this.#changed.add(ruleId);
  }

  noteAll(): void {
    this.#mustReload = true;
  }

  /** Resolves after `stop`, once the instant under way is recorded and the shards are given up. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#turn();
        this.#outages.noteSuccess();
      } catch (err) {
        // Results that were not written are evaluated again from the stored state.
        this.#mustReload = true;
        if (!this.#stopping.signal.aborted) this.#outages.noteFailure(err);
      }
      await pauseUnlessAborted(TURN_MS, this.#stopping.signal);
    }
    // Not before: the instant under way reads these states, and renews the leases after it.
    this.#recent.keep('nothing');
    await this.#leases.release().catch(() => undefined);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #turn(): Promise<void> {
    const { live, nowMicros } = this.#deps;
    // A due instant may be older than the states this process has yet; until it has them, others may hold its shards.
    if (!live.isReady() || !live.isWhole) return;
    await this.#renew();
    await this.#reload();
    for (const at of this.#book.due(computeHorizon(live, nowMicros()))) {
      if (this.#stopping.signal.aborted) return;
      await this.#evaluate(at);
      await this.#renew();
    }
  }

  async #evaluate(at: Micros): Promise<void> {
    const { pool, count, nowMicros } = this.#deps;
    const { from } = this.#recent;
    const rules = this.#book.take(at, from);
    // The market at that instant is no longer known: these processes were down, or cannot keep up.
    if (at < from) return count.skipped(rules.length);
    this.#unstored = at;
    await recordEvaluations(pool, await this.#instants.evaluate(at, rules));
    this.#unstored = Number.POSITIVE_INFINITY;
    count.lag(nowMicros() - at);
  }

  async #renew(): Promise<void> {
    const now = performance.now();
    if (now < this.#renewAt) return;
    const held = await this.#leases.renew();
    this.#renewAt = now + this.#leases.renewEveryMs;
    const before = this.#shards;
    this.#shards = held;
    this.#book.drop((shard) => held.has(shard));
    const added = new Set([...held].filter((shard) => !before.has(shard)));
    if (added.size > 0) this.#mustReload = true;
    if (now < this.#tidyAt) return;
    this.#tidyAt = now + TIDY_EVERY_MS;
    await dropOldMoves(this.#deps.pool);
  }

  async #reload(): Promise<void> {
    const now = performance.now();
    const ids = [...this.#changed];
    if (this.#mustReload || now >= this.#reloadAt) {
      this.#recent.keep((await this.#book.isAnyEnabled()) ? 'states' : 'nothing');
      this.#changed = new Set();
      this.#mustReload = false;
      this.#reloadAt = now + RELOAD_EVERY_MS;
      await this.#book.load(this.#shards, null, this.#recent.from);
      this.#unstored = Number.POSITIVE_INFINITY;
    } else if (ids.length > 0) {
      this.#recent.keep('states');
      this.#changed = new Set();
      await this.#book.load(this.#shards, ids, this.#recent.from);
    }
  }
}

/** Starts to evaluate; needs no rule and no database to start. */
export const startEvaluator = (deps: EvaluatorDeps): Evaluator => {
  const loop = new Loop(deps);
  const running = loop.run();
  return {
    noteChange: (ruleId) => loop.noteChange(ruleId),
    noteAll: () => loop.noteAll(),
    async stop() {
      loop.stop();
      await running;
    },
  };
};
