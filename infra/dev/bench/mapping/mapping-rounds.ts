// Rounds of a mapping bench: processor time of each reader over the same messages, in turns, and the ratios of two readers within one round.
import type { Open } from './mapping-readers.ts';
import type { Session } from './mapping-sessions.ts';

/** Processor time of a reader before the first round, so that all its code is compiled. */
const WARM_MICROS = 500_000;
/** Least processor time of the slowest reader in one round: far above what reading the clock takes. */
const ROUND_MICROS = 40_000;

/** Processor time in microseconds of a reader that reads all sessions so many times, each time from its beginning; opening it is not counted. */
const measureMicros = (open: Open, sessions: readonly Session[], times: number): number => {
  const opened = Array.from({ length: times }, () =>
    sessions.map((session) => ({ read: open(session), messages: session.messages })),
  ).flat();
  const begun = process.cpuUsage();
  for (const { read, messages } of opened) for (const message of messages) read(message);
  const { user, system } = process.cpuUsage(begun);
  return user + system;
};

/** Reads until everything is compiled; returns how often the sessions must be read for `ROUND_MICROS`. */
const warm = (open: Open, sessions: readonly Session[]): number => {
  let times = 1;
  let spent = 0;
  for (;;) {
    const micros = measureMicros(open, sessions, times);
    spent += micros;
    if (spent >= WARM_MICROS) return Math.max(1, Math.ceil((times * ROUND_MICROS) / micros));
    if (micros < ROUND_MICROS) times *= 2;
  }
};

/** Processor time of each reader in one round, microseconds for all sessions once. */
type Round<Name extends string> = Readonly<Record<Name, number>>;

/** Every reader reads the sessions as often as the others; which one is first changes from round to round. */
export const measureRounds = <Name extends string>(
  readers: Readonly<Record<Name, Open>>,
  sessions: readonly Session[],
  rounds: number,
): readonly Round<Name>[] => {
  const names = Object.keys(readers) as Name[];
  const times = Math.max(...names.map((name) => warm(readers[name], sessions)));
  return Array.from({ length: rounds }, (_, round) => {
    const order = round % 2 === 0 ? names : names.toReversed();
    return Object.fromEntries(
      order.map((name) => [name, measureMicros(readers[name], sessions, times) / times]),
    ) as Round<Name>;
  });
};

/** The median, and the bounds that contain the true one in 19 of 20 benches (order statistics; no assumption on how values are spread). */
type Median = { readonly median: number; readonly from: number; readonly to: number };

export const computeMedian = (values: readonly number[]): Median => {
  const sorted = values.toSorted((a, b) => a - b);
  const last = sorted.length - 1;
  const at = (rank: number): number => sorted[Math.min(last, Math.max(0, rank))] ?? Number.NaN;
  const below = Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)) - 1;
  return { median: at(Math.floor(last / 2)), from: at(below), to: at(last - below) };
};
