// The steps of a process: pieces of work that hold its only thread without a pause. Everything else waits as long as the longest of them.
import { bindMetrics, type Registry } from './metrics.ts';

/** Runs a step and counts how long it held the thread. */
export type MeterStep = <T>(step: string, work: () => T) => T;

type Stretch<T> = {
  readonly from: number;
  readonly ms: number;
  /** Whether `next` must not be left for the next stretch; default: it may. */
  readonly isBound?: (item: T, next: T) => boolean;
};

/** Handles items from `from` on until `ms` have passed, at least one. Returns the index of the next one. */
export const runStretch = <T>(
  items: readonly T[],
  { from, ms, isBound = () => false }: Stretch<T>,
  handle: (item: T) => void,
): number => {
  const ends = performance.now() + ms;
  let at = from;
  const goesOn = (): boolean => at === from || performance.now() <= ends || isBound(items[at - 1] as T, items[at] as T);
  while (at < items.length && goesOn()) {
    handle(items[at] as T);
    at += 1;
  }
  return at;
};

/** Work that may be interrupted wherever it yields, and continued later. */
export type Interruptible<R = void> = Generator<void, R, void>;

/** Continues work until `ms` have passed, at least to its next `yield`. True once it is complete. */
export const continueWork = (work: Interruptible<unknown>, ms: number): boolean => {
  const ends = performance.now() + ms;
  do {
    if (work.next().done === true) return true;
  } while (performance.now() <= ends);
  return false;
};

/** Does all that is left of it without a pause. Returns its result. */
export const completeWork = <R>(work: Interruptible<R>): R => {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
};

/** Counts nothing. */
export const runUnmetered: MeterStep = (_step, work) => work();

/** Seconds. */
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** Microseconds that this thread ran: a wait for a core is not among them. */
const readThreadCpu = (): number => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

/** `process_step_seconds` and `process_step_cpu_seconds`, by the step's name. Create it once a registry. */
export const meterSteps = (registry: Registry): MeterStep => {
  const { makeHistogram } = bindMetrics(registry);
  const options = { buckets: BUCKETS, labelNames: ['step'] };
  const seconds = makeHistogram(
    'process_step_seconds',
    'Time for which a step held the thread of the process.',
    options,
  );
  const cpu = makeHistogram('process_step_cpu_seconds', 'Of it, the time for which the thread had a core.', options);
  return (step, work) => {
    const began = performance.now();
    const ran = readThreadCpu();
    try {
      return work();
    } finally {
      seconds.observe({ step }, (performance.now() - began) / 1_000);
      cpu.observe({ step }, (readThreadCpu() - ran) / 1_000_000);
    }
  };
};
