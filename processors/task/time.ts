// What happens because the log has moved: connections go out, buckets and windows end, watermarks and state rounds are due.
import { LAYERS, READING_LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Micros } from '../../schemas/records.ts';
import type { StateEntry } from '../../schemas/topics.ts';
import { SEALS_AFTER, windowEnd } from '../../schemas/windows.ts';
import { endBooks, publishPending } from './book-readings.ts';
import { dueAt } from './books.ts';
import { lastMinuteToSeal, sealMinutes } from './candles.ts';
import { expireConnections, pruneConnections } from './connections.ts';
import { pushProvisional, pushSealed, spanChanged, type TaskContext, watermarkOf } from './context.ts';
import { EVENT_GAP_WINDOW_MS, eventGapRows } from './event-gaps.ts';
import { pushWatermark } from './outputs.ts';
import { MINUTE } from './rollups.ts';
import type { TaskState } from './state.ts';
import { stillNeeded } from './versions.ts';
import { sealWindows, windowsToAnnounce } from './windows.ts';

const WATERMARK_EVERY: Micros = 250_000;
const STATE_ROUND_EVERY: Micros = 60_000_000;
/** After a long silence minutes are sealed over several records: each is a row a listing and price. */
const MINUTES_A_RECORD = 60;
const WINDOW_LENGTHS_MS = [...new Set(READING_LAYERS.map((l) => LAYERS[l].windowMs))].sort((a, b) => a - b);

const layersSampledEvery = (ms: number): readonly ReadingLayer[] =>
  READING_LAYERS.filter((name) => LAYERS[name].windowMs === ms);

/** At the first record: no window that ended before it is ours. */
export const beginLog = (state: TaskState): void => {
  state.startedAt = state.recordedAt;
  state.watermarkAt = state.recordedAt;
  state.stateRoundAt = state.recordedAt;
  state.minutesSealed = Math.floor(state.recordedAt / MINUTE) * MINUTE;
  for (const ms of WINDOW_LENGTHS_MS) {
    const before = windowEnd(state.recordedAt, ms) - ms * 1000;
    state.announced[ms] = before;
    state.sealed[ms] = before;
  }
};

/** Everything that is due before the record at `recordedAt` is applied. */
export const advanceTime = (context: TaskContext): void => {
  const { state, pending } = context;
  expireConnections(state, state.recordedAt, spanChanged(context));
  for (const book of pending) {
    if (dueAt(book) > state.recordedAt) break;
    publishPending(context, book);
  }
  const watermark = watermarkOf(state);
  for (const ms of WINDOW_LENGTHS_MS) announceTo(context, ms, lastEnd(watermark, ms));
  for (const ms of WINDOW_LENGTHS_MS) sealTo(context, ms, lastEnd(watermark - SEALS_AFTER, ms));
  sealCandles(context);
  prune(context);
};

/** End of the newest window of length `ms` that ended by `at`. */
const lastEnd = (at: Micros, ms: number): Micros => Math.floor(at / (ms * 1000)) * ms * 1000;

const announceTo = (context: TaskContext, ms: number, to: Micros): void => {
  const { state } = context;
  const announced = state.announced[ms] ?? 0;
  if (to <= announced) return;
  // Windows that are sealed in this same step need no announcement.
  const from = Math.max(announced, lastEnd(watermarkOf(state) - SEALS_AFTER, ms));
  state.announced[ms] = to;
  for (const listing of state.listings.values()) {
    for (const name of layersSampledEvery(ms)) {
      for (const window of windowsToAnnounce(state, listing, name, { from, at: to })) {
        pushProvisional(context, listing, name, window.at);
      }
    }
  }
};

const sealTo = (context: TaskContext, ms: number, to: Micros): void => {
  const { state } = context;
  const from = state.sealed[ms] ?? 0;
  if (to <= from) return;
  const sealing = { state, venue: context.venue.id, offset: context.out.offset };
  for (const listing of state.listings.values()) {
    context.beforeChange(`listing:${listing.symbol}`);
    for (const name of layersSampledEvery(ms)) {
      for (const row of sealWindows(sealing, listing, name, { from, at: to })) pushSealed(context, listing.symbol, row);
    }
    if (ms !== EVENT_GAP_WINDOW_MS) continue;
    for (const row of eventGapRows(context, listing, { from, at: to })) pushSealed(context, listing.symbol, row);
  }
  state.sealed[ms] = to;
};

const sealCandles = (context: TaskContext): void => {
  const { state } = context;
  const from = state.minutesSealed;
  const to = Math.min(lastMinuteToSeal(context), from + MINUTES_A_RECORD * MINUTE);
  if (to <= from) return;
  state.minutesSealed = to;
  for (const listing of state.listings.values()) {
    context.beforeChange(`listing:${listing.symbol}`);
    sealMinutes(context, listing, from, to);
  }
};

const prune = (context: TaskContext): void => {
  const { state } = context;
  const oldest = Math.min(state.minutesSealed, ...WINDOW_LENGTHS_MS.map((ms) => state.sealed[ms] ?? 0));
  if (oldest <= state.prunedTo) return;
  state.prunedTo = oldest;
  for (const end of state.collectorAlive) if (end <= oldest) state.collectorAlive.delete(end);
  pruneVersions(context, oldest);
  pruneConnections(state, (connId) => forgetConnection(context, connId));
};

const pruneVersions = ({ state, beforeChange }: TaskContext, sealedTo: Micros): void => {
  state.capabilitiesBefore = stillNeeded(state.capability, state.capabilitiesBefore, sealedTo);
  for (const listing of state.listings.values()) {
    if (listing.before.length === 0) continue;
    beforeChange(`listing:${listing.symbol}`);
    listing.before = stillNeeded(listing.version, listing.before, sealedTo);
  }
};

const forgetConnection = (context: TaskContext, connId: string): void => {
  context.state.mappers.delete(connId);
  endBooks(context, connId);
};

/** After a record: its watermark and state round, when they are due. */
export const publishTime = (context: TaskContext): void => {
  const { state, out } = context;
  const isSealed = state.minutesSealed >= lastMinuteToSeal(context);
  if (isSealed && state.recordedAt - state.watermarkAt >= WATERMARK_EVERY) {
    state.watermarkAt = state.recordedAt;
    pushWatermark(out, state.recordedAt, watermarkOf(state));
  }
  if (state.recordedAt - state.stateRoundAt >= STATE_ROUND_EVERY) {
    state.stateRoundAt = state.recordedAt;
    out.stateRound = stateRound(state, out.offset);
  }
};

const NO_BODY = { symbol: null, reading: null, span: null, listing: null, capability: null, marker: null };

/** The newest reading of each listing and layer, connections, listings, capability: as of this record. */
const stateRound = (state: TaskState, round: number): StateEntry[] => {
  const entries: StateEntry[] = [];
  const push = (kind: StateEntry['kind'], body: Partial<StateEntry>): void => {
    entries.push({ round, kind, ...NO_BODY, ...body });
  };
  if (state.capability) push('capability', { capability: state.capability });
  for (const connection of state.connections.values()) {
    for (const span of connection.ended) push('connection', { span });
    if (connection.span.to === null) push('connection', { span: connection.span });
  }
  for (const { symbol, version, layers } of state.listings.values()) {
    push('listing', { symbol, listing: version });
    for (const { reading } of layers.values()) if (reading) push('reading', { symbol, reading });
  }
  return entries;
};
