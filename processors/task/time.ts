// Actions that depend on the log's time: connections expire, buckets and windows end, watermarks and state rounds are due.
import type { Interruptible } from '../../infra/runtime/process/steps.ts';
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { makeStateEntry, type StateEntry } from '../../schemas/topics.ts';
import { EVENT_GAP_WINDOW_MS, findLastEnd, SEALS_AFTER, toMinute, toWindowEnd } from '../../schemas/windows.ts';
import { endBooks, publishPending } from './book-readings.ts';
import { toDueInstant } from './books.ts';
import { expireConnections, listSpans, pruneConnections } from './connections.ts';
import { computeWatermark, createSpanChange, pushProvisional, pushSealed, type TaskContext } from './context.ts';
import { listEventGapRows, listOpenEventGapRows } from './event-gaps.ts';
import { findLastMinuteToSeal, sealMinutes } from './minute-seals.ts';
import { pushLive, pushWatermark } from './outputs.ts';
import type { ListingView, TaskView } from './state.ts';
import type { Store } from './store.ts';
import { filterNeeded } from './versions.ts';
import { LAYERS_BY_WINDOW_MS, listRowWindows, sealWindows } from './windows.ts';

const WATERMARK_EVERY: Micros = 250_000;
const STATE_ROUND_EVERY: Micros = 60_000_000;
/** After a long silence minutes are sealed over several records: each is a row for each listing and price. */
const MINUTES_A_RECORD = 60;

/** Runs at the first record: windows that ended before it are not ours. */
export const beginLog = ({ changeCore }: Store): void =>
  changeCore((core) => {
    core.startedAt = core.recordedAt;
    core.watermarkAt = core.recordedAt;
    core.stateRoundAt = core.recordedAt;
    core.minutesSealed = toMinute(core.recordedAt);
    for (const ms of LAYERS_BY_WINDOW_MS.keys()) {
      const before = toWindowEnd(core.recordedAt, ms) - ms * 1000;
      core.announced[ms] = before;
      core.sealed[ms] = before;
    }
  });

/**
 * Does everything that is due before the record at `recordedAt` is applied. Connections and windows depend on that time alone, so the other records
 * of the same time skip them. Yields after each listing: the windows of all of them end at once.
 */
export function* advanceTime(context: TaskContext): Interruptible {
  const { store, state, pending } = context;
  const isLater = state.recordedAt !== context.advancedTo;
  if (isLater) expireConnections(store, createSpanChange(context));
  for (const key of pending) {
    const book = state.books.get(key);
    if (book !== undefined && toDueInstant(book) > state.recordedAt) break;
    publishPending(context, key);
  }
  if (isLater) {
    const watermark = computeWatermark(state);
    for (const sampling of LAYERS_BY_WINDOW_MS) yield* announceTo(context, sampling, watermark);
    for (const sampling of LAYERS_BY_WINDOW_MS) yield* sealTo(context, sampling, watermark - SEALS_AFTER);
  }
  yield* sealCandles(context);
  prune(context);
  context.advancedTo = state.recordedAt;
}

/** Layers with windows of one length. */
type Sampling = readonly [ms: number, layers: readonly ReadingLayer[]];

function* announceTo(context: TaskContext, [ms, layers]: Sampling, at: Micros): Interruptible {
  const { store, state } = context;
  const to = findLastEnd(at, ms);
  const announced = state.announced[ms] ?? 0;
  if (to <= announced) return;
  // Windows that are sealed in the same step are not announced.
  const from = Math.max(announced, findLastEnd(computeWatermark(state) - SEALS_AFTER, ms));
  store.changeCore((core) => {
    core.announced[ms] = to;
  });
  for (const listing of state.listings.values()) {
    for (const layer of layers) {
      for (const window of listRowWindows(state, listing, { layer, from, at: to })) {
        pushProvisional(context, listing, { layer, ...window });
      }
    }
    if (ms === EVENT_GAP_WINDOW_MS) announceEventGaps(context, listing, to);
    yield;
  }
}

/** Publishes the gaps of all unsealed windows, including those published before: a late record may have shown that there was no gap (H-16k). */
const announceEventGaps = (context: TaskContext, listing: ListingView, to: Micros): void => {
  const { state } = context;
  const sealed = findLastEnd(computeWatermark(state) - SEALS_AFTER, EVENT_GAP_WINDOW_MS);
  const from = Math.max(sealed, state.sealed[EVENT_GAP_WINDOW_MS] ?? 0);
  for (const row of listOpenEventGapRows(context, listing, { from, at: to }))
    pushLive(context, { kind: 'provisional', symbol: listing.symbol, row });
};

