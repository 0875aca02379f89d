/** Polls until something holds. The one bound of such waits: nothing that ends well comes near to it, also on a machine with too much to do. */
import { setTimeout as delay } from 'node:timers/promises';

const LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 25;

export async function until(what: string | (() => string), isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline)
      throw new Error(`not within ${LIMIT_MS / 1000} s: ${typeof what === 'string' ? what : what()}`);
    await delay(LOOK_EVERY_MS);
  }
}
