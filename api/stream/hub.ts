// All streams of this process over its memory copy: takes in entries of `live` and the clock, and ends each step with ids.
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { type MeterStep, runUnmetered } from '../../infra/runtime/process/steps.ts';
import type { Micros } from '../../schemas/records.ts';
import { formatTask, type LiveEntry, type Place } from '../../schemas/topics.ts';
import type { Account, KeyAnswer } from '../access/key-store.ts';
import type { LiveListing } from '../live/listing-book.ts';
import type { AppliedEntry, LiveMemory } from '../live/memory.ts';
import { Arrivals } from './arrivals.ts';
import { IdPrinter } from './id-printer.ts';
import { KnownEnds } from './known-ends.ts';
import { type Changed, changeListing, findListing, followListing, unfollowListing } from './listing-changes.ts';
import { HEARTBEAT, KEY_ENDED, makeHeartbeatData, makeHelloData, makePlanChanged, makeReadyData } from './notices.ts';
import { isBeyond, makeStartId, parseEventId } from './positions.ts';
import { Replays } from './replays.ts';
import { type StreamRequest, selectNow } from './request.ts';
import { Ring } from './ring.ts';
import { placeRow, RowBatches } from './row-events.ts';
import { RowNews } from './row-news.ts';
import { formatGap, type Gap, Stream } from './stream.ts';
import { TrackBoard } from './track-board.ts';

/** The interval at which the clock is checked: a change that only time causes is sent well within a second (ST-07). */
const TICK_MS = 250;
const TICK: Micros = TICK_MS * 1_000;
/** Clocks of nodes differ by less: one that is further off alarms. */
const CLOCKS_APART: Micros = 1_000_000;
const ROTATE: Micros = 86_400_000_000;
/** Kinds of entries, other than rows, that change what a stream sends; the others only advance its place. */
const CHANGING: ReadonlySet<string> = new Set<LiveEntry['kind']>(['reading', 'connection', 'listing', 'capability']);

/** A stream waits longer than a call, because what it has missed cannot be requested again once a new stream has begun. */
const MISSED_WITHIN_MS = 60_000;
/** Nodes differ by less than this: if an id is ahead of the node for longer, its entries will not arrive, because the log was recreated. */
const AHEAD_WITHIN_MS = 2_000;

type HubDeps = {
  readonly live: LiveMemory;
  readonly nowMicros: () => Micros;
  /** The time for which a resumed stream waits for missed entries that are still being read; a minute by default. */
  readonly missedWithinMs?: number;
  /** How long it waits for what its client has received from a node that is ahead of this one; two seconds when left out. */
  readonly aheadWithinMs?: number;
  readonly meterStep?: MeterStep;
};

type Opening = {
  readonly account: Account;
  readonly request: StreamRequest;
  /** `Last-Event-ID` as received. */
  readonly lastEventId: string | null;
  readonly out: Writable;
  readonly findKey: () => Promise<KeyAnswer>;
  /** Whether the scope of the plan is the same as when the stream began: it is selected again each day (AC-02). */
  readonly isInScope: () => boolean;
};

export class StreamHub {
  readonly #live: LiveMemory;
  readonly #nowMicros: () => Micros;
  #onDelivered: (age: Micros) => void = () => undefined;
  /** When the oldest record that waits for the next hand-over was appended; null: none waits. */
  #appendedAt: Micros | null = null;
  readonly #board: TrackBoard;
  readonly #ring = new Ring();
  readonly #places = new Map<string, Place>();
  readonly #ids = new IdPrinter(this.#places);
  readonly #streams = new Set<Stream>();
  readonly #ends = new KnownEnds();
  readonly #rows: RowBatches;
  readonly #news = new RowNews();
  readonly #missedWithinMs: number;
  readonly #aheadWithinMs: number;
  readonly #arrivals = new Arrivals();
  readonly #replays: Replays;
  readonly #meterStep: MeterStep;
  /** Everything that time alone has changed up to here is in the steps of the streams. */
  #advancedTo: Micros = 0;
  #isFlushScheduled = false;
  #timer: NodeJS.Timeout | null = null;

