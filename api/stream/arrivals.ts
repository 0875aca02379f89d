// Calls that wait until something of the log has arrived at this node.
import { pauseUnlessAborted } from '../../infra/runtime/pause.ts';

export class Arrivals {
  readonly #waiting = new Set<() => void>();

  /** Resolves when `isThere` holds after something has arrived, after `forMs` at the latest. */
  async until(isThere: () => boolean, forMs: number): Promise<void> {
    const there = Promise.withResolvers<void>();
    const look = (): void => {
      if (isThere()) there.resolve();
    };
    this.#waiting.add(look);
    const over = new AbortController();
    const late = pauseUnlessAborted(forMs, over.signal);
    await Promise.race([there.promise, late]);
    over.abort();
    this.#waiting.delete(look);
  }

  /** Something has arrived. */
  look(): void {
    for (const look of this.#waiting) look();
  }
}
