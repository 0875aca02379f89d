// The memory copy: newest readings, connections, listings and watermarks of every venue, as the tasks published them.
// Single-threaded and synchronous: a caller that reads without awaiting reads one consistent state (F-05).
import { STATE_LAG } from '../../schemas/freshness.ts';
import { EVENTS } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import {
  type CapabilityVersion,
  formatTask,
  type ListingVersion,
  type LiveEntry,
  type Place,
  type StateEntry,
  type TaskId,
} from '../../schemas/topics.ts';
import { addVersion, type LiveListing } from './listing-book.ts';
import { decodeAbove, type HeldReading, type LiveMessage, NewestReadings } from './live-message.ts';
import {
  createPartition,
  findHistoryWatermark,
  findPartition,
  findRecentFrom,
  findWatermark,
  type Partition,
  toPlace,
} from './partition.ts';
import type { RecentRow } from './recent-rows.ts';
import { type Heir, Whole } from './whole.ts';

/** Trades are no stored history that is answered, and there are many. */
const ANSWERED_EVENTS: ReadonlySet<string> = new Set(
  EVENTS.filter(({ isAnswered }) => isAnswered).map(({ table }) => table),
);

const ROW_KINDS: ReadonlySet<LiveEntry['kind']> = new Set(['provisional', 'sealed', 'event']);
export const NO_PARTITIONS: ReadonlyMap<number, Partition> = new Map();
/** The distance of W from the record with which it was published. */
const BEHIND_RECORD: Micros = 1_000;

export type LiveVenue = {
  readonly venue: string;
  readonly listings: Map<string, LiveListing>;
  readonly capabilities: CapabilityVersion[];
  readonly partitions: Map<number, Partition>;
};

/** An entry of `live` once it is applied; what it carries is valid while it is handed over. */
export type AppliedEntry = {
  readonly venue: string;
  readonly task: TaskId;
  readonly message: LiveMessage;
  /** Place of the last entry of its task before it. */
  readonly before: Place;
  /** Its content; a reading is decoded when the message is read. */
  readonly entry: LiveEntry | null;
  /** The reading that a reading took the place of. */
  readonly replaced: HeldReading | null;
};
/** Called for every applied entry of `live`, after it. */
type Observer = (applied: AppliedEntry) => void;

export class LiveMemory {
  readonly #venues = new Map<string, LiveVenue>();
  readonly #observers: Observer[] = [];
  readonly #whole = new Whole<LiveMemory>();
  #version = 0;
  /** Of the newest applied entry. */
  #recordedAt: Micros = 0;

