// Candles: which record represents a minute, which minutes are proved empty, and what is published before the seal (H-12, H-13).
import { MINUTE_SETTLES_MS, VenueError } from '../../ingest/venues/contract/listings.ts';
import type { CoveredMinutes } from '../../ingest/venues/contract/mapping.ts';
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import { findPricePolicy } from '../../schemas/policies.ts';
import type { CandleRecord, Micros, PriceType } from '../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion } from '../../schemas/topics.ts';
import { isCounted, MOST_CLOCK_OFFSET, toMinute } from '../../schemas/windows.ts';
import type { Subject } from './accept.ts';
import { noteUnreadable } from './connections.ts';
import { pushSealed, type TaskContext } from './context.ts';
import { findKnownMinute, isFinal, makePresentMinute } from './minutes.ts';
import { pushLive, pushMd } from './outputs.ts';
import { listKnownLonger } from './rollups.ts';
import { type CandleIdentity, type CandleRow, makeCandleRow } from './rows.ts';
import type { CandleState, CandleView, ConnectionView, ListingState, ListingView, Minute, TaskView } from './state.ts';
import { findCapabilityAt, findListingAt, findPartsWhere, type VersionTest } from './versions.ts';
import { isEndedBy } from './windows.ts';

const openCandles = (listing: ListingState, priceType: PriceType): CandleState => {
  let candles = listing.candles[priceType];
  if (!candles) {
    candles = { minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} };
    listing.candles[priceType] = candles;
  }
  return candles;
};

/** The minutes of one price of a listing. */
export type PriceSeries = {
  readonly listing: ListingState;
  readonly priceType: PriceType;
  readonly candles: CandleState;
};

export const openSeries = (listing: ListingState, priceType: PriceType): PriceSeries => ({
  listing,
  priceType,
  candles: openCandles(listing, priceType),
});

export const toCandleIdentity = ({ venue }: TaskContext, { listing, priceType }: PriceSeries): CandleIdentity => ({
  venue: venue.id,
  symbol: listing.symbol,
  priceType,
});

/** Whether minutes of a price are collected while these versions are valid. */
export const isPriceCollectedBy = (
  listing: ListingVersion | null,
  capability: CapabilityVersion | null,
  priceType: PriceType,
): boolean => listing !== null && findPricePolicy(capability, priceType, listing) === 'on';

/** Whether minutes of a price of the listing are collected now. */
export const isPriceCollected = ({ state }: TaskContext, listing: ListingView, priceType: PriceType): boolean =>
  isPriceCollectedBy(findListingAt(listing, state.recordedAt), findCapabilityAt(state, state.recordedAt), priceType);

/**
 * Whether a minute ended while it was not collected: later records of it neither represent it nor prove it empty. No version applied before the first
 * ones, and versions are deleted some time after the minutes to which they applied are sealed.
 */
const wasUncollected = (
  { state }: TaskContext,
  { listing, priceType }: Pick<PriceSeries, 'listing' | 'priceType'>,
  openTime: Micros,
): boolean => {
  const end = openTime + MICROS_PER_MINUTE;
  const [version, capability] = [findListingAt(listing, end), findCapabilityAt(state, end)];
  return version !== null && capability !== null && !isPriceCollectedBy(version, capability, priceType);
};

/** Whether no record can prove a minute empty: it was not collected, or the listing was not listed at its end (H-07). */
const isOutside = (context: TaskContext, series: PriceSeries, openTime: Micros): boolean =>
  wasUncollected(context, series, openTime) || isEndedBy(series.listing, openTime + MICROS_PER_MINUTE - 1);

/** After this time an answer contains every minute with trades. */
const SETTLES_AFTER: Micros = MINUTE_SETTLES_MS * 1_000;

/** An answer of candles: the requested minutes, if known, and the minutes of each listing in it, oldest first. */
type CandleAnswer = { readonly asked: CoveredMinutes | null; readonly opens: readonly Micros[] };

