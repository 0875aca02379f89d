// Trades and liquidations: one row each on arrival, repeats of an id suppressed (design section 7, N-11).
import { EVENTS, type EventLayer } from '../../schemas/layers/index.ts';
import type { LiquidationRecord, Micros, TradeRecord } from '../../schemas/records.ts';
import { isCounted } from '../../schemas/windows.ts';
import type { Subject } from './accept.ts';
import { admitDelivery, isCovering, wasOpen } from './connections.ts';
import { isCollected, type TaskContext } from './context.ts';
import { pushLive, pushMd, pushRow } from './outputs.ts';
import { makeEventRow } from './rows.ts';
import { createSeenIds, forgetOldIds, hasSeenId, rememberId } from './seen-ids.ts';
import type { ConnectionView, EventState, ListingState } from './state.ts';

type EventRecord = TradeRecord | LiquidationRecord;
/** An event, and its position among the records of its message. */
type EventMessage = { readonly record: EventRecord; readonly index: number };
/** `isLate`: it was recorded too late to count (N-11). */
type Arrival = EventMessage & { readonly isLate: boolean };
/** The declarations of event layers by the name of one event. */
const KINDS = Object.fromEntries(EVENTS.map((kind) => [kind.record, kind])) as Readonly<
  Record<EventLayer, (typeof EVENTS)[number]>
>;

const openEvents = (
  context: TaskContext,
  { connection, listing }: Subject,
  layer: EventRecord['layer'],
): EventState => {
  let events = listing.events.get(layer);
  if (!events) {
    events = {
      seen: createSeenIds(),
      delivered: [],
      since: findCollectedSince(context, { connection, listing }, layer),
    };
    listing.events.set(layer, events);
  }
  return events;
};

/** Open instant of the first connection that could deliver them; when the log's start is gone, the start of the rest. */
const findCollectedSince = (
  { state }: TaskContext,
  { connection, listing }: Subject,
  layer: EventRecord['layer'],
): Micros => {
  const serving = [...state.connections.values()].filter(
    (c) => wasOpen(c) && isCovering(c, KINDS[layer].name, listing.symbol),
  );
  return Math.max(state.lostBefore, Math.min(...[connection, ...serving].map(({ openedAt }) => openedAt)));
};

/** Events of a layer are collected again: events of the meantime are ignored. */
export const restartEvents = (listing: ListingState, policy: string, at: Micros): void => {
  for (const [layer, events] of listing.events) if (KINDS[layer].name === policy) events.since = at;
};

/** Separates derived ids from the venue's. */
const toSeenId = (id: string): string => `#${id}`;
/** Ids of late events are separate from those of events that count. */
const toLateId = (id: string): string => `~${id}`;

/** Identifies an event without an id across connections: the n-th with this content on one is the n-th on the other. */
const formatContent = ({ venue_ts, values }: EventRecord): string =>
  [venue_ts, values.side, values.price, values.quantity].join(' ');

const makeNthKey = ({ seen }: EventState, connection: ConnectionView, content: string): string => {
  let nth = 1;
  while (hasSeenId(seen, `@${connection.conn_id} ${content} ${nth}`)) nth += 1;
  return `${content} ${nth}`;
};

/**
 * The venue's id, or one of our own; null for a repeat, and for an event before the collection started. Events of every connection are accepted; only an
 * event that the venue neither numbers nor stamps must be from the active connection. A late event is in no answer: one that counts does not repeat it.
 */
const identify = (context: TaskContext, subject: Subject, { record, index, isLate }: Arrival): string | null => {
  const { connection } = subject;
  const events = openEvents(context, subject, record.layer);
  if (record.venue_ts !== null && record.venue_ts < events.since) return null;
  // An empty text and an empty cell are the same in a file (AR-07), so an empty id counts as none.
  const id = record.values.id || null;
  const own = `${connection.conn_id}.${connection.lastSeq}.${index}`;
  forgetOldIds(events.seen, context.state.recordedAt);
  if (id === null && record.venue_ts === null)
    return admitDelivery(context.state, events, { connection, isLate }) ? own : null;
  const key = id === null ? makeNthKey(events, connection, formatContent(record)) : id;
  if (id === null) rememberId(events.seen, `@${connection.conn_id} ${key}`, context.state.recordedAt);
  if (hasSeenId(events.seen, toSeenId(key)) || (isLate && hasSeenId(events.seen, toLateId(key)))) return null;
  const seenId = isLate ? toLateId(key) : toSeenId(key);
  rememberId(events.seen, seenId, context.state.recordedAt);
  return id ?? own;
};

/** Applies one event. */
export const applyEvent = (context: TaskContext, subject: Subject, message: EventMessage): void => {
  const { record } = message;
  const kind = KINDS[record.layer];
  if (!isCollected(context, subject.listing, kind.name)) return;
  const late = !isCounted(context.state.recordedAt, record.received_at);
  const id = identify(context, subject, { ...message, isLate: late });
  if (id === null) return;
  const { listing, connection } = subject;
  const source = {
    venue: context.venue.id,
    symbol: listing.symbol,
    id,
    connId: connection.conn_id,
    recordedAt: context.state.recordedAt,
    srcOffset: context.out.offset,
    late,
  };
  const row = makeEventRow(kind.table, source, record);
  pushRow(context, row);
  pushLive(context, { kind: 'event', symbol: listing.symbol, row });
  // An id of our own is of the stored row: the record has what the venue sent.
  if (!late) pushMd(context, record, { connId: connection.conn_id });
};
