// Runs what is due, in order, for as long as the process lives; catches up after any absence.
import { setTimeout as pause } from 'node:timers/promises';
import type { Ledger } from './ledger.ts';
import { dueTasks, MOST_DAYS, missingDays, type Task } from './schedule.ts';
import { type Day, dayAfter, dayAt, type NightlyContext, type Step } from './step.ts';

export type Runner = {
  /** Why nothing can be done now; empty when all is well. */
  readonly problems: () => readonly string[];
  readonly stop: () => Promise<void>;
};

const TICK_MS = 20_000;

/** Does one step of one day; answers its report, null while another runner works on it. Rejects with the step's own failure. */
export const runTask = async (
  { step, day }: Task,
  ledger: Ledger,
  { context, mode }: { readonly context: NightlyContext; readonly mode: 'once' | 'again' },
): Promise<string | null> => {
  const { progress, metrics, log } = context;
  const began = performance.now();
  progress(`${day} ${step.name}: ${step.summary}`);
  const outcome = await ledger.attempt({ step: step.name, day }, () => step.run(day, context), mode);
  if (outcome.result === 'busy') {
    progress(`${day} ${step.name}: another runner works on it`);
    return null;
  }
  if (outcome.result === 'known') return 'done before';
  const seconds = (performance.now() - began) / 1_000;
  metrics.ended(step.name, outcome.result, seconds);
  if (outcome.result === 'failed') {
    log.warn({ err: outcome.error, step: step.name, day }, 'nightly step failed, it is tried again later');
    throw outcome.error;
  }
  log.info({ step: step.name, day, seconds, report: outcome.report }, 'nightly step done');
  progress(`${day} ${step.name}: done in ${seconds.toFixed(1)} s: ${outcome.report}`);
  return outcome.report;
};

/** How far back the states are looked at: no day before them is caught up on. */
export const lookBack = (nowMs: number): Day => dayAfter(dayAt(nowMs), -MOST_DAYS);

const countIncidents = async ({ database, metrics }: NightlyContext): Promise<void> => {
  const { rows } = await database.query<{ open: number }>(
    "select count(*)::int as open from incidents where state = 'open'",
  );
  metrics.openIncidents(rows[0]?.open ?? 0);
};

/** One look at the clock: everything due, days in order. A day that fails, or that another runner has, holds back its step. */
export const runDue = async (steps: readonly Step[], ledger: Ledger, context: NightlyContext): Promise<void> => {
  const held = new Set<string>();
  const states = await ledger.states(lookBack(context.nowMs()));
  for (const task of dueTasks(steps, states, context.nowMs())) {
    if (context.signal?.aborted === true) return;
    if (held.has(task.step.name)) continue;
    const report = await runTask(task, ledger, { context, mode: 'once' }).catch(() => null);
    if (report === null) held.add(task.step.name);
  }
  const after = await ledger.states(lookBack(context.nowMs()));
  for (const step of steps) context.metrics.missing(step.name, missingDays(step, after, context.nowMs()).length);
  await countIncidents(context);
};

export const startRunner = (steps: readonly Step[], ledger: Ledger, context: NightlyContext): Runner => {
  const stopping = new AbortController();
  let problems: readonly string[] = [];
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await runDue(steps, ledger, { ...context, signal: stopping.signal });
        problems = [];
      } catch (err) {
        problems = [err instanceof Error ? err.message : String(err)];
        context.log.warn({ err }, 'the state of the nightly steps cannot be read');
      }
      await pause(TICK_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const ended = loop();
  return {
    problems: () => problems,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
};
