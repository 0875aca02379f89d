// Selects the steps of days to run now: pure, from the recorded states.
import { MOST_APART_MS } from './clock.ts';
import { addDays, type Day, findDayStart, toDayAt } from './day.ts';
import type { Step } from './step.ts';

export type StepState = {
  readonly day: Day;
  readonly step: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly attempts: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly report: string | null;
};

/** One step of one day. */
export type StepRun = { readonly step: Step; readonly day: Day };

/** After a longer absence the service resumes with the last month. */
export const MOST_DAYS = 31;
const RETRY_MIN_MS = 60_000;
const RETRY_MAX_MS = 1_800_000;

/** The newest day whose step is due. */
export const findLatestDue = ({ dueMs }: Pick<Step, 'dueMs'>, nowMs: number): Day => toDayAt(nowMs - dueMs);

const computeWaitMs = ({ attempts }: StepState): number =>
  Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(attempts - 1, 10));

/** Whether a failed attempt is to be repeated later. One that ended further ahead than clocks are apart ended before they were set back. */
const isWaiting = (state: StepState, nowMs: number): boolean => {
  const passedMs = nowMs - (state.endedAt?.getTime() ?? 0);
  return state.state === 'failed' && passedMs >= -MOST_APART_MS && passedMs < computeWaitMs(state);
};

/** Missing days of a step, oldest first; a step that never ran starts with the newest due day. */
export const listMissingDays = (step: Step, states: readonly StepState[], nowMs: number): Day[] => {
  const own = states.filter((state) => state.step === step.name);
  const done = new Set(own.filter(({ state }) => state === 'done').map(({ day }) => day));
  const latest = findLatestDue(step, nowMs);
  // Days sort as text.
  const [first = latest] = [...own.map(({ day }) => day), latest].sort();
  const [, from = latest] = [first, addDays(latest, 1 - MOST_DAYS)].sort();
  const days: Day[] = [];
  for (let day = from; day <= latest; day = addDays(day)) {
    if (!done.has(day)) days.push(day);
  }
  return days;
};

/** Runs that are due now, days in order. A failed day blocks its step's later days until its retry is due, unless they are independent. */
export const listDueRuns = (steps: readonly Step[], states: readonly StepState[], nowMs: number): StepRun[] => {
  const runs = steps.flatMap((step) => {
    const days = listMissingDays(step, states, nowMs);
    const waits = (day: Day | undefined): boolean => {
      const held = states.find((state) => state.step === step.name && state.day === day);
      return held !== undefined && isWaiting(held, nowMs);
    };
    if (step.independentDays === true) return days.filter((day) => !waits(day)).map((day) => ({ step, day }));
    return waits(days[0]) ? [] : days.map((day) => ({ step, day }));
  });
  return runs.sort((a, b) => findDayStart(a.day) + a.step.dueMs - (findDayStart(b.day) + b.step.dueMs));
};
