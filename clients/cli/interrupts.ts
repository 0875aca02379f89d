// Ctrl-C and SIGTERM: the first one ends the run in order, a later one at once.
import { EXIT } from './exit.ts';

/** npm passes on what the terminal has sent to every process already: one Ctrl-C arrives up to three times. */
const SAME_WITHIN_MS = 1_000;

type Interrupted = {
  readonly on: (signal: 'SIGINT' | 'SIGTERM', act: () => void) => unknown;
  readonly exit: (code: number) => unknown;
};

/** Aborted by the first signal. */
export const stopAtSignals = ({ on, exit }: Interrupted, nowMs: () => number): AbortSignal => {
  const stop = new AbortController();
  let firstMs = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    on(signal, () => {
      if (stop.signal.aborted) {
        if (nowMs() - firstMs > SAME_WITHIN_MS) exit(EXIT.interrupted);
        return;
      }
      firstMs = nowMs();
      stop.abort(new Error(signal));
    });
  return stop.signal;
};

/** For what takes no signal: a node of the chain, an input that stays open. Rejects at the signal; the program then exits. */
export const waitUnlessStopped = <Value>(
  { signal }: { readonly signal: AbortSignal },
  done: Promise<Value>,
): Promise<Value> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop);
    done.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
