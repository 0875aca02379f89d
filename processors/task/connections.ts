// Connections of a task: opened, named, lost; their alive spans, and which is active for a listing and layer (design section 5, F-02).
import { isDeepStrictEqual } from 'node:util';
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { Micros } from '../../schemas/records.ts';
import { FOLLOWED, type LostBody, type OpenBody, type Span } from '../../schemas/topics.ts';
import { COUNTS_WITHIN, isCounted, toWindowEnd } from '../../schemas/windows.ts';
import type { Connection, ConnectionView, Stretch, TaskView } from './state.ts';
import type { Store } from './store.ts';

/** A connection is out when the log is more than this past the last record that names it (F-02). */
const OUT_AFTER: Micros = 3_000_000;
/** Ended spans are kept until every window that they can explain is sealed (100 s after a 60 s window, and slack). */
const KEEP_ENDED: Micros = 300_000_000;

/** Silent connections of a slot, not closed in the log, that are kept however long they are out: of two collectors each may return (`drop-oldest`). */
const KEEP_SILENT = 4;

/** Called with each alive span that starts or ends. */
type SpanChange = (span: Span) => void;

const isOut = (connection: ConnectionView): boolean => connection.span.to !== null;

type Loss = { readonly at: Micros; readonly cause: GapCause };

/** Ends the current span and calls `changed`. */
const endSpan = (connection: Connection, { at, cause }: Loss, changed: SpanChange): void => {
  connection.span = { ...connection.span, to: at, cause };
  connection.ended.push(connection.span);
  changed(connection.span);
};

/** End of a span that nothing names any more. It may have been opened by a record that is stamped ahead of the log. */
const findLastAlive = ({ namedAt, span }: ConnectionView): Micros => Math.max(namedAt + OUT_AFTER, span.from);

/** Marks every connection out whose last naming record is more than 3 s older than the last applied one. */
export const expireConnections = ({ state, changeConnection }: Store, changed: SpanChange): void => {
  for (const held of state.connections.values()) {
    if (isOut(held) || state.recordedAt <= held.namedAt + OUT_AFTER) continue;
    changeConnection(held.conn_id, (connection) =>
      endSpan(connection, { at: findLastAlive(connection), cause: 'collector_down' }, changed),
    );
  }
};

type Named = { readonly connId: string; readonly slot: string; readonly openedAt: Micros; readonly receivedAt: Micros };

export const createConnection = (span: Span, namedAt: Micros): Connection => ({
  conn_id: span.conn_id,
  slot: span.slot,
  openedAt: span.from,
  namedAt,
  lastSeq: 0,
  covers: [],
  span,
  ended: [],
  closed: false,
  failures: [],
  unreadable: [],
});

/** What a connection covers that is kept for its last span alone (`pruneConnections`): there may be many, and covers name thousands of listings. */
const NOTHING: Connection['covers'] = [{ layers: [], symbols: [] }];

/** Whether only the last span of the connection is kept. */
const isKeptAlone = (connection: ConnectionView | undefined): boolean =>
  connection === undefined ||
  (connection.covers.length > 0 && connection.covers.every(({ layers }) => layers.length === 0));

/**
 * Notes that a record names a connection. One that was out because of silence starts a new alive span at the record's
 * `received_at`; a closed one stays closed. Unknown connections (their `open` precedes the log's start) are created.
 */
export const nameConnection = (store: Store, named: Named, changed: SpanChange): void => {
  const { state } = store;
  if (!state.connections.has(named.connId)) {
    const span: Span = { conn_id: named.connId, slot: named.slot, from: named.openedAt, to: null, cause: null };
    store.addConnection({ ...createConnection(span, state.recordedAt), receivedAt: named.receivedAt });
    changed(span);
    return;
  }
  store.changeConnection(named.connId, (connection) => {
    connection.namedAt = state.recordedAt;
    connection.receivedAt = Math.max(connection.receivedAt ?? 0, named.receivedAt);
    if (!isOut(connection) || connection.closed) return;
    if (isKeptAlone(connection)) connection.covers = [];
    const { span, slot } = connection;
    connection.span = { ...span, slot, from: named.receivedAt, to: null, cause: null };
    changed(connection.span);
  });
};

/** Applies an `open` record. */
export const openConnection = (store: Store, opened: Named & Pick<OpenBody, 'covers'>, changed: SpanChange): void => {
  nameConnection(store, opened, changed);
  store.changeConnection(opened.connId, (connection) => {
    connection.covers = opened.covers;
  });
};