  /** Entries applied before are not held: create it before the copy is filled. */
  constructor({ live, nowMicros, meterStep = runUnmetered, ...waits }: HubDeps) {
    this.#live = live;
    this.#meterStep = meterStep;
    this.#missedWithinMs = waits.missedWithinMs ?? MISSED_WITHIN_MS;
    this.#aheadWithinMs = waits.aheadWithinMs ?? AHEAD_WITHIN_MS;
    this.#nowMicros = nowMicros;
    this.#board = new TrackBoard(live);
    this.#rows = new RowBatches(live);
    this.#replays = new Replays({
      ring: this.#ring,
      look: () => this.#advanceAll(),
      changedAt: (now) => this.#changed(now),
      onPresent: (stream, now) => this.#complete(stream, 0, now),
      onLost: (stream, gap) => this.#sendPicture(stream, gap, gap.to),
    });
    live.observe((applied) => this.#apply(applied));
    live.inherit((past) => {
      const [ring, news] = [new Ring(), new RowNews()];
      past.observe((applied) => {
        if (news.takes(applied) || CHANGING.has(applied.message.kind)) ring.push(applied, nowMicros());
      });
      return () => {
        this.#ring.join(ring);
        this.#ring.leaveOut(this.#news.join(news));
        // The copy is whole once all of its parts have taken over.
        queueMicrotask(() => this.#arrivals.lookBack());
      };
    });
  }

  /** Calls `onDelivered` after each write to the clients' sockets with the time since the oldest of its records was appended to the log. */
  watchDelivery(onDelivered: (age: Micros) => void): void {
    this.#onDelivered = onDelivered;
  }

  /** Streams that are open, bytes that wait for their clients, and moments that are waited for. */
  sizes(): { streams: number; waitingBytes: number; moments: number } {
    let waitingBytes = 0;
    for (const stream of this.#streams) waitingBytes += stream.waitingBytes;
    return { streams: this.#streams.size, waitingBytes, moments: this.#board.moments + this.#ends.size };
  }

  /**
   * Waits, for a while, for what a client has missed while a process that has just begun reads it behind its first answers, and for what it
   * has received from a node that is ahead. Null: there is nothing to wait for.
   */
  awaitMissed(lastEventId: string, { selection, venues }: StreamRequest): Promise<void> | null {
    const id = parseEventId(lastEventId, selection, this.#listTasks(venues));
    if (id === null) return null;
    const isMissed = (): boolean => !this.#live.isWhole && !this.#ring.covers(id.places);
    const isAhead = (): boolean => isBeyond(id.places, this.#places);
    const wait = async (): Promise<void> => {
      if (isMissed()) await this.#arrivals.untilJoined(() => !isMissed(), this.#missedWithinMs);
      if (isAhead()) await this.#arrivals.until(() => !isAhead(), this.#aheadWithinMs);
    };
    return isMissed() || isAhead() ? wait() : null;
  }

  /** Starts a stream on `out`; everything up to `ready` is written before this returns, of a long replay its beginning. */
  open({ lastEventId, ...opening }: Opening): Stream {
    const now = this.#advanceAll();
    const tasks = this.#listTasks(opening.request.venues);
    const onEnd = (ended: Stream): void => this.#forget(ended);
    const stream = new Stream({ ...opening, id: `str_${randomUUID()}`, nowMicros: this.#nowMicros, onEnd }, tasks);
    this.#streams.add(stream);
    this.#greet(stream, lastEventId, now);
    if (this.#arrivals.isClosed) stream.end('shutdown');
    this.#timer ??= setInterval(() => this.#meterStep('stream tick', () => this.#tick()), TICK_MS).unref();
    return stream;
  }

  /** Sends one client an event that is no part of the log, under the id that was sent last. */
  sendBeside(stream: Stream, event: string, data: string): void {
    if (!this.#streams.has(stream)) return;
    const now = this.#advanceAll();
    stream.add(event, data);
    stream.commit(this.#idOf(stream, now));
    this.#scheduleFlush();
  }

  /** Sends every client its last event, including clients that connect later. */
  close(): void {
    this.#arrivals.close();
    for (const stream of [...this.#streams]) stream.end('shutdown');
  }

  #greet(stream: Stream, lastEventId: string | null, now: Micros): void {
    const { request, tasks } = stream;
    const sent = lastEventId === null ? null : parseEventId(lastEventId, request.selection, tasks);
    // The clock of the node that issued the id may be ahead of this one's: changes that are due until then are sent here when they are due.
    const id =
      sent === null || sent.sentAt > now + CLOCKS_APART ? null : { ...sent, sentAt: Math.min(sent.sentAt, now) };
    // A node that ends sends nothing after the id: the client resumes from it elsewhere.
    const { isClosed } = this.#arrivals;
    const resumed = id !== null && (isClosed || (this.#ring.covers(id.places) && !isBeyond(id.places, this.#places)));
    const [listings, bufferFrom] = [selectNow(request, this.#live, now).length, this.#ring.from(now)];
    stream.add('hello', makeHelloData(stream, this.#live, { listings, resumed, bufferFrom, now }));
    if (resumed) {
      stream.commit(lastEventId ?? '');
      if (!isClosed) this.#replays.begin(stream, id, now);
      return;
    }
    const from = id === null ? null : Math.min(id.sentAt, now);
    const gap = { from, to: now, reason: 'resume_expired', dropped: null, scope: {} } as const;
    this.#sendPicture(stream, lastEventId === null ? null : gap, now);
  }

  /** The picture as of now, after a gap if there is one. */
  #sendPicture(stream: Stream, gap: Gap | null, now: Micros): void {
    const { request } = stream;
    for (const each of selectNow(request, this.#live, now)) followListing(stream, each, this.#changed(now));
    if (gap !== null) stream.add('gap', formatGap(gap));
    const snapshots = gap !== null || request.withSnapshots ? this.#sendSnapshots(stream, now) : 0;
    stream.commit(makeStartId(request.selection));
    this.#complete(stream, snapshots, now);
  }

  /** The picture of the stream is complete. */
  #complete(stream: Stream, snapshots: number, now: Micros): void {
    stream.add('ready', makeReadyData(stream, this.#live, { snapshots, now }));
    stream.commit(this.#printId(stream, now));
    stream.flush();
  }

  #sendSnapshots(stream: Stream, now: Micros): number {
    let told = 0;
    for (const track of stream.tracks.values()) if (this.#board.sendSnapshot(stream, track, now)) told++;
    return told;
  }

  #changed(now: Micros): Changed {
    return { live: this.#live, board: this.#board, now, awaitEnd: (selected) => this.#ends.await(selected) };
  }

  /** Sends everything that time alone has changed up to now, also ends of listings: no id may pass an unsent one. */
  #advance(now: Micros): void {
    this.#advancedTo = now;
    for (let ended = this.#ends.take(now); ended !== null; ended = this.#ends.take(now))
      this.#changeListing(ended, now);
    this.#board.advance(now);
  }

  /** The same for the lag of venues, which no single instant causes; ends that step. */
  #advanceAll(now = this.#nowMicros()): Micros {
    this.#endRows();
    this.#advance(now);
    for (const { venue } of this.#live.venues()) this.#board.checkLag(venue, now);
    this.#commit(now);
    this.#scheduleFlush();
    return now;
  }

  /** The events of one turn of the loop go to each client in few writes. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    queueMicrotask(() => {
      this.#isFlushScheduled = false;
      this.#endRows();
      this.#meterStep('stream flush', () => {
        for (const stream of this.#streams) stream.flush();
      });
      if (this.#appendedAt !== null) this.#onDelivered(this.#nowMicros() - this.#appendedAt);
      this.#appendedAt = null;
    });
  }

  /** Rows that have gathered go under the place of the last of them and the last look at the clock: no id passes unsent rows, nor what time changed since. */
  #endRows(): void {
    if (this.#rows.send()) this.#commit(this.#advancedTo);
  }

  #commit(now: Micros): void {
    for (const stream of this.#streams) if (stream.hasDrafts) stream.commit(this.#idOf(stream, now));
  }

  /** The id of events that are not from the log: a stream in a replay has received no more than its newest id states. */
  #idOf(stream: Stream, now: Micros): string {
    return this.#replays.has(stream) ? stream.lastId : this.#printId(stream, now);
  }

  /** The id of a stream that has received everything up to now: its selection, and what all streams of its tasks share. */
  #printId(stream: Stream, sentAt: Micros): string {
    const lagging = stream.request.venues.some((venue) => this.#board.isBehind(venue));
    return this.#ids.print(stream, { sentAt, lagging });
  }

  /** Tasks of the venues that are known; for a task without new entries, everything that is received later follows. */
  #listTasks(venues: readonly string[]): readonly string[] {
    return venues
      .flatMap((venue) =>
        [...(this.#live.venue(venue)?.partitions ?? [])].flatMap(([partition, { offset, index }]) => {
          const task = formatTask(venue, partition);
          if (offset >= 0 && !this.#places.has(task)) this.#begin(task, { offset, index });
          return this.#places.has(task) ? [task] : [];
        }),
      )
      .sort();
  }

  #begin(task: string, place: Place): void {
    this.#places.set(task, place);
    this.#ring.begin(task, place);
  }

  /** Takes in one applied entry of `live`. Changes due before it are sent first; an entry not above the task's place is a repeat. */
  #apply(applied: AppliedEntry): void {
    const { venue, task, message, entry } = applied;
    if (!this.#places.has(task)) this.#begin(task, applied.before);
    const [isRow, changes, now] = [this.#news.takes(applied), CHANGING.has(message.kind), this.#nowMicros()];
    if (changes) {
      this.#endRows();
      this.#advance(now);
      // Changes that are due before any other entry are a separate step: its id passes none of the collected rows.
    } else if (this.#ends.isDue(now) || this.#board.isDue(venue, now)) this.#advanceAll(now);
    // Each event of rows has the place of its last row: a client that is cut off after it receives none of them again.
    const placed = isRow && entry !== null && this.#streams.size > 0 ? placeRow(venue, entry) : null;
    const streams = placed === null ? [] : this.#board.followers(venue, placed.symbol ?? '');
    if (placed !== null && this.#rows.holdsOthers(placed, streams)) this.#endRows();
    this.#places.set(task, { offset: message.offset, index: message.index });
    this.#arrivals.look();
    this.#ids.forget();
    if (isRow || changes) this.#ring.push(applied, now);
    if (this.#streams.size === 0) return;
    this.#appendedAt ??= message.recorded_at;
    if (placed !== null) this.#rows.add(placed, { streams, now });
    else if (!isRow) this.#publish(applied, now);
    this.#commit(now);
    this.#scheduleFlush();
  }

  /** Sends what an entry other than a row has changed. */
  #publish(applied: AppliedEntry, now: Micros): void {
    const { venue, entry } = applied;
    // Before any track is checked, so that the id of the step states that the venue is behind.
    this.#board.checkLag(venue, now);
    if (entry?.kind === 'listing') this.#changeListing(findListing(this.#live, entry), now);
    else this.#board.apply(applied, now);
  }

  #changeListing(listing: LiveListing | undefined, now: Micros): void {
    if (listing === undefined) return;
    for (const stream of this.#streams) {
      if (!this.#replays.has(stream)) changeListing(stream, listing, this.#changed(now));
    }
  }

  #tick(): void {
    const now = this.#advanceAll();
    for (const stream of [...this.#streams]) {
      stream.merge();
      if (now - stream.openedAt >= ROTATE) stream.end('rotate');
      else if (now - stream.heartbeatAt > HEARTBEAT - TICK) this.#heartbeat(stream, now);
    }
  }

  #heartbeat(stream: Stream, now: Micros): void {
    stream.heartbeatAt = now;
    const passedAt = this.#replays.passedAt(stream);
    stream.add('heartbeat', makeHeartbeatData(stream, this.#live, { now, passedAt }));
    stream.commit(this.#idOf(stream, now));
    if (stream.isInScope()) void this.#checkKey(stream);
    else stream.end('rotate');
  }

  /** A key that ended or changed its plan ends its streams within a minute (ST-08); the store never rejects. */
  async #checkKey(stream: Stream): Promise<void> {
    const found = await stream.findKey();
    if (found === 'unreachable') return;
    if (found === 'unknown') {
      stream.end('key_ended', KEY_ENDED);
    } else if (found.plan.code !== stream.account.plan.code) {
      stream.end('plan_changed', makePlanChanged(found.plan));
    }
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream);
    this.#replays.forget(stream);
    for (const key of [...stream.selected.keys()]) unfollowListing(stream, key, this.#board);
    if (this.#streams.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
