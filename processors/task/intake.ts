// Applies each kind of raw record to a task: connections, data, and by `reference.ts` what decides which layers are collected (design section 4).
import type { Interruptible } from '../../infra/runtime/process/steps.ts';
import { VenueError, VenueRefusal } from '../../ingest/venues/contract/listings.ts';
import { LostChange, type Mapped, UnreadablePart } from '../../ingest/venues/contract/mapping.ts';
import type { Micros, NormalisedRecord } from '../../schemas/records.ts';
import { describeError } from '../../schemas/thrown.ts';
import type { CapabilityBody, LostBody, OpenBody, RawMessage, TickBody } from '../../schemas/topics.ts';
import { isCounted, MOST_CLOCK_OFFSET, toWindowEnd } from '../../schemas/windows.ts';
import { applyReading, type Subject } from './accept.ts';
import { applyBook, endBooks, loseChange } from './book-readings.ts';
import { applyAnswer, applyCandle, canBeMinute, type PricedAnswer } from './candles.ts';
import {
  failToConnect,
  loseConnection,
  nameConnection,
  noteLate,
  noteUnreadable,
  openConnection,
} from './connections.ts';
import { createSpanChange, isOwnSymbol, pushDeadLetter, type TaskContext, toVenueMessage } from './context.ts';
import { applyEvent } from './events.ts';
import { pushConnectionGap } from './gap-records.ts';
import { deferRaw, formatRaw } from './raw-element.ts';
import { applyCapability, applyReference } from './reference.ts';
import type { ConnectionView } from './state.ts';
import type { Store } from './store.ts';
import { COLLECTOR_BUCKET_MS, noteCollector } from './windows.ts';

/**
 * Applies one raw record. An unreadable one becomes a dead letter with its code, and processing continues. Yields after each record of a message.
 * A message whose timestamp is too far ahead of the log is not read: no later reading would replace it until the log reaches that time (D-510).
 */
export function* applyMessage(context: TaskContext, message: RawMessage): Interruptible {
  const { state } = context;
  const aheadOf = message.received_at - state.recordedAt;
  const isStamped = message.kind === 'frame' || message.kind === 'response';
  if (aheadOf > MOST_CLOCK_OFFSET && isStamped) {
    const text = `received_at is ${Math.floor(aheadOf / 1_000)} ms ahead of the log`;
    return pushDeadLetter(context, { code: 'COLLECTOR_CLOCK', text, payload: message.payload });
  }
  const fromCollector = message.slot !== 'owner' && aheadOf <= MOST_CLOCK_OFFSET;
  if (fromCollector && isCounted(state.recordedAt, toWindowEnd(message.received_at, COLLECTOR_BUCKET_MS))) {
    noteCollector(context.store, message.received_at);
  }
  try {
    yield* dispatchMessage(context, message);
  } catch (error) {
    pushFault(context, message, error);
  }
}

const pushFault = (context: TaskContext, { payload }: RawMessage, error: unknown): void => {
  const code = error instanceof VenueError ? error.code : 'INTERNAL';
  pushDeadLetter(context, { code, text: describeError(error), payload });
};

function* dispatchMessage(context: TaskContext, message: RawMessage): Interruptible {
  switch (message.kind) {
    case 'tick':
      return applyTick(context, message);
    case 'capability':
      return applyCapability(context, parseBody<CapabilityBody>(message));
    case 'open':
      return applyOpen(context, message);
    case 'lost':
      return applyLost(context, message);
    case 'response':
      return yield* message.slot === 'reference' ? applyReference(context, message) : applyData(context, message);
    case 'frame':
      return yield* applyData(context, message);
    default: {
      const unknown: never = message.kind;
      throw new VenueError('VENUE_BAD_FRAME', `unknown raw kind "${String(unknown)}"`);
    }
  }
}

const parseBody = <T>(message: RawMessage): T => JSON.parse(Buffer.from(message.payload).toString('utf8')) as T;

const toNamed = (message: RawMessage, openedAt: Micros) => ({
  connId: message.conn_id,
  slot: message.slot,
  openedAt,
  receivedAt: message.received_at,
});

const applyTick = (context: TaskContext, message: RawMessage): void => {
  const changed = createSpanChange(context);
  for (const { conn_id, opened_at } of parseBody<TickBody>(message).connections) {
    const slot = context.state.connections.get(conn_id)?.slot ?? '';
    const receivedAt = message.received_at;
    nameConnection(context.store, { connId: conn_id, slot, openedAt: opened_at, receivedAt }, changed);
  }
};

const applyOpen = (context: TaskContext, message: RawMessage): void => {
  const { opened_at, covers } = parseBody<OpenBody>(message);
  openConnection(context.store, { ...toNamed(message, opened_at), covers }, createSpanChange(context));
};

const applyLost = (context: TaskContext, message: RawMessage): void => {
  const { store, state } = context;
  const body = parseBody<LostBody>(message);
  // A connection that never opened was never alive: it only explains why its slot stays down.
  if (!state.connections.has(message.conn_id)) return failToConnect(store, toNamed(message, body.lost_at), body);
  const changed = createSpanChange(context);
  nameConnection(store, toNamed(message, message.received_at), changed);
  endBooks(context, message.conn_id);
  store.changeConnection(message.conn_id, (connection) => {
    if (!connection.closed)
      pushConnectionGap(context, connection, { cause: body.cause, receivedAt: message.received_at });
    loseConnection(connection, body, changed);
  });
};

