// The last 300 seconds of `live`, from which streams resume (ST-05): bounded in time and number, `drop-oldest`.
// Held as bytes outside of the heap: collecting hundreds of thousands of objects would keep every stream waiting.
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { isAbove, type LiveEntry, type Place, type Reading } from '../../schemas/topics.ts';
import { type HeldReading, LiveMessage } from '../live/live-message.ts';

const KEPT: Micros = 300_000_000;
const MOST_ENTRIES = 262_144;
/** Dropped entries are cut off the array in strides, so that a push costs no copy. */
const STRIDE = 4_096;

export type Applied = {
  readonly venue: string;
  /** `<venue>/<partition>`. */
  readonly task: string;
  readonly message: LiveMessage;
  /** The reading of the same listing and layer before this one. */
  readonly replaced: HeldReading | null;
};

/** An entry that is held; what it carries is decoded when it is asked for. */
export class RingEntry implements Place {
  readonly venue: string;
  readonly task: string;
  readonly offset: number;
  readonly index: number;
  readonly kind: LiveEntry['kind'];
  readonly recordedAt: Micros;
  /** `<venue>|<venue_symbol>|<layer>` of a reading, else null. */
  readonly track: string | null;
  // Not the messages: what they once decoded would be held with them.
  readonly #bytes: Buffer;
  readonly #replaced: Buffer | Reading | null;

  constructor({ venue, task, message, replaced }: Applied, track: string | null) {
    this.venue = venue;
    this.task = task;
    this.offset = message.offset;
    this.index = message.index;
    this.kind = message.kind;
    this.recordedAt = message.recorded_at;
    this.track = track;
    this.#bytes = message.bytes;
    this.#replaced = replaced instanceof LiveMessage ? replaced.bytes : (replaced?.reading ?? null);
  }

  entry(): LiveEntry {
    return codecs.live.decode(this.#bytes);
  }

  /** The reading of the same track before this one. */
  replaced(): Reading | null {
    return Buffer.isBuffer(this.#replaced) ? codecs.live.decode(this.#replaced).reading : this.#replaced;
  }
}

export class Ring {
  #entries: RingEntry[] = [];
  #first = 0;
  /** By task, the newest place that is not held: what lies above it is. */
  readonly #floors = new Map<string, Place>();
  /** One text for all entries of a track. */
  readonly #tracks = new Map<string, string>();

  /** A task is followed from `place` on. */
  begin(task: string, place: Place): void {
    if (!this.#floors.has(task)) this.#floors.set(task, place);
  }

  push(applied: Applied, now: Micros): void {
    this.#entries.push(new RingEntry(applied, this.#trackOf(applied)));
    this.#drop(now);
  }

  #trackOf({ venue, message: { symbol, layer } }: Applied): string | null {
    if (layer === null) return null;
    const track = `${venue}|${symbol}|${layer}`;
    const known = this.#tracks.get(track);
    if (known === undefined) this.#tracks.set(track, track);
    return known ?? track;
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
      if (place !== undefined && isAbove(held, place)) yield held;
    }
  }

  /** The instant from which on everything can be resumed. */
  from(now: Micros): Micros {
    return this.#entries[this.#first]?.recordedAt ?? now;
  }

  #drop(now: Micros): void {
    for (; this.#first < this.#entries.length; this.#first++) {
      const { task, offset, index, recordedAt } = this.#entries[this.#first] as RingEntry;
      const isOld = recordedAt < now - KEPT;
      if (!isOld && this.#entries.length - this.#first <= MOST_ENTRIES) break;
      this.#floors.set(task, { offset, index });
    }
    if (this.#first < STRIDE) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}
