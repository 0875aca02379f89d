// The last 300 seconds of `live`, from which streams resume (ST-05): bounded in time and number, `drop-oldest`.
// Columns and bytes outside of the heap: hundreds of thousands of objects would be moved and marked by collections, and every
// stream would wait for that.
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { isAbove, LIVE_KINDS, type LiveEntry, type Place, type Reading } from '../../schemas/topics.ts';
import { ByteLog, type BytePlace } from '../live/byte-log.ts';
import { type HeldReading, LiveMessage } from '../live/live-message.ts';
import type { AppliedEntry } from '../live/memory.ts';
import { toListingKey, toTrackKey } from './keys.ts';

const KEPT: Micros = 300_000_000;
/** Three thousand a second for as long as they are kept, and some more. */
const MOST_ENTRIES = 1_048_576;
const BLOCK_ROWS = 16_384;
const NONE = -1;
/** In place of the kind of an entry that is left out. */
const LEFT_OUT = 255;

/** A place of a task as a name. */
export const printPlace = (task: string, { offset, index }: Place): string => `${task}|${offset}|${index}`;

/** What of an applied entry is held. */
export type Applied = Omit<AppliedEntry, 'entry'>;

/** An entry that is held. Its content is decoded when it is read, which must be while it is held. */
export type RingEntry = Place & {
  readonly venue: string;
  readonly task: string;
  readonly kind: LiveEntry['kind'];
  /** `toTrackKey` of a reading, else null. */
  readonly track: string | null;
  /** False once it was dropped. */
  isHeld(): boolean;
  entry(): LiveEntry;
  /** The reading of the same track before this one. */
  replaced(): Reading | null;
};

/** `floor`: the newest place that is not kept; all places above it are. */
type Task = { readonly name: string; readonly venue: string; floor: Place };

const readVenue = (task: string): string => task.slice(0, task.lastIndexOf('/'));

/** A listing and layer. */
class HeldTrack {
  readonly name: string;
  /** Number of its newest entry. */
  newest = NONE;
  /** The reading before its oldest kept entry: shared with another owner, or copied here. */
  #before: HeldReading | null = null;
  #copy: Buffer | null = null;
  #copied = 0;

  constructor(name: string) {
    this.name = name;
  }

