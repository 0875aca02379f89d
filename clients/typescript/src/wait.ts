// How long to wait before a call is repeated, and waiting that can be given up.

const FIRST_MS = 500;
const LONGEST_MS = 20_000;
/** Callers that were refused together do not come back together. */
const JITTER = 0.25;

/** The delay that the service requested, else twice as long each time; a little longer by chance. */
export const computeWaitMs = (attempt: number, retryAfterS: number | null): number => {
  const delayMs = retryAfterS === null ? Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS) : retryAfterS * 1_000;
  return delayMs * (1 + Math.random() * JITTER);
};

/** A shorter one is none for whoever comes back for as long as the service is away. */
const LEAST_ASKED_S = 1;

/**
 * The wait that a service requests of one that comes back without end. `Retry-After: 0`, or a date that the clock here has passed, states none:
 * requests would follow each other without a pause.
 */
export const readLastingWaitS = (retryAfterS: number | null): number | null =>
  retryAfterS !== null && retryAfterS >= LEAST_ASKED_S ? retryAfterS : null;

/**
 * A stream that was open waits by chance up to what the service requested by `retry`, twice as long at each further try: the readers
 * that it sent away together do not come back together (D-470).
 */
export const computeReturnMs = (attempt: number, retryMs: number): number =>
  Math.random() * Math.min(Math.max(retryMs, 1) * 2 ** attempt, Math.max(retryMs, LONGEST_MS));

/** A timer of more milliseconds, or of infinitely many, ends at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
export const limitTimer = (ms: number): number => Math.min(ms, LONGEST_TIMER_MS);

/** Ends early, without an error, when the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal | null): Promise<void> =>
  new Promise((resume) => {
    if (signal?.aborted) return resume();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resume();
    };
    const timer = setTimeout(done, limitTimer(ms));
    signal?.addEventListener('abort', done);
  });
