// What each kind of raw record does to a task: connections, capabilities, reference answers, data (design section 4).

import {
  type ReferenceAnswer,
  VenueError,
  type VenueMessage,
  VenueRefusal,
} from '../../ingest/venues/contract/listings.ts';
import type { Mapped } from '../../ingest/venues/contract/mapping.ts';
import type { ListingRecord, Micros, NormalisedRecord, PriceType } from '../../schemas/records.ts';
import type { CapabilityBody, ListingVersion, LostBody, OpenBody, RawMessage, TickBody } from '../../schemas/topics.ts';
import { counts, windowEnd } from '../../schemas/windows.ts';
import { applyReading } from './accept.ts';
import { applyBook, endBooks, publishPending } from './book-readings.ts';
import { applyAnswer, applyCandle, type CandleAnswer, collectsPrice, forgetNewest } from './candles.ts';
import { failToConnect, loseConnection, nameConnection, openConnection } from './connections.ts';
import { isCollected, ownsSymbol, placeOf, pushDeadLetter, spanChanged, type TaskContext } from './context.ts';
import { applyEvent, EVENT_KINDS, restartEvents } from './events.ts';
import { pushLive, pushRow } from './outputs.ts';
import { capabilityRow, listingRow } from './rows.ts';
import { type Connection, createListing, type ListingState } from './state.ts';
import { delistedVersion, nextCapability, nextListingVersion } from './versions.ts';
import { COLLECTOR_BUCKET_MS, noteCollector } from './windows.ts';

const PRICE_TYPES = ['trade', 'mark', 'index'] as const satisfies readonly PriceType[];
/** A bigger piece of a message is not kept for `include_raw`. */
const RAW_LIMIT = 16_384;

/** Applies one raw record. What cannot be read becomes a dead letter with its code, and nothing stops. */
export const applyMessage = (context: TaskContext, message: RawMessage): void => {
  const { state } = context;
  const fromCollector = message.slot !== 'owner';
  if (fromCollector && counts(state.recordedAt, windowEnd(message.received_at, COLLECTOR_BUCKET_MS))) {
    noteCollector(state, message.received_at);
  }
  try {
    dispatch(context, message);
  } catch (error) {
    const code = error instanceof VenueError ? error.code : 'INTERNAL';
    const text = error instanceof Error ? error.message : String(error);
    pushDeadLetter(context, { code, text, payload: message.payload });
  }
};

const dispatch = (context: TaskContext, message: RawMessage): void => {
  switch (message.kind) {
    case 'tick':
      return applyTick(context, message);
    case 'capability':
      return applyCapability(context, message);
    case 'open':
      return applyOpen(context, message);
    case 'lost':
      return applyLost(context, message);
    case 'response':
      return message.slot === 'reference' ? applyReference(context, message) : applyData(context, message);
    case 'frame':
      return applyData(context, message);
    default: {
      const unknown: never = message.kind;
      throw new VenueError('VENUE_BAD_FRAME', `unknown raw kind "${String(unknown)}"`);
    }
  }
};

const bodyOf = <T>(message: RawMessage): T => JSON.parse(Buffer.from(message.payload).toString('utf8')) as T;

const named = (message: RawMessage, openedAt: Micros) => ({
  connId: message.conn_id,
  slot: message.slot,
  openedAt,
  receivedAt: message.received_at,
});

const applyTick = (context: TaskContext, message: RawMessage): void => {
  const changed = spanChanged(context);
  for (const { conn_id, opened_at } of bodyOf<TickBody>(message).connections) {
    const slot = context.state.connections.get(conn_id)?.slot ?? '';
    const receivedAt = message.received_at;
    nameConnection(context.state, { connId: conn_id, slot, openedAt: opened_at, receivedAt }, changed);
  }
};

const applyCapability = (context: TaskContext, message: RawMessage): void => {
  const { state, out } = context;
  const body = bodyOf<CapabilityBody>(message);
  const version = nextCapability(state.capability, context.venue.id, body, state.recordedAt);
  if (!version) return;
  for (const book of [...context.pending]) publishPending(context, book);
  if (state.capability) state.capabilitiesBefore.push(state.capability);
  const before = [...state.listings.values()].map((listing) => [listing, collectedNow(context, listing)] as const);
  state.capability = version;
  for (const [listing, collected] of before) applyTurn(context, listing, collected);
  out.capabilities.push(version);
  pushLive(out, state.recordedAt, 'capability', { capability: version });
  pushRow(out, capabilityRow(placeOf(context), version));
};

