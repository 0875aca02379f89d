// Calls of one page one after the other, and again when the plan's limit a second was reached: parts of a page come into sight together.
import { callJson, Refused } from './call.ts';

const WAITS_MS = [1_000, 2_000, 4_000];
const TOO_MANY = 429;
/** Longer than the site itself waits for the API: it ends a connection that was lost without being closed. */
const LONGEST_MS = 40_000;

let last: Promise<unknown> = Promise.resolve();

const tryAgain = async <T>(call: () => Promise<T>): Promise<T> => {
  for (const waitMs of WAITS_MS) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== TOO_MANY) throw error;
      await new Promise((done) => setTimeout(done, waitMs));
    }
  }
  return call();
};

/** As `callJson` with a body, after all earlier calls. */
export const callPatiently = <T>(path: string, { body }: { readonly body: unknown }): Promise<T> => {
  const call = last.then(() => tryAgain(() => callJson<T>(path, { body, signal: AbortSignal.timeout(LONGEST_MS) })));
  last = call.catch(() => undefined);
  return call;
};

/** The reason for which a part of the page was not read. Earlier data stays on the page, with the text that states its end. */
export const describeFailure = (error: unknown, shown: string): string =>
  shown === '' ? (error as Error).message : `${(error as Error).message} Shown: ${shown}`;
