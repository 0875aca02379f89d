/** Runs something until a signal or the end of its parent process, and then stops it in order. */
import { constants } from 'node:os';
import { describeError } from '../../../schemas/thrown.ts';
import { watchParent } from './parent.ts';
import type { Progress } from './progress.ts';

/** A signal may arrive twice: a terminal sends it to every process, and our parent process forwards it. */
const SAME_WISH_MS = 2000;
const STOP_DEADLINE_MS = 120_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type Stop = () => Promise<void>;

/**
 * Starts, and stops in order at the first request, also during the start. Exit codes: 0 stopped in order, 1 failed (start or stop threw, or the
 * deadline passed), 128 + signal at a second request; the guard of the engines then ends the remaining processes in order.
 */
export function runUntilStopped(progress: Progress, start: (signal: AbortSignal) => Promise<Stop>): void {
  // The reader of our output may have exited before us.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const asked = new AbortController();
  let askedAt = 0;
  const fail = (what: string, error: unknown): never => {
    progress.print(`${what}: ${describeError(error)}`);
    process.exit(1);
  };
  const started = start(asked.signal);
  started.catch((error: unknown) => asked.signal.aborted || fail('could not start', error));
  const stop = async (reason: string, code: number): Promise<void> => {
    if (asked.signal.aborted) {
      if (performance.now() - askedAt < SAME_WISH_MS) return;
      progress.print(`${reason}: stopping at once`);
      process.exit(code);
    }
    askedAt = performance.now();
    asked.abort();
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    progress.print(`${reason}: stopping (repeat to stop immediately)`);
    await started.then(
      (stopStarted) => stopStarted(),
      () => undefined,
    );
    progress.print('stopped');
    process.exit(0);
  };
  const request = (reason: string, code: number): void =>
    void stop(reason, code).catch((error: unknown) => fail('could not stop in order', error));
  for (const signal of SIGNALS) process.on(signal, () => request(signal, 128 + constants.signals[signal]));
  watchParent(() => request('the starting process has ended', 1));
}
