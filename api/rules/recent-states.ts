// The memory copy as of a moment ago: what each reading replaced, and when ends of connections became known. So an instant
// is evaluated over exactly what was recorded up to it, by whichever process and however late within the time that is kept.
// Rules are evaluated at whole seconds (`instants.ts`): a reading that was replaced before the next one is not kept.
// Readings are kept as bytes outside of the heap: hundreds of thousands of objects would be moved and marked by collections.
import { codecs } from '../../schemas/avro/codec.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { formatTask, type Reading } from '../../schemas/topics.ts';
import { ByteLog, type BytePlace } from '../live/byte-log.ts';
import type { LiveListing } from '../live/listing-book.ts';
import { type HeldReading, LiveMessage } from '../live/live-message.ts';
import type { AppliedEntry, LiveMemory } from '../live/memory.ts';
import { findLoss, findPartition } from '../live/partition.ts';
import { isBetweenInstants } from './instants.ts';

/** How long what was replaced is kept: longer than a lease and the start of a process together. */
const KEPT: Micros = 30_000_000;
/** Applied entries of a task may be this far ahead of its published watermark. */
const AHEAD: Micros = 1_000_000;
/** `drop-oldest`: older instants can no longer be evaluated. */
const MOST_CHANGES = 400_000;

type Named = Pick<LiveListing, 'venue' | 'venueSymbol'>;
/** `bytes`: of the reading that was replaced; else it was `held` elsewhere, or there was none. */
type Change = {
  readonly recordedAt: Micros;
  readonly bytes: BytePlace | null;
  readonly held: HeldReading | null;
  readonly history: History;
};
/** Of a listing and layer, in the order of the log; `newest` is when its newest reading was recorded. */
type History = { changes: Change[]; newest: Micros | null };
type Task = {
  /** In the order of the log; those before `head` are dropped. */
  changes: Change[];
  head: number;
  newest: Micros;
  hasDropped: boolean;
  /** Instants from here on can be evaluated. */
  from: Micros;
};

/** Changes of both drop the oldest of one list from then on. */
const joinHistories = (before: History, since: History): void => {
  for (const change of since.changes) before.changes.push(change);
  since.changes = before.changes;
  since.newest ??= before.newest;
};

export class RecentStates {
  readonly #live: LiveMemory;
  readonly #tasks = new Map<string, Task>();
  #histories = new WeakMap<LiveListing, Map<ReadingLayer, History>>();
  /** When the end of a connection became known, by task and connection. */
  readonly #ends = new Map<string, Micros>();
  readonly #mostChanges: number;
  #bytes: ByteLog;
  #count = 0;
  /** True from the start until it is known that there is no rule: a process that starts reads the last minutes of the log. */
  #isKeeping = true;
  /** Nothing is known of entries applied before keeping began. */
  #since: Micros = 0;

