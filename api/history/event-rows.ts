// Liquidations and the gaps between them, as they are stored and as memory holds them; the object of a trade or liquidation (H-15).
import type { Cell } from '../../infra/runtime/questdb/reader.ts';
import { joinFigure } from '../../schemas/decimals.ts';
import { STATE_LAG } from '../../schemas/freshness.ts';
import { formatInstant, formatInstantMicros, formatInstantOrNull, MICROS_PER_DAY } from '../../schemas/instants.ts';
import { makeFigure } from '../../schemas/json.ts';
import { liquidation } from '../../schemas/layers/liquidation.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { ListingVersion, Row } from '../../schemas/topics.ts';
import { convertQuantity, type UnitsMode } from '../../schemas/units.ts';
import { EVENT_GAP_WINDOW_MS, findLastEnd, SEALS_AFTER } from '../../schemas/windows.ts';
import { type Selected, toListingId } from '../live/listing-book.ts';
import { findCountedUnit, makeConversion, toFigureOrNull, toOptional, toValueRule } from '../live/members.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Span } from './past.ts';
import type { Row as RowObject } from './row-groups.ts';
import { type HistoryReader, listPlaceholders, type Sources } from './store.ts';
import { parseTexts, toNumberOrNull } from './stored-row.ts';

const TABLE = liquidation.table;
export type Side = 'long' | 'short';

export type StoredEvent = {
  readonly listing: string;
  readonly venueTs: Micros | null;
  readonly receivedAt: Micros;
  readonly recordedAt: Micros;
  readonly side: string;
  readonly price: Digits;
  /** Null of a trade. */
  readonly priceKind: string | null;
  readonly quantity: Digits;
  readonly quantityUnit: string | null;
  readonly id: string;
};
/** A stretch `[from, to)` in which nothing could be received. */
export type StoredGap = { readonly from: Micros; readonly to: Micros; readonly cause: string };

const SELECT =
  'listing, received_at::long received_at, venue_ts::long venue_ts, recorded_at::long recorded_at,' +
  ' side, price, price_kind, quantity, quantity_unit, id, digits';

const fromCells = (line: readonly Cell[]): StoredEvent => {
  const [listing, receivedAt, venueTs, recordedAt, side, price, priceKind, quantity, quantityUnit, id, digits] = line;
  const exact = parseTexts(digits);
  return {
    listing: listing ?? '',
    venueTs: toNumberOrNull(venueTs),
    receivedAt: Number(receivedAt),
    recordedAt: Number(recordedAt),
    side: side ?? '',
    price: joinFigure(price ?? null, exact.price) ?? '0',
    priceKind: priceKind ?? null,
    quantity: joinFigure(quantity ?? null, exact.quantity) ?? '0',
    quantityUnit: quantityUnit ?? null,
    id: id ?? '',
  };
};

/** A row as a task published it. */
export const fromRow = ({ at, texts, instants, figures }: Row): StoredEvent => ({
  listing: texts.listing ?? '',
  venueTs: instants.venue_ts ?? null,
  receivedAt: at,
  recordedAt: instants.recorded_at ?? at,
  side: texts.side ?? '',
  price: figures.price ?? '0',
  priceKind: texts.price_kind ?? null,
  quantity: figures.quantity ?? '0',
  quantityUnit: texts.quantity_unit ?? null,
  id: texts.id ?? '',
});

/** A trade or liquidation under the version of its record, converted at its own price (H-15, H-16e). */
export const makeEventObject = (event: StoredEvent, version: ListingVersion, units: UnitsMode): RowObject => {
  const { price, quantity: digits } = event;
  const rule = version.record.values;
  const counted = { digits, unit: findCountedUnit({ quantity_unit: event.quantityUnit }, version), mark: price };
  const quantity = convertQuantity({ ...counted, mode: units, listing: rule });
  const value = convertQuantity({ ...counted, mode: 'quote', listing: toValueRule(rule) });
  const reasons = {
    ...(quantity === null ? { quantity: 'unit_unknown' } : {}),
    ...(value === null ? { value: 'unit_unknown' } : {}),
  };
  return {
    venue_ts: formatInstantOrNull(event.venueTs),
    received_at: formatInstant(event.receivedAt),
    side: event.side,
    price: makeFigure(price),
    price_kind: event.priceKind ?? undefined,
    quantity: toFigureOrNull(quantity),
    value: toFigureOrNull(value),
    id: event.id,
    conversion: units === 'published' ? undefined : makeConversion(version, null),
    null_reasons: toOptional(reasons),
  };
};

