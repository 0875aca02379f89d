// Pauses that can end early: the pause of a loop by a stop, a wait by the event that is awaited.
import { setTimeout as pause } from 'node:timers/promises';

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects: the caller looks at the signal. */
export const pauseUnlessAborted = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  await pause(ms, undefined, { signal }).catch(() => undefined);
};

/** Resolves as soon as the work has, after `ms` milliseconds at the latest; the work goes on. */
export const awaitAtMost = async (work: Promise<unknown>, ms: number): Promise<void> => {
  const over = new AbortController();
  await Promise.race([work, pauseUnlessAborted(ms, over.signal)]);
  over.abort();
};
