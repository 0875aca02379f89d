// Metrics of the rules of one process: evaluations, skipped instants, the lag of the instants.
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';
import type { Micros } from '../../schemas/records.ts';

/** What became of an attempt; a message that failed for 24 hours is dead. */
export type DeliveryOutcome = 'delivered' | 'failed' | 'dead';

export type CountRules = {
  /** Counts questions that were evaluated, and the rules that they served. */
  readonly evaluated: (questions: number, rules: number) => void;
  readonly failed: () => void;
  /** Instants that are too long ago to be evaluated. */
  readonly skipped: (rules: number) => void;
  /** From an instant to its states being stored. */
  readonly lag: (micros: Micros) => void;
  readonly delivered: (outcome: DeliveryOutcome) => void;
  readonly watch: (read: () => RulesNow) => void;
};

type RulesNow = {
  readonly rules: number;
  readonly changes: number;
  /** Age of the oldest instant whose states are not stored; not positive without one. */
  readonly overdue: Micros;
};

/** A rule may be evaluated only once a day: its measurement is not relevant an hour later. */
const MEASURED_FOR_MS = 60_000;

export const createRuleMetrics = (registry: Registry, nowMs = () => performance.now()): CountRules => {
  const { makeCounter, makeGauge } = bindMetrics(registry);
  const questions = makeCounter('perp_rules_questions_total', 'Questions of rules that were evaluated.');
  const rules = makeCounter('perp_rules_evaluations_total', 'Rules evaluated at their instants.');
  const failures = makeCounter('perp_rules_failures_total', 'Evaluations that failed.');
  const passed = makeCounter('perp_rules_skipped_total', 'Instants of rules that were skipped.');
  const lag = makeGauge(
    'perp_rules_lag_seconds',
    'Time from an instant until its states are stored: for the instant evaluated last, or the age of the oldest one that waits.',
  );
  const deliveries = makeCounter('perp_rules_deliveries_total', 'Attempts to deliver moves to webhooks.', ['outcome']);
  const held = makeGauge('perp_rules_held', 'Rules of this process, and replaced readings it keeps for them.', [
    'kind',
  ]);
  let measured = { micros: 0, atMs: Number.NEGATIVE_INFINITY };
  return {
    evaluated(asked, answered) {
      questions.inc(asked);
      rules.inc(answered);
    },
    failed: () => failures.inc(),
    skipped: (count) => passed.inc(count),
    lag(micros) {
      measured = { micros, atMs: nowMs() };
    },
    delivered: (outcome) => deliveries.inc({ outcome }),
    watch(read) {
      Object.assign(lag, {
        collect() {
          const last = nowMs() - measured.atMs < MEASURED_FOR_MS ? measured.micros : 0;
          lag.set(Math.max(0, last, read().overdue) / 1e6);
        },
      });
      Object.assign(held, {
        collect() {
          const { rules: count, changes } = read();
          held.set({ kind: 'rules' }, count);
          held.set({ kind: 'changes' }, changes);
        },
      });
    },
  };
};
