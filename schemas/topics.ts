// Contents of each Kafka topic: names, partitions and the types of the values (design section 4). The Avro schemas are in schemas/avro.
import type { GapCause } from './gap-causes.ts';
import { ALL_LAYERS, type LayerRecord, type ReadingLayer } from './layers/index.ts';
import type { GapRecord, ListingRecord, Micros } from './records.ts';

/** Layers of the normalised records in topics `md.*`. */
export type MdLayer = (LayerRecord | GapRecord)['layer'];
export const MD_LAYERS: readonly MdLayer[] = [
  ...ALL_LAYERS.flatMap(({ record }) => (record === null ? [] : [record as MdLayer])),
  'gap',
];

/** Whether a namespace, or a topic by its full name, is of a replay. */
export const isReplay = (name: string): boolean => name.startsWith('replay');

/** Topic names of a namespace: `''` is live, `'replay.'` belongs to replays. */
export const nameTopics = (namespace = '') => ({
  raw: (venue: string) => `${namespace}raw.${venue}`,
  live: (venue: string) => `${namespace}live.${venue}`,
  state: (venue: string) => `${namespace}state.${venue}`,
  rows: (venue: string) => `${namespace}rows.${venue}`,
  checkpoints: (venue: string) => `${namespace}checkpoints.${venue}`,
  md: (layer: MdLayer) => `${namespace}md.${layer}`,
  listings: `${namespace}listings`,
  capabilities: `${namespace}capabilities`,
  watermark: `${namespace}watermark`,
  deadLetters: `${namespace}dead-letters`,
});
export type Topics = ReturnType<typeof nameTopics>;

/** A task is one raw partition: `<venue>/<partition>`. */
export type TaskId = `${string}/${number}`;
export const formatTask = (venue: string, partition: number): TaskId => `${venue}/${partition}`;
export const parseTask = (task: string): { readonly venue: string; readonly partition: number } => {
  const [venue = '', partition = ''] = task.split('/');
  return { venue, partition: Number(partition) };
};

/** Value of `raw.<venue>`; `recorded_at` is the record's own LogAppendTime. */
export type RawMessage = {
  /** Slot of the message (key of the record). `collector` for ticks and capability records, `owner` for ticks of a task's owner. */
  readonly slot: string;
  /** Connection (poll slots and reference requests have one too); for ticks and capabilities the collector's id. */
  readonly conn_id: string;
  /** Rises by one per message of a connection; 0 for ticks. */
  readonly seq: number;
  readonly received_at: Micros;
  readonly kind: 'frame' | 'response' | 'open' | 'lost' | 'tick' | 'capability';
  /** For responses: `GET https://…`. */
  readonly request: string | null;
  /** Bytes as received; JSON of OpenBody, LostBody, TickBody, CapabilityBody for the other kinds. */
  readonly payload: Uint8Array;
};

export type OpenBody = {
  readonly opened_at: Micros;
  readonly url: string;
  readonly covers: readonly { readonly layers: readonly string[]; readonly symbols: readonly string[] | null }[];
};
export type LostBody = {
  readonly lost_at: Micros;
  readonly cause: GapCause;
  readonly detail: string;
  /** Of an attempt that never opened: what it would have brought. */
  readonly covers?: OpenBody['covers'];
};
/** `collector` null: written by a task's owner because no record arrived. */
export type TickBody = {
  readonly collector: string | null;
  readonly connections: readonly { readonly conn_id: string; readonly opened_at: Micros }[];
};
export type LayerCapability = {
  readonly policy: 'on' | 'off' | 'not_published';
  readonly cadence_ms: number | null;
  readonly horizon_ms: number | null;
  readonly horizon_source: string | null;
  /** For liquidations: whether the venue publishes every one, or at most some per interval (H-15). */
  readonly completeness?: 'full' | 'sampled' | null;
};
export type CapabilityBody = {
  /** The venue's public name. */
  readonly name: string;
  readonly layers: Readonly<Record<string, LayerCapability>>;
};

