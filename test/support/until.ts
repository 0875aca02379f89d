/** Polls until something holds; the least bound of every wait of a test. */
import { setTimeout as delay } from 'node:timers/promises';

/** Nothing that ends well comes near to it, also on a machine with too much to do: no wait depends on an idle one. */
export const PATIENCE_MS = 240_000;
const LOOK_EVERY_MS = 25;

export async function until(what: string | (() => string), isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline)
      throw new Error(`not within ${PATIENCE_MS / 1000} s: ${typeof what === 'string' ? what : what()}`);
    await delay(LOOK_EVERY_MS);
  }
}
