// Sampling windows: which reading represents a window, when it is announced, when it is sealed, and why it is a gap (H-06, N-11, L-08).
import type { GapCause } from '../../schemas/gap-causes.ts';
import { MICROS_PER_DAY } from '../../schemas/instants.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import { type CoverName, resolveSource } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Reading, Row } from '../../schemas/topics.ts';
import { toWindowDay, toWindowEnd } from '../../schemas/windows.ts';
import { findLossCause, hadUnreadable, listSpans } from './connections.ts';
import { findCoveredTo, formatSeries } from './recovery.ts';
import { makeGapRow, makeReadingRow, type RowIdentity } from './rows.ts';
import type { Candidate, ConnectionView, LayerState, ListingState, ListingView, TaskView } from './state.ts';
import type { Store } from './store.ts';
import {
  findListingAt,
  findPartsWhere,
  hasEnded,
  isLayerCollected,
  listVersionTurns,
  type Range,
  type VersionTest,
} from './versions.ts';
import type { View } from './view.ts';

/** Layers by the length of their windows, ascending. */
export const LAYERS_BY_WINDOW_MS: ReadonlyMap<number, readonly ReadingLayer[]> = Map.groupBy(
  READING_LAYERS.toSorted((a, b) => LAYERS[a].windowMs - LAYERS[b].windowMs),
  (name) => LAYERS[name].windowMs,
);

/** Length of the buckets that record whether a collector was alive. */
export const COLLECTOR_BUCKET_MS = 10_000;

/** Whether a reading is later than the held one, or as late and of the same message or a later one: only then it replaces it. */
export const isAbove = ({ reading, offset }: Candidate, held: Candidate): boolean =>
  reading.received_at > held.reading.received_at ||
  (reading.received_at === held.reading.received_at && offset >= held.offset);

/** Keeps a reading for its window when it is the last by `(received_at, offset)`. Returns the window's end, or null. */
export const offerToWindow = (layer: LayerState, candidate: Candidate): Micros | null => {
  const { reading, offset } = candidate;
  const end = toWindowEnd(reading.received_at, LAYERS[reading.layer].windowMs);
  const held = layer.windows.get(end);
  if (held && !isAbove(candidate, held)) return null;
  layer.windows.set(end, { reading: { ...reading, raw: null, book: null }, offset });
  return end;
};

/** Opens the layer's stretch without a valid value, or closes it with a valid reading. */
export const noteValidity = (layer: LayerState, reading: Reading): void => {
  const open = layer.faults.at(-1);
  if (open !== undefined && open.to === null) {
    if (!reading.valid && open.cause === reading.gap_cause) return;
    layer.faults[layer.faults.length - 1] = { ...open, to: reading.received_at };
  }
  if (reading.valid) return;
  layer.faults.push({ from: reading.received_at, to: null, cause: reading.gap_cause ?? 'unknown' });
};

/** Nothing of a layer is read while it is not collected: neither joined parts nor a known fault reach across that time, nor, when it is off, its reading. */
export const breakOff = (layer: LayerState, { at, isOff }: { readonly at: Micros; readonly isOff: boolean }): void => {
  if (isOff) layer.wasOff = true;
  layer.parts = {};
  delete layer.halfSince;
  const open = layer.faults.at(-1);
  if (open?.to === null) layer.faults[layer.faults.length - 1] = { ...open, to: at };
};

/** A window of one layer of a listing, or the windows that end in a range. */
export type LayerWindow<L extends CoverName = CoverName> = Range & { readonly layer: L };

/** Adjacent windows around none of the ascending `turns` are joined by day. */
type Joining = { readonly turns?: readonly Micros[] | null };
/** Windows of one length. */
type Question = LayerWindow & Joining & { readonly windowMs: number };

/** The part of `(from, at]` whose windows are within the listing's life, at least in part; `from` is the start of the first window. */
const cutToLife = ({ version }: ListingView, { windowMs, from, at }: Question): Range => {
  const { first_seen_at: begun, delisted_at: gone } = version;
  return {
    from: Math.max(from, toWindowEnd(begun, windowMs) - windowMs * 1000),
    at: gone === null ? at : Math.min(at, toWindowEnd(gone, windowMs)),
  };
};

/** The first midnight after an instant. */
const findDayEnd = (from: Micros): Micros => Math.floor(from / MICROS_PER_DAY) * MICROS_PER_DAY + MICROS_PER_DAY;

/** Shorter ranges are read window by window. */
const LONG: Micros = 3_600_000_000;