/** A reading of one listing and layer, as in live and state. Figures are digits, absent members are absent. */
export type Reading = {
  readonly layer: ReadingLayer;
  /** Number of this listing's and layer's readings in the log (ST-03). */
  readonly rev: number;
  /** False: an invalidation (crossed book, sequence break) without values; `gap_cause` is the reason. */
  readonly valid: boolean;
  readonly gap_cause: GapCause | null;
  readonly venue_ts: Micros | null;
  readonly received_at: Micros;
  readonly recorded_at: Micros;
  readonly conn_id: string;
  readonly horizon_ms: number | null;
  readonly horizon_source: string | null;
  readonly anchor: 'venue' | 'receipt';
  /** Fixed at storage (F-01); null for connection horizons and unknown ones. */
  readonly valid_until: Micros | null;
  readonly values: Readonly<Record<string, string>>;
  /** Members without a value, with the reason (L-02). */
  readonly null_reasons: Readonly<Record<string, string>>;
  readonly instants: Readonly<Record<string, Micros>>;
  /** Unit of the quantity members; null when the layer has none. */
  readonly quantity_unit: string | null;
  /** Top levels, only for layer `book`. */
  readonly book: BookLevels | null;
  /** JSON text of the smallest element of the venue's message about this listing; null when not kept. */
  readonly raw: string | null;
};
export type BookLevels = {
  readonly bids: readonly (readonly [string, string])[];
  readonly asks: readonly (readonly [string, string])[];
  readonly sequence: string | null;
  readonly collected_bids: number;
  readonly collected_asks: number;
};

/** The slot of a span after which not all spans of its slot are kept: how long the slot was lost then, or whether at all, is not known (D-642). */
export const FOLLOWED = '-';

/** One alive span of a connection; `to` null while it is alive. A connection may have several (its collector was silent for a while). */
export type Span = {
  readonly conn_id: string;
  readonly slot: string;
  readonly from: Micros;
  readonly to: Micros | null;
  readonly cause: GapCause | null;
};

/** A version of a listing: `record` is the venue's data, `written_at` the start of its validity (design section 5, versions). */
export type ListingVersion = {
  readonly venue: string;
  readonly venue_symbol: string;
  readonly written_at: Micros;
  readonly first_seen_at: Micros;
  readonly delisted_at: Micros | null;
  readonly record: ListingRecord;
  /** The listing's element of the version's answer, in the venue's own JSON text (V-02); null when not kept. */
  readonly raw: string | null;
};
export type CapabilityVersion = {
  readonly venue: string;
  readonly name: string;
  readonly written_at: Micros;
  readonly layers: CapabilityBody['layers'];
};

/** One row for a QuestDB table, its columns by kind. Figures are digits; absent columns are null. */
export type Row = {
  readonly table: string;
  /** Designated timestamp of the table (`at`, `open_time`, `received_at`, `written_at`, `from`). */
  readonly at: Micros;
  readonly texts: Readonly<Record<string, string>>;
  readonly instants: Readonly<Record<string, Micros>>;
  readonly integers: Readonly<Record<string, number>>;
  readonly figures: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, boolean>>;
};

/** Position of an output in its task's order: raw offset, and index within that record's outputs. Readers drop entries up to the highest one read. */
export type Place = { readonly offset: number; readonly index: number };

export const isAbove = (a: Place, b: Place): boolean =>
  a.offset > b.offset || (a.offset === b.offset && a.index > b.index);

/** Trades, liquidations and sealed rows: a message may have a thousand, and a silence of hours ends with as many. */
const ALONE: ReadonlySet<LiveEntry['kind']> = new Set(['event', 'sealed']);

/**
 * Whether two entries report changes of one listing by the same record: a reader applies them together, so that layers made from one message agree.
 * Other entries are applied alone.
 */
export const isOneChange = (
  a: Pick<LiveEntry, 'offset' | 'symbol' | 'kind'>,
  b: Pick<LiveEntry, 'offset' | 'symbol' | 'kind'>,
): boolean =>
  a.symbol !== null && a.symbol === b.symbol && a.offset === b.offset && !ALONE.has(a.kind) && !ALONE.has(b.kind);

export const LIVE_KINDS = [
  'reading',
  'connection',
  'listing',
  'capability',
  'provisional',
  'sealed',
  'event',
  'watermark',
] as const;

/** Value of `live.<venue>`: exactly one of the bodies is set, named by `kind`. */
export type LiveEntry = Place & {
  readonly recorded_at: Micros;
  readonly kind: (typeof LIVE_KINDS)[number];
} & LiveBodies;