const isEvent = ({ texts, flags }: Row): boolean => texts.status === 'present' && flags.late !== true;

/** Events with `from <= received_at < to` (DQL-33g). */
type EventQuestion = Span & { readonly listings: readonly Selected[]; readonly side: Side | null };

const listRecentEvents = (live: LiveMemory, { listings, side, from, to }: EventQuestion): StoredEvent[] =>
  listings.flatMap(({ listing }) =>
    [...live.recentRows(listing.venue, TABLE, listing.venueSymbol)]
      .map(({ row }) => row)
      .filter((row) => isEvent(row) && row.at >= from && row.at < to && (side === null || row.texts.side === side))
      .map(fromRow),
  );

const readEvents = async (
  reader: HistoryReader,
  { listings, side, from, to }: EventQuestion,
  limit: number | null,
): Promise<StoredEvent[]> => {
  if (from >= to) return [];
  const ids = listings.map(toListingId);
  const text =
    `SELECT ${SELECT} FROM ${reader.table(TABLE)} WHERE received_at >= $1 AND received_at < $2 AND status = 'present' AND NOT late` +
    ` AND listing IN (${listPlaceholders(ids, 2)})${side === null ? '' : ` AND side = '${side}'`}` +
    ` ORDER BY received_at, listing, id${limit === null ? '' : ` LIMIT ${limit}`}`;
  const values = [formatInstantMicros(from), formatInstantMicros(to), ...ids];
  const lines = await reader.query({ text, values, among: ids });
  return lines.map(fromCells);
};

const toIdentity = ({ listing, receivedAt, id }: StoredEvent): string => `${receivedAt}|${listing}|${id}`;

/**
 * Events of the listings, from the store and from memory, each once and in no order: at least the earliest `atLeast`, with all that came at the
 * instant of the last of them; later ones may be among them.
 */
export const gatherEvents = async (
  { reader, live }: Sources,
  question: EventQuestion,
  atLeast: number,
): Promise<readonly StoredEvent[]> => {
  const events = new Map(listRecentEvents(live, question).map((one) => [toIdentity(one), one] as const));
  const stored = await readEvents(reader, question, atLeast);
  for (const one of stored) events.set(toIdentity(one), one);
  // The statement may have cut among those of one instant, where its order is not ours.
  const last = stored.length < atLeast ? undefined : stored.at(-1);
  if (last === undefined) return [...events.values()];
  const ties = { ...question, from: last.receivedAt, to: last.receivedAt + 1 };
  for (const one of await readEvents(reader, ties, null)) events.set(toIdentity(one), one);
  return [...events.values()];
};

const toGap = ({ at, texts, instants }: Row): StoredGap => ({
  from: instants.from_at ?? at,
  to: at,
  cause: texts.gap_cause ?? 'unknown',
});

/** Neighbours with one cause are one gap, however many rows they were written as; gaps are cut to the span. */
export const joinGaps = (gaps: readonly StoredGap[], { from, to }: Span): StoredGap[] => {
  const joined: StoredGap[] = [];
  for (const gap of [...gaps].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = joined.at(-1);
    if (last !== undefined && last.cause === gap.cause && last.to >= gap.from) {
      joined[joined.length - 1] = { ...last, to: Math.max(last.to, gap.to) };
    } else joined.push(gap);
  }
  return joined
    .filter((gap) => gap.from < to && gap.to > from)
    .map((gap) => ({ ...gap, from: Math.max(gap.from, from), to: Math.min(gap.to, to) }));
};

