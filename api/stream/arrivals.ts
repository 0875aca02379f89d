// Calls that wait until an entry of the log has been received by this node, or the minutes before its start were joined, or the node ends.
import { awaitAtMost } from '../../infra/runtime/time/pause.ts';

type Waiting = Set<() => void>;

export class Arrivals {
  readonly #waiting: Waiting = new Set();
  readonly #forPast: Waiting = new Set();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when `isThere` is true after an arrival, or after `forMs` at the latest. A finished wait leaves nothing behind. */
  until(isThere: () => boolean, forMs: number): Promise<void> {
    return this.#wait(this.#waiting, isThere, forMs);
  }

  /** The same for the minutes before the start, when they are joined: arrivals cost nothing for these waits. */
  untilJoined(isThere: () => boolean, forMs: number): Promise<void> {
    return this.#wait(this.#forPast, isThere, forMs);
  }

  /** Something has arrived. */
  look(): void {
    for (const look of this.#waiting) look();
  }

  /** The past was joined. */
  lookBack(): void {
    for (const look of this.#forPast) look();
  }

  /** Nothing is waited for any longer. */
  close(): void {
    this.#isClosed = true;
    this.look();
    this.lookBack();
  }

  async #wait(waiting: Waiting, isThere: () => boolean, forMs: number): Promise<void> {
    if (this.#isClosed) return;
    const there = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#isClosed || isThere()) there.resolve();
    };
    waiting.add(look);
    await awaitAtMost(there.promise, forMs);
    waiting.delete(look);
  }
}
