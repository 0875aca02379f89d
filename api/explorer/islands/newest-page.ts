// The newest part of a period that one page holds: pages begin with the oldest event.

export type Paged = {
  readonly page: { readonly limit: number; readonly returned: number; readonly next_cursor: string | null };
};

const SHORTEST_MS = 1_000;
/** If a period does not fit into one page, an end of it that is shorter by this factor is requested. */
const SHORTER = 8;
/** After this number of answers that leave room for a period longer by the factor, the longer one is requested again: a burst has passed. */
const LONGER_AFTER = 10;

/** Each call reads the newest part again; `ask` requests the given number of milliseconds up to now. Keeps the length of the part that fitted. */
export const createNewestReader = <Answer extends Paged>(
  spanMs: number,
  ask: (lengthMs: number) => Promise<Answer>,
): (() => Promise<Answer>) => {
  let [fittingMs, roomy] = [spanMs, 0];
  return async () => {
    if (roomy >= LONGER_AFTER) [fittingMs, roomy] = [Math.min(spanMs, fittingMs * SHORTER), 0];
    for (;;) {
      const answer = await ask(fittingMs);
      const { limit, returned, next_cursor: next } = answer.page;
      if (next === null || fittingMs < SHORTEST_MS) {
        roomy = returned * SHORTER <= limit ? roomy + 1 : 0;
        return answer;
      }
      [fittingMs, roomy] = [Math.ceil(fittingMs / SHORTER), 0];
    }
  };
};