/** Applies a `lost` record: the connection is closed permanently at `lost_at`. */
export const loseConnection = (connection: Connection, { lost_at, cause }: LostBody, changed: SpanChange): void => {
  connection.closed = true;
  if (!isOut(connection)) endSpan(connection, { at: Math.max(lost_at, connection.span.from), cause }, changed);
};

/** Whether `a` is the one that explains a slot that is down: of those ended the last to end. One that is alive explains more than any. */
const isEndedAfter = (a: ConnectionView, b: ConnectionView): boolean => {
  const [aEnd, bEnd] = [a.span.to ?? Number.POSITIVE_INFINITY, b.span.to ?? Number.POSITIVE_INFINITY];
  return aEnd > bEnd || (aEnd === bEnd && a.openedAt > b.openedAt);
};

/**
 * Records why a connection could not be opened, on the connection of its slot with the same covers that ended last or is alive. If there is none,
 * because it would have been the first, or the first with these listings, the attempt is recorded as a connection that was never alive.
 */
export const failToConnect = (
  store: Store,
  { connId, slot }: Named,
  { lost_at: at, cause, covers }: LostBody,
): void => {
  let last: ConnectionView | null = null;
  for (const connection of store.state.connections.values()) {
    const isLike = connection.slot === slot && (covers === undefined || isDeepStrictEqual(connection.covers, covers));
    if (isLike && (last === null || isEndedAfter(connection, last))) last = connection;
  }
  if (last === null) {
    if (covers === undefined) return;
    const span: Span = { conn_id: connId, slot, from: at, to: at, cause };
    store.addConnection({ ...createConnection(span, store.state.recordedAt), covers, closed: true });
  }
  store.changeConnection(last?.conn_id ?? connId, ({ failures }) => void failures.push({ at, cause }));
};

/** False for an attempt that failed before its slot had a connection. */
export const wasOpen = ({ span, ended }: ConnectionView): boolean => span.to === null || ended.length > 0;

/** A target of deliveries: a layer, or events. */
type Delivered = { delivered: string[] };

/** Whether `a` precedes `b`: a connection that is alive precedes one that is out, then the one opened last precedes (F-02). */
const isRankedAbove = (a: ConnectionView, b: ConnectionView): boolean => {
  if (isOut(a) !== isOut(b)) return !isOut(a);
  return a.openedAt > b.openedAt || (a.openedAt === b.openedAt && a.conn_id > b.conn_id);
};

type Delivery = { readonly connection: ConnectionView; readonly isLate: boolean };

/**
 * Notes that `connection` has delivered, and returns whether its reading may replace the held one: of the connections that have delivered an accepted
 * reading, and this one, none ranks higher. A late reading is no delivery, because it changes no other answer (N-11).
 */
export const admitDelivery = (state: TaskView, layer: Delivered, { connection, isLate }: Delivery): boolean => {
  const { conn_id: connId } = connection;
  if (!isLate && !layer.delivered.includes(connId))
    layer.delivered = [...layer.delivered.filter((id) => !isKeptAlone(state.connections.get(id))), connId];
  return !layer.delivered.some((id) => {
    const other = state.connections.get(id);
    return other !== undefined && isRankedAbove(other, connection);
  });
};

export const isCovering = (connection: ConnectionView, layer: string, symbol: string): boolean =>
  connection.covers.some((c) => c.layers.includes(layer) && (c.symbols === null || c.symbols.includes(symbol)));

/** Whether a connection covers a layer: an answer may contain more than the layer it is polled for. A connection without covers is accepted. */
export const isAbout = (connection: ConnectionView, layer: string, symbol: string): boolean =>
  connection.covers.length === 0 || isCovering(connection, layer, symbol);

/** A listing's layer over the window `(from, at]`. */
export type WindowQuery = {
  readonly layer: string;
  readonly symbol: string;
  readonly from: Micros;
  readonly at: Micros;
};

/** Whether at every instant of the window one of the spans was alive. */
const isCovered = (spans: readonly Span[], { from, at }: WindowQuery): boolean => {
  let reached = from;
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    if (span.from > reached) return false;
    if (span.to === null || span.to > at) return true;
    reached = Math.max(reached, span.to);
  }
  return false;
};

/**
 * Why nothing could be received in a window: the code of the last loss, or failed attempt to connect, of a connection that
 * serves the listing and layer. Null when such connections were alive throughout.
 */
