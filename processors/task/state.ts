// The state of a task as plain data, which a checkpoint saves and a restore returns.
import type { ReferenceState } from '../../ingest/venues/contract/listings.ts';
import type { MapState } from '../../ingest/venues/contract/mapping.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { CandleFigures, Timeframe } from '../../schemas/layers/candle.ts';
import type { EventLayer, ReadingLayer } from '../../schemas/layers/index.ts';
import type { CandleRecord, Micros, PriceType } from '../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion, Reading, Span } from '../../schemas/topics.ts';
import type { BookState } from './books.ts';
import type { Recovery } from './recovery.ts';
import { copySeenIds, type SeenIds } from './seen-ids.ts';
import type { View } from './view.ts';

/** Incremented when stored states become unreadable; older checkpoints are then unusable. */
export const STATE_VERSION = 6;

declare const changeable: unique symbol;
/**
 * Marks a type without arrays, maps and sets. TypeScript assigns readonly members to mutable ones, but no readonly array to
 * a mutable one, so a `View` of a marked type is not the type. No value has this member.
 */
type Changeable = { readonly [changeable]?: unknown[] };

/** A connection as seen in the log. `span` is the current or last alive span. */
export type Connection = {
  readonly conn_id: string;
  readonly slot: string;
  openedAt: Micros;
  /** `recorded_at` of the last record that names it. */
  namedAt: Micros;
  /** The newest receipt of a record that names it; absent in a state from before it was kept. */
  receivedAt?: Micros;
  lastSeq: number;
  covers: readonly { readonly layers: readonly string[]; readonly symbols: readonly string[] | null }[];
  span: Span;
  /** Ended spans that explain unsealed windows. */
  ended: Span[];
  /** Set by a `lost` record: the connection does not return. */
  closed: boolean;
  /** Failed attempts to open a successor. */
  failures: { readonly at: Micros; readonly cause: GapCause }[];
  /** Instants of unreadable frames, one a bucket of ten seconds. */
  unreadable: Micros[];
  /** Stretches of receipt whose messages were recorded too late for an event to count; absent in a state from before they were kept. */
  late?: readonly Stretch[];
};

/** `[from, to)`. */
export type Stretch = { readonly from: Micros; readonly to: Micros };

/** The last counting reading of a window, without its bands and element, and its offset for ties. Never changed, only replaced. */
export type Candidate = { readonly reading: Reading; readonly offset: number };

/** A stretch in which the layer had no valid value although messages arrived. */
type Fault = { readonly from: Micros; readonly to: Micros | null; readonly cause: GapCause };

/** Its connection and receipt are absent in a state from before they were kept. */
export type Part = {
  readonly digits: string;
  readonly venue_ts: Micros | null;
  readonly conn_id?: string;
  readonly received_at?: Micros;
};

export type LayerState = {
  rev: number;
  reading: Reading | null;
  /** The layer was off after the newest reading: it has no value until the next one (F-04). */
  wasOff?: true;
  /** Offset of the held reading's message. */
  offset: number;
  /** Connections that have delivered an accepted reading. */
  delivered: string[];
  /** Open and unsealed windows by their end. */
  windows: Map<Micros, Candidate>;
  faults: Fault[];
  /** Newest parts of a value that the venue sends in several messages (mark and index). */
  parts: Record<string, Part>;
  /** A part was lost with its connection: receipt of the first message after it, while the layer waits for both parts (D-476). */
  halfSince?: Micros;
};

export type ListingState = {
  readonly symbol: string;
  version: ListingVersion;
  /** Earlier versions that are needed for a window or minute not sealed yet, oldest first. */
  before: ListingVersion[];
  layers: Map<ReadingLayer, LayerState>;
  events: Map<EventLayer, EventState>;
  candles: Partial<Record<PriceType, CandleState>>;
};

export type EventState = {
  readonly seen: SeenIds;
  /** Connections that delivered events. */
  delivered: string[];
  /** Start of the collection: earlier events are ignored, even when a new subscription starts with them. */
  since: Micros;
};

/** The newest record of a minute. `final`: the venue marks it as closed, or a newer minute arrived on the same connection. */
export type Minute = {
  readonly values: CandleRecord['values'];
  readonly venue_ts: Micros | null;
  readonly received_at: Micros;
  readonly recordedAt: Micros;
  readonly connId: string;
  readonly srcOffset: number;
  readonly late: boolean;
  readonly final: boolean;
};

/** A longer period in progress: the fold of its sealed minutes. */
export type Rollup = {
  readonly openTime: Micros;
  readonly expected: number;
  readonly seen: number;
  readonly present: number;
  readonly noTrades: number;
  readonly gapCause: GapCause | null;
  readonly figures: CandleFigures;
  /** Its minutes have different units, so their volumes have no sum (N-08). */
  readonly unitsDiffer?: true;
  readonly trades: number | null;
  /** The last present minute, whose stamps the period has. */
  readonly last: Minute | null;
};