  /** `bytes`: of the one that takes this one over. */
  constructor(live: LiveMemory, mostChanges = MOST_CHANGES, bytes = new ByteLog()) {
    this.#live = live;
    this.#mostChanges = mostChanges;
    this.#bytes = bytes;
    live.observe((applied) => this.#note(applied));
    live.inherit((past) => {
      const states = new RecentStates(past, mostChanges, this.#bytes);
      return () => this.#join(states);
    });
  }

  /** While there is nothing to evaluate nothing is kept. */
  keep(what: 'states' | 'nothing'): void {
    const isKeeping = what === 'states';
    if (isKeeping === this.#isKeeping) return;
    this.#isKeeping = isKeeping;
    this.#tasks.clear();
    this.#histories = new WeakMap();
    this.#ends.clear();
    this.#bytes = new ByteLog();
    this.#count = 0;
    this.#since = 0;
    // Per task: a task that lags says nothing about the others.
    for (const { partitions } of this.#live.venues())
      for (const { watermark } of partitions.values())
        if (watermark !== null) this.#since = Math.max(this.#since, watermark + AHEAD);
  }

  get changes(): number {
    return this.#count;
  }

  /** The earliest instant that can be evaluated for every task received since keeping began. */
  get from(): Micros {
    let from = this.#since;
    for (const task of this.#tasks.values()) from = Math.max(from, task.from);
    return from;
  }

  /** The newest reading recorded at or before `at`, an instant of a rule. */
  readingAt(listing: LiveListing, layer: ReadingLayer, at: Micros): Reading | null {
    const history = this.#histories.get(listing)?.get(layer)?.changes ?? [];
    const next = history[history.findLastIndex(({ recordedAt }) => recordedAt <= at) + 1];
    if (next === undefined) return listing.readings.get(layer);
    if (next.bytes === null) return next.held?.reading ?? null;
    return codecs.live.decode(this.#bytes.at(next.bytes)).reading;
  }

  /** The instant at which the connection of a listing's reading was lost, as known at `at`. */
  lostAt({ venue, venueSymbol }: Named, reading: Reading | null, at: Micros): Micros | null {
    const partitions = this.#live.venue(venue)?.partitions;
    if (reading === null || partitions === undefined) return null;
    const lost = findLoss(partitions, venueSymbol, reading);
    if (lost === null) return null;
    const task = formatTask(venue, findPartition(partitions, venueSymbol));
    const knownAt = this.#ends.get(`${task}|${reading.conn_id}|${lost}`);
    return knownAt !== undefined && knownAt > at ? null : lost;
  }

  /** Takes over what was noted of the entries before those that this copy received. */
  #join(past: RecentStates): void {
    // Keeping was restarted since: the earlier entries are not needed.
    if (past.#bytes !== this.#bytes) return;
    for (const [key, knownAt] of past.#ends) this.#ends.set(key, Math.min(this.#ends.get(key) ?? knownAt, knownAt));
    for (const { venue, listings } of past.#live.venues()) {
      for (const [symbol, listing] of listings) {
        const ours = this.#live.venue(venue)?.listings.get(symbol);
        for (const [layer, before] of past.#histories.get(listing) ?? [])
          if (ours !== undefined) joinHistories(before, this.#findHistory(ours, layer));
      }
    }
    for (const [name, before] of past.#tasks) this.#joinTask(name, before);
  }

  #joinTask(name: string, before: Task): void {
    const earlier = before.changes.slice(before.head);
    const task = this.#tasks.get(name) ?? { ...before, changes: [], head: 0 };
    this.#tasks.set(name, task);
    task.changes = [...earlier, ...task.changes.slice(task.head)];
    task.head = 0;
    if (!task.hasDropped) task.from = before.from;
    this.#count += earlier.length;
    this.#drop(task);
  }

  #note({ venue, task: name, message, entry, replaced }: AppliedEntry): void {
    if (!this.#isKeeping) return;
    const { recorded_at: recordedAt, kind, symbol, layer } = message;
    const task = this.#findTask(name, recordedAt);
    task.newest = Math.max(task.newest, recordedAt);
    if (kind === 'connection' && entry?.span?.to != null)
      this.#noteEnd(name, entry.span.conn_id, { to: entry.span.to, recordedAt });
    if (kind === 'reading' && symbol !== null && layer !== null) {
      const listing = this.#live.venue(venue)?.listings.get(symbol);
      if (listing !== undefined) this.#noteChange(task, this.#findHistory(listing, layer), { recordedAt, replaced });
    }
    this.#drop(task);
  }

  /** An end may be reported again: the first of the log counts. */
  #noteEnd(task: string, connId: string, { to, recordedAt }: { to: Micros; recordedAt: Micros }): void {
    const key = `${task}|${connId}|${to}`;
    this.#ends.set(key, Math.min(this.#ends.get(key) ?? recordedAt, recordedAt));
    if (this.#ends.size <= MOST_CHANGES / 100) return;
    for (const [old, knownAt] of this.#ends) if (knownAt < recordedAt - KEPT) this.#ends.delete(old);
  }

  #noteChange(task: Task, history: History, of: { recordedAt: Micros; replaced: HeldReading | null }): void {
    const { recordedAt, replaced } = of;
    const replacedAt = history.newest;
    history.newest = recordedAt;
    if (replacedAt !== null && isBetweenInstants(replacedAt, recordedAt)) return;
    const bytes = replaced instanceof LiveMessage ? this.#bytes.append(replaced.bytes) : null;
    const change = { recordedAt, bytes, held: bytes === null ? replaced : null, history };
    history.changes.push(change);
    task.changes.push(change);
    this.#count++;
  }

  #drop(task: Task): void {
    const { changes } = task;
    const bound = task.newest - KEPT;
    while (task.head < changes.length) {
      const oldest = changes[task.head] as Change;
      if (oldest.recordedAt > bound && this.#count <= this.#mostChanges) break;
      oldest.history.changes.shift();
      if (oldest.bytes !== null) this.#bytes.free(oldest.bytes);
      task.hasDropped = true;
      task.from = Math.max(task.from, oldest.recordedAt);
      task.head++;
      this.#count--;
    }
    // Copied rarely, so that dropping costs nothing each time.
    if (task.head < 1_024 || task.head * 2 < changes.length) return;
    task.changes = changes.slice(task.head);
    task.head = 0;
  }

  #findTask(name: string, recordedAt: Micros): Task {
    const held = this.#tasks.get(name);
    if (held !== undefined) return held;
    const task: Task = { changes: [], head: 0, newest: recordedAt, hasDropped: false, from: recordedAt };
    this.#tasks.set(name, task);
    return task;
  }

  #findHistory(listing: LiveListing, layer: ReadingLayer): History {
    const layers = this.#histories.get(listing) ?? new Map<ReadingLayer, History>();
    this.#histories.set(listing, layers);
    const history = layers.get(layer) ?? { changes: [], newest: null };
    layers.set(layer, history);
    return history;
  }
}
