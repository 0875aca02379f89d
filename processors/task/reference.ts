// Applies what decides which layers are collected: reference answers and capabilities. What they turn off or on has no past to continue.
import type { Interruptible } from '../../infra/runtime/process/steps.ts';
import { isEmptyAnswer, mayExist, type ReferenceAnswer } from '../../ingest/venues/contract/listings.ts';
import { PRICE_TYPES } from '../../schemas/layers/candle.ts';
import { EVENTS, type ReadingLayer } from '../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import type { CapabilityBody, ListingVersion, RawMessage } from '../../schemas/topics.ts';
import { publishPending } from './book-readings.ts';
import { forgetNewest, isPriceCollected } from './candles.ts';
import {
  isCollected,
  isOwnSymbol,
  openLayer,
  pushDeadLetter,
  type TaskContext,
  toTaskPlace,
  toVenueMessage,
} from './context.ts';
import { restartEvents } from './events.ts';
import { pushLive, pushRow } from './outputs.ts';
import { keepRaw } from './raw-element.ts';
import { makeCapabilityRow, makeListingRow } from './rows.ts';
import { createListing, type ListingView } from './state.ts';
import { hasEnded, isSameCapability, makeDelistedVersion, makeNextVersion } from './versions.ts';
import { breakOff } from './windows.ts';

/** Applies a `capability` record. */
export const applyCapability = (context: TaskContext, body: CapabilityBody): void => {
  const { store, state, out } = context;
  if (isSameCapability(state.capability, body)) return;
  const { name, layers } = body;
  const version = { venue: context.venue.id, name, written_at: state.recordedAt, layers };
  for (const key of [...context.pending]) publishPending(context, key);
  const before = [...state.listings.values()].map((held) => [held.symbol, listCollectedNow(context, held)] as const);
  store.changeCore((core) => {
    if (core.capability) core.capabilitiesBefore.push(core.capability);
    core.capability = version;
  });
  for (const [symbol, collected] of before) applyTurn(context, symbol, collected);
  out.capabilities.push(version);
  pushLive(context, { kind: 'capability', capability: version });
  pushRow(context, makeCapabilityRow(toTaskPlace(context), version));
};

/**
 * Applies an answer about listings: new versions, and the ends of those that it lacks. One that was received before the last one of its scope is ignored,
 * also one that listings are only completed with: it comes from another collector, which is behind, and states what no longer is.
 */
export function* applyReference(context: TaskContext, message: RawMessage): Interruptible {
  const { store, state } = context;
  const venueMessage = toVenueMessage(context, message);
  const reference = { ...state.reference };
  const answer = context.venue.mapReference(reference, venueMessage);
  const subject = answer?.scope ?? message.request ?? '';
  // Clocks of collectors differ by seconds: one stamped ahead of the log must not hide those that follow.
  const answeredAt = Math.min(message.received_at, state.recordedAt);
  if (answeredAt < (state.answeredAt[subject] ?? 0)) return;
  store.changeCore((core) => {
    core.reference = reference;
    core.answeredAt[subject] = answeredAt;
  });
  if (!answer) return;
  const owned = answer.listings.filter((record) => isOwnSymbol(context, record.venue_symbol));
  const readRaw = createElementReader(answer);
  for (const record of owned) {
    applyListing(context, record, readRaw);
    yield;
  }
  const present = new Set(owned.map((record) => record.venue_symbol));
  const before = state.scopes[answer.scope] ?? [];
  for (const symbol of before) {
    if (mayExist(answer, symbol)) present.add(symbol);
    if (!present.has(symbol)) delistSymbol(context, symbol, message.received_at);
  }
  store.changeCore(({ scopes }) => {
    scopes[answer.scope] = [...present];
  });
  const isThere = (symbol: string): boolean => {
    const held = state.listings.get(symbol);
    return held === undefined || !hasEnded(held.version, message.received_at);
  };
  const fault = findFault(answer, before.filter(isThere).length);
  if (fault !== null) pushDeadLetter(context, { ...fault, payload: message.payload });
}

