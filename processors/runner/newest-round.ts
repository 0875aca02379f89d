// The newest complete round of a state partition, from its entries in order: the last published state of a task.
import type { StateEntry } from '../../schemas/topics.ts';

export type Round = { readonly round: number; readonly entries: readonly StateEntry[]; readonly liveOffset: number };

/** Collects a state partition and keeps its newest complete round. */
export class NewestRound {
  readonly #open = new Map<number, StateEntry[]>();
  held: Round | null = null;

  add(entry: StateEntry): void {
    const entries = this.#open.get(entry.round) ?? [];
    this.#open.set(entry.round, entries);
    if (entry.marker === null) {
      entries.push(entry);
      return;
    }
    this.#open.delete(entry.round);
    // Retention may have dropped the first entries of a round.
    if (entries.length < entry.marker.entries || entry.round <= (this.held?.round ?? -1)) return;
    this.held = { round: entry.round, entries, liveOffset: entry.marker.live_offset };
  }
}
