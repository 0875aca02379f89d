// Calls that wait until something of the log has arrived at this node, or the node ends.
import { awaitAtMost } from '../../infra/runtime/pause.ts';

export class Arrivals {
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when `isThere` holds after something has arrived, after `forMs` at the latest. What is over leaves nothing behind. */
  async until(isThere: () => boolean, forMs: number): Promise<void> {
    if (this.#isClosed) return;
    const there = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#isClosed || isThere()) there.resolve();
    };
    this.#waiting.add(look);
    await awaitAtMost(there.promise, forMs);
    this.#waiting.delete(look);
  }

  /** Something has arrived. */
  look(): void {
    for (const look of this.#waiting) look();
  }

  /** Nothing is waited for any longer. */
  close(): void {
    this.#isClosed = true;
    this.look();
  }
}
