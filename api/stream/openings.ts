// Streams begin one after another, with a rest after each.
import { createRests } from './rests.ts';

type Openings = {
  /** Begins it now when the queue is empty, else in its turn. */
  readonly add: (begin: () => void) => void;
  /** How many wait. */
  readonly waiting: () => number;
  /** Those that wait begin at once. */
  readonly stop: () => void;
};

export const createOpenings = (): Openings => {
  const waiting: (() => void)[] = [];
  const rests = createRests(() => {
    const begin = waiting.shift();
    if (begin !== undefined) rests.take(begin);
  });

  return {
    add: (begin) => {
      if (rests.isIdle()) rests.take(begin);
      else waiting.push(begin);
    },
    waiting: () => waiting.length,
    stop: () => {
      rests.stop();
      for (const begin of waiting.splice(0)) begin();
    },
  };
};