const listTurnsOfConnection = (connection: ConnectionView): readonly Micros[] => {
  const { namedAt, receivedAt = namedAt, failures, unreadable, late = [] } = connection;
  const spans = listSpans(connection).flatMap(({ from, to }) => [from, to ?? from]);
  const stretches = late.flatMap(({ from, to }) => [from, to]);
  return [namedAt, receivedAt, ...spans, ...failures.map(({ at }) => at), ...unreadable, ...stretches];
};

/**
 * Instants at which the cause of a listing's gaps may change, and ends of windows with a reading, ascending: all windows between two of them are gaps
 * of one cause. After an absence of the collectors thousands of windows are between two of these instants (D-870). Null for a short range.
 */
export const listTurns = (
  state: TaskView,
  listing: ListingView,
  { from, at, held = [] }: Range & { readonly held?: Iterable<Micros> | undefined },
): readonly Micros[] | null => {
  if (at - from < LONG) return null;
  const turns = [state.lostBefore, ...held, ...listVersionTurns(state, listing, { from, at })];
  for (const { delisted_at: end } of [listing.version, ...listing.before]) if (end !== null) turns.push(end);
  for (const end of state.collectorAlive) turns.push(end - COLLECTOR_BUCKET_MS * 1000, end);
  for (const connection of state.connections.values()) turns.push(...listTurnsOfConnection(connection));
  return turns.sort((a, b) => a - b);
};

/** The windows that end in a range. Adjacent ones without a turn in them, or at their ends, are joined by day. */
const listWindows = ({ from, at }: Range, windowMs: number, turns: readonly Micros[] | null): readonly Range[] => {
  const step = windowMs * 1000;
  const last = Math.floor(at / step) * step;
  const windows: Range[] = [];
  let next = 0;
  for (let start = Math.floor(from / step) * step; start + step <= last; ) {
    let end = start + step;
    if (turns !== null) {
      while ((turns[next] ?? Number.POSITIVE_INFINITY) < start) next += 1;
      const turn = turns[next] ?? Number.POSITIVE_INFINITY;
      end = Math.max(end, Math.min(last, findDayEnd(start), Math.ceil(turn / step) * step - step));
    }
    windows.push({ from: start, at: end });
    start = end;
  }
  return windows;
};

/** Windows in the listing's life at whose ends the layer was collected. Uncollected time has no cost, regardless of its length. */
export const listCollectedWindows = (state: TaskView, listing: ListingView, question: Question): readonly Range[] => {
  const { layer, windowMs, turns = null } = question;
  const isSo: VersionTest = (version, capability) => isLayerCollected(version, capability, layer);
  const parts = findPartsWhere({ state, listing, isSo }, cutToLife(listing, question));
  return parts.flatMap((part) => listWindows(part, windowMs, turns));
};

/** Windows in the range with rows: those at whose end the layer was collected, and any other with a counting reading. */
export const listRowWindows = (
  state: TaskView,
  listing: ListingView,
  range: LayerWindow<ReadingLayer> & Joining,
): readonly Range[] => {
  const { windowMs } = LAYERS[range.layer];
  const collected = listCollectedWindows(state, listing, { ...range, windowMs });
  const held = [...(listing.layers.get(range.layer)?.windows.keys() ?? [])];
  const ended = held.filter((end) => end > range.from && end <= range.at);
  if (ended.length === 0) return collected;
  const ends = new Set(collected.map((window) => window.at));
  const beyond = ended.filter((end) => !ends.has(end)).map((end) => ({ from: end - windowMs * 1000, at: end }));
  return beyond.length === 0 ? collected : [...collected, ...beyond].sort((a, b) => a.at - b.at);
};

/** Notes that a collector's record was received in its 10 s bucket. */
export const noteCollector = ({ changeCore }: Store, receivedAt: Micros): void =>
  changeCore(({ collectorAlive }) => void collectorAlive.add(toWindowEnd(receivedAt, COLLECTOR_BUCKET_MS)));

const hasCollector = ({ collectorAlive }: TaskView, { from, at }: Range): boolean => {
  const step = COLLECTOR_BUCKET_MS * 1000;
  // A day of an absence has thousands of buckets, and few with a collector are kept.
  if (collectorAlive.size * step < at - from) {
    for (const end of collectorAlive) if (end > from && end <= at) return true;
    return false;
  }
  for (let end = from + step; end <= at; end += step) if (collectorAlive.has(end)) return true;
  return false;
};