/** The last minute of an answer still runs: it is not recorded. */
const isRunning = ({ received_at, values }: CandleRecord, { opens }: CandleAnswer): boolean =>
  values.closed === null &&
  values.open_time === opens.at(-1) &&
  received_at < values.open_time + MICROS_PER_MINUTE + MOST_CLOCK_OFFSET;

/** Whether an answer covers a minute to its end: it contains a newer one, or arrived long enough after it. */
const isKnownWhole = ({ opens }: CandleAnswer, receivedAt: Micros, openTime: Micros): boolean =>
  openTime < (opens.at(-1) ?? 0) || receivedAt >= openTime + MICROS_PER_MINUTE + SETTLES_AFTER;

/**
 * Whether a candle can be a minute: it is a whole one, and begins at most one minute after now. Minutes are proved and kept up to the newest one, so one
 * bad stamp decades ahead would stop the task for good.
 */
export const canBeMinute = ({ state }: TaskContext, { received_at, values }: CandleRecord): boolean =>
  values.open_time % MICROS_PER_MINUTE === 0 &&
  values.open_time <= Math.max(received_at, state.recordedAt) + MICROS_PER_MINUTE;

/** Notes an impossible minute: any of its connection may be the one that it was meant for. */
const refuseMinute = (
  { store }: TaskContext,
  { conn_id: connId }: ConnectionView,
  record: CandleRecord,
): VenueError => {
  noteUnreadable(store, connId, record.received_at);
  return new VenueError('VENUE_BAD_FRAME', `a candle cannot begin at ${record.values.open_time}`);
};

/** A candle record, and the answer that contains it; null for a record of a stream. */
type CandleMessage = { readonly record: CandleRecord; readonly answer: CandleAnswer | null };

/** Applies a candle record of any connection: the last counting record of a minute in the log wins (H-13). Throws `VenueError` for no minute. */
export const applyCandle = (
  context: TaskContext,
  { connection, listing }: Subject,
  { record, answer }: CandleMessage,
): void => {
  const { state, out } = context;
  const { open_time: openTime, price_type: priceType } = record.values;
  if (!isPriceCollected(context, listing, priceType)) return;
  if (!canBeMinute(context, record)) throw refuseMinute(context, connection, record);
  if (record.values.closed === false) return pushRunning(context, { connection, listing }, record);
  const series = openSeries(listing, priceType);
  const { candles } = series;
  const late = !isCounted(state.recordedAt, openTime + MICROS_PER_MINUTE);
  const source = { connId: connection.conn_id, recordedAt: state.recordedAt, srcOffset: out.offset, late };
  const { values, venue_ts, received_at } = record;
  if (answer && isRunning(record, answer)) return;
  const proved = answer ? [] : proveBefore(context, { connection, series }, openTime);
  if (wasUncollected(context, series, openTime)) return announceMinutes(context, series, proved);
  const isKnown = answer ? isKnownWhole(answer, received_at, openTime) : false;
  const isWhole = values.closed === true || isKnown || isBehind(candles, connection, openTime);
  const minute: Minute = { values, venue_ts, received_at, final: isWhole, ...source };
  if (late) {
    const figures = joinFigures(values);
    if (candles.told[openTime] === figures || (!answer && isPast(record, connection))) return;
    candles.told[openTime] = figures;
    pushSealed(context, listing.symbol, makeCandleRow(toCandleIdentity(context, series), makePresentMinute(minute)));
    return announceMinutes(context, series, proved);
  }
  // A possibly partial minute never replaces the whole one.
  if (!isFinal(candles.minutes[openTime]) || isWhole) {
    candles.minutes[openTime] = minute;
    pushMd(context, record, { connId: connection.conn_id });
  }
  announceMinutes(context, series, [...proved, openTime]);
};

/**
 * A running minute is for other consumers only: no answer shows it. It is never published after the complete one, and never late. A running minute with
 * trades proves that the minute has trades, regardless of later records; one of trades without a volume may have them (D-995).
 */
