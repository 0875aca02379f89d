// Sampling windows: which reading a window keeps, when it is announced, when it is sealed, and why it is a gap (H-06, N-11, L-08).
import type { GapCause } from '../../schemas/gap-causes.ts';
import { type CoverName, LAYERS, type ReadingLayer, resolveSource } from '../../schemas/layers.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Reading, Row } from '../../schemas/topics.ts';
import { dayOfWindow, windowEnd } from '../../schemas/windows.ts';
import { hadUnreadable, lossCause } from './connections.ts';
import { coveredTo, formatSeries } from './recovery.ts';
import { gapRow, type RowIdentity, readingRow } from './rows.ts';
import type { Candidate, LayerState, ListingState, ListingView, TaskView } from './state.ts';
import type { Store } from './store.ts';
import { isCollectedAt, listingAt } from './versions.ts';
import type { View } from './view.ts';

const DAY: Micros = 86_400_000_000;
/** Length of the buckets in which the collectors' life is noted. */
export const COLLECTOR_BUCKET_MS = 10_000;

const isAbove = (reading: Reading, offset: number, held: Candidate): boolean =>
  reading.received_at > held.reading.received_at ||
  (reading.received_at === held.reading.received_at && offset >= held.offset);

/** Keeps `reading` for its window when it is the last by `(received_at, offset)`. Answers the window's end, or null. */
export const offerToWindow = (layer: LayerState, reading: Reading, offset: number): Micros | null => {
  const end = windowEnd(reading.received_at, LAYERS[reading.layer].windowMs);
  const held = layer.windows.get(end);
  if (held && !isAbove(reading, offset, held)) return null;
  layer.windows.set(end, { reading: { ...reading, raw: null, book: null }, offset });
  return end;
};

/** Opens, or closes with a valid reading, the layer's stretch without a valid value. */
export const noteValidity = (layer: LayerState, reading: Reading): void => {
  const open = layer.faults.at(-1);
  if (open !== undefined && open.to === null) {
    if (!reading.valid && open.cause === reading.gap_cause) return;
    layer.faults[layer.faults.length - 1] = { ...open, to: reading.received_at };
  }
  if (reading.valid) return;
  layer.faults.push({ from: reading.received_at, to: null, cause: reading.gap_cause ?? 'unknown' });
};

export type Window = { readonly from: Micros; readonly at: Micros };

/** Life of a listing within which its windows are rows. */
const lifeOf = (listing: ListingView): { readonly from: Micros; readonly to: Micros | null } => ({
  from: listing.version.first_seen_at,
  to: listing.version.delisted_at,
});

/**
 * Windows of `(from, to]` that lie, at least in part, within the listing's life. Those that ended by `lostTo` come as one
 * a day: what was lost may be days, and the group waits seconds for a member that does not answer.
 */
export const windowsOfLife = (listing: ListingView, windowMs: number, range: Window, lostTo = 0): readonly Window[] => {
  const life = lifeOf(listing);
  const step = windowMs * 1000;
  const first = Math.max(range.from + step, windowEnd(life.from, windowMs));
  const last = life.to === null ? range.at : Math.min(range.at, windowEnd(life.to, windowMs));
  const lastLost = Math.min(Math.floor(lostTo / step) * step, life.to === null ? last : last - step);
  const windows: Window[] = [];
  for (let from = first - step; from + step <= last; ) {
    const at = from + step <= lastLost ? Math.min(lastLost, Math.floor(from / DAY) * DAY + DAY) : from + step;
    windows.push({ from, at });
    from = at;
  }
  return windows;
};

/** Windows of `range` that are rows: those at whose end the layer was collected, and every other that holds a reading which counts. */
const windowsToTell = (
  state: TaskView,
  listing: ListingView,
  name: ReadingLayer,
  { from, at, lostTo = 0 }: Window & { readonly lostTo?: number },
): readonly Window[] => {
  const { windowMs } = LAYERS[name];
  const held = listing.layers.get(name)?.windows ?? new Map<Micros, Candidate>();
  const collected = windowsOfLife(listing, windowMs, { from, at }, lostTo).filter(
    (window) => held.has(window.at) || isCollectedAt(state, listing, name, window.at),
  );
  const ends = new Set(collected.map((window) => window.at));
  const beyond = [...held.keys()].filter((end) => end > from && end <= at && !ends.has(end));
  if (beyond.length === 0) return collected;
  const spoken = beyond.map((end) => ({ from: end - windowMs * 1000, at: end }));
  return [...collected, ...spoken].sort((a, b) => a.at - b.at);
};