  /** `venues` are the ones served, whether or not they have published anything yet. */
  constructor(venues: readonly string[]) {
    for (const venue of [...venues].sort()) {
      this.#venues.set(venue, {
        venue,
        listings: new Map(),
        capabilities: [],
        partitions: new Map(),
      });
    }
  }

  /** Rises with every listing or capability version: what was computed from versions alone holds until it changes. */
  get version(): number {
    return this.#version;
  }

  venues(): IterableIterator<LiveVenue> {
    return this.#venues.values();
  }

  venue(code: string): LiveVenue | undefined {
    return this.#venues.get(code);
  }

  /** Applies a complete round of `state`: everything at or below its offset is known from then on. */
  applyRound(venueCode: string, partition: number, entries: readonly StateEntry[]): void {
    const venue = this.#require(venueCode);
    const at = this.#partition(venue, partition);
    for (const entry of entries) {
      if (entry.reading && entry.symbol !== null)
        this.#listing(venue, entry.symbol).readings.set(entry.reading.layer, { reading: entry.reading });
      if (entry.span) at.connections.apply(entry.span);
      if (entry.listing) this.applyListing(entry.listing);
      if (entry.capability) this.applyCapability(entry.capability);
      if (!entry.marker) continue;
      at.offset = entry.round;
      at.index = Number.POSITIVE_INFINITY;
      at.watermark = entry.marker.watermark;
      at.since = entry.marker.watermark + BEHIND_RECORD;
    }
  }

  /** The partition is followed from the first entry it ever had. */
  beginAtStart(venueCode: string, partition: number): void {
    this.#partition(this.#require(venueCode), partition).since = 0;
  }

  /**
   * Applies the part of an entry that concerns the present, for the stretch between a round and the end that the log had. Another copy keeps
   * that stretch (`join`), so rows are skipped unread and no observer is called. Bytes that are no entry throw as those of `applyLive`.
   */
  applyTail(venueCode: string, partition: number, bytes: Buffer): void {
    const venue = this.#require(venueCode);
    const at = this.#partition(venue, partition);
    const message = decodeAbove(at, bytes);
    if (message === null) return;
    const hasBody = message.kind !== 'reading' && !ROW_KINDS.has(message.kind);
    const entry = hasBody ? message.entry() : null;
    this.#advance(at, message);
    at.since = message.recorded_at;
    if (message.kind === 'reading') this.#applyReading(venue, message);
    if (entry !== null) this.#applyBody(venue, at, { entry, message });
  }

  /**
   * Applies one entry of `live`; an entry that is not above the highest known place of its partition is a repeat and is dropped. Bytes that
   * are no entry throw `AvroError` before anything has changed. Of a reading only the structure is checked: its values are decoded on first use.
   */
  applyLive(venueCode: string, partition: number, bytes: Buffer): void {
    const venue = this.#require(venueCode);
    const at = this.#partition(venue, partition);
    const message = decodeAbove(at, bytes);
    if (message === null) return;
    const before = toPlace(at);
    const isReading = message.kind === 'reading';
    const entry = isReading ? null : message.entry();
    this.#advance(at, message);
    const replaced = isReading ? this.#applyReading(venue, message) : null;
    if (entry !== null) this.#applyBody(venue, at, { entry, message });
    const applied = { venue: venueCode, task: formatTask(venueCode, partition), message, before, entry, replaced };
    for (const observer of this.#observers) observer(applied);
  }

  /** Adds an observer for the life of this copy. */
  observe(observer: Observer): void {
    this.#observers.push(observer);
  }

  applyListing(version: ListingVersion): void {
    const venue = this.#venues.get(version.venue);
    if (venue === undefined) return;
    addVersion(this.#listing(venue, version.venue_symbol).versions, version);
    this.#version++;
  }

  applyCapability(version: CapabilityVersion): void {
    const venue = this.#venues.get(version.venue);
    if (venue === undefined) return;
    addVersion(venue.capabilities, version);
    this.#version++;
  }

  /** The partition has been followed to the end it had when following began. */
  markReady(venueCode: string, partition: number): void {
    const at = this.#partition(this.#require(venueCode), partition);
    at.readyAt = toPlace(at);
  }

  /** Names the partitions that must be followed before this copy may answer. */
  expectPartitions(venueCode: string, partitions: readonly number[]): void {
    for (const p of partitions) this.#partition(this.#require(venueCode), p);
  }

  /** Whether the copy may answer: every venue's partitions are known and followed to their ends. */
  isReady(): boolean {
    for (const venue of this.#venues.values()) {
      if (venue.partitions.size === 0) return false;
      for (const { readyAt } of venue.partitions.values()) if (readyAt === null) return false;
    }
    return true;
  }

  /** W of a venue: the smallest of its tasks'; null while one has published none. */
  watermark(venueCode: string): Micros | null {
    return findWatermark(this.#venues.get(venueCode)?.partitions ?? NO_PARTITIONS);
  }

  /** The newest instant of the log that this copy has: of an applied entry, or W of a task; 0 while there is none. */
  get logTime(): Micros {
    let newest = this.#recordedAt;
    for (const { partitions } of this.#venues.values())
      for (const { watermark } of partitions.values()) if (watermark !== null && watermark > newest) newest = watermark;
    return newest;
  }

  isBehind(venueCode: string, at: Micros): boolean {
    const watermark = this.watermark(venueCode);
    return watermark === null || at - watermark > STATE_LAG;
  }

  /** Rows that the history store may not show yet, of one listing in one table. */
  *recentRows(venueCode: string, table: string, symbol: string): Generator<RecentRow> {
    for (const { recent, watermark } of this.#venues.get(venueCode)?.partitions.values() ?? []) {
      for (const row of recent.of(table, symbol)) if (!row.isWithdrawn(watermark ?? 0)) yield row;
    }
  }

  /** W visible in the history store: rows up to it need not be kept. */
  applyHistoryWatermark(venueCode: string, partition: number, watermark: Micros): void {
    const venue = this.#venues.get(venueCode);
    const at = venue?.partitions.get(partition);
    if (at === undefined) return;
    at.history = Math.max(at.history ?? watermark, watermark);
    at.recent.prune(at.watermark ?? 0, at.history);
  }

  /** History W of a venue: the smallest of its tasks'; null while one has published none. */
  historyWatermark(venueCode: string): Micros | null {
    return findHistoryWatermark(this.#venues.get(venueCode)?.partitions ?? NO_PARTITIONS);
  }

  /** The state of the task that has a listing: up to its history W the store shows the listing's rows, regardless of other tasks. */
  partitionOf({ venue, venueSymbol }: Pick<LiveListing, 'venue' | 'venueSymbol'>): Partition | undefined {
    const partitions = this.#venues.get(venue)?.partitions ?? NO_PARTITIONS;
    return partitions.get(findPartition(partitions, venueSymbol));
  }

  /** Rows of a listing that ended or were received after this instant are in this copy, regardless of the history store. */
  recentFrom(listing: Pick<LiveListing, 'venue' | 'venueSymbol'>): Micros {
    return findRecentFrom(this.partitionOf(listing));
  }

  /** False from `expectPast` to `join`: meanwhile rows and replaced readings are known only since this copy was ready. */
  get isWhole(): boolean {
    return this.#whole.isWhole;
  }

  /** Whether this copy is whole, or is within so long. */
  wholeWithin(forMs: number): Promise<boolean> {
    return this.#whole.within(forMs);
  }

  /** A copy that begins earlier will be joined to this one. */
  expectPast(): void {
    this.#whole.expect();
  }

  /** Adds one that keeps what was applied, for the life of this copy. */
  inherit(heir: Heir<LiveMemory>): void {
    this.#whole.inherit(heir);
  }

  /** Joins `past`, still empty, which will apply the log up to where this copy began to keep: call the returned function once it is there. */
  join(past: LiveMemory): () => void {
    const takeOver = this.#whole.begin(past);
    return () => {
      for (const venue of this.#venues.values()) joinVenue(venue, past.#require(venue.venue));
      takeOver();
    };
  }

  /** Entries held, for the metrics. */
  sizes(): { listings: number; readings: number; connections: number; rows: number } {
    const sum = { listings: 0, readings: 0, connections: 0, rows: 0 };
    for (const venue of this.#venues.values()) {
      sum.listings += venue.listings.size;
      for (const l of venue.listings.values()) sum.readings += l.readings.size;
      for (const { connections, recent } of venue.partitions.values()) {
        sum.connections += connections.size;
        sum.rows += recent.size;
      }
    }
    return sum;
  }

  #applyBody(
    venue: LiveVenue,
    at: Partition,
    { entry, message: { bytes, recorded_at: cameAt } }: { entry: LiveEntry; message: LiveMessage },
  ): void {
    switch (entry.kind) {
      case 'reading':
        return;
      case 'connection':
        if (entry.span) at.connections.apply(entry.span);
        at.connections.prune(() => listReferredConnections(venue));
        return;
      case 'listing':
        if (entry.listing) this.applyListing(entry.listing);
        return;
      case 'capability':
        if (entry.capability) this.applyCapability(entry.capability);
        return;
      case 'provisional':
      case 'sealed':
        if (entry.row && entry.symbol !== null)
          at.recent.apply(entry.symbol, entry.row, { sealed: entry.kind === 'sealed', cameAt, bytes });
        return;
      case 'watermark':
        if (entry.watermark === null) return;
        at.watermark = entry.watermark;
        at.since ??= entry.watermark;
        at.recent.prune(entry.watermark, at.history);
        return;
      case 'event':
        if (entry.row === null || entry.symbol === null || !ANSWERED_EVENTS.has(entry.row.table)) return;
        at.recent.apply(entry.symbol, entry.row, { sealed: true, cameAt, bytes });
        return;
      default:
        entry.kind satisfies never;
    }
  }

  #advance(at: Partition, { offset, index, recorded_at: recordedAt }: LiveMessage): void {
    at.offset = offset;
    at.index = index;
    if (recordedAt > this.#recordedAt) this.#recordedAt = recordedAt;
  }

  /** Answers what it took the place of. */
  #applyReading(venue: LiveVenue, message: LiveMessage): HeldReading | null {
    const { symbol, layer } = message;
    if (symbol === null || layer === null) return null;
    const { readings } = this.#listing(venue, symbol);
    const replaced = readings.held(layer);
    readings.set(layer, message);
    return replaced;
  }

  #listing(venue: LiveVenue, venueSymbol: string): LiveListing {
    let listing = venue.listings.get(venueSymbol);
    if (listing === undefined) {
      listing = { venue: venue.venue, venueSymbol, versions: [], readings: new NewestReadings() };
      venue.listings.set(venueSymbol, listing);
    }
    return listing;
  }

  #partition(venue: LiveVenue, partition: number): Partition {
    let at = venue.partitions.get(partition);
    if (at === undefined) {
      at = createPartition();
      venue.partitions.set(partition, at);
    }
    return at;
  }

  #require(code: string): LiveVenue {
    const venue = this.#venues.get(code);
    if (venue === undefined) throw new Error(`venue "${code}" is not among the served ones`);
    return venue;
  }
}

const joinVenue = ({ partitions }: LiveVenue, past: LiveVenue): void => {
  for (const [partition, at] of partitions) {
    const before = past.partitions.get(partition);
    if (before === undefined) continue;
    at.connections.join(before.connections);
    at.since = before.since;
    at.recent.join(before.recent, at.history);
    at.recent.prune(at.watermark ?? 0, at.history);
  }
};

const listReferredConnections = (venue: LiveVenue): ReadonlySet<string> => {
  const ids = new Set<string>();
  for (const listing of venue.listings.values()) {
    for (const { conn_id: connId } of listing.readings.values()) ids.add(connId);
  }
  return ids;
};
