// The last 300 seconds of `live`, from which streams resume (ST-05): bounded in time and number, `drop-oldest`.
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry, Place, Reading } from '../../schemas/topics.ts';
import { isAbove } from './positions.ts';

const KEPT: Micros = 300_000_000;
const MOST_ENTRIES = 262_144;
/** Dropped entries are cut off the array in strides, so that a push costs no copy. */
const STRIDE = 4_096;

export type RingEntry = {
  readonly venue: string;
  readonly task: string;
  readonly entry: LiveEntry;
  /** The reading of the same listing and layer before this one. */
  readonly replaced: Reading | null;
};

export class Ring {
  #entries: RingEntry[] = [];
  #first = 0;
  /** By task, the newest place that is not held: what lies above it is. */
  readonly #floors = new Map<string, Place>();

  /** A task is followed from `place` on. */
  begin(task: string, place: Place): void {
    if (!this.#floors.has(task)) this.#floors.set(task, place);
  }

  push(entry: RingEntry, now: Micros): void {
    this.#entries.push(entry);
    this.#drop(now);
  }

  /** Whether everything after the places is held. */
  covers(places: ReadonlyMap<string, Place>): boolean {
    for (const [task, place] of places) {
      const floor = this.#floors.get(task);
      if (floor === undefined || isAbove(floor, place)) return false;
    }
    return true;
  }

  /** What came after the places, in the order it came. */
  *after(places: ReadonlyMap<string, Place>): Generator<RingEntry> {
    for (let i = this.#first; i < this.#entries.length; i++) {
      const held = this.#entries[i] as RingEntry;
      const place = places.get(held.task);
      if (place !== undefined && isAbove(held.entry, place)) yield held;
    }
  }

  /** The instant from which on everything can be resumed. */
  from(now: Micros): Micros {
    return this.#entries[this.#first]?.entry.recorded_at ?? now;
  }

  #drop(now: Micros): void {
    for (; this.#first < this.#entries.length; this.#first++) {
      const { task, entry } = this.#entries[this.#first] as RingEntry;
      const isOld = entry.recorded_at < now - KEPT;
      if (!isOld && this.#entries.length - this.#first <= MOST_ENTRIES) break;
      this.#floors.set(task, { offset: entry.offset, index: entry.index });
    }
    if (this.#first < STRIDE) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}
