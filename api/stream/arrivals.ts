// Calls that wait until something of the log has arrived at this node, or the node ends.
import { awaitAtMost } from '../../infra/runtime/pause.ts';

export class Arrivals {
  readonly #waiting = new Set<() => void>();
  readonly #closed = Promise.withResolvers<void>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when `isThere` holds after something has arrived, after `forMs` at the latest. */
  async until(isThere: () => boolean, forMs: number): Promise<void> {
    const there = Promise.withResolvers<void>();
    const look = (): void => {
      if (isThere()) there.resolve();
    };
    this.#waiting.add(look);
    await awaitAtMost(this.unlessClosed(there.promise), forMs);
    this.#waiting.delete(look);
  }

  /** Resolves as soon as the work has, or all waiting is over. */
  async unlessClosed(work: Promise<unknown>): Promise<void> {
    await Promise.race([work, this.#closed.promise]);
  }

  /** Something has arrived. */
  look(): void {
    for (const look of this.#waiting) look();
  }

  /** Nothing is waited for any longer. */
  close(): void {
    this.#isClosed = true;
    this.#closed.resolve();
  }
}
