// Accepts the readings of a listing's layer: from the active connection, in time, above the held one (design section 5, N-11).
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { isCounted, toWindowEnd } from '../../schemas/windows.ts';
import { admitDelivery, isAbout } from './connections.ts';
import { isCollected, openLayer, pushProvisional, pushSealed, type TaskContext } from './context.ts';
import { dropCutOffParts, noteHalves } from './mark-halves.ts';
import { pushLive, pushMd } from './outputs.ts';
import { measure, type ReadingRecord, type ReadingSource, toReading } from './readings.ts';
import { makeReadingRow } from './rows.ts';
import type { Candidate, ConnectionView, LayerState, ListingState } from './state.ts';
import { isAbove, noteValidity, offerToWindow } from './windows.ts';

/** A listing that is being changed, and the connection of the change. */
export type Subject = { readonly connection: ConnectionView; readonly listing: ListingState };

/** The message of a reading, and the place of the reading in its layer. */
type Origin = Pick<ReadingSource, 'layer' | 'rev' | 'receivedAt' | 'recordedAt' | 'raw'>;

export const makeSource = (
  { state }: TaskContext,
  { connection, listing }: Subject,
  { layer, rev, receivedAt, recordedAt, raw }: Origin,
): ReadingSource => ({
  layer,
  rev,
  receivedAt,
  recordedAt,
  connId: connection.conn_id,
  capability: state.capability,
  listing: listing.version.record,
  raw,
});

/** Whether a reading was recorded after the time in which it counts for its window (N-11). */
export const isLateReading = (layer: ReadingLayer, receivedAt: Micros, recordedAt: Micros): boolean =>
  !isCounted(recordedAt, toWindowEnd(receivedAt, LAYERS[layer].windowMs));

/** A record of a layer in which every message is a value. */
type ReadingMessage = { readonly record: ReadingRecord; readonly raw: string | null };

/** Applies such a record. */
export const applyReading = (context: TaskContext, subject: Subject, { record, raw }: ReadingMessage): void => {
  const { state, out } = context;
  const { connection, listing } = subject;
  if (!isCollected(context, listing, record.layer)) return;
  if (!isAbout(connection, record.layer, listing.symbol)) return;
  const layer = openLayer(listing, record.layer);
  const isLate = isLateReading(record.layer, record.received_at, state.recordedAt);
  if (!admitDelivery(state, layer, { connection, isLate })) return;
  const isJoined = record.layer === 'mark' && context.venue.sendsMarksApart === true && !isLate;
  if (isJoined) dropCutOffParts(state, layer, record);
  const measured = measure(record, listing.version.record, { layer, venue: context.venue, isLate });
  const provenance = { connId: connection.conn_id };
  if (isJoined && noteHalves(layer, record, connection)) return pushMd(context, record, provenance);
  const source = makeSource(context, subject, {
    layer: record.layer,
    rev: layer.rev + 1,
    receivedAt: record.received_at,
    recordedAt: state.recordedAt,
    raw,
  });
  const replaced = acceptReading(context, listing, { reading: toReading(source, measured, null), offset: out.offset });
  if (replaced) pushMd(context, record, provenance);
};

const isAboveHeld = ({ reading, offset }: LayerState, candidate: Candidate): boolean =>
  reading === null || isAbove(candidate, { reading, offset });

/**
 * Takes a reading of the active connection: a late one becomes only a late row; others replace the held reading when they are
 * above it, and represent their window when they are its last. Returns whether the held reading
 * was replaced.
 */
export const acceptReading = (context: TaskContext, listing: ListingState, candidate: Candidate): boolean => {
  const { reading, offset } = candidate;
  const { layer: name } = reading;
  const layer = openLayer(listing, name);
  const { windowMs } = LAYERS[name];
  if (isLateReading(name, reading.received_at, reading.recorded_at)) {
    const end = toWindowEnd(reading.received_at, windowMs);
    const identity = { venue: context.venue.id, symbol: listing.symbol, layer: name };
    const span = { from: end - windowMs * 1000, at: end, srcOffset: offset, late: true };
    pushSealed(context, listing.symbol, makeReadingRow(identity, span, reading));
    return false;
  }
  const replaces = isAboveHeld(layer, candidate);
  if (replaces) {
    layer.rev += 1;
    layer.reading = reading;
    delete layer.wasOff;
    layer.offset = offset;
    noteValidity(layer, reading);
    pushLive(context, { kind: 'reading', symbol: listing.symbol, reading });
  }
  const changed = offerToWindow(layer, candidate);
  if (changed !== null && changed <= (context.state.announced[windowMs] ?? 0)) {
    pushProvisional(context, listing, { layer: name, from: changed - windowMs * 1000, at: changed });
  }
  return replaces;
};
