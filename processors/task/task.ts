// One task: a pure machine over one raw partition. Records in, outputs out; time comes only from the records (design section 5).
import type { Chain, Mapped, Venue, VenueMessage } from '../../ingest/venue.ts';
import { VenueError } from '../../ingest/venue.ts';
import { LAYERS, READING_LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { BookRecord, ListingRecord, Micros, NormalisedRecord } from '../../schemas/records.ts';
import { shardOf } from '../../schemas/shards.ts';
import type {
  CapabilityBody,
  ListingVersion,
  LostBody,
  OpenBody,
  RawMessage,
  Reading,
  Row,
  Span,
  StateEntry,
  TickBody,
} from '../../schemas/topics.ts';
import { counts, windowEnd } from '../../schemas/windows.ts';
import { bandValues, bookBands, bookValues, countLevels, topLevels } from './book.ts';
import { beginsBucket, type BookState, bookKey, bucketEnd, createBookState, feedBook, isCrossed } from './books.ts';
import {
  countsForLayer,
  expireConnections,
  loseConnection,
  nameConnection,
  openConnection,
  pruneConnections,
} from './connections.ts';
import { createOutputs, type Outputs, pushLive, pushMd, pushRow, pushWatermark } from './outputs.ts';
import { type Measured, measure, type ReadingSource, toInvalidation, toReading } from './readings.ts';
import { capabilityRow, listingRow, readingRow, spanRow } from './rows.ts';
import { type Connection, createLayer, createState, type LayerState, type ListingState, type TaskState } from './state.ts';
import { nextCapability, nextListingVersion, delistedVersion } from './versions.ts';
import { noteCollector, noteValidity, offerToWindow, provisionalRow, sealWindows, windowsToAnnounce } from './windows.ts';

const MILLISECOND: Micros = 1_000;
const WATERMARK_EVERY: Micros = 250_000;
const STATE_ROUND_EVERY: Micros = 60_000_000;
/** A window is sealed when W has passed its end by this (N-11). */
const SEAL_AFTER: Micros = 100_001_000;
const WINDOW_LENGTHS_MS = [...new Set(READING_LAYERS.map((l) => LAYERS[l].windowMs))].sort((a, b) => a - b);
/** A bigger piece of a message is not kept for `include_raw`. */
const RAW_LIMIT = 16_384;
const BOOK_LEVELS = 25;

export type LogRecord = { readonly offset: number; readonly timestampMs: number; readonly message: RawMessage };

/** Called with the key of an item before it changes, so that a checkpoint can save it as it stood. */
export type BeforeChange = (item: string) => void;

export type TaskSpec = {
  readonly venue: Venue;
  readonly partition: number;
  /** Partitions of the raw topic: a task maps only the listings of its own. */
  readonly shards: number;
  readonly state?: TaskState;
};

export class Task {
  readonly id: string;
  readonly venue: Venue;
  readonly partition: number;
  state: TaskState;
  beforeChange: BeforeChange = () => {};
  readonly #shards: number;
  readonly #listings = new Map<string, ListingRecord>();
  readonly #owned = new Map<string, boolean>();
  /** Books with an unpublished change, in the order of their buckets. */
  readonly #pending = new Set<BookState>();
  #out: Outputs = createOutputs(-1);

  constructor(spec: TaskSpec) {
    this.venue = spec.venue;
    this.partition = spec.partition;
    this.id = `${spec.venue.id}/${spec.partition}`;
    this.#shards = spec.shards;
    this.state = spec.state ?? createState();
    for (const listing of this.state.listings.values()) this.#listings.set(listing.symbol, listing.version.record);
    const pending = [...this.state.books.values()].filter((b) => b.pending !== null);
    for (const book of pending.sort((a, b) => (a.pending ?? 0) - (b.pending ?? 0))) this.#pending.add(book);
  }

  /** W: `recorded_at` of the last applied record − 1 ms. */
  get watermark(): Micros {
    return this.state.recordedAt - MILLISECOND;
  }

  /** Applies one raw record and answers everything it made. A record at or below the last applied offset makes nothing. */
  process(record: LogRecord): Outputs {
    this.#out = createOutputs(record.offset);
    if (record.offset <= this.state.offset) return this.#out;
    const { state } = this;
    state.offset = record.offset;
    state.recordedAt = Math.max(state.recordedAt, record.timestampMs * 1000);
    if (state.startedAt === null) this.#begin();
    this.#advance();
    this.#apply(record.message);
    this.#publishTime();
    return this.#out;
  }

  // ---- time ----

  #begin(): void {
    const { state } = this;
    state.startedAt = state.recordedAt;
    state.watermarkAt = state.recordedAt;
    state.stateRoundAt = state.recordedAt;
    for (const ms of WINDOW_LENGTHS_MS) {
      const before = windowEnd(state.recordedAt, ms) - ms * 1000;
      state.announced[ms] = before;
      state.sealed[ms] = before;
    }
  }

  /** Everything that happens because the log has moved: lost connections, ended buckets and windows. */
  #advance(): void {
    const { state } = this;
    expireConnections(state, state.recordedAt, this.#spanChanged);
    for (const book of this.#pending) {
      if (book.bucket > state.recordedAt) break;
      this.#publishPending(book);
    }
    for (const ms of WINDOW_LENGTHS_MS) this.#announceTo(ms, this.#lastEnd(this.watermark, ms));
    for (const ms of WINDOW_LENGTHS_MS) this.#sealTo(ms, this.#lastEnd(this.watermark - SEAL_AFTER, ms));
  }

  /** End of the newest window of length `ms` that ended by `at`. */
  #lastEnd(at: Micros, ms: number): Micros {
    const step = ms * 1000;
    return Math.floor(at / step) * step;
  }

  #layersOf(listing: ListingState, ms: number): readonly ReadingLayer[] {
    return READING_LAYERS.filter((name) => LAYERS[name].windowMs === ms && this.#isCollected(listing, name));
  }

  #isCollected(listing: ListingState, name: ReadingLayer): boolean {
    if (listing.version.record.values.not_published.includes(name)) return false;
    const capability = this.state.capability?.layers[name === 'venue_depth' ? 'book' : name];
    return capability?.policy === 'on';
  }

  #announceTo(ms: number, to: Micros): void {
    const from = Math.max(this.state.announced[ms] ?? 0, this.#lastEnd(this.watermark - SEAL_AFTER, ms));
    if (to <= (this.state.announced[ms] ?? 0)) return;
    this.state.announced[ms] = to;
    for (const listing of this.state.listings.values()) {
      for (const name of this.#layersOf(listing, ms)) {
        for (const window of windowsToAnnounce(listing, name, { from, at: to })) {
          this.#pushProvisional(listing, name, window.at);
        }
      }
    }
  }

  #pushProvisional(listing: ListingState, name: ReadingLayer, at: Micros): void {
    const window = { from: at - LAYERS[name].windowMs * 1000, at };
    const row = provisionalRow(this.venue.id, listing, name, window);
    pushLive(this.#out, this.state.recordedAt, 'provisional', { symbol: listing.symbol, row });
  }

  #sealTo(ms: number, to: Micros): void {
    const from = this.state.sealed[ms] ?? 0;
    if (to <= from) return;
    const sealing = { state: this.state, venue: this.venue.id, offset: this.#out.offset };
    for (const listing of this.state.listings.values()) {
      this.beforeChange(`listing:${listing.symbol}`);
      for (const name of this.#layersOf(listing, ms)) {
        for (const row of sealWindows(sealing, listing, name, { from, at: to })) this.#seal(listing.symbol, row);
      }
    }
    this.state.sealed[ms] = to;
    this.#prune();
  }

  #seal(symbol: string, row: Row): void {
    pushRow(this.#out, row);
    pushLive(this.#out, this.state.recordedAt, 'sealed', { symbol, row });
  }

  #prune(): void {
    const { state } = this;
    const oldest = Math.min(...WINDOW_LENGTHS_MS.map((ms) => state.sealed[ms] ?? 0));
    for (const end of state.collectorAlive) if (end <= oldest) state.collectorAlive.delete(end);
    pruneConnections(state, (connId) => this.#forgetConnection(connId));
  }

  #forgetConnection(connId: string): void {
    this.state.mappers.delete(connId);
    for (const [key, book] of this.state.books) {
      if (book.connId !== connId) continue;
      this.state.books.delete(key);
      this.#pending.delete(book);
    }
  }

  #publishTime(): void {
    const { state } = this;
    if (state.recordedAt - state.watermarkAt >= WATERMARK_EVERY) {
      state.watermarkAt = state.recordedAt;
      pushWatermark(this.#out, state.recordedAt, this.watermark);
    }
    if (state.recordedAt - state.stateRoundAt >= STATE_ROUND_EVERY) {
      state.stateRoundAt = state.recordedAt;
      this.#out.stateRound = this.#stateRound();
    }
  }

  /** The newest reading of each listing and layer, connections, listings, capability: as of this record. */
  #stateRound(): StateEntry[] {
    const entries: StateEntry[] = [];
    const push = (kind: StateEntry['kind'], body: Partial<StateEntry>): void => {
      entries.push({
        round: this.#out.offset,
        kind,
        symbol: null,
        reading: null,
        span: null,
        listing: null,
        capability: null,
        marker: null,
        ...body,
      });
    };
    if (this.state.capability) push('capability', { capability: this.state.capability });
    for (const connection of this.state.connections.values()) {
      for (const span of connection.ended) push('connection', { span });
      if (connection.span.to === null) push('connection', { span: connection.span });
    }
    for (const listing of this.state.listings.values()) {
      push('listing', { symbol: listing.symbol, listing: listing.version });
      for (const layer of listing.layers.values()) {
        if (layer.reading) push('reading', { symbol: listing.symbol, reading: layer.reading });
      }
    }
    return entries;
  }

  // ---- records ----

  #apply(message: RawMessage): void {
    const collector = message.slot !== 'owner';
    if (collector && counts(this.state.recordedAt, windowEnd(message.received_at, 10_000))) {
      noteCollector(this.state, message.received_at);
    }
    try {
      this.#dispatch(message);
    } catch (error) {
      this.#deadLetter(message, error);
    }
  }

  #dispatch(message: RawMessage): void {
    switch (message.kind) {
      case 'tick':
        return this.#applyTick(message);
      case 'capability':
        return this.#applyCapability(message);
      case 'open':
        return this.#applyOpen(message);
      case 'lost':
        return this.#applyLost(message);
      case 'response':
        return message.slot === 'reference' ? this.#applyReference(message) : this.#applyData(message);
      case 'frame':
        return this.#applyData(message);
      default: {
        const unknown: never = message.kind;
        throw new VenueError('VENUE_BAD_FRAME', `unknown raw kind "${String(unknown)}"`);
      }
    }
  }

  #body<T>(message: RawMessage): T {
    return JSON.parse(Buffer.from(message.payload).toString('utf8')) as T;
  }

  #applyTick(message: RawMessage): void {
    const body = this.#body<TickBody>(message);
    for (const { conn_id, opened_at } of body.connections) {
      const slot = this.state.connections.get(conn_id)?.slot ?? '';
      nameConnection(
        this.state,
        { connId: conn_id, slot, openedAt: opened_at, receivedAt: message.received_at },
        this.#spanChanged,
      );
    }
  }

  #applyCapability(message: RawMessage): void {
    const { state } = this;
    const version = nextCapability(state.capability, this.venue.id, this.#body<CapabilityBody>(message), state.recordedAt);
    if (!version) return;
    state.capability = version;
    this.#out.capabilities.push(version);
    pushLive(this.#out, state.recordedAt, 'capability', { capability: version });
    pushRow(this.#out, capabilityRow(this.#place(), version));
  }

  #named(message: RawMessage, openedAt: Micros) {
    return { connId: message.conn_id, slot: message.slot, openedAt, receivedAt: message.received_at };
  }

  #applyOpen(message: RawMessage): void {
    const body = this.#body<OpenBody>(message);
    openConnection(this.state, this.#named(message, body.opened_at), body, this.#spanChanged);
  }

  #applyLost(message: RawMessage): void {
    // A connection that never opened was never alive: its slot's last loss still says why nothing comes.
    if (!this.state.connections.has(message.conn_id)) return;
    const body = this.#body<LostBody>(message);
    const connection = nameConnection(this.state, this.#named(message, message.received_at), this.#spanChanged);
    loseConnection(connection, body.lost_at, body.cause, this.#spanChanged);
  }

  #applyReference(message: RawMessage): void {
    const answer = this.venue.mapReference(this.state.reference, this.#venueMessage(message));
    if (!answer) return;
    const named = new Set<string>();
    for (const record of answer.listings) {
      named.add(record.venue_symbol);
      if (this.#owns(record.venue_symbol)) this.#applyListing(record);
    }
    const scopes = (this.state.reference['scopes'] ??= {}) as Record<string, string[]>;
    for (const symbol of scopes[answer.scope] ?? []) {
      if (!named.has(symbol)) this.#delist(symbol, message.received_at);
    }
    scopes[answer.scope] = [...named].filter((symbol) => this.#owns(symbol));
  }

  #applyListing(record: ListingRecord): void {
    const { state } = this;
    const listing = state.listings.get(record.venue_symbol);
    const version = nextListingVersion(listing?.version ?? null, record, state.recordedAt);
    if (version) this.#writeVersion(version);
  }

  #delist(symbol: string, receivedAt: Micros): void {
    const listing = this.state.listings.get(symbol);
    const version = listing ? delistedVersion(listing, receivedAt, this.state.recordedAt) : null;
    if (version) this.#writeVersion(version);
  }

  #writeVersion(version: ListingVersion): void {
    const { state } = this;
    const symbol = version.venue_symbol;
    this.beforeChange(`listing:${symbol}`);
    const listing = state.listings.get(symbol);
    if (listing) listing.version = version;
    else state.listings.set(symbol, { symbol, version, layers: new Map() });
    state.unknown.delete(symbol);
    this.#listings.set(symbol, version.record);
    this.#out.listings.push(version);
    pushLive(this.#out, state.recordedAt, 'listing', { symbol, listing: version });
    pushRow(this.#out, listingRow(this.#place(), version));
  }

  #applyData(message: RawMessage): void {
    const connection = nameConnection(this.state, this.#named(message, message.received_at), this.#spanChanged);
    if (message.seq <= connection.lastSeq) return;
    connection.lastSeq = message.seq;
    let mapper = this.state.mappers.get(message.conn_id);
    if (!mapper) {
      mapper = {};
      this.state.mappers.set(message.conn_id, mapper);
    }
    for (const mapped of this.#map(connection, mapper, message)) this.#applyRecord(connection, mapped);
  }

  #map(connection: Connection, mapper: Record<string, unknown>, message: RawMessage): readonly Mapped[] {
    try {
      return this.venue.map(mapper, this.#venueMessage(message), { listings: this.#listings });
    } catch (error) {
      connection.unreadable.push(message.received_at);
      throw error;
    }
  }

  #venueMessage(message: RawMessage): VenueMessage {
    const payload = this.venue.decode ? this.venue.decode(message.payload) : message.payload;
    const kind = message.kind === 'response' ? 'response' : 'frame';
    return { kind, received_at: message.received_at, request: message.request, payload };
  }

  #applyRecord(connection: Connection, mapped: Mapped): void {
    const { record } = mapped;
    const symbol = record.venue_symbol;
    if (symbol === null || !this.#owns(symbol)) return;
    const listing = this.state.listings.get(symbol);
    if (!listing) return this.#noteUnknown(record);
    this.beforeChange(`listing:${symbol}`);
    if (record.layer === 'book') {
      if (mapped.chain) this.#applyBook(connection, listing, record, mapped.chain, this.#rawOf(mapped));
      return;
    }
    this.#applyReading(connection, listing, record, this.#rawOf(mapped));
  }

  #noteUnknown(record: NormalisedRecord): void {
    const symbol = record.venue_symbol ?? '';
    if (this.state.unknown.has(symbol)) return;
    this.state.unknown.add(symbol);
    this.#pushDeadLetter('VENUE_UNKNOWN_LISTING', `no listing "${symbol}"`, Buffer.from(JSON.stringify(record)));
  }

  #rawOf(mapped: Mapped): string | null {
    const text = typeof mapped.element === 'string' ? mapped.element : JSON.stringify(mapped.element);
    return text === undefined || text.length > RAW_LIMIT ? null : text;
  }

  #layer(listing: ListingState, name: ReadingLayer): LayerState {
    let layer = listing.layers.get(name);
    if (!layer) {
      layer = createLayer();
      listing.layers.set(name, layer);
    }
    return layer;
  }

  #applyReading(connection: Connection, listing: ListingState, record: NormalisedRecord, raw: string | null): void {
    const name = record.layer as ReadingLayer;
    if (!(name in LAYERS) || !this.#isCollected(listing, name)) return;
    const layer = this.#layer(listing, name);
    if (!countsForLayer(this.state, layer, connection)) return;
    const measured = measure(record, listing.version.record, layer);
    if (!measured) return;
    const stamps = { receivedAt: record.received_at, recordedAt: this.state.recordedAt, offset: this.#out.offset };
    const source = this.#source(listing, name, connection, stamps, raw);
    const accepted = this.#accept(listing, layer, (rev) => toReading({ ...source, rev }, measured, null), stamps);
    if (accepted) this.#pushMd(record, connection);
  }

  #source(
    listing: ListingState,
    name: ReadingLayer,
    connection: Connection,
    stamps: { readonly receivedAt: Micros; readonly recordedAt: Micros },
    raw: string | null,
  ): Omit<ReadingSource, 'rev'> {
    return {
      layer: name,
      receivedAt: stamps.receivedAt,
      recordedAt: stamps.recordedAt,
      connId: connection.conn_id,
      capability: this.state.capability,
      listing: listing.version.record,
      raw,
    };
  }

  /**
   * Takes a reading of the connection that counts: late ones become late rows and nothing else; others replace the
   * held reading when they lie above it, and stand for their window when they are its last. Answers whether the
   * held reading was replaced.
   */
  #accept(
    listing: ListingState,
    layer: LayerState,
    make: (rev: number) => Reading,
    stamps: { readonly receivedAt: Micros; readonly recordedAt: Micros; readonly offset: number },
  ): boolean {
    const reading = make(layer.rev + 1);
    const end = windowEnd(stamps.receivedAt, LAYERS[reading.layer].windowMs);
    if (!counts(stamps.recordedAt, end)) {
      this.#pushLate(listing, reading, end, stamps.offset);
      return false;
    }
    const held = layer.reading;
    const above =
      held === null ||
      stamps.receivedAt > held.received_at ||
      (stamps.receivedAt === held.received_at && stamps.offset >= layer.offset);
    if (above) {
      layer.rev += 1;
      layer.reading = reading;
      layer.offset = stamps.offset;
      noteValidity(layer, reading);
      pushLive(this.#out, this.state.recordedAt, 'reading', { symbol: listing.symbol, reading });
    }
    const changed = offerToWindow(layer, reading, stamps.offset);
    const announced = this.state.announced[LAYERS[reading.layer].windowMs] ?? 0;
    if (changed !== null && changed <= announced) this.#pushProvisional(listing, reading.layer, changed);
    return above;
  }

  #pushLate(listing: ListingState, reading: Reading, end: Micros, offset: number): void {
    const identity = { venue: this.venue.id, symbol: listing.symbol, layer: reading.layer };
    const from = end - LAYERS[reading.layer].windowMs * 1000;
    this.#seal(listing.symbol, readingRow(identity, { from, at: end, srcOffset: offset, late: true }, reading));
  }

  // ---- books ----

  #applyBook(connection: Connection, listing: ListingState, record: BookRecord, chain: Chain, raw: string | null): void {
    if (!this.#isCollected(listing, 'book')) return;
    const key = bookKey(listing.symbol, connection.conn_id);
    this.beforeChange(`book:${key}`);
    let book = this.state.books.get(key);
    if (!book) {
      book = createBookState(listing.symbol, connection.conn_id);
      this.state.books.set(key, book);
    }
    const begins = beginsBucket(book, record.received_at);
    if (begins && book.pending !== null) this.#publishPending(book);
    const outcome = feedBook(book, this.venue.bookRule, chain, record);
    if (outcome === 'waiting') return;
    book.bucket = bucketEnd(record.received_at);
    book.change = {
      offset: this.#out.offset,
      receivedAt: record.received_at,
      recordedAt: this.state.recordedAt,
      venueTs: record.venue_ts,
      raw,
    };
    if (outcome === 'broke') return this.#breakBook(connection, listing, book);
    if (begins) this.#publishBook(connection, listing, book);
    else if (book.pending === null) {
      book.pending = this.state.pendings++;
      this.#pending.add(book);
    }
  }

  #publishPending(book: BookState): void {
    const listing = this.state.listings.get(book.symbol);
    const connection = this.state.connections.get(book.connId);
    this.beforeChange(`book:${bookKey(book.symbol, book.connId)}`);
    this.beforeChange(`listing:${book.symbol}`);
    this.#pending.delete(book);
    book.pending = null;
    if (listing && connection) this.#publishBook(connection, listing, book);
  }

  #breakBook(connection: Connection, listing: ListingState, book: BookState): void {
    this.#pending.delete(book);
    book.pending = null;
    if (!this.#invalidateBook(connection, listing, book, 'sequence_break')) return;
    const gap = {
      layer: 'gap' as const,
      venue: this.venue.id,
      venue_symbol: listing.symbol,
      venue_ts: null,
      received_at: book.change?.receivedAt ?? this.state.recordedAt,
      values: { scope: 'symbol', cause: 'sequence_break', of: ['book'] },
    };
    this.#pushMd(gap, connection);
  }

  #invalidateBook(connection: Connection, listing: ListingState, book: BookState, cause: string): boolean {
    return this.#acceptBook(connection, listing, book, (source, venueTs) => toInvalidation(source, cause, venueTs));
  }

  #publishBook(connection: Connection, listing: ListingState, book: BookState): void {
    if (isCrossed(book.levels)) {
      this.#invalidateBook(connection, listing, book, 'crossed_book');
      return;
    }
    const rule = listing.version.record.values;
    const top = topLevels(book.levels, BOOK_LEVELS);
    const held = countLevels(book.levels);
    const bands = bookBands(book.levels, rule);
    const levels = { ...top, sequence: book.levels.sequence, collected_bids: held.bids, collected_asks: held.asks };
    const values = { book: bookValues(book.levels), venue_depth: bandValues(bands) };
    const accepted = this.#acceptBook(connection, listing, book, (source, venueTs) => {
      const { values: figures, null_reasons } = values[source.layer as 'book' | 'venue_depth'];
      const measured: Measured = { values: { ...figures }, instants: {}, quantityUnit: rule.quantity_unit, venueTs };
      const reading = toReading(source, measured, source.layer === 'book' ? levels : null);
      return { ...reading, null_reasons };
    });
    if (!accepted) return;
    const md = {
      layer: 'book' as const,
      venue: this.venue.id,
      venue_symbol: listing.symbol,
      venue_ts: book.change?.venueTs ?? null,
      received_at: book.change?.receivedAt ?? 0,
      values: { ...top, sequence: levels.sequence, collected_levels: held, bands },
    };
    this.#pushMd(md, connection);
  }

  /** Offers the book's reading of both layers made from it; answers whether `book` was replaced. */
  #acceptBook(
    connection: Connection,
    listing: ListingState,
    book: BookState,
    make: (source: ReadingSource, venueTs: Micros | null) => Reading,
  ): boolean {
    const { change } = book;
    if (!change) return false;
    let accepted = false;
    for (const name of ['book', 'venue_depth'] as const) {
      const layer = this.#layer(listing, name);
      if (!countsForLayer(this.state, layer, connection)) continue;
      const source = this.#source(listing, name, connection, change, name === 'book' ? change.raw : null);
      const taken = this.#accept(listing, layer, (rev) => make({ ...source, rev }, change.venueTs), change);
      if (name === 'book') accepted = taken;
    }
    return accepted;
  }

  // ---- outputs ----

  readonly #spanChanged = (_connection: Connection, span: Span): void => {
    pushLive(this.#out, this.state.recordedAt, 'connection', { span });
    if (span.to !== null) pushRow(this.#out, spanRow(this.#place(), span));
  };

  #place() {
    return { venue: this.venue.id, task: this.id, srcOffset: this.#out.offset, recordedAt: this.state.recordedAt };
  }

  #pushMd(record: Parameters<typeof pushMd>[1], connection: Connection): void {
    const src = { partition: this.partition, offset: this.#out.offset };
    pushMd(this.#out, record, { recordedAt: this.state.recordedAt, connId: connection.conn_id, src });
  }

  #deadLetter(message: RawMessage, error: unknown): void {
    const code = error instanceof VenueError ? error.code : 'INTERNAL';
    this.#pushDeadLetter(code, error instanceof Error ? error.message : String(error), message.payload);
  }

  #pushDeadLetter(code: string, text: string, payload: Uint8Array): void {
    this.#out.deadLetters.push({
      source: `raw.${this.venue.id}`,
      partition: this.partition,
      offset: this.#out.offset,
      recorded_at: this.state.recordedAt,
      code,
      message: text,
      payload,
    });
  }

  #owns(symbol: string): boolean {
    let owned = this.#owned.get(symbol);
    if (owned === undefined) {
      owned = shardOf(symbol, this.#shards) === this.partition;
      this.#owned.set(symbol, owned);
    }
    return owned;
  }
}