const pushRunning = (context: TaskContext, { connection, listing }: Subject, record: CandleRecord): void => {
  const { open_time: openTime, price_type: priceType, volume } = record.values;
  const { minutes, proved } = openSeries(listing, priceType).candles;
  const isOver = isFinal(minutes[openTime]);
  if (priceType === 'trade' && volume !== '0') proved[openTime] ??= false;
  if (!isOver && isCounted(context.state.recordedAt, openTime + MICROS_PER_MINUTE))
    pushMd(context, record, { connId: connection.conn_id });
};

const PAST = 10 * MICROS_PER_MINUTE;

export const joinFigures = ({ open, high, low, close, volume, turnover, trades }: CandleRecord['values']): string =>
  [open, high, low, close, volume, turnover, trades].join('|');

/** A new subscription may start with hours of minutes: those that ended long before it was opened repeat the past. */
const isPast = ({ values }: CandleRecord, { openedAt }: ConnectionView): boolean =>
  values.open_time + MICROS_PER_MINUTE < openedAt - PAST;

/**
 * The instant since which every record of a price on the connection was read: its opening, or the end of the last stretch in which the price was not
 * collected. Earlier records prove nothing about later minutes.
 */
const readSince = (
  { state }: TaskContext,
  { listing, priceType }: Pick<PriceSeries, 'listing' | 'priceType'>,
  { span }: ConnectionView,
): Micros => {
  const isSo: VersionTest = (version, capability) => isPriceCollectedBy(version, capability, priceType);
  let since = state.recordedAt;
  for (const part of findPartsWhere({ state, listing, isSo }, { from: span.from, at: since }).toReversed()) {
    if (part.at !== since) break;
    since = part.from;
  }
  return since;
};

const formatSpan = (connection: ConnectionView): string => `${connection.conn_id}@${connection.span.from}`;

/** Whether a span (a key of `newest`) is the current one of a connection that is alive. */
export const isSpanAlive = ({ connections }: TaskView, key: string): boolean => {
  const connection = connections.get(key.slice(0, key.lastIndexOf('@')));
  return connection?.span.to === null && formatSpan(connection) === key;
};

/** A newer minute arrived on this connection earlier: this one was over when its answer was made. */
const isBehind = (candles: CandleView, connection: ConnectionView, openTime: Micros): boolean =>
  openTime < (candles.newest[formatSpan(connection)] ?? openTime);

/** Whether the connection brought a frame since an instant that could not be read: it may have been the record of any minute that had begun. */
const hasUnread = ({ unreadable }: ConnectionView, since: Micros): boolean => unreadable.some((at) => at > since);

/**
 * A newer minute on one unbroken connection makes the one before it final (venues without a flag) and proves that the
 * minutes between them had no trades (H-12), if it is recorded in time (N-11) and every frame since was read. Returns the open times of the affected minutes.
 */
const proveBefore = (
  context: TaskContext,
  { connection, series }: { readonly connection: ConnectionView; readonly series: PriceSeries },
  openTime: Micros,
): readonly Micros[] => {
  const { candles } = series;
  const { recordedAt } = context.state;
  const spanKey = formatSpan(connection);
  const before = candles.newest[spanKey];
  if (before === undefined || openTime > before) candles.newest[spanKey] = openTime;
  if (before === undefined || openTime <= before) return [];
  const known: Micros[] = [];
  const held = candles.minutes[before];
  // The record of another connection, or of this one before a break or an unread stretch, may be partial.
  const since = readSince(context, series, connection);
  const isOwn =
    held?.connId === connection.conn_id && held.received_at >= connection.span.from && held.recordedAt >= since;
  // A late record from before an unread stretch proves nothing about the minute in which that stretch ended.
  const isCut = (at: Micros): boolean => at < since && since > connection.span.from;
  const isTold = (at: Micros): boolean =>
    isCounted(recordedAt, at + MICROS_PER_MINUTE) && !isOutside(context, series, at);
  if (isOwn && !held.final && isTold(before)) {
    candles.minutes[before] = { ...held, final: true };
    known.push(before);
  }
  for (let at = before + MICROS_PER_MINUTE; at < openTime; at += MICROS_PER_MINUTE) {
    if (isCut(at) || !isTold(at) || hasUnread(connection, at) || candles.proved[at] === false) continue;
    candles.proved[at] = true;
    known.push(at);
  }
  return known;
};

