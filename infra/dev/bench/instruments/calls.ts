// How long calls took, and which part was not the service's: cores that the host gave to other guests, and waiting for a core of ours.
import { type Figure, findQuantile, makeFigure, makeUpperAim, sum } from './figures.ts';
import { readMainThread, readStolenMs } from './machine.ts';

/**
 * `stolen`: milliseconds of all cores that other guests used during the call. `waited`: milliseconds in which the main threads of a
 * call were ready to run while other processes used the cores.
 */
export type Call = { readonly ms: number; readonly stolen: number; readonly waited: number };

/** From this share of a call's own time on the host has disturbed the call. */
const DISTURBED = 0.25;

const sumWaitedMs = (pids: readonly number[]): number => sum(pids.map((pid) => readMainThread(pid)?.waitedMs ?? 0));

/** `passes` are the processes that work for a call one after the other; the caller always does. */
export const measureCall = async (work: () => Promise<unknown>, passes: readonly number[]): Promise<Call> => {
  const pids = [process.pid, ...passes];
  const [stolen, waited, began] = [readStolenMs(), sumWaitedMs(pids), performance.now()];
  await work();
  const ms = performance.now() - began;
  return { ms, stolen: readStolenMs() - stolen, waited: Math.min(ms, sumWaitedMs(pids) - waited) };
};

/** This many calls one after the other. */
export const measureCalls = async (
  count: number,
  work: () => Promise<unknown>,
  passes: readonly number[] = [],
): Promise<Call[]> => {
  const calls: Call[] = [];
  for (let i = 0; i < count; i++) calls.push(await measureCall(work, passes));
  return calls;
};

const STRINGIFIED = 50;

/** The cost of serialising a finished response. */
export const measureStringify = (answer: unknown): Promise<Call[]> =>
  measureCalls(STRINGIFIED, async () => JSON.stringify(answer));

const isUndisturbed = ({ ms, stolen }: Call): boolean => stolen < ms * DISTURBED;

export const listTimes = (calls: readonly Call[]): number[] => calls.map(({ ms }) => ms);

const listOwnTimes = (calls: readonly Call[]): number[] =>
  calls.filter(isUndisturbed).map(({ ms, waited }) => ms - waited);

type Parts = Pick<Figure, 'limitIs' | 'note'> & {
  readonly aimMs: number | null;
  /** The same without the service. */
  readonly bare: readonly Call[];
};

/** Median and high percentiles of the calls; with an aim also their own time, without the share that other guests and processes took. */
export const toCallFigures = (name: string, calls: readonly Call[], parts: Partial<Parts>): Figure[] => {
  const { aimMs = null, bare = [], limitIs = '', note = '' } = parts;
  const limitAt = (q: number, of: readonly number[]) => ({ limit: findQuantile(of, q), limitIs });
  const aim = aimMs === null ? null : makeUpperAim(aimMs);
  const whole = [
    makeFigure({
      name: `${name} p50`,
      unit: 'ms',
      measured: findQuantile(listTimes(calls), 0.5),
      ...limitAt(0.5, listTimes(bare)),
      note,
    }),
    makeFigure({
      name: `${name} p99`,
      unit: 'ms',
      measured: findQuantile(listTimes(calls), 0.99),
      ...limitAt(0.99, listTimes(bare)),
      aim,
    }),
  ];
  if (aim === null) return whole;
  const disturbed = calls.filter((call) => !isUndisturbed(call)).length;
  const slowest = calls.reduce((most, call) => (call.ms > most.ms ? call : most), { ms: 0, stolen: 0, waited: 0 });
  return [
    ...whole,
    makeFigure({
      name: `${name} p99, waits for a core left out`,
      unit: 'ms',
      measured: findQuantile(listOwnTimes(calls), 0.99),
      ...{ ...limitAt(0.99, listOwnTimes(bare)), aim },
      note: `the slowest call waited ${Math.round(slowest.waited)} of its ${Math.round(slowest.ms)} ms; ${disturbed} of ${calls.length}, which the host disturbed, are left out`,
    }),
  ];
};
