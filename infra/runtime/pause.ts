// A pause of a loop that a stop ends early.
import { setTimeout as pause } from 'node:timers/promises';

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects: the caller looks at the signal. */
export const pauseUnlessAborted = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  await pause(ms, undefined, { signal }).catch(() => undefined);
};