/** The minutes an answer covers, by their open instants: all requested ones, unless the venue truncated it. */
const findCovered = ({ asked, opens }: CandleAnswer, receivedAt: Micros): { from: Micros; to: Micros } | null => {
  const [oldest, newest] = [opens.at(0), opens.at(-1)];
  const running = toMinute(receivedAt);
  const isNewest = asked !== null && asked.from === null && asked.to === null;
  const isCut = asked === null || opens.length >= asked.limit;
  const from = isCut ? oldest : (asked.from ?? oldest);
  const to = isCut && !isNewest ? newest : Math.min(asked?.to ?? running, running);
  return from === undefined || to === undefined ? null : { from, to };
};

/** An answer that is known to be of one price. */
export type PricedAnswer = CandleAnswer & { readonly priceType: PriceType; readonly receivedAt: Micros };

/**
 * An answer that covers a minute but does not contain it proves that it had no trades (H-12), unless the answer came too early, or a record of the
 * minute exists. On a connection without earlier minutes proofs continue from the last minute that its first answer leaves open, or that of receipt.
 */
export const applyAnswer = (context: TaskContext, { connection, listing }: Subject, answer: PricedAnswer): void => {
  const { state } = context;
  const { priceType, receivedAt, opens } = answer;
  const covered = findCovered(answer, receivedAt);
  if (covered === null || !isPriceCollected(context, listing, priceType)) return;
  const series = openSeries(listing, priceType);
  const { candles } = series;
  const proved: Micros[] = [];
  const from = Math.max(covered.from, state.minutesSealed);
  let open = from - MICROS_PER_MINUTE;
  for (let at = from; at <= covered.to; at += MICROS_PER_MINUTE) {
    if (opens.includes(at) || !isKnownWhole(answer, receivedAt, at)) open = at;
    else if (
      candles.minutes[at] === undefined &&
      candles.proved[at] !== false &&
      isCounted(state.recordedAt, at + MICROS_PER_MINUTE) &&
      !isOutside(context, series, at)
    )
      proved.push(at);
  }
  for (const at of proved) candles.proved[at] = true;
  const spanKey = formatSpan(connection);
  const isUnbroken = covered.to + MICROS_PER_MINUTE >= readSince(context, series, connection);
  const before = candles.newest[spanKey];
  const begun = isUnbroken ? open : toMinute(receivedAt);
  candles.newest[spanKey] = before === undefined ? begun : Math.max(before, opens.at(-1) ?? 0);
  announceMinutes(context, series, proved);
};

/** Messages received while a price was not collected, or the listing was not listed, are not read: later ones prove nothing about that time. */
export const forgetNewest = ({ candles }: ListingState): void => {
  for (const { newest } of Object.values(candles)) for (const span of Object.keys(newest)) delete newest[span];
};

/** Publishes minutes on `live`, and longer candles with them, before they are sealed (H-16k). */
const announceMinutes = (context: TaskContext, series: PriceSeries, opens: readonly Micros[]): void => {
  const { state } = context;
  const { listing, candles } = series;
  const identity = toCandleIdentity(context, series);
  for (const openTime of opens) {
    const minute = openTime < state.minutesSealed ? null : findKnownMinute(candles, openTime);
    if (minute === null) continue;
    const known = (at: Micros): CandleRow | null => findKnownMinute(candles, at);
    for (const candle of [minute, ...listKnownLonger({ candles, openTime, known }, state)]) {
      pushLive(context, { kind: 'provisional', symbol: listing.symbol, row: makeCandleRow(identity, candle) });
    }
  }
};
