// Runs slices of work one after another: after each slice the process pauses for the same time, so that hundreds of them do not delay other work.

export type Rests = {
  /** Whether no slice is due or being taken: the next one may be taken now. */
  readonly isIdle: () => boolean;
  /** Takes a slice now, and has the next one taken after the rest, also when this one throws. */
  readonly take: (slice: () => void) => void;
  /** Has the next one taken soon, never within this call. */
  readonly wake: () => void;
  readonly stop: () => void;
};

/** `next` is called when a slice is due; it takes one, or none: then the process is idle. A rest is at most `mostMs` long. */
export const createRests = (next: () => void, mostMs = Number.POSITIVE_INFINITY): Rests => {
  let due: NodeJS.Timeout | null = null;
  let isTaking = false;
  const rest = (ms: number): void => {
    due ??= setTimeout(() => {
      due = null;
      next();
    }, ms);
  };
  return {
    isIdle: () => due === null && !isTaking,
    take: (slice) => {
      const began = performance.now();
      isTaking = true;
      try {
        slice();
      } finally {
        isTaking = false;
        rest(Math.min(performance.now() - began, mostMs));
      }
    },
    // Slices that a slice requests run after its pause.
    wake: () => {
      if (!isTaking) rest(0);
    },
    stop: () => {
      if (due !== null) clearTimeout(due);
      due = null;
    },
  };
};