/** The fault of a reference answer that lacks known listings; null when there is none. */
const findFault = (answer: ReferenceAnswer, known: number): { readonly code: string; readonly text: string } | null => {
  if (isEmptyAnswer(answer) && known > 0)
    return { code: 'VENUE_BAD_FRAME', text: `an answer without listings, where ${known} were known` };
  const { unreadable = [] } = answer;
  const [first] = unreadable;
  if (first === undefined) return null;
  return {
    code: first.code,
    text: `${unreadable.length} listings cannot be read, first ${first.symbol}: ${first.text}`,
  };
};

/** Reads elements of an answer; they are cut out of it only when a version needs one. */
const createElementReader = ({ elements }: ReferenceAnswer): ((venueSymbol: string) => string | null) => {
  let cut: ReadonlyMap<string, string> | null = null;
  return (venueSymbol) => {
    cut ??= elements();
    return keepRaw(cut.get(venueSymbol));
  };
};

const applyListing = (
  context: TaskContext,
  record: ListingRecord,
  readElement: (venueSymbol: string) => string | null,
): void => {
  const held = context.state.listings.get(record.venue_symbol)?.version ?? null;
  const version = makeNextVersion(held, { record, readElement }, context.state.recordedAt);
  if (version) writeVersion(context, version);
};

const delistSymbol = (context: TaskContext, symbol: string, receivedAt: Micros): void => {
  const listing = context.state.listings.get(symbol);
  const version = listing ? makeDelistedVersion(listing, receivedAt, context.state.recordedAt) : null;
  if (version) writeVersion(context, version);
};

const writeVersion = (context: TaskContext, version: ListingVersion): void => {
  const { store, state, out } = context;
  const symbol = version.venue_symbol;
  const held = state.listings.get(symbol);
  if (held) {
    const collected = listCollectedNow(context, held);
    for (const key of [...context.pending].filter((pending) => state.books.get(pending)?.symbol === symbol))
      publishPending(context, key);
    const isListedAgain = hasEnded(held.version, state.recordedAt) && !hasEnded(version, state.recordedAt);
    store.changeListing(symbol, (listing) => {
      listing.before.push(listing.version);
      listing.version = version;
      if (isListedAgain) forgetNewest(listing);
    });
    applyTurn(context, symbol, collected);
  } else store.addListing(createListing(version));
  store.changeCore(({ unknown }) => unknown.delete(symbol));
  context.listings.set(symbol, version.record);
  out.listings.push(version);
  pushLive(context, { kind: 'listing', symbol, listing: version });
  pushRow(context, makeListingRow(toTaskPlace(context), version));
};

/** Events, and minutes of prices, that are currently collected. */
const listCollectedNow = (context: TaskContext, listing: ListingView): readonly string[] => [
  ...EVENTS.map(({ name }) => name).filter((name) => isCollected(context, listing, name)),
  ...PRICE_TYPES.filter((price) => isPriceCollected(context, listing, price)),
];

/** Layers that are not collected now, and have been read. */
const listBroken = (context: TaskContext, listing: ListingView): readonly ReadingLayer[] =>
  READING_LAYERS.filter((name) => listing.layers.has(name) && !isCollected(context, listing, name));

/** Nothing is read while a layer is not collected: neither proofs nor repeats reach across that time. */
const applyTurn = (context: TaskContext, symbol: string, before: readonly string[]): void => {
  const { store, state } = context;
  const held = state.listings.get(symbol);
  const after = held ? listCollectedNow(context, held) : [];
  const broken = held ? listBroken(context, held) : [];
  if (broken.length > 0)
    store.changeListing(symbol, (listing) => {
      for (const name of broken) {
        const isOff = findListingPolicy(state.capability, name, listing.version) === 'off';
        breakOff(openLayer(listing, name), { at: state.recordedAt, isOff });
      }
    });
  if (before.join() === after.join()) return;
  store.changeListing(symbol, (listing) => {
    forgetNewest(listing);
    for (const begun of after.filter((name) => !before.includes(name))) restartEvents(listing, begun, state.recordedAt);
  });
};