const applyOpen = (context: TaskContext, message: RawMessage): void => {
  const body = bodyOf<OpenBody>(message);
  openConnection(context.state, named(message, body.opened_at), body, spanChanged(context));
};

const applyLost = (context: TaskContext, message: RawMessage): void => {
  const { state } = context;
  const body = bodyOf<LostBody>(message);
  // A connection that never opened was never alive: it only tells why its slot stays down.
  if (!state.connections.has(message.conn_id)) return failToConnect(state, message.slot, body);
  const changed = spanChanged(context);
  const connection = nameConnection(state, named(message, message.received_at), changed);
  endBooks(context, message.conn_id);
  loseConnection(connection, body.lost_at, body.cause, changed);
};

const applyReference = (context: TaskContext, message: RawMessage): void => {
  const { state } = context;
  const answer = context.venue.mapReference(state.reference, toVenueMessage(context, message));
  if (!answer) return;
  const owned = answer.listings.filter((record) => ownsSymbol(context, record.venue_symbol));
  const rawOf = elementReader(answer);
  for (const record of owned) applyListing(context, record, rawOf);
  const present = new Set(owned.map((record) => record.venue_symbol));
  const before = state.scopes[answer.scope] ?? [];
  for (const symbol of before) if (!present.has(symbol)) delist(context, symbol, message.received_at);
  state.scopes[answer.scope] = [...present];
};

/** Reads elements of an answer; nothing is cut out of it until a version needs one. */
const elementReader = ({ elements }: ReferenceAnswer): ((venueSymbol: string) => string | null) => {
  let cut: ReadonlyMap<string, string> | null = null;
  return (venueSymbol) => {
    cut ??= elements();
    return kept(cut.get(venueSymbol));
  };
};

const applyListing = (
  context: TaskContext,
  record: ListingRecord,
  rawOf: (venueSymbol: string) => string | null,
): void => {
  const held = context.state.listings.get(record.venue_symbol)?.version ?? null;
  const version = nextListingVersion(held, { record, rawOf }, context.state.recordedAt);
  if (version) writeVersion(context, version);
};

const delist = (context: TaskContext, symbol: string, receivedAt: Micros): void => {
  const listing = context.state.listings.get(symbol);
  const version = listing ? delistedVersion(listing, receivedAt, context.state.recordedAt) : null;
  if (version) writeVersion(context, version);
};

const writeVersion = (context: TaskContext, version: ListingVersion): void => {
  const { state, out } = context;
  const symbol = version.venue_symbol;
  context.beforeChange(`listing:${symbol}`);
  const listing = state.listings.get(symbol);
  if (listing) {
    for (const book of [...context.pending].filter((pending) => pending.symbol === symbol))
      publishPending(context, book);
    listing.before.push(listing.version);
    const collected = collectedNow(context, listing);
    listing.version = version;
    applyTurn(context, listing, collected);
  } else state.listings.set(symbol, createListing(version));
  state.unknown.delete(symbol);
  context.listings.set(symbol, version.record);
  out.listings.push(version);
  pushLive(out, state.recordedAt, 'listing', { symbol, listing: version });
  pushRow(out, listingRow(placeOf(context), version));
};

/** Events, and minutes of prices, that are collected now. */
const collectedNow = (context: TaskContext, listing: ListingState): readonly string[] => [
  ...EVENT_KINDS.map(({ policy }) => policy).filter((policy) => isCollected(context, listing, policy)),
  ...PRICE_TYPES.filter((price) => collectsPrice(context.state, listing, price, context.state.recordedAt)),
];

/** What was not collected was not read: neither proofs nor repeats reach across that time. */
const applyTurn = (context: TaskContext, listing: ListingState, before: readonly string[]): void => {
  const after = collectedNow(context, listing);
  if (before.join() === after.join()) return;
  context.beforeChange(`listing:${listing.symbol}`);
  forgetNewest(listing);
  for (const begun of after.filter((name) => !before.includes(name))) {
    restartEvents(listing, begun, context.state.recordedAt);
  }
};

