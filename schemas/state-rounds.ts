// State rounds of a partition, put together from its entries in order: the newest complete one, of a time up to an instant.
import type { Micros } from './records.ts';
import type { StateEntry } from './topics.ts';

/** A complete round: the state as of the raw offset `round`. */
export type StateRound = {
  readonly round: number;
  /** In their order, the marker last. */
  readonly entries: readonly StateEntry[];
  readonly watermark: Micros;
  /** Where `live` is followed from. */
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
  #chosen: StateRound | null = null;
  #isOldEnough = false;
  #begins: number | null = null;

  /** Without an instant the newest complete round is chosen. */
  constructor(before: Micros = Number.POSITIVE_INFINITY) {
    this.#before = before;
  }

  get chosen(): StateRound | null {
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
    this.#chosen = { round: entry.round, entries, watermark, liveOffset };
  }
}
