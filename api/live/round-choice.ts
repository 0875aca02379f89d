// The choice among the state rounds of a partition, from its entries in order: the newest complete one of a time up to an instant.
import type { Micros } from '../../schemas/records.ts';
import type { StateEntry } from '../../schemas/topics.ts';

export type Round = {
  readonly entries: readonly StateEntry[];
  readonly watermark: Micros;
  readonly liveOffset: number;
};

/**
 * Keeps of a partition's rounds the newest complete one of a time up to `before`, else the oldest complete one. The first publication of a
 * round counts: an owner that lost its task without knowing publishes it again, and names a later place in `live`.
 */
export class RoundChoice {
  readonly #before: Micros;
  readonly #open = new Map<number, StateEntry[]>();
  #newest = -1;
  #chosen: Round | null = null;
  #isOldEnough = false;
  #begins: number | null = null;

  constructor(before: Micros) {
    this.#before = before;
  }

  get chosen(): Round | null {
    return this.#chosen;
  }

  /** The chosen one is of a time up to `before`. */
  get isOldEnough(): boolean {
    return this.#isOldEnough;
  }

  /** Where the round of the last marker begins, when no other owner wrote in between; null while none was read. */
  get begins(): number | null {
    return this.#begins;
  }

  /** `at`: the entry's offset in `state`. */
  add(entry: StateEntry, at: number): void {
    if (entry.marker !== null) this.#begins = at - entry.marker.entries;
    if (entry.round <= this.#newest) return;
    const entries = this.#open.get(entry.round) ?? [];
    this.#open.set(entry.round, entries);
    entries.push(entry);
    if (entry.marker === null) return;
    this.#open.delete(entry.round);
    // A round whose first entries retention has dropped, or were not read, is not whole.
    if (entries.length - 1 < entry.marker.entries) return;
    this.#newest = entry.round;
    const { watermark, live_offset: liveOffset } = entry.marker;
    const isOldEnough = watermark <= this.#before;
    if (this.#chosen !== null && !isOldEnough) return;
    this.#isOldEnough = isOldEnough;
    this.#chosen = { entries, watermark, liveOffset };
  }
}