const findFault = (layer: View<LayerState>, window: Range): GapCause | null => {
  for (let i = layer.faults.length - 1; i >= 0; i--) {
    const fault = layer.faults[i];
    if (fault && fault.from <= window.at && (fault.to === null || fault.to > window.from)) return fault.cause;
  }
  return null;
};

/** Whether the listing had ended by an instant. */
export const isEndedBy = (listing: ListingView, at: Micros): boolean =>
  [listing.version, findListingAt(listing, at)].some((version) => version !== null && hasEnded(version, at));

/** Cause of a window without a reading: the first match, in the order of design section 5. */
export const findGapCause = (state: TaskView, listing: ListingView, window: LayerWindow): GapCause =>
  isEndedBy(listing, window.at) ? 'not_listed' : findMissedCause(state, listing, window);

/** As `findGapCause`, of a listing that had not ended. */
export const findMissedCause = (state: TaskView, listing: ListingView, window: LayerWindow): GapCause => {
  if (window.from < state.lostBefore) return 'storage_failure';
  if (!hasCollector(state, window)) return 'collector_down';
  const query = { ...window, layer: resolveSource(window.layer), symbol: listing.symbol };
  const loss = findLossCause(state, query);
  if (loss !== null) return loss;
  const layer = listing.layers.get(window.layer as ReadingLayer);
  const fault = layer ? findFault(layer, window) : null;
  if (fault !== null) return fault;
  return hadUnreadable(state, query) ? 'parse_error' : 'no_update';
};

/** A window, or several, with the cause of their gap; null: there is a reading. */
type Explained = Range & { readonly cause: GapCause | null };

/** Joins adjacent gaps with one cause, but never across a UTC midnight. */
export const joinStretches = <E extends Explained>(windows: readonly E[]): readonly E[] => {
  const joined: E[] = [];
  for (const window of windows) {
    const last = joined.at(-1);
    const follows = last !== undefined && last.at === window.from && last.cause !== null && last.cause === window.cause;
    if (follows && toWindowDay(last.at) === toWindowDay(window.at))
      joined[joined.length - 1] = { ...last, at: window.at };
    else joined.push(window);
  }
  return joined;
};

type Sealing = { readonly state: TaskView; readonly venue: string; readonly offset: number };

/**
 * Final rows of one listing and layer for all windows that end in `(range.from, range.at]`. Windows of one step without a reading share rows
 * (`joinStretches`). Sealed windows are deleted.
 */
export const sealWindows = (
  { state, venue, offset }: Sealing,
  listing: ListingState,
  range: LayerWindow<ReadingLayer>,
): readonly Row[] => {
  const { layer: name, at } = range;
  const { symbol } = listing;
  const identity: RowIdentity = { venue, symbol, layer: name };
  const layer = listing.layers.get(name);
  const from = Math.max(range.from, findCoveredTo(state.recovery, formatSeries(LAYERS[name].table, symbol)));
  const turns = listTurns(state, listing, { from, at, held: layer?.windows.keys() });
  const windows = listRowWindows(state, listing, { layer: name, from, at, turns }).map((window) => {
    const held = layer?.windows.get(window.at) ?? null;
    return { ...window, held, cause: held ? null : findGapCause(state, listing, { layer: name, ...window }) };
  });
  if (layer) forget(layer, at);
  return joinStretches(windows).map(({ held, cause, ...span }) =>
    held
      ? makeReadingRow(identity, { ...span, srcOffset: held.offset }, held.reading)
      : makeGapRow(identity, { ...span, srcOffset: offset }, cause ?? 'unknown'),
  );
};

/** The row of a window before its seal: its reading, or a gap without a known cause (H-16k). */
export const makeProvisionalRow = (
  venue: string,
  listing: ListingView,
  { layer, from, at }: LayerWindow<ReadingLayer>,
): Row => {
  const identity: RowIdentity = { venue, symbol: listing.symbol, layer };
  const held = listing.layers.get(layer)?.windows.get(at);
  if (!held) return makeGapRow(identity, { from, at, srcOffset: -1 }, 'unknown');
  return makeReadingRow(identity, { from, at, srcOffset: held.offset }, held.reading);
};

const forget = (layer: LayerState, sealedTo: Micros): void => {
  for (const end of layer.windows.keys()) if (end <= sealedTo) layer.windows.delete(end);
  layer.faults = layer.faults.filter((f) => f.to === null || f.to > sealedTo);
};