export const findLossCause = (state: TaskView, query: WindowQuery): GapCause | null => {
  const serving = [...state.connections.values()].filter((c) => isCovering(c, query.layer, query.symbol));
  if (isCovered(serving.flatMap(listSpans), query)) return null;
  let last: Loss | null = null;
  for (const { ended, failures } of serving) {
    const losses = ended.map((span) => ({ at: span.to ?? 0, cause: span.cause ?? ('unknown' as const) }));
    for (const loss of [...losses, ...failures])
      if (loss.at <= query.at && (last === null || loss.at >= last.at)) last = loss;
  }
  return last?.cause ?? null;
};

/** Windows and minutes, which unreadable frames explain, begin and end on it. */
const UNREADABLE_BUCKET_MS = 10_000;

/** Records an unreadable frame. One per bucket is enough: a venue that changes its messages sends thousands a second, too many for a checkpoint. */
export const noteUnreadable = ({ changeConnection }: Store, connId: string, receivedAt: Micros): void =>
  changeConnection(connId, ({ unreadable }) => {
    const last = unreadable.at(-1);
    const isNoted =
      last !== undefined && toWindowEnd(last, UNREADABLE_BUCKET_MS) === toWindowEnd(receivedAt, UNREADABLE_BUCKET_MS);
    if (!isNoted) unreadable.push(receivedAt);
  });

/** Late stretches of a connection that are kept separately: messages between two of them count. */
const MOST_LATE = 64;

/**
 * Notes a message of a connection that was recorded too late for an event in it to count (N-11). Messages are recorded in the order of receipt, so nothing
 * that was received after it counts either, up to 100 s before its record.
 */
export const noteLate = ({ state, changeConnection }: Store, connId: string, receivedAt: Micros): void => {
  if (isCounted(state.recordedAt, receivedAt)) return;
  changeConnection(connId, (connection) => {
    const { late = [] } = connection;
    const last = late.at(-1);
    const to = state.recordedAt - COUNTS_WITHIN;
    const isJoined = last !== undefined && (receivedAt <= last.to || late.length >= MOST_LATE);
    connection.late = isJoined ? [...late.slice(0, -1), { ...last, to }] : [...late, { from: receivedAt, to }];
  });
};

/**
 * These stretches, and one from the newest receipt of a connection that is behind: messages that it received later are recorded later, if ever. A closed
 * connection has no more messages, and within three seconds of a record the span itself is alive.
 */
const listLate = ({ recordedAt }: TaskView, connection: ConnectionView): readonly Stretch[] => {
  const { late = [], receivedAt: from = connection.namedAt, namedAt, closed } = connection;
  const to = recordedAt - COUNTS_WITHIN;
  return closed || namedAt - from <= OUT_AFTER || from + 1 >= to ? late : [...late, { from: from + 1, to }];
};

/** The alive spans of a connection without the stretches of which nothing was recorded in time. */
export const listTimelySpans = (state: TaskView, connection: ConnectionView): readonly Pick<Span, 'from' | 'to'>[] => {
  const late = listLate(state, connection);
  return listSpans(connection).flatMap((span) => {
    const end = span.to ?? Number.POSITIVE_INFINITY;
    const cuts = late.filter(({ from, to }) => to > span.from && from < end);
    const starts = [span.from, ...cuts.map(({ to }) => to)];
    return starts
      .map((from, i) => ({ from, to: cuts[i]?.from ?? span.to }))
      .filter(({ from, to }) => from < (to ?? Number.POSITIVE_INFINITY));
  });
};

/** Whether a connection of the listing and layer had such a stretch within the window. */
export const wasLate = (state: TaskView, { layer, symbol, from, at }: WindowQuery): boolean =>
  [...state.connections.values()].some(
    (connection) =>
      isCovering(connection, layer, symbol) &&
      listLate(state, connection).some((late) => late.to > from && late.from < at),
  );

/** True when a connection of the listing and layer had an unreadable frame within the window. */
export const hadUnreadable = (state: TaskView, query: WindowQuery): boolean => {
  for (const connection of state.connections.values()) {
    if (!isCovering(connection, query.layer, query.symbol)) continue;
    if (connection.unreadable.some((at) => at > query.from && at <= query.at)) return true;
  }
  return false;
};

/** The ended alive spans of a connection, and the current one while it is alive. */
export const listSpans = ({ ended, span }: ConnectionView): readonly Span[] =>
  span.to === null ? [...ended, span] : ended;

/** The elements after an instant, and the last one before them: it explains all windows up to the next. */
const keepSince = <T>(elements: readonly T[], instantOf: (element: T) => Micros, since: Micros): T[] =>
  elements.filter((_, i) => {
    const next = elements[i + 1];
    return next === undefined || instantOf(next) > since;
  });

/**
 * Connections that are kept however old: of each slot the last one to end, which explains why the slot stays down, or was until a successor
 * opened a short time ago; the last that was open, since which events are collected; and silent ones, whose collector may return with what follows
 * their last record.
 */