/** The parts of a gap outside of the spans. */
export const leaveOut = (gap: StoredGap, spans: readonly Span[]): readonly StoredGap[] => {
  let parts: readonly StoredGap[] = [gap];
  for (const { from, to } of spans) {
    parts = parts
      .flatMap((part) => [
        { ...part, to: Math.min(part.to, from) },
        { ...part, from: Math.max(part.from, to) },
      ])
      .filter((part) => part.from < part.to);
  }
  return parts;
};

type Listing = Selected['listing'];

/** End of the newest window of the listing's task that is sealed; what the store shows is, however far behind this copy is. */
const findSealedTo = (live: LiveMemory, listing: Listing): Micros => {
  const { watermark = null, history = null } = live.partitionOf(listing) ?? {};
  return findLastEnd(Math.max(watermark ?? 0, history ?? 0) - SEALS_AFTER, EVENT_GAP_WINDOW_MS);
};

/** The span that the listing's task has not reached yet: its content is unknown (H-15, H-16k). A settled answer has none. */
const findUnknownSpans = (live: LiveMemory, listing: Listing, { from, to }: Span): StoredGap[] => {
  const { watermark = null, history = null } = live.partitionOf(listing) ?? {};
  // The rows that the store shows are sealed, however far behind this copy is.
  const knownFrom = Math.max(from, watermark ?? from, (history ?? 0) - SEALS_AFTER);
  return to - knownFrom > STATE_LAG ? [{ from: knownFrom, to, cause: 'unknown' }] : [];
};

/** Gaps of a listing: of windows that are sealed, and of those that are not. */
type ListingGaps = { readonly sealed: StoredGap[]; readonly open: StoredGap[] };

/** The content of memory at one instant: the rows, and the instant up to which they are sealed. */
const listRecentGaps = (live: LiveMemory, listing: Listing, span: Span): ListingGaps => {
  const { venue, venueSymbol } = listing;
  const missing = [...live.recentRows(venue, TABLE, venueSymbol)].filter(({ row }) => row.texts.status === 'missing');
  const told = missing.filter(({ sealed }) => !sealed).map(({ row }) => toGap(row));
  const beforeSeal = { from: 0, to: findSealedTo(live, listing) };
  return {
    sealed: missing.filter(({ sealed }) => sealed).map(({ row }) => toGap(row)),
    open: [...told.flatMap((gap) => leaveOut(gap, [beforeSeal])), ...findUnknownSpans(live, listing, span)],
  };
};

/** The seal of a window replaces what was published for it before. */
const joinSeals = ({ sealed, open }: ListingGaps, span: Span): StoredGap[] =>
  joinGaps([...sealed, ...open.flatMap((gap) => leaveOut(gap, sealed))], span);

/** Gaps of each listing that reach into the window, cut to it. */
export const gatherGaps = async (
  { reader, live }: Sources,
  listings: readonly Selected[],
  span: Span,
): Promise<ReadonlyMap<string, readonly StoredGap[]>> => {
  const { from, to } = span;
  const gaps = new Map(listings.map((one) => [toListingId(one), listRecentGaps(live, one.listing, span)] as const));
  const ids = listings.map(toListingId);
  const text =
    `SELECT listing, from_at::long from_at, received_at::long received_at, gap_cause FROM ${reader.table(TABLE)}` +
    ` WHERE received_at > $1 AND received_at < $2 AND from_at < $3 AND status = 'missing' AND listing IN (${listPlaceholders(ids, 3)})` +
    ' ORDER BY listing, received_at, id';
  // No gap row crosses a midnight, so one that reaches into the window ends at most a day after it.
  const bounds = [from, to + MICROS_PER_DAY, to].map(formatInstantMicros);
  const lines = await reader.query({ text, values: [...bounds, ...ids], among: ids });
  for (const [listing, begins, ends, cause] of lines) {
    gaps.get(listing ?? '')?.sealed.push({ from: Number(begins), to: Number(ends), cause: cause ?? 'unknown' });
  }
  return new Map([...gaps].map(([id, found]) => [id, joinSeals(found, span)] as const));
};
