// Waiting times between attempts: exponential, capped, with jitter. Pure: the caller supplies randomness.

type BackoffPolicy = {
  readonly minMs: number;
  readonly maxMs: number;
  /** Share of a step that is random, 0 to 1: 0.5 gives between half the step and the whole of it. */
  readonly jitter?: number;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
};

export type Backoff = {
  /** Milliseconds to wait before the next attempt. */
  readonly next: () => number;
  /** Call after a success. */
  readonly reset: () => void;
};

/** Steps double from `minMs` to `maxMs`; jitter only shortens, so `maxMs` is a bound. */
export const createBackoff = ({ minMs, maxMs, jitter = 0.5, random = Math.random }: BackoffPolicy): Backoff => {
  let step = minMs;
  return {
    next: () => {
      const wait = step * (1 - jitter * random());
      step = Math.min(step * 2, maxMs);
      return Math.round(wait);
    },
    reset: () => {
      step = minMs;
    },
  };
};