export type CandleState = Changeable & {
  /** Unsealed minutes by open time. */
  readonly minutes: Record<number, Minute>;
  /** Minutes proved to have no trades, by open time (H-12); false: trades of it were seen, so that nothing proves it. */
  readonly proved: Record<number, boolean>;
  /** Figures last published for sealed minutes, by open time, kept for some minutes: a record that repeats them is not a correction. */
  readonly told: Record<number, string>;
  /** Newest minute delivered by each alive span of a connection. */
  readonly newest: Record<string, Micros>;
  readonly rollups: Partial<Record<Timeframe, Rollup>>;
};

const copyLayer = (layer: View<LayerState>): LayerState => ({
  ...layer,
  delivered: [...layer.delivered],
  windows: new Map(layer.windows),
  faults: [...layer.faults],
  parts: { ...layer.parts },
});

const copyEvents = (events: View<EventState>): EventState => ({
  ...events,
  seen: copySeenIds(events.seen),
  delivered: [...events.delivered],
});

const copyCandles = ({ minutes, proved, newest, rollups, told }: CandleView): CandleState => ({
  minutes: { ...minutes },
  proved: { ...proved },
  newest: { ...newest },
  rollups: { ...rollups },
  told: { ...told },
});

/** A copy that later changes do not affect: members that are not copied are replaced, never changed. */
export const copyListing = (listing: ListingView): ListingState => ({
  ...listing,
  before: [...listing.before],
  layers: new Map(Array.from(listing.layers, ([name, layer]) => [name, copyLayer(layer)])),
  events: new Map(Array.from(listing.events, ([name, events]) => [name, copyEvents(events)])),
  candles: Object.fromEntries(Object.entries(listing.candles).map(([price, of]) => [price, copyCandles(of)])),
});

/** The item `core` of a checkpoint: all but listings and books. */
export type CoreState = {
  /** Raw offset of the last applied record; -1 before the first. */
  offset: number;
  recordedAt: Micros;
  /** `recorded_at` of the first record: windows that ended earlier are not ours. */
  startedAt: Micros | null;
  /** Set until this life has passed the offsets published by earlier ones, whose checkpoint it does not have. */
  recovery: Recovery | null;
  /** Start of a log whose first records are gone: windows before it are lost. 0 for a task that has its log from the first record. */
  lostBefore: Micros;
  watermarkAt: Micros;
  stateRoundAt: Micros;
  /** By window length in ms: ends up to which windows are announced (live) and sealed (rows). */
  announced: Record<number, Micros>;
  /** Close time up to which minutes are sealed. */
  minutesSealed: Micros;
  /** Instant up to which no window or minute needs an explanation. */
  prunedTo: Micros;
  sealed: Record<number, Micros>;
  capability: CapabilityVersion | null;
  /** Earlier versions, as in `ListingState.before`. */
  capabilitiesBefore: CapabilityVersion[];
  reference: ReferenceState;
  /** Our symbols in each scope's last reference answer: a symbol absent from the next was delisted. */
  scopes: Record<string, readonly string[]>;
  /** By scope the receipt of that answer, and by request that of the last answer without listings, such as funding intervals; at most when it was recorded. */
  answeredAt: Record<string, Micros>;
  connections: Map<string, Connection>;
  /** Ends of 10 s buckets in which a collector's record was received and recorded in time. */
  collectorAlive: Set<Micros>;
  /** Symbols in the log without a listing; each is a dead letter once. */
  unknown: Set<string>;
  /** Plain data of the venue's mapper, by connection. */
  mappers: Map<string, MapState>;
  /** Number of book changes that had to wait for their bucket's end: orders `BookState.pending`. */
  pendings: number;
};

export type TaskState = CoreState & {
  listings: Map<string, ListingState>;
  /** Assembled books by `<symbol>|<conn_id>`. */
  books: Map<string, BookState>;
};

export type TaskView = View<TaskState>;
export type ListingView = View<ListingState>;
export type ConnectionView = View<Connection>;
export type CandleView = View<CandleState>;

/** An empty state before the record at `next`. */
export const createState = (next = 0, recovery: Recovery | null = null): TaskState => ({
  offset: next - 1,
  recordedAt: 0,
  startedAt: null,
  recovery,
  lostBefore: 0,
  watermarkAt: 0,
  stateRoundAt: 0,
  announced: {},
  minutesSealed: 0,
  prunedTo: 0,
  sealed: {},
  capability: null,
  capabilitiesBefore: [],
  reference: {},
  scopes: {},
  answeredAt: {},
  connections: new Map(),
  listings: new Map(),
  collectorAlive: new Set(),
  unknown: new Set(),
  mappers: new Map(),
  books: new Map(),
  pendings: 0,
});

export const createListing = (version: ListingVersion, before: ListingVersion[] = []): ListingState => ({
  symbol: version.venue_symbol,
  version,
  before,
  layers: new Map(),
  events: new Map(),
  candles: {},
});

export const createLayer = (): LayerState => ({
  rev: 0,
  reading: null,
  offset: -1,
  delivered: [],
  windows: new Map(),
  faults: [],
  parts: {},
});
