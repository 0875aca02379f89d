// `npm run nightly -- …`: prints what the runner did and will do, and runs one step of one day by hand.
import { parseArgs } from 'node:util';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import { describeError } from '../../schemas/thrown.ts';
import { addDays, type Day, findDayStart, isDay, toDayAt } from './day.ts';
import type { Ledger } from './ledger.ts';
import { runDue, runStep } from './runner.ts';
import { findLatestDue, MOST_DAYS, type StepRun, type StepState } from './schedule.ts';
import type { NightlyContext, Step } from './step.ts';

const OPTIONS = {
  day: { type: 'string' },
  step: { type: 'string' },
  list: { type: 'boolean', default: false },
  due: { type: 'boolean', default: false },
  early: { type: 'boolean', default: false },
} as const;

export const formatUsage = (
  steps: readonly Step[],
): string => `usage: npm run nightly -- [--day D] --step S [--early] | --day D | --list | --due
  --day D    a UTC day such as 2026-01-15; the newest due day when absent. Without --step: every step of it that is due
  --step S   ${steps.map(({ name }) => name).join(', ')}
  --early    before the step is due, where the chain of the anchors does not bind
  --list     the last days, and when each step is due
  --due      everything that is due and not done
Without any of them it stays and does every step of every day when it is due.`;

/** An error that the user can correct. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const parseDay = (text: string, nowMs: number): Day => {
  if (!isDay(text)) throw new UsageError(`"${text}" is not a day such as 2026-01-15`);
  if (findDayStart(text) > nowMs) throw new UsageError(`${text} has not begun`);
  return text;
};

/** `06:00 UTC` for the day itself, `D+1 06:00 UTC` for the next. */
const formatDueTime = ({ dueMs }: Step): string => {
  const days = Math.floor(dueMs / MS_PER_DAY);
  return `${days === 0 ? '' : `D+${days} `}${new Date(dueMs).toISOString().slice(11, 16)} UTC`;
};

const formatLine = ({ day, step, state, attempts, endedAt, report }: StepState): string =>
  [day, step.padEnd(10), state.padEnd(7), `${attempts}x`, endedAt?.toISOString() ?? 'not ended', report ?? ''].join(
    '  ',
  );

const list = async (steps: readonly Step[], ledger: Ledger, nowMs: number): Promise<string> => {
  const first = addDays(toDayAt(nowMs), -MOST_DAYS);
  const states = (await ledger.states(first)).filter(({ day }) => day >= first);
  const due = steps.map((step) => `${step.name.padEnd(10)}  due ${formatDueTime(step).padEnd(13)}  ${step.summary}`);
  return [...due, '', ...(states.length === 0 ? ['nothing was done yet'] : states.map(formatLine))].join('\n');
};

/** Throws UsageError for an option that there is not. */
export const parseCommandLine = (argv: readonly string[], steps: readonly Step[]) => {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(`${describeError(error)}\n${formatUsage(steps)}`);
  }
};

/** Throws before a step is due, and for an early one where the anchor binds (AN-12). */
const refuseEarly = async ({ step, day }: StepRun, context: NightlyContext): Promise<void> => {
  const dueMs = findDayStart(day) + step.dueMs;
  if (step.onlyWhenDue !== true || context.nowMs() >= dueMs) return;
  if (context.early !== true) throw new UsageError(`${step.name} of ${day} is due at ${new Date(dueMs).toISOString()}`);
  if (await context.isBinding())
    throw new UsageError(`the anchor binds: ${step.name} of ${day} is not done before it is due`);
};

/** Runs every due step of a day, in order, including those done before. */
const runDay = async (
  day: Day,
  steps: readonly Step[],
  { ledger, context }: { readonly ledger: Ledger; readonly context: NightlyContext },
): Promise<string> => {
  const due = steps
    .filter(({ dueMs }) => findDayStart(day) + dueMs <= context.nowMs())
    .sort((a, b) => a.dueMs - b.dueMs);
  const reports: string[] = [];
  for (const step of due) {
    const report = await runStep({ step, day }, ledger, { context, mode: 'again' });
    reports.push(`${step.name}: ${report ?? 'another runner works on it'}`);
  }
  return reports.join('\n');
};

/** Runs one command line; returns the text to print at its end. Rejects when a step fails. */
export const runCommand = async (
  argv: readonly string[],
  {
    steps,
    ledger,
    context,
  }: { readonly steps: readonly Step[]; readonly ledger: Ledger; readonly context: NightlyContext },
): Promise<string> => {
  const asked = parseCommandLine(argv, steps);
  const nowMs = context.nowMs();
  if (asked.list) return list(steps, ledger, nowMs);
  if (asked.due) {
    const failed = await runDue(steps, ledger, context);
    const states = await list(steps, ledger, nowMs);
    if (failed.length === 0) return states;
    const [{ step, day }] = failed as [StepRun];
    throw new Error(
      `${states}\n\n${failed.length} failed; for the cause: npm run nightly -- --step ${step.name} --day ${day}`,
    );
  }
  if (asked.step === undefined && asked.day !== undefined)
    return runDay(parseDay(asked.day, nowMs), steps, { ledger, context });
  const step = steps.find(({ name }) => name === asked.step);
  if (step === undefined) {
    throw new UsageError(
      asked.step === undefined ? formatUsage(steps) : `"${asked.step}" is not a step\n${formatUsage(steps)}`,
    );
  }
  const day = asked.day === undefined ? findLatestDue(step, nowMs) : parseDay(asked.day, nowMs);
  const granted: NightlyContext = asked.early ? { ...context, early: true } : context;
  await refuseEarly({ step, day }, granted);
  const report = await runStep({ step, day }, ledger, { context: granted, mode: 'again' });
  return report ?? 'another runner works on it';
};
