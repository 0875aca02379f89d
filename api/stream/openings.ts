// Streams begin one after another, and the process rests after each as long as it took: clients that come by the hundred delay no others.

export type Openings = {
  /** Begins it now when the queue is empty, else in its turn. */
  readonly add: (begin: () => void) => void;
  /** How many wait. */
  readonly waiting: () => number;
  /** Those that wait begin at once. */
  readonly stop: () => void;
};

export const createOpenings = (): Openings => {
  const waiting: (() => void)[] = [];
  let rest: NodeJS.Timeout | null = null;

  const next = (): void => {
    rest = null;
    const begin = waiting.shift();
    if (begin !== undefined) run(begin);
  };
  const run = (begin: () => void): void => {
    const began = performance.now();
    try {
      begin();
    } finally {
      rest = setTimeout(next, performance.now() - began);
    }
  };

  return {
    add: (begin) => {
      if (rest === null) run(begin);
      else waiting.push(begin);
    },
    waiting: () => waiting.length,
    stop: () => {
      if (rest !== null) clearTimeout(rest);
      rest = null;
      for (const begin of waiting.splice(0)) begin();
    },
  };
};
