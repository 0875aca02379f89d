// Shared by the parts of a task while they process one record: the state, the outputs, and caches.
import type { VenueMessage } from '../../ingest/venues/contract/listings.ts';
import type { MappedVenue } from '../../ingest/venues/contract/mapping.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { CoverName } from '../../schemas/policies.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import { toShard } from '../../schemas/shards.ts';
import type { RawMessage, Row, Span } from '../../schemas/topics.ts';
import { type Outputs, pushLive, pushRow } from './outputs.ts';
import { makeSpanRow, type TaskPlace } from './rows.ts';
import { createLayer, type LayerState, type ListingState, type ListingView, type TaskView } from './state.ts';
import type { Store } from './store.ts';
import { findCapabilityAt, findListingAt, isLayerCollected } from './versions.ts';
import { type LayerWindow, makeProvisionalRow } from './windows.ts';

export type TaskContext = {
  readonly id: string;
  readonly venue: MappedVenue;
  readonly partition: number;
  readonly shards: number;
  readonly store: Store;
  /** `store.state`. */
  readonly state: TaskView;
  /** Newest listing records by symbol, in the mapper's form. */
  readonly listings: Map<string, ListingRecord>;
  /** Whether a symbol belongs to this task's shard. */
  readonly owned: Map<string, boolean>;
  /** Keys of books with an unpublished change, in the order of their buckets. */
  readonly pending: Set<string>;
  /** The log's time up to which everything due was done; a batch of records has one time. */
  advancedTo: Micros;
  /** Outputs of the current record. */
  out: Outputs;
};

const MILLISECOND: Micros = 1_000;

/** W: `recorded_at` of the last applied record − 1 ms. */
export const computeWatermark = (state: TaskView): Micros => state.recordedAt - MILLISECOND;

export const toTaskPlace = (context: TaskContext): TaskPlace => ({
  venue: context.venue.id,
  task: context.id,
  srcOffset: context.out.offset,
  recordedAt: context.state.recordedAt,
});

/** A task maps only the listings of its own shard. */
export const isOwnSymbol = (context: TaskContext, symbol: string): boolean => {
  let owned = context.owned.get(symbol);
  if (owned === undefined) {
    owned = toShard(symbol, context.shards) === context.partition;
    context.owned.set(symbol, owned);
  }
  return owned;
};

export const openLayer = (listing: ListingState, name: ReadingLayer): LayerState => {
  let layer = listing.layers.get(name);
  if (!layer) {
    layer = createLayer();
    listing.layers.set(name, layer);
  }
  return layer;
};

/** Whether a layer (a name of a capability) of the listing is collected now. */
export const isCollected = ({ state }: TaskContext, listing: ListingView, layer: CoverName): boolean =>
  isLayerCollected(findListingAt(listing, state.recordedAt), findCapabilityAt(state, state.recordedAt), layer);

/** Publishes the current row of an ended but unsealed window on `live`. */
export const pushProvisional = (
  context: TaskContext,
  listing: ListingView,
  window: LayerWindow<ReadingLayer>,
): void => {
  const row = makeProvisionalRow(context.venue.id, listing, window);
  pushLive(context, { kind: 'provisional', symbol: listing.symbol, row });
};

/** Adds a final row: for QuestDB, and for readers of `live`. */
export const pushSealed = (context: TaskContext, symbol: string, row: Row): void => {
  pushRow(context, row);
  pushLive(context, { kind: 'sealed', symbol, row });
};

/** Alive spans are published on `live` when they start and end; ended ones are rows. */
export const createSpanChange =
  (context: TaskContext) =>
  (span: Span): void => {
    pushLive(context, { kind: 'connection', span });
    if (span.to !== null) pushRow(context, makeSpanRow(toTaskPlace(context), span));
  };

/** A frame or an answer as its venue's code reads it. */
export const toVenueMessage = ({ venue }: TaskContext, message: RawMessage): VenueMessage => ({
  kind: message.kind === 'response' ? 'response' : 'frame',
  received_at: message.received_at,
  request: message.request,
  payload: venue.decode ? venue.decode(message.payload) : message.payload,
});

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
