// Calls that wait until something of the log has arrived at this node.
import { awaitAtMost } from '../../infra/runtime/pause.ts';

export class Arrivals {
  readonly #waiting = new Set<() => void>();

  /** Resolves when `isThere` holds after something has arrived, after `forMs` at the latest. */
  async until(isThere: () => boolean, forMs: number): Promise<void> {
    const there = Promise.withResolvers<void>();
    const look = (): void => {
      if (isThere()) there.resolve();
    };
    this.#waiting.add(look);
    await awaitAtMost(there.promise, forMs);
    this.#waiting.delete(look);
  }

  /** Something has arrived. */
  look(): void {
    for (const look of this.#waiting) look();
  }
}
