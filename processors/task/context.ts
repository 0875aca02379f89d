// What the parts of a task share while they work on one record: the state, the outputs, what is known by heart.
import type { MappedVenue } from '../../ingest/venues/contract/mapping.ts';
import { LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import { shardOf } from '../../schemas/shards.ts';
import type { RawMessage, Row, Span } from '../../schemas/topics.ts';
import type { BookState } from './books.ts';
import { type Outputs, pushLive, pushMd, pushRow } from './outputs.ts';
import { spanRow, type TaskPlace } from './rows.ts';
import { type Connection, createLayer, type LayerState, type ListingState, type TaskState } from './state.ts';
import { isCollectedAt } from './versions.ts';
import { provisionalRow } from './windows.ts';

/** Called with the key of an item before it changes, so that a checkpoint can save it as it stood. */
export type BeforeChange = (item: string) => void;

export type TaskContext = {
  readonly id: string;
  readonly venue: MappedVenue;
  readonly partition: number;
  readonly shards: number;
  readonly state: TaskState;
  /** Newest listing records by symbol, as the mapper wants them. */
  readonly listings: Map<string, ListingRecord>;
  /** Whether a symbol belongs to this task's shard. */
  readonly owned: Map<string, boolean>;
  /** Books with an unpublished change, in the order of their buckets. */
  readonly pending: Set<BookState>;
  beforeChange: BeforeChange;
  /** Outputs of the record in work. */
  out: Outputs;
};

const MILLISECOND: Micros = 1_000;

/** W: `recorded_at` of the last applied record − 1 ms. */
export const watermarkOf = (state: TaskState): Micros => state.recordedAt - MILLISECOND;

export const placeOf = (context: TaskContext): TaskPlace => ({
  venue: context.venue.id,
  task: context.id,
  srcOffset: context.out.offset,
  recordedAt: context.state.recordedAt,
});

/** A task maps only the listings of its own shard. */
export const ownsSymbol = (context: TaskContext, symbol: string): boolean => {
  let owned = context.owned.get(symbol);
  if (owned === undefined) {
    owned = shardOf(symbol, context.shards) === context.partition;
    context.owned.set(symbol, owned);
  }
  return owned;
};

export const layerOf = (listing: ListingState, name: ReadingLayer): LayerState => {
  let layer = listing.layers.get(name);
  if (!layer) {
    layer = createLayer();
    listing.layers.set(name, layer);
  }
  return layer;
};

/** Whether what comes now of a layer (a name of a capability) is collected for the listing. */
export const isCollected = ({ state }: TaskContext, listing: ListingState, layer: string): boolean =>
  isCollectedAt(state, listing, layer, state.recordedAt);

/** Tells readers of `live` what an ended but unsealed window says now. */
export const pushProvisional = (context: TaskContext, listing: ListingState, name: ReadingLayer, at: Micros): void => {
  const window = { from: at - LAYERS[name].windowMs * 1000, at };
  const row = provisionalRow(context.venue.id, listing, name, window);
  pushLive(context.out, context.state.recordedAt, 'provisional', { symbol: listing.symbol, row });
};

/** A final row: for QuestDB, and for readers of `live`. */
export const pushSealed = (context: TaskContext, symbol: string, row: Row): void => {
  pushRow(context.out, row);
  pushLive(context.out, context.state.recordedAt, 'sealed', { symbol, row });
};

export const pushRecord = (
  context: TaskContext,
  record: Parameters<typeof pushMd>[1],
  connection: Connection,
): void => {
  const src = { partition: context.partition, offset: context.out.offset };
  pushMd(context.out, record, { recordedAt: context.state.recordedAt, connId: connection.conn_id, src });
};

/** Alive spans go to `live` as they begin and end; ended ones are rows. */
export const spanChanged =
  (context: TaskContext) =>
  (_connection: Connection, span: Span): void => {
    pushLive(context.out, context.state.recordedAt, 'connection', { span });
    if (span.to !== null) pushRow(context.out, spanRow(placeOf(context), span));
  };

type Letter = { readonly code: string; readonly text: string; readonly payload: RawMessage['payload'] };

export const pushDeadLetter = (context: TaskContext, { code, text, payload }: Letter): void => {
  context.out.deadLetters.push({
    source: `raw.${context.venue.id}`,
    partition: context.partition,
    offset: context.out.offset,
    recorded_at: context.state.recordedAt,
    code,
    message: text,
    payload,
  });
};
