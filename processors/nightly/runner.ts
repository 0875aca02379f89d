// Runs due steps in order while the process lives; catches up after any absence.
import { createOutageLog, type OutageLog } from '../../infra/runtime/process/outage-log.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import { ANCHOR_STATUSES, type AnchorStatus } from '../../schemas/anchor-chain.ts';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import { describeError } from '../../schemas/thrown.ts';
import { refuseWrongClock } from './clock.ts';
import { addDays, type Day } from './day.ts';
import { reportGaps } from './gap-incidents.ts';
import { reportIncident } from './incidents.ts';
import type { Ledger } from './ledger.ts';
import { findLatestDue, listDueRuns, listMissingDays, MOST_DAYS, type StepRun } from './schedule.ts';
import type { NightlyContext, Step } from './step.ts';

type Runner = {
  /** Why nothing can be done now; empty without a problem. */
  readonly problems: () => readonly string[];
  readonly stop: () => Promise<void>;
};

const TICK_MS = 20_000;

/** Only an operator can free disk space: opens one incident and logs one error. */
const reportFullDisk = async ({ step, day }: StepRun, error: unknown, context: NightlyContext): Promise<void> => {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return;
  const note = `The disk of step ${step.name} is full; the step is retried until there is space.`;
  await reportIncident(context, {
    kind: 'disk_full',
    subject: step.name,
    note,
    details: { step: step.name, day, code },
  });
};

/** Runs one step of one day; returns its report, or null: another runner works on it, or this one is to stop. Rejects with the step's own failure. */
export const runStep = async (
  { step, day }: StepRun,
  ledger: Ledger,
  { context, mode }: { readonly context: NightlyContext; readonly mode: 'once' | 'again' },
): Promise<string | null> => {
  const { progress, metrics, log, signal } = context;
  let began = performance.now();
  progress(`${day} ${step.name}: ${step.summary}`);
  const { lock, name } = step;
  const outcome = await ledger.attempt(
    {
      ...{ step: name, day, mode, waiting: () => progress(`${day} ${name}: waits for another runner`) },
      ...(lock === undefined ? {} : { lock }),
      ...(signal === undefined ? {} : { signal }),
    },
    (lost) => {
      began = performance.now();
      return step.run(day, { ...context, signal: signal === undefined ? lost : AbortSignal.any([signal, lost]) });
    },
  );
  if (outcome.result === 'busy') {
    progress(`${day} ${step.name}: another runner works on it`);
    return null;
  }
  if (outcome.result === 'known') return 'done before';
  if (outcome.result === 'stopped') {
    log.info({ step: step.name, day }, 'nightly step stopped, the next runner continues it');
    return null;
  }
  const seconds = (performance.now() - began) / 1_000;
  metrics.ended(step.name, outcome.result, seconds);
  if (outcome.result === 'failed') {
    await reportFullDisk({ step, day }, outcome.error, context);
    log.warn({ err: outcome.error, step: step.name, day }, 'nightly step failed, it will be retried');
    throw outcome.error;
  }
  log.info({ step: step.name, day, seconds, report: outcome.report }, 'nightly step done');
  progress(`${day} ${step.name}: done in ${seconds.toFixed(1)} s: ${outcome.report}`);
  return outcome.report;
};

/** The oldest day whose states are read: the first that the step which is due latest after its day catches up. */
const lookBack = (steps: readonly Step[], nowMs: number): Day =>
  addDays(findLatestDue({ dueMs: Math.max(0, ...steps.map(({ dueMs }) => dueMs)) }, nowMs), 1 - MOST_DAYS);

/** Closed days, and late ones: unconfirmed a day after they were due. */
const ANCHOR_DAYS = `select status, count(*)::int as days,
  count(*) filter (where status <> 'confirmed' and greatest(built_at, day + interval '7 days 2 hours') < $1)::int as late
from anchor_days group by status`;

const countAnchors = async ({ database, metrics, nowMs }: NightlyContext): Promise<void> => {
  const { rows } = await database.query<{ status: AnchorStatus; days: number; late: number }>(ANCHOR_DAYS, [
    new Date(nowMs() - MS_PER_DAY),
  ]);
  for (const status of ANCHOR_STATUSES)
    metrics.anchorDays(status, rows.find((row) => row.status === status)?.days ?? 0);
  metrics.lateAnchors(rows.reduce((sum, { late }) => sum + late, 0));
};

const countIncidents = async ({ database, metrics }: NightlyContext): Promise<void> => {
  const { rows } = await database.query<{ open: number }>(
    // Gap incidents inform readers; the others wait for an operator.
    "select count(*)::int as open from incidents where state = 'open' and kind <> 'gap'",
  );
  metrics.openIncidents(rows[0]?.open ?? 0);
};

/** One pass: runs everything due, days in order; answers what failed. A day that fails, or that another runner has, blocks later days of its step. */
export const runDue = async (
  steps: readonly Step[],
  ledger: Ledger,
  context: NightlyContext,
): Promise<readonly StepRun[]> => {
  const held = new Set<string>();
  const failed: StepRun[] = [];
  const states = await ledger.states(lookBack(steps, context.nowMs()));
  for (const run of listDueRuns(steps, states, context.nowMs())) {
    if (context.signal?.aborted === true) return failed;
    if (held.has(run.step.name)) continue;
    const report = await runStep(run, ledger, { context, mode: 'once' }).catch(() => {
      failed.push(run);
      return null;
    });
    if (report === null && run.step.independentDays !== true) held.add(run.step.name);
  }
  const after = await ledger.states(lookBack(steps, context.nowMs()));
  for (const step of steps) context.metrics.missing(step.name, listMissingDays(step, after, context.nowMs()).length);
  await countIncidents(context);
  await countAnchors(context);
  return failed;
};

type Loop = { readonly problem: () => string | null; readonly ended: Promise<void> };

/** Runs `work` every few seconds until the signal; a failure is kept until the next run. */
const startLoop = (work: () => Promise<void>, signal: AbortSignal, outages: OutageLog): Loop => {
  let problem: string | null = null;
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await work();
        problem = null;
        outages.noteSuccess();
      } catch (err) {
        problem = describeError(err);
        outages.noteFailure(err);
      }
      await pauseUnlessAborted(TICK_MS, signal);
    }
  };
  return { problem: () => problem, ended: loop() };
};

/** One reason of `/readyz`, or none. */
const listProblem = (what: string, problem: string | null): readonly string[] =>
  problem === null ? [] : [`${what}: ${problem}`];

/** Runs due steps and, in parallel because a step may take minutes, turns gap rows into incidents. */
export const startRunner = (steps: readonly Step[], ledger: Ledger, context: NightlyContext): Runner => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { log } = context;
  const due = startLoop(
    async () => {
      await refuseWrongClock(context);
      await runDue(steps, ledger, { ...context, signal });
    },
    signal,
    createOutageLog(log, 'no nightly step can be run now'),
  );
  const gaps = startLoop(
    () => reportGaps(context),
    signal,
    createOutageLog(log, 'gap rows were not turned into incidents, they are later'),
  );
  return {
    problems: () => [...listProblem('nightly steps', due.problem()), ...listProblem('gap incidents', gaps.problem())],
    stop: async () => {
      stopping.abort();
      await Promise.all([due.ended, gaps.ended]);
    },
  };
};