export type LiveBodies = {
  readonly symbol: string | null;
  readonly reading: Reading | null;
  readonly span: Span | null;
  /** Provisional or sealed row; trades, liquidations and candles are rows too (`event`). */
  readonly row: Row | null;
  readonly listing: ListingVersion | null;
  readonly capability: CapabilityVersion | null;
  /** W: everything recorded up to here has been applied and precedes this entry. */
  readonly watermark: Micros | null;
};

/** Builds an entry from its place, instant and bodies; omitted bodies are null. */
export const makeLiveEntry = (entry: Partial<LiveEntry> & Omit<LiveEntry, keyof LiveBodies>): LiveEntry => ({
  offset: entry.offset,
  index: entry.index,
  recorded_at: entry.recorded_at,
  kind: entry.kind,
  symbol: entry.symbol ?? null,
  reading: entry.reading ?? null,
  span: entry.span ?? null,
  row: entry.row ?? null,
  listing: entry.listing ?? null,
  capability: entry.capability ?? null,
  watermark: entry.watermark ?? null,
});

/** Value of `state.<venue>`: a round as of raw offset `round`, closed by its marker. */
export type StateEntry = {
  readonly round: number;
  readonly kind: 'reading' | 'connection' | 'listing' | 'capability' | 'marker';
  readonly symbol: string | null;
  readonly reading: Reading | null;
  readonly span: Span | null;
  readonly listing: ListingVersion | null;
  readonly capability: CapabilityVersion | null;
  /** Marker only: the number of the round's entries, W at `round`, and the offset in `live` to follow from. */
  readonly marker: { readonly entries: number; readonly watermark: Micros; readonly live_offset: number } | null;
};

/** Builds an entry from its round, kind and body; omitted bodies are null. */
export const makeStateEntry = (entry: Partial<StateEntry> & Pick<StateEntry, 'round' | 'kind'>): StateEntry => ({
  round: entry.round,
  kind: entry.kind,
  symbol: entry.symbol ?? null,
  reading: entry.reading ?? null,
  span: entry.span ?? null,
  listing: entry.listing ?? null,
  capability: entry.capability ?? null,
  marker: entry.marker ?? null,
});

/** Value of `rows.<venue>`: a final row, or the task's watermark in order with its rows. */
export type RowEntry = Place & {
  readonly kind: 'row' | 'watermark';
  readonly row: Row | null;
  readonly watermark: Micros | null;
};

/** Value of `watermark`, keyed `task`, `task|checkpoint`, `task|history`. */
export type WatermarkEntry = {
  readonly task: string;
  readonly kind: 'task' | 'checkpoint' | 'history';
  /** Microseconds; for `checkpoint` the watermark at its offset. */
  readonly watermark: Micros;
  /** Raw offset of the last applied record (task, checkpoint), or of the last row's source (history). */
  readonly offset: number;
  /** Next offset of each output topic of the task at that moment. */
  readonly positions: Readonly<Record<string, number>>;
};

/** Value of `checkpoints.<venue>`: items of a round, then its marker. */
export type CheckpointEntry = {
  readonly round: number;
  readonly offset: number;
  readonly kind: 'item' | 'marker';
  readonly key: string | null;
  /** JSON text of the item. */
  readonly body: string | null;
  readonly marker: { readonly items: number; readonly version: number; readonly watermark: Micros } | null;
};

/** Source of a normalised record in `md.*`. */
type Source = { readonly partition: number; readonly offset: number };

/** Value of `dead-letters`. */
export type DeadLetter = {
  readonly source: string;
  readonly partition: number;
  readonly offset: number;
  readonly recorded_at: Micros;
  readonly code: string;
  readonly message: string;
  readonly payload: Uint8Array;
};

/** `md.<layer>`: the normalised record with its place in the log; `values` is typed per layer in Avro. `md.book` contains the assembled book. */
export type MdRecord = {
  readonly layer: MdLayer;
  readonly venue: string;
  readonly venue_symbol: string | null;
  readonly venue_ts: Micros | null;
  readonly received_at: Micros;
  readonly recorded_at: Micros;
  readonly conn_id: string;
  readonly src: Source;
  readonly values: unknown;
};
