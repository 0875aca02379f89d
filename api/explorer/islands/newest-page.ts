// The newest part of a period that one page holds: pages begin with the oldest event.

export type Paged = {
  readonly page: { readonly limit: number; readonly returned: number; readonly next_cursor: string | null };
};

const SHORTEST_MS = 1_000;
/** A period that more than one page holds is asked for again by an end of it that is so many times shorter. */
const SHORTER = 8;
/** After so many answers that would leave room in a page so many times longer, it is asked for again: a burst of events has passed. */
const LONGER_AFTER = 10;

/** Each call reads the newest part again; `ask` requests so many milliseconds that end now. Remembers how long the part was that fitted. */
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