const applyData = (context: TaskContext, message: RawMessage): void => {
  const connection = nameConnection(context.state, named(message, message.received_at), spanChanged(context));
  if (message.seq <= connection.lastSeq) return;
  connection.lastSeq = message.seq;
  const told = mapMessage(context, connection, message);
  const answer = message.kind === 'response' ? toAnswer(context, message, told) : null;
  for (const [index, mapped] of told.entries()) applyMapped(context, connection, mapped, { index, answer });
  if (answer) applyCovered(context, connection, answer, message.received_at);
};

type Answer = CandleAnswer & { readonly priceType: PriceType; readonly symbols: readonly string[] };

/** What a response says about minutes; null when it is no answer of candles. */
const toAnswer = (context: TaskContext, message: RawMessage, told: readonly Mapped[]): Answer | null => {
  const { venue, listings } = context;
  const asked = venue.askedMinutes?.(toVenueMessage(context, message), { listings }) ?? null;
  const candles = told.flatMap(({ record }) => (record.layer === 'candle' ? record : []));
  const priceType = asked?.price_type ?? candles[0]?.values.price_type;
  if (priceType === undefined) return null;
  const opens = [...new Set(candles.map(({ values }) => values.open_time))].sort((a, b) => a - b);
  const symbols = asked?.symbols ?? [...new Set(candles.map((record) => record.venue_symbol ?? ''))];
  return { asked, opens, priceType, symbols };
};

const applyCovered = (context: TaskContext, connection: Connection, answer: Answer, receivedAt: Micros): void => {
  for (const symbol of answer.symbols) {
    const listing = ownsSymbol(context, symbol) ? context.state.listings.get(symbol) : undefined;
    if (!listing) continue;
    context.beforeChange(`listing:${symbol}`);
    applyAnswer(context, { connection, listing }, { ...answer, receivedAt });
  }
};

const mapMessage = (context: TaskContext, connection: Connection, message: RawMessage): readonly Mapped[] => {
  const { mappers } = context.state;
  let mapper = mappers.get(message.conn_id);
  if (!mapper) {
    mapper = {};
    mappers.set(message.conn_id, mapper);
  }
  try {
    return context.venue.map(mapper, toVenueMessage(context, message), { listings: context.listings });
  } catch (error) {
    if (!(error instanceof VenueRefusal)) connection.unreadable.push(message.received_at);
    throw error;
  }
};

const toVenueMessage = ({ venue }: TaskContext, message: RawMessage): VenueMessage => ({
  kind: message.kind === 'response' ? 'response' : 'frame',
  received_at: message.received_at,
  request: message.request,
  payload: venue.decode ? venue.decode(message.payload) : message.payload,
});

/** `index`: place among the records of its message; `answer`: null for a frame. */
type Origin = { readonly index: number; readonly answer: Answer | null };

const applyMapped = (context: TaskContext, connection: Connection, mapped: Mapped, { index, answer }: Origin): void => {
  const { record, chain } = mapped;
  const symbol = record.venue_symbol;
  if (symbol === null || !ownsSymbol(context, symbol)) return;
  const listing = context.state.listings.get(symbol);
  if (!listing) return noteUnknown(context, record);
  context.beforeChange(`listing:${symbol}`);
  const subject = { connection, listing };
  switch (record.layer) {
    case 'book':
      if (chain) applyBook(context, subject, { record, chain, raw: rawOf(mapped) });
      return;
    case 'trade':
    case 'liquidation':
      return applyEvent(context, subject, record, index);
    case 'candle':
      return applyCandle(context, subject, record, answer);
    default:
      return applyReading(context, subject, record, rawOf(mapped));
  }
};

/** One dead letter a symbol until its listing is known: a venue may speak of it many times a second. */
const noteUnknown = (context: TaskContext, record: NormalisedRecord): void => {
  const symbol = record.venue_symbol ?? '';
  if (context.state.unknown.has(symbol)) return;
  context.state.unknown.add(symbol);
  const payload = Buffer.from(JSON.stringify(record));
  pushDeadLetter(context, { code: 'VENUE_UNKNOWN_LISTING', text: `no listing "${symbol}"`, payload });
};

const rawOf = ({ element }: Mapped): string | null =>
  kept(typeof element === 'string' ? element : JSON.stringify(element));

const kept = (text: string | undefined): string | null => (text === undefined || text.length > RAW_LIMIT ? null : text);