function* applyData(context: TaskContext, message: RawMessage): Interruptible {
  const { store, state } = context;
  nameConnection(store, toNamed(message, message.received_at), createSpanChange(context));
  if (!advanceSeq(store, message)) return;
  noteLate(store, message.conn_id, message.received_at);
  const records = mapMessage(context, message);
  const connection = state.connections.get(message.conn_id);
  if (!connection) return;
  const answer = message.kind === 'response' ? toAnswer(context, message, records) : null;
  let isFaulty = false;
  for (const [index, mapped] of records.entries()) {
    try {
      applyMapped(context, connection, { mapped, index, answer });
    } catch (error) {
      // A record that cannot be applied does not take the others with it: one dead letter has the message.
      if (!isFaulty) pushFault(context, message, error);
      isFaulty = true;
    }
    yield;
  }
  // A minute that cannot be read is not one that the answer lacks.
  if (answer && context.out.deadLetters.length === 0) applyCovered(context, connection, answer);
}

/** False for a repeat: records of a connection have ascending `seq`. */
const advanceSeq = ({ changeConnection }: Store, { conn_id: connId, seq }: RawMessage): boolean =>
  changeConnection(connId, (connection) => {
    if (seq <= connection.lastSeq) return false;
    connection.lastSeq = seq;
    return true;
  });

/** An answer, and the listings that it covers. */
type Answer = PricedAnswer & { readonly symbols: readonly string[] };

/** The minutes of a response; null when it is no answer of candles. */
const toAnswer = (context: TaskContext, message: RawMessage, records: readonly Mapped[]): Answer | null => {
  const { venue, listings } = context;
  const asked = venue.askedMinutes?.(toVenueMessage(context, message), { listings }) ?? null;
  const candles = records.flatMap(({ record }) =>
    record.layer === 'candle' && canBeMinute(context, record) ? record : [],
  );
  const priceType = asked?.price_type ?? candles[0]?.values.price_type;
  if (priceType === undefined) return null;
  const opens = [...new Set(candles.map(({ values }) => values.open_time))].sort((a, b) => a - b);
  const symbols = asked?.symbols ?? [...new Set(candles.map((record) => record.venue_symbol ?? ''))];
  return { asked, opens, priceType, receivedAt: message.received_at, symbols };
};

const applyCovered = (context: TaskContext, connection: ConnectionView, answer: Answer): void => {
  for (const symbol of answer.symbols) {
    if (!isOwnSymbol(context, symbol) || !context.state.listings.has(symbol)) continue;
    context.store.changeListing(symbol, (listing) => applyAnswer(context, { connection, listing }, answer));
  }
};

const mapMessage = (context: TaskContext, message: RawMessage): readonly Mapped[] => {
  const { store, venue, listings } = context;
  const { conn_id: connId, received_at: receivedAt } = message;
  try {
    return store.changeCore(({ mappers }) => {
      const mapper = mappers.get(connId) ?? {};
      mappers.set(connId, mapper);
      return venue.map(mapper, toVenueMessage(context, message), { listings });
    });
  } catch (error) {
    if (!(error instanceof VenueRefusal)) noteUnreadable(store, connId, receivedAt);
    if (error instanceof LostChange) loseChanges(context, message, error);
    if (!(error instanceof UnreadablePart)) throw error;
    pushDeadLetter(context, { code: error.code, text: error.message, payload: message.payload });
    return error.mapped;
  }
};

const loseChanges = (context: TaskContext, message: RawMessage, { symbols }: LostChange): void => {
  const { store, state } = context;
  const connection = state.connections.get(message.conn_id);
  if (!connection) return;
  for (const symbol of symbols) {
    if (!isOwnSymbol(context, symbol) || !state.listings.has(symbol)) continue;
    store.changeListing(symbol, (listing) => loseChange(context, { listing, connection }, message.received_at));
  }
};

/** One record of a message. `index`: its position; `answer`: null for a frame. */
type Part = { readonly mapped: Mapped; readonly index: number; readonly answer: Answer | null };

const applyMapped = (context: TaskContext, connection: ConnectionView, part: Part): void => {
  const { record } = part.mapped;
  const symbol = record.venue_symbol;
  if (symbol === null || !isOwnSymbol(context, symbol)) return;
  if (!context.state.listings.has(symbol)) return noteUnknown(context, record);
  context.store.changeListing(symbol, (listing) => applyRecord(context, { connection, listing }, part));
};

const applyRecord = (context: TaskContext, subject: Subject, { mapped, index, answer }: Part): void => {
  const { record, chain } = mapped;
  switch (record.layer) {
    case 'book':
      if (chain) applyBook(context, subject, { record, chain, raw: deferRaw(mapped.element) });
      return;
    case 'trade':
    case 'liquidation':
      return applyEvent(context, subject, { record, index });
    case 'candle':
      return applyCandle(context, subject, { record, answer });
    case 'listing':
    case 'gap':
      return;
    default:
      return applyReading(context, subject, { record, raw: formatRaw(mapped.element) });
  }
};

/** One dead letter a symbol until its listing is known: a venue may send it many times a second. */
const noteUnknown = (context: TaskContext, record: NormalisedRecord): void => {
  const symbol = record.venue_symbol ?? '';
  if (context.state.unknown.has(symbol)) return;
  context.store.changeCore(({ unknown }) => unknown.add(symbol));
  const payload = Buffer.from(JSON.stringify(record));
  pushDeadLetter(context, { code: 'VENUE_UNKNOWN_LISTING', text: `no listing "${symbol}"`, payload });
};
