// How long calls took, and which of them the host disturbed: a virtual machine is told how long its cores were others'.
import { below, type Figure, figureOf, quantile } from './figures.ts';
import { stolenMs } from './machine.ts';

/** `stolen`: milliseconds of all cores that were others' during the call. */
export type Call = { readonly ms: number; readonly stolen: number };

/** From this share of its own time on a call was disturbed. */
const DISTURBED = 0.25;

export const timed = async (work: () => Promise<unknown>): Promise<Call> => {
  const [began, before] = [performance.now(), stolenMs()];
  await work();
  return { ms: performance.now() - began, stolen: stolenMs() - before };
};

/** So many calls one after the other. */
export const callsOf = async (count: number, work: () => Promise<unknown>): Promise<Call[]> => {
  const calls: Call[] = [];
  for (let i = 0; i < count; i++) calls.push(await timed(work));
  return calls;
};

const STRINGIFIED = 50;

/** What writing an answer costs that is already put together. */
export const stringifyCalls = (answer: unknown): Promise<Call[]> =>
  callsOf(STRINGIFIED, async () => JSON.stringify(answer));

const isUndisturbed = ({ ms, stolen }: Call): boolean => stolen < ms * DISTURBED;

export const timesOf = (calls: readonly Call[]): number[] => calls.map(({ ms }) => ms);

type Parts = Pick<Figure, 'limitIs' | 'note'> & {
  readonly aimMs: number | null;
  /** The same without the service. */
  readonly bare: readonly Call[];
};

/** Half and nearly all of the calls; with an aim also without those that the host disturbed: what the service would take by itself. */
export const callFigures = (name: string, calls: readonly Call[], parts: Partial<Parts> = {}): Figure[] => {
  const { aimMs = null, bare = [], limitIs = '', note = '' } = parts;
  const limitAt = (q: number, of: readonly Call[]) => ({ limit: quantile(timesOf(of), q), limitIs });
  const aim = aimMs === null ? null : below(aimMs);
  const whole = [
    figureOf(`${name} p50`, 'ms', quantile(timesOf(calls), 0.5), { ...limitAt(0.5, bare), note }),
    figureOf(`${name} p99`, 'ms', quantile(timesOf(calls), 0.99), { ...limitAt(0.99, bare), aim }),
  ];
  if (aim === null) return whole;
  const [own, ownBare] = [calls.filter(isUndisturbed), bare.filter(isUndisturbed)];
  return [
    ...whole,
    figureOf(`${name} p99, host's part left out`, 'ms', quantile(timesOf(own), 0.99), {
      ...{ ...limitAt(0.99, ownBare), aim },
      note: `${calls.length - own.length} of ${calls.length} calls lost a quarter of their time, or more, to other guests of the host`,
    }),
  ];
};
