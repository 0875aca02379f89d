// The one way a test waits for an event: it looks again and again, with one bound for all, which no busy machine reaches.
import { setTimeout as pause } from 'node:timers/promises';

/** What has not come after this time fails with a name, before the file's own limit ends it without one. */
export const BOUND_MS = 600_000;
const LOOK_EVERY_MS = 10;

type WaitOptions = {
  /** For what itself takes minutes, such as a window that is sealed 100 s after its end. */
  readonly boundMs?: number;
  readonly everyMs?: number;
  /** State when the bound is reached, for the message. */
  readonly seen?: () => unknown;
};

/** No number: 0 would end a wait for rows that are not there yet. */
type Looked = (object & { readonly then?: never }) | string | boolean | null | undefined;

/** Resolves with the first value of `look` that is neither false nor null nor undefined. Rejects naming `what` at the bound. */
export const waitFor = async <T extends Looked>(
  what: string,
  look: () => Promise<T> | T,
  { boundMs = BOUND_MS, everyMs = LOOK_EVERY_MS, seen }: WaitOptions = {},
): Promise<Exclude<T, false | null | undefined>> => {
  const deadline = performance.now() + boundMs;
  for (;;) {
    const value = await look();
    if (value !== false && value !== null && value !== undefined) return value as Exclude<T, false | null | undefined>;
    if (performance.now() > deadline) {
      const found = seen === undefined ? '' : `; seen: ${JSON.stringify(seen())}`;
      throw new Error(`not within ${boundMs / 1_000} s: ${what}${found}`);
    }
    await pause(everyMs);
  }
};
