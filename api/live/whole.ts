// Whether a memory copy has the minutes before it began to follow: a copy that starts at a late round is later joined by one that started earlier.
import { awaitAtMost } from '../../infra/runtime/time/pause.ts';

/** How long a call waits for the minutes before, at most. */
export const WHOLE_WITHIN_MS = 10_000;

/** A part that keeps what was applied follows the earlier copy too; the returned function takes over what that copy kept. */
export type Heir<Copy> = (past: Copy) => () => void;

export class Whole<Copy> {
  readonly #heirs: Heir<Copy>[] = [];
  #joined: PromiseWithResolvers<void> | null = null;

  /** The minutes before will be joined: until then the copy is not whole. */
  expect(): void {
    this.#joined ??= Promise.withResolvers();
  }

  get isWhole(): boolean {
    return this.#joined === null;
  }

  /** Whether it is whole within so long; at once when it is. */
  async within(forMs: number): Promise<boolean> {
    if (this.#joined === null) return true;
    await awaitAtMost(this.#joined.promise, forMs);
    return this.isWhole;
  }

  inherit(heir: Heir<Copy>): void {
    this.#heirs.push(heir);
  }

  /** Prepares the heirs of an empty copy; the returned function makes everything whole, at once. */
  begin(past: Copy): () => void {
    const takeOver = this.#heirs.map((heir) => heir(past));
    return () => {
      for (const take of takeOver) take();
      this.#joined?.resolve();
      this.#joined = null;
    };
  }
}