  keepBefore(held: HeldReading | null): void {
    if (held instanceof LiveMessage) this.copyBefore(held.bytes);
    else [this.#before, this.#copied] = [held, 0];
  }

  /** Over what was copied before: most tracks drop an entry a second. */
  copyBefore(bytes: Buffer): void {
    if (this.#copy === null || this.#copy.length < bytes.length) this.#copy = Buffer.allocUnsafeSlow(bytes.length);
    [this.#before, this.#copied] = [null, bytes.copy(this.#copy)];
  }

  before(): Reading | null {
    if (this.#copy === null || this.#copied === 0) return this.#before?.reading ?? null;
    return codecs.live.decode(this.#copy.subarray(0, this.#copied)).reading;
  }
}

/** The columns of a block of entries. */
class Columns {
  readonly offset: Float64Array;
  readonly index: Float64Array;
  readonly recordedAt: Float64Array;
  /** Number of the entry of the same track before. */
  readonly previous: Float64Array;
  readonly chunk: Float64Array;
  readonly start: Uint32Array;
  readonly length: Uint32Array;
  readonly task: Uint16Array;
  readonly track: Int32Array;
  readonly kind: Uint8Array;

  constructor(rows: number) {
    this.offset = new Float64Array(rows);
    this.index = new Float64Array(rows);
    this.recordedAt = new Float64Array(rows);
    this.previous = new Float64Array(rows);
    this.chunk = new Float64Array(rows);
    this.start = new Uint32Array(rows);
    this.length = new Uint32Array(rows);
    this.task = new Uint16Array(rows);
    this.track = new Int32Array(rows);
    this.kind = new Uint8Array(rows);
  }
}

/** The columns of the entries that are held, in blocks: their memory follows the number of entries. Entries are numbered on and on. */
class Blocks {
  /** By the number of the block. */
  readonly #held = new Map<number, Columns>();
  /** A block that was left, for the next one. */
  #spare: Columns | null = null;

  /** The columns and the row of an entry that is held. */
  find(number: number): readonly [Columns, number] {
    const columns = this.#held.get(Math.floor(number / BLOCK_ROWS));
    if (columns === undefined) throw new Error(`entry ${number} is not held`);
    return [columns, number % BLOCK_ROWS];
  }

  /** As `find`, of the entry after the newest. */
  open(number: number): readonly [Columns, number] {
    const block = Math.floor(number / BLOCK_ROWS);
    if (!this.#held.has(block)) {
      this.#held.set(block, this.#spare ?? new Columns(BLOCK_ROWS));
      this.#spare = null;
    }
    return this.find(number);
  }

  /** The oldest entry is no longer held. */
  drop(number: number): void {
    if ((number + 1) % BLOCK_ROWS > 0) return;
    const block = Math.floor(number / BLOCK_ROWS);
    this.#spare = this.#held.get(block) ?? null;
    this.#held.delete(block);
  }
}

export class Ring {
  readonly #most: number;
  readonly #blocks = new Blocks();
  readonly #bytes = new ByteLog();
  /** Numbers of the oldest kept entry, and of the next entry. */
  #first = 0;
  #next = 0;
  readonly #tasks: Task[] = [];
  readonly #tracks: HeldTrack[] = [];
  readonly #taskNumbers = new Map<string, number>();
  readonly #trackNumbers = new Map<string, number>();
  /** The entries before everything held here, until they are too old. */
  #past: Ring | null = null;

  constructor(most = MOST_ENTRIES) {
    this.#most = most;
  }

  /** Follows a task from `place` on, unless it is already followed. Returns its number. */
  begin(task: string, place: Place): number {
    const known = this.#taskNumbers.get(task);
    if (known !== undefined) return known;
    this.#taskNumbers.set(task, this.#tasks.length);
    return this.#tasks.push({ name: task, venue: readVenue(task), floor: place }) - 1;
  }

  /** Adds the earlier entries: `past` ends where this ring began, and receives no more entries. */
  join(past: Ring): void {
    // The entries dropped here are newer than all that are kept there.
    if (this.#first > 0) return;
    for (const [number, { name, floor }] of past.#tasks.entries()) {
      const task = this.#tasks[this.begin(name, floor)] as Task;
      task.floor = floor;
      // An entry dropped there is not held here.
      past.#tasks[number] = task;
    }
    this.#past = past;
    while (this.size > this.#most) this.#dropFirst();
  }

  push(applied: Applied, now: Micros): void {
    const { message } = applied;
    const task = this.begin(applied.task, applied.before);
    if (this.size === this.#most) this.#dropFirst();
    const [columns, row] = this.#blocks.open(this.#next);
    const track = this.#findTrack(applied);
    const place = this.#bytes.append(message.bytes);
    columns.offset[row] = message.offset;
    columns.index[row] = message.index;
    columns.recordedAt[row] = message.recorded_at;
    columns.previous[row] = this.#tracks[track]?.newest ?? NONE;
    columns.chunk[row] = place.chunk;
    columns.start[row] = place.start;
    columns.length[row] = place.length;
    columns.task[row] = task;
    columns.track[row] = track;
    columns.kind[row] = LIVE_KINDS.indexOf(message.kind);
    const held = this.#tracks[track];
    if (held !== undefined) {
      if (held.newest < this.#first) held.keepBefore(applied.replaced);
      held.newest = this.#next;
    }
    this.#next++;
    this.#dropOld(now);
  }

  /** Entries at these places are omitted from now on, because earlier entries have reported them. */
  leaveOut(places: ReadonlySet<string>): void {
    if (places.size === 0) return;
    for (let number = this.#first; number < this.#next; number++) {
      const [{ kind }, row] = this.#blocks.find(number);
      if (places.has(this.#printPlaceOf(number))) kind[row] = LEFT_OUT;
    }
  }

  get size(): number {
    return this.#next - this.#first + (this.#past?.size ?? 0);
  }

  /** Whether everything after the places is held. */
  covers(places: ReadonlyMap<string, Place>): boolean {
    for (const [name, place] of places) {
      const task = this.#tasks[this.#taskNumbers.get(name) ?? NONE];
      if (task === undefined || isAbove(task.floor, place)) return false;
    }
    return true;
  }

  /** Number of the next entry. */
  get end(): number {
    return this.#next;
  }

  /**
   * The entries after the places, in the order they came; of those alone that were pushed since the ring had the end `since`, if given. What is
   * pushed while a caller takes its time follows, what is dropped meanwhile is left out: see `covers`.
   */
  *after(places: ReadonlyMap<string, Place>, since: number | null = null): Generator<RingEntry> {
    if (this.#past !== null && since === null) yield* this.#past.after(places);
    const placesTold = this.#tasks.map(({ name }) => places.get(name));
    for (let number = since ?? NONE; ; number++) {
      number = Math.max(number, this.#first);
      if (number >= this.#next) return;
      const [{ offset, index, task, kind }, row] = this.#blocks.find(number);
      const place = placesTold[task[row] as number];
      if (place === undefined || kind[row] === LEFT_OUT) continue;
      if (isAbove({ offset: offset[row] as number, index: index[row] as number }, place)) yield this.#entry(number);
    }
  }

  /** The instant from which on everything can be resumed. */
  from(now: Micros): Micros {
    if (this.#past !== null && this.#past.size > 0) return this.#past.from(now);
    return this.#first === this.#next ? now : this.#readOldest();
  }

  #findTrack({ venue, message: { symbol, layer } }: Applied): number {
    if (layer === null) return NONE;
    const name = toTrackKey(toListingKey(venue, symbol ?? ''), layer);
    const known = this.#trackNumbers.get(name);
    if (known !== undefined) return known;
    this.#trackNumbers.set(name, this.#tracks.length);
    return this.#tracks.push(new HeldTrack(name)) - 1;
  }

  #printPlaceOf(number: number): string {
    const [{ offset, index, task }, row] = this.#blocks.find(number);
    const { name } = this.#tasks[task[row] as number] as Task;
    return printPlace(name, { offset: offset[row] as number, index: index[row] as number });
  }

  #entry(number: number): RingEntry {
    const [columns, row] = this.#blocks.find(number);
    const task = this.#tasks[columns.task[row] as number] as Task;
    const track = this.#tracks[columns.track[row] as number];
    return {
      offset: columns.offset[row] as number,
      index: columns.index[row] as number,
      venue: task.venue,
      task: task.name,
      kind: LIVE_KINDS[columns.kind[row] as number] as LiveEntry['kind'],
      track: track?.name ?? null,
      isHeld: () => number >= this.#first,
      entry: () => codecs.live.decode(this.#readBytes(number)),
      replaced: () => (track === undefined ? null : this.#replaced(track, columns.previous[row] as number)),
    };
  }

  #replaced(track: HeldTrack, previous: number): Reading | null {
    return previous < this.#first ? track.before() : codecs.live.decode(this.#readBytes(previous)).reading;
  }

  #readBytes(number: number): Buffer {
    const [columns, row] = this.#blocks.find(number);
    const [chunk, start, length] = [columns.chunk[row], columns.start[row], columns.length[row]];
    return this.#bytes.at({ chunk, start, length } as BytePlace);
  }

  #dropOld(now: Micros): void {
    const past = this.#past;
    if (past !== null) past.#dropOld(now);
    if (past?.size === 0) this.#past = null;
    while (this.#first < this.#next && this.#readOldest() < now - KEPT) this.#dropFirst();
  }

  /** When the oldest entry was recorded. */
  #readOldest(): Micros {
    const [{ recordedAt }, row] = this.#blocks.find(this.#first);
    return recordedAt[row] as Micros;
  }

  #dropFirst(): void {
    if (this.#past !== null && this.#past.size > 0) {
      this.#past.#dropFirst();
      return;
    }
    const [columns, row] = this.#blocks.find(this.#first);
    const task = this.#tasks[columns.task[row] as number] as Task;
    task.floor = { offset: columns.offset[row] as number, index: columns.index[row] as number };
    const track = this.#tracks[columns.track[row] as number];
    // The entry after its newest needs the reading that it replaced.
    if (track !== undefined && track.newest > this.#first) track.copyBefore(this.#readBytes(this.#first));
    this.#bytes.free({ chunk: columns.chunk[row] as number });
    this.#blocks.drop(this.#first);
    this.#first++;
  }
}