const listKept = ({ connections }: TaskView, horizon: Micros): ReadonlySet<string> => {
  const kept = new Set<string>();
  const bySlot = Map.groupBy(connections.values(), ({ slot }) => slot);
  for (const ofSlot of bySlot.values()) {
    const lastFirst = ofSlot.sort((a, b) => (isEndedAfter(a, b) ? -1 : 1));
    const old = lastFirst.filter(({ openedAt }) => openedAt <= horizon);
    const silent = lastFirst.filter((connection) => isOut(connection) && !connection.closed);
    for (const connection of [old[0], old.find(wasOpen), ...silent.slice(0, KEEP_SILENT)])
      if (connection !== undefined) kept.add(connection.conn_id);
  }
  return kept;
};

/** Receipts of the newest readings, by connection. */
type Receipts = ReadonlyMap<string, readonly Micros[]>;

const listReceipts = ({ listings }: TaskView): Receipts => {
  const receipts = new Map<string, Micros[]>();
  for (const { layers } of listings.values())
    for (const { reading } of layers.values()) {
      if (!reading) continue;
      const known = receipts.get(reading.conn_id);
      if (known === undefined) receipts.set(reading.conn_id, [reading.received_at]);
      else known.push(reading.received_at);
    }
  return receipts;
};

/** Ended spans that a window may need, and those that delivered a newest reading: it was valid until the end of its span (F-01, D-642). */
const keepSpans = (ended: readonly Span[], since: Micros, receipts: () => readonly Micros[]): Span[] =>
  ended.filter((span, i) => {
    const next = ended[i + 1];
    if (next === undefined || (next.to ?? 0) > since) return true;
    return receipts().some((at) => at >= span.from && at < next.from);
  });

/** Marks the spans that ended before a deleted span of their slot: it is no longer known what followed them. */
const noteFollowed = ({ state, changeConnection }: Store, gone: readonly Span[]): void => {
  if (gone.length === 0) return;
  const latest = new Map<string, Micros>();
  for (const { slot, to } of gone) latest.set(slot, Math.max(to ?? 0, latest.get(slot) ?? 0));
  for (const { conn_id: connId, slot, ended } of state.connections.values()) {
    const until = latest.get(slot) ?? 0;
    const isBefore = (span: Span): boolean => span.to !== null && span.to < until && span.slot !== FOLLOWED;
    const mark = (span: Span): Span => (isBefore(span) ? { ...span, slot: FOLLOWED } : span);
    if (!ended.some(isBefore)) continue;
    changeConnection(connId, (connection) => {
      connection.ended = connection.ended.map(mark);
      connection.span = mark(connection.span);
    });
  }
};

const keepAlone = (connection: Connection): void => {
  connection.covers = NOTHING;
};

/**
 * Deletes what no unsealed window can need: old ended spans, and old connections except those to keep. The spans of a connection that has a newest reading
 * are kept, because a starting node learns the ends of connections only from here. `forgotten` is called for each connection that can deliver nothing more.
 */
export const pruneConnections = (store: Store, forgotten: (connId: string) => void): void => {
  const { state } = store;
  const horizon = state.recordedAt - KEEP_ENDED;
  const kept = listKept(state, horizon);
  let known: Receipts | null = null;
  const receiptsOf = (connId: string): readonly Micros[] => {
    known ??= listReceipts(state);
    return known.get(connId) ?? [];
  };
  const gone: Span[] = [];
  for (const { conn_id: connId } of state.connections.values()) {
    const isOld = store.changeConnection(connId, (connection) => {
      const spans = keepSpans(connection.ended, horizon, () => receiptsOf(connId));
      gone.push(...connection.ended.filter((span) => !spans.includes(span)));
      connection.ended = spans;
      connection.failures = keepSince(connection.failures, ({ at }) => at, horizon);
      connection.unreadable = connection.unreadable.filter((at) => at > horizon);
      if (connection.late) connection.late = connection.late.filter(({ to }) => to > horizon);
      const explainedTo = connection.failures.at(-1)?.at ?? 0;
      return isOut(connection) && Math.max(connection.span.to ?? 0, explainedTo) < horizon;
    });
    if (!isOld || kept.has(connId)) continue;
    if (receiptsOf(connId).length > 0) store.changeConnection(connId, keepAlone);
    else {
      gone.push(...(state.connections.get(connId)?.ended ?? []));
      store.deleteConnection(connId);
    }
    forgotten(connId);
  }
  noteFollowed(store, gone);
};
