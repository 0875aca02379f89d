// Faults of the simulated venue while a rate is held: each kind in turn, one every five seconds.
import type { FaultRequest } from '../../simulator/faults.ts';
import { type Run, VENUE } from '../run.ts';

const EVERY_MS = 5_000;

const FAULTS: readonly Omit<FaultRequest, 'venue'>[] = [
  { kind: 'sequence_hole', count: 3 },
  { kind: 'duplicate', count: 50 },
  { kind: 'reorder', stream: 'book', count: 3 },
  { kind: 'drop', stream: 'trades', count: 5 },
  { kind: 'malformed', count: 20 },
  { kind: 'slow', stream: 'mark', delayMs: 1_500, durationMs: 4_000 },
  { kind: 'disconnect', stream: 'mark', count: 1, durationMs: 1_000 },
  { kind: 'crossed_book', durationMs: 3_000 },
  { kind: 'rate_limit', status: 429, durationMs: 2_000 },
  { kind: 'disconnect', stream: 'book', count: 1, durationMs: 1_000 },
  { kind: 'clock_skew', skewMs: 2_000, durationMs: 3_000 },
  { kind: 'silence', stream: 'book', durationMs: 4_000 },
  { kind: 'restart', keepSockets: true },
];

/** Begins at once; the returned function ends it and resolves to the number of faults. It throws when the simulator refused one. */
export const injectFaults = (run: Run): (() => Promise<number>) => {
  let count = 0;
  let last: Promise<void> = Promise.resolve();
  const inject = async (): Promise<void> => {
    const fault = FAULTS[count % FAULTS.length];
    count += 1;
    await run.fault({ venue: VENUE, ...fault });
  };
  const timer = setInterval(() => {
    last = last.then(inject);
    // The function that ends the faults throws it.
    last.catch(() => undefined);
  }, EVERY_MS);
  return async () => {
    clearInterval(timer);
    await last;
    return count;
  };
};