/** Books wait in the order of their changes. One stamped ahead of the log would keep those behind it waiting beyond the seal of their window. */
const publishOverdue = (context: TaskContext): void => {
  const { state, pending } = context;
  for (const key of pending) {
    const book = state.books.get(key);
    if (book !== undefined && toDueInstant(book) <= state.recordedAt) publishPending(context, key);
  }
};

function* sealTo(context: TaskContext, [ms, layers]: Sampling, at: Micros): Interruptible {
  const { store, state } = context;
  const to = findLastEnd(at, ms);
  const from = state.sealed[ms] ?? 0;
  if (to <= from) return;
  publishOverdue(context);
  const sealing = { state, venue: context.venue.id, offset: context.out.offset };
  for (const { symbol } of state.listings.values()) {
    store.changeListing(symbol, (listing) => {
      for (const layer of layers) {
        for (const row of sealWindows(sealing, listing, { layer, from, at: to })) pushSealed(context, symbol, row);
      }
      if (ms !== EVENT_GAP_WINDOW_MS) return;
      for (const row of listEventGapRows(context, listing, { from, at: to })) pushSealed(context, symbol, row);
    });
    yield;
  }
  store.changeCore((core) => {
    core.sealed[ms] = to;
  });
}

function* sealCandles(context: TaskContext): Interruptible {
  const { store, state } = context;
  const from = state.minutesSealed;
  const to = Math.min(findLastMinuteToSeal(context), from + MINUTES_A_RECORD * MICROS_PER_MINUTE);
  if (to <= from) return;
  store.changeCore((core) => {
    core.minutesSealed = to;
  });
  for (const { symbol } of state.listings.values()) {
    store.changeListing(symbol, (listing) => sealMinutes(context, listing, { from, at: to }));
    yield;
  }
}

const prune = (context: TaskContext): void => {
  const { store, state } = context;
  let oldest = state.minutesSealed;
  for (const ms of LAYERS_BY_WINDOW_MS.keys()) oldest = Math.min(oldest, state.sealed[ms] ?? 0);
  if (oldest <= state.prunedTo) return;
  store.changeCore((core) => {
    core.prunedTo = oldest;
    for (const end of core.collectorAlive) if (end <= oldest) core.collectorAlive.delete(end);
    core.capabilitiesBefore = filterNeeded(core.capability, core.capabilitiesBefore, oldest);
  });
  pruneVersions(store, oldest);
  pruneConnections(store, (connId) => forgetConnection(context, connId));
};

const pruneVersions = ({ state, changeListing }: Store, sealedTo: Micros): void => {
  for (const { symbol, before } of state.listings.values()) {
    if (before.length === 0) continue;
    changeListing(symbol, (listing) => {
      listing.before = filterNeeded(listing.version, listing.before, sealedTo);
    });
  }
};

const forgetConnection = (context: TaskContext, connId: string): void => {
  if (!context.state.mappers.has(connId)) return;
  context.store.changeCore(({ mappers }) => mappers.delete(connId));
  endBooks(context, connId);
};

/** Runs after a record: publishes its watermark and state round, when they are due. */
export function* publishTime(context: TaskContext): Interruptible {
  const { store, state, out } = context;
  const isSealed = state.minutesSealed >= findLastMinuteToSeal(context);
  if (isSealed && state.recordedAt - state.watermarkAt >= WATERMARK_EVERY) {
    store.changeCore((core) => {
      core.watermarkAt = core.recordedAt;
    });
    pushWatermark(context, computeWatermark(state));
  }
  if (state.recordedAt - state.stateRoundAt >= STATE_ROUND_EVERY) {
    store.changeCore((core) => {
      core.stateRoundAt = core.recordedAt;
    });
    out.stateRound = yield* listRoundEntries(state, out.offset);
  }
}

/** The newest reading of each listing and layer, connections, listings, capability, as of this record. */
function* listRoundEntries(state: TaskView, round: number): Interruptible<StateEntry[]> {
  const entries: StateEntry[] = [];
  const push = (kind: StateEntry['kind'], body: Partial<StateEntry>): void => {
    entries.push(makeStateEntry({ ...body, round, kind }));
  };
  if (state.capability) push('capability', { capability: state.capability });
  for (const connection of state.connections.values()) {
    for (const span of listSpans(connection)) push('connection', { span });
  }
  for (const { symbol, version, layers } of state.listings.values()) {
    push('listing', { symbol, listing: version });
    for (const { reading } of layers.values()) if (reading) push('reading', { symbol, reading });
    yield;
  }
  return entries;
}
