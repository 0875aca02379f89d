// The steps of a process: pieces of work that hold its only thread without a pause. Everything else waits as long as the longest of them.
import { bindMetrics, type Registry } from './metrics.ts';

/** Runs a step and counts how long it held the thread. */
export type MeterStep = <T>(step: string, work: () => T) => T;

type Stretch = { readonly from: number; readonly ms: number };

/** Handles items from `from` on until `ms` have passed, at least one. Returns the index of the next one. */
export const runStretch = <T>(items: readonly T[], { from, ms }: Stretch, handle: (item: T) => void): number => {
  const ends = performance.now() + ms;
  let at = from;
  while (at < items.length && performance.now() <= ends) {
    handle(items[at] as T);
    at += 1;
  }
  return at;
};

/** Counts nothing. */
export const UNMETERED: MeterStep = (_step, work) => work();

/** Seconds. */
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** `process_step_seconds`, by the step's name. Create it once a registry. */
export const meterSteps = (registry: Registry): MeterStep => {
  const { makeHistogram } = bindMetrics(registry);
  const help = 'How long a step held the thread of the process.';
  const seconds = makeHistogram('process_step_seconds', help, { buckets: BUCKETS, labelNames: ['step'] });
  return (step, work) => {
    const began = performance.now();
    try {
      return work();
    } finally {
      seconds.observe({ step }, (performance.now() - began) / 1_000);
    }
  };
};