/** Notes that a collector's record was received in its 10 s bucket. */
export const noteCollector = ({ changeCore }: Store, receivedAt: Micros): void =>
  changeCore(({ collectorAlive }) => void collectorAlive.add(windowEnd(receivedAt, COLLECTOR_BUCKET_MS)));

const anyCollector = (state: TaskView, window: Window): boolean => {
  const step = COLLECTOR_BUCKET_MS * 1000;
  for (let end = window.from + step; end <= window.at; end += step) if (state.collectorAlive.has(end)) return true;
  return false;
};

const faultIn = (layer: View<LayerState>, window: Window): GapCause | null => {
  for (let i = layer.faults.length - 1; i >= 0; i--) {
    const fault = layer.faults[i];
    if (fault && fault.from <= window.at && (fault.to === null || fault.to > window.from)) return fault.cause;
  }
  return null;
};

/** Cause of a window without a reading: the first that applies, in the order of design section 5. */
export const gapCause = (state: TaskView, listing: ListingView, name: CoverName, window: Window): GapCause => {
  for (const version of [listing.version, listingAt(listing, window.at)]) {
    const goneAt = version?.delisted_at ?? null;
    if (goneAt !== null && goneAt <= window.at) return 'not_listed';
  }
  if (window.from < state.lostBefore) return 'storage_failure';
  if (!anyCollector(state, window)) return 'collector_down';
  const query = {
    layer: resolveSource(name),
    symbol: listing.symbol,
    from: window.from,
    to: window.at,
  };
  const loss = lossCause(state, query);
  if (loss !== null) return loss;
  const layer = listing.layers.get(name as ReadingLayer);
  const fault = layer ? faultIn(layer, window) : null;
  if (fault !== null) return fault;
  return hadUnreadable(state, query) ? 'parse_error' : 'no_update';
};

type Sealing = { readonly state: TaskView; readonly venue: string; readonly offset: number };

/**
 * Final rows of one listing and layer for all windows that end in `(range.from, range.at]`. Neighbouring windows of one
 * step without a reading and with one cause share a row, but never across a UTC midnight. Sealed windows are forgotten.
 */
export const sealWindows = (
  sealing: Sealing,
  listing: ListingState,
  name: ReadingLayer,
  range: Window,
): readonly Row[] => {
  const identity: RowIdentity = { venue: sealing.venue, symbol: listing.symbol, layer: name };
  const layer = listing.layers.get(name);
  const rows: Row[] = [];
  let run: { from: Micros; at: Micros; cause: GapCause } | null = null;
  const closeRun = (): void => {
    if (run)
      rows.push(gapRow(identity, { from: run.from, at: run.at, srcOffset: sealing.offset, late: false }, run.cause));
    run = null;
  };
  const from = Math.max(
    range.from,
    coveredTo(sealing.state.recovery, formatSeries(LAYERS[name].table, listing.symbol)),
  );
  const lostTo = layer && layer.windows.size > 0 ? 0 : sealing.state.lostBefore;
  for (const window of windowsToTell(sealing.state, listing, name, { from, at: range.at, lostTo })) {
    const held = layer?.windows.get(window.at);
    if (held) {
      closeRun();
      rows.push(readingRow(identity, { ...window, srcOffset: held.offset, late: false }, held.reading));
      continue;
    }
    const cause = gapCause(sealing.state, listing, name, window);
    const open = run as { from: Micros; at: Micros; cause: GapCause } | null;
    const follows = open !== null && open.at === window.from && open.cause === cause;
    if (follows && dayOfWindow(open.at) === dayOfWindow(window.at)) open.at = window.at;
    else {
      closeRun();
      run = { ...window, cause };
    }
  }
  closeRun();
  if (layer) forget(layer, range.at);
  return rows;
};

/** What a window says before it is sealed: its reading, or a gap whose cause is not known yet (H-16k). */
export const provisionalRow = (venue: string, listing: ListingView, name: ReadingLayer, window: Window): Row => {
  const identity: RowIdentity = { venue, symbol: listing.symbol, layer: name };
  const held = listing.layers.get(name)?.windows.get(window.at);
  if (!held) return gapRow(identity, { ...window, srcOffset: -1, late: false }, 'unknown');
  return readingRow(identity, { ...window, srcOffset: held.offset, late: false }, held.reading);
};

/** Windows that ended within `range` and are to be announced. */
export const windowsToAnnounce = (
  state: TaskView,
  listing: ListingView,
  name: ReadingLayer,
  range: Window,
): readonly Window[] => windowsToTell(state, listing, name, range);

const forget = (layer: LayerState, sealedTo: Micros): void => {
  for (const end of layer.windows.keys()) if (end <= sealedTo) layer.windows.delete(end);
  layer.faults = layer.faults.filter((f) => f.to === null || f.to > sealedTo);
};
