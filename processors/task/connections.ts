// Connections of a task: opened, named, lost; their alive spans, and which is active for a listing and layer (design section 5, F-02).
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LostBody, OpenBody, Span } from '../../schemas/topics.ts';
import type { Connection, ConnectionView, TaskView } from './state.ts';
import type { Store } from './store.ts';

/** A connection is out when the log is more than this past the last record that names it (F-02). */
const OUT_AFTER: Micros = 3_000_000;
/** Ended spans are kept until every window that they can explain is sealed (100 s after a 60 s window, and slack). */
const KEEP_ENDED: Micros = 300_000_000;

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

/** Marks every connection out whose last naming record is more than 3 s older than the last applied one. */
export const expireConnections = ({ state, changeConnection }: Store, changed: SpanChange): void => {
  for (const held of state.connections.values()) {
    if (isOut(held) || state.recordedAt <= held.namedAt + OUT_AFTER) continue;
    changeConnection(held.conn_id, (connection) =>
      endSpan(connection, { at: connection.namedAt + OUT_AFTER, cause: 'collector_down' }, changed),
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

/**
 * Notes that a record names a connection. One that was out because of silence starts a new alive span at the record's
 * `received_at`; a closed one stays closed. Unknown connections (their `open` precedes the log's start) are created.
 */
export const nameConnection = (store: Store, named: Named, changed: SpanChange): void => {
  const { state } = store;
  if (!state.connections.has(named.connId)) {
    const span: Span = { conn_id: named.connId, slot: named.slot, from: named.openedAt, to: null, cause: null };
    store.addConnection(createConnection(span, state.recordedAt));
    changed(span);
    return;
  }
  store.changeConnection(named.connId, (connection) => {
    connection.namedAt = state.recordedAt;
    if (!isOut(connection) || connection.closed) return;
    connection.span = { ...connection.span, from: named.receivedAt, to: null, cause: null };
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

/** Notes on the slot's newest connection that its successor could not be opened, and why. */
export const failToConnect = ({ state, changeConnection }: Store, slot: string, body: LostBody): void => {
  let newest: ConnectionView | null = null;
  for (const connection of state.connections.values()) {
    if (connection.slot === slot && (newest === null || connection.openedAt > newest.openedAt)) newest = connection;
  }
  if (newest === null) return;
  changeConnection(newest.conn_id, ({ failures }) => void failures.push({ at: body.lost_at, cause: body.cause }));
};

/** A target of deliveries: a layer, or events. */
type Delivered = { delivered: string[] };

/**
 * The active connection of a listing and layer: among those alive, the last opened one that has delivered an accepted
 * reading; if all are out, the last opened one.
 */
const findActiveConnection = (state: TaskView, layer: Delivered): ConnectionView | null => {
  let best: ConnectionView | null = null;
  for (const connId of layer.delivered) {
    const connection = state.connections.get(connId);
    if (!connection) continue;
    if (best === null || ranksAbove(connection, best)) best = connection;
  }
  return best;
};

const ranksAbove = (a: ConnectionView, b: ConnectionView): boolean => {
  if (isOut(a) !== isOut(b)) return !isOut(a);
  return a.openedAt > b.openedAt || (a.openedAt === b.openedAt && a.conn_id > b.conn_id);
};

/** Whether readings of `connection` may replace the held one: it has now delivered, and no other ranks higher. */
export const countsForLayer = (state: TaskView, layer: Delivered, connection: ConnectionView): boolean => {
  if (!layer.delivered.includes(connection.conn_id)) {
    layer.delivered = layer.delivered.filter((id) => state.connections.has(id));
    layer.delivered.push(connection.conn_id);
  }
  return findActiveConnection(state, layer)?.conn_id === connection.conn_id;
};

export const coversListing = (connection: ConnectionView, layer: string, symbol: string): boolean =>
  connection.covers.some((c) => c.layers.includes(layer) && (c.symbols === null || c.symbols.includes(symbol)));

/** Whether a connection covers a layer: an answer may contain more than the layer it is polled for. A connection without covers is accepted. */
export const isAbout = (connection: ConnectionView, layer: string, symbol: string): boolean =>
  connection.covers.length === 0 || coversListing(connection, layer, symbol);

/** A listing's layer over the window `(from, to]`. */
export type WindowQuery = {
  readonly layer: string;
  readonly symbol: string;
  readonly from: Micros;
  readonly to: Micros;
};

/** Whether at every moment of the window one of the spans was alive. */
const isCovered = (spans: readonly Span[], { from, to }: WindowQuery): boolean => {
  let reached = from;
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    if (span.from > reached) return false;
    if (span.to === null || span.to > to) return true;
    reached = Math.max(reached, span.to);
  }
  return false;
};

/**
 * Why nothing could be received in a window: the code of the last loss, or failed attempt to connect, of a connection that
 * serves the listing and layer. Null when such connections were alive throughout.
 */
export const lossCause = (state: TaskView, query: WindowQuery): GapCause | null => {
  const serving = [...state.connections.values()].filter((c) => coversListing(c, query.layer, query.symbol));
  if (isCovered(serving.flatMap(listSpans), query)) return null;
  let last: Loss | null = null;
  for (const { ended, failures } of serving) {
    const losses = ended.map((span) => ({ at: span.to ?? 0, cause: span.cause ?? ('unknown' as const) }));
    for (const loss of [...losses, ...failures])
      if (loss.at <= query.to && (last === null || loss.at >= last.at)) last = loss;
  }
  return last?.cause ?? null;
};

/** True when a connection of the listing and layer had an unreadable frame within `(from, to]`. */
export const hadUnreadable = (state: TaskView, query: WindowQuery): boolean => {
  for (const connection of state.connections.values()) {
    if (!coversListing(connection, query.layer, query.symbol)) continue;
    if (connection.unreadable.some((at) => at > query.from && at <= query.to)) return true;
  }
  return false;
};

const listSpans = (connection: ConnectionView): readonly Span[] =>
  connection.span.to === null ? [...connection.ended, connection.span] : connection.ended;

/**
 * Deletes what no unsealed window can need: old ended spans and closed connections, except the newest ended one of
 * a slot, which explains a slot that stays down. `forgotten` is called for each deleted connection.
 */
export const pruneConnections = (store: Store, forgotten: (connId: string) => void): void => {
  const { state } = store;
  const horizon = state.recordedAt - KEEP_ENDED;
  const newest = new Map<string, string>();
  for (const connection of state.connections.values()) {
    const held = state.connections.get(newest.get(connection.slot) ?? '');
    if (!held || held.openedAt < connection.openedAt) newest.set(connection.slot, connection.conn_id);
  }
  for (const { conn_id: connId, slot } of state.connections.values()) {
    const isOld = store.changeConnection(connId, (connection) => {
      connection.ended = connection.ended.filter((s, i, all) => i === all.length - 1 || (s.to ?? 0) > horizon);
      connection.failures = connection.failures.filter((f, i, all) => i === all.length - 1 || f.at > horizon);
      connection.unreadable = connection.unreadable.filter((at) => at > horizon);
      return isOut(connection) && (connection.span.to ?? 0) < horizon;
    });
    if (!isOld || newest.get(slot) === connId) continue;
    store.deleteConnection(connId);
    forgotten(connId);
  }
};
