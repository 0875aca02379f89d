// Accepts the readings of a listing's layer: from the active connection, in time, above the held one (design section 5, N-11).
import { LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Reading } from '../../schemas/topics.ts';
import { counts, windowEnd } from '../../schemas/windows.ts';
import { countsForLayer, isAbout } from './connections.ts';
import { isCollected, openLayer, pushProvisional, pushRecord, pushSealed, type TaskContext } from './context.ts';
import { pushLive } from './outputs.ts';
import { measure, type ReadingRecord, type ReadingSource, toReading } from './readings.ts';
import { readingRow } from './rows.ts';
import type { ConnectionView, LayerState, ListingState } from './state.ts';
import { noteValidity, offerToWindow } from './windows.ts';

/** The stamps of the message that makes a reading. */
type Stamps = { readonly receivedAt: Micros; readonly recordedAt: Micros; readonly offset: number };

/** A listing that is being changed, and the connection of the change. */
export type Subject = { readonly connection: ConnectionView; readonly listing: ListingState };

export const makeSource = (
  context: TaskContext,
  { connection, listing }: Subject,
  layer: ReadingLayer,
  stamps: Stamps & { readonly raw: string | null },
): Omit<ReadingSource, 'rev'> => ({
  layer,
  receivedAt: stamps.receivedAt,
  recordedAt: stamps.recordedAt,
  connId: connection.conn_id,
  capability: context.state.capability,
  listing: listing.version.record,
  raw: stamps.raw,
});

/** Applies a record of a layer in which every message is a value. */
export const applyReading = (
  context: TaskContext,
  subject: Subject,
  record: ReadingRecord,
  raw: string | null,
): void => {
  const name = record.layer;
  const { connection, listing } = subject;
  if (!isCollected(context, listing, name)) return;
  if (!isAbout(connection, name, listing.symbol)) return;
  const layer = openLayer(listing, name);
  if (!countsForLayer(context.state, layer, connection)) return;
  const measured = measure(record, listing.version.record, layer);
  const stamps = {
    receivedAt: record.received_at,
    recordedAt: context.state.recordedAt,
    offset: context.out.offset,
    raw,
  };
  const source = makeSource(context, subject, name, stamps);
  const replaced = acceptReading(context, listing, stamps, layer, (rev) =>
    toReading({ ...source, rev }, measured, null),
  );
  if (replaced) pushRecord(context, record, connection);
};

const isAboveHeld = (layer: LayerState, { receivedAt, offset }: Stamps): boolean => {
  const held = layer.reading;
  if (held === null || receivedAt > held.received_at) return true;
  return receivedAt === held.received_at && offset >= layer.offset;
};

/**
 * Takes a reading of the active connection: a late one becomes only a late row; others replace the held reading when they are
 * above it, and represent their window when they are its last. Returns whether the held reading
 * was replaced.
 */
export const acceptReading = (
  context: TaskContext,
  listing: ListingState,
  stamps: Stamps,
  layer: LayerState,
  make: (rev: number) => Reading,
): boolean => {
  const reading = make(layer.rev + 1);
  const { windowMs } = LAYERS[reading.layer];
  const end = windowEnd(stamps.receivedAt, windowMs);
  if (!counts(stamps.recordedAt, end)) {
    const identity = { venue: context.venue.id, symbol: listing.symbol, layer: reading.layer };
    const span = { from: end - windowMs * 1000, at: end, srcOffset: stamps.offset, late: true };
    pushSealed(context, listing.symbol, readingRow(identity, span, reading));
    return false;
  }
  const replaces = isAboveHeld(layer, stamps);
  if (replaces) {
    layer.rev += 1;
    layer.reading = reading;
    layer.offset = stamps.offset;
    noteValidity(layer, reading);
    pushLive(context.out, context.state.recordedAt, 'reading', { symbol: listing.symbol, reading });
  }
  const changed = offerToWindow(layer, reading, stamps.offset);
  if (changed !== null && changed <= (context.state.announced[windowMs] ?? 0)) {
    pushProvisional(context, listing, reading.layer, changed);
  }
  return replaces;
};
