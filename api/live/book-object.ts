// The item of one listing's order book at T, exactly as H-14 shapes it.
import type { StatusAnswer } from '../../schemas/freshness.ts';
import { formatInstantOrNull } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, sortByKey } from '../../schemas/json.ts';
import { BANDS, type Band } from '../../schemas/layers/book-bands.ts';
import type { Digits } from '../../schemas/records.ts';
import type { BookLevels, ListingVersion, Reading } from '../../schemas/topics.ts';
import { chooseQuantityUnit, convertQuantity, type UnitsMode } from '../../schemas/units.ts';
import { findCountedUnit, findMarkFor, type Mark, makeConversion, makeStatusHead } from './members.ts';

type BookQuestion = {
  readonly book: Reading | null;
  /** The bands of the same change as the book; others would not match the levels. */
  readonly depth: Reading | null;
  readonly answer: StatusAnswer;
  /** In force when the reading was recorded (H-16k). */
  readonly version: ListingVersion;
  readonly units: UnitsMode;
  /** Levels a side, as applied. */
  readonly levels: number;
  /** The listing's present mark, which converts the sums of bands; levels convert by their own price (N-07). */
  readonly mark: () => Mark | null;
};

type Side = BookLevels['bids'];
type Convert = (digits: Digits, price: Digits | null) => Digits | null;

const createConverter =
  ({ units: mode, version }: BookQuestion, book: Reading): Convert =>
  (digits, price) =>
    convertQuantity({
      digits,
      unit: findCountedUnit(book, version),
      mode,
      listing: version.record.values,
      mark: price,
    });

const toLevels = (side: Side, count: number, convert: Convert): JsonValue[] =>
  side.slice(0, count).map(([price, size]) => [price, convert(size, price)]);

const count = (digits: Digits | undefined): JsonValue => (digits === undefined ? null : makeRawJson(digits));

/** A side is complete when its levels could be counted (L-03). */
const toBand = (band: Band, { values }: Reading, convert: (digits: Digits) => Digits | null) => {
  const size = (side: 'bid' | 'ask'): Digits | null => {
    const digits = values[`depth_${side}_${band}`];
    return digits === undefined ? null : convert(digits);
  };
  const [bidLevels, askLevels] = [values[`levels_bid_${band}`], values[`levels_ask_${band}`]];
  return {
    reference: values.mid ?? null,
    bid: size('bid'),
    ask: size('ask'),
    bid_value: values[`depth_bid_value_${band}`] ?? null,
    ask_value: values[`depth_ask_value_${band}`] ?? null,
    bid_levels: count(bidLevels),
    ask_levels: count(askLevels),
    complete: { bid: bidLevels !== undefined, ask: askLevels !== undefined },
  };
};
type BandObject = ReturnType<typeof toBand>;

const BAND_FIGURES = ['bid', 'ask', 'bid_value', 'ask_value'] as const;

/** Figures of bands that are null although their side is known so far: the unit is not (N-07, L-03). */
const listUnknownFigures = (bands: readonly BandObject[]): string[] =>
  BAND_FIGURES.filter((name) =>
    bands.some((band) => band[name] === null && band.complete[name.startsWith('bid') ? 'bid' : 'ask']),
  );

const isSameChange = (book: Reading, depth: Reading | null): depth is Reading =>
  depth?.valid === true && depth.received_at === book.received_at && depth.conn_id === book.conn_id;

const NO_LEVELS = { sequence: null, bids: [], asks: [] };

/** Levels, bands and what they were converted with. Present books only. */
const makePresentMembers = (question: BookQuestion, book: Reading, levels: BookLevels): Record<string, JsonValue> => {
  const { version, units: mode, depth } = question;
  const convert = createConverter(question, book);
  const mark = findMarkFor(book, question, question.mark);
  const bids = toLevels(levels.bids, question.levels, convert);
  const asks = toLevels(levels.asks, question.levels, convert);
  const bands = isSameChange(book, depth)
    ? BANDS.map((band) => [band, toBand(band, depth, (d) => convert(d, mark?.digits ?? null))] as const)
    : undefined;
  const isUnknown = [...bids, ...asks].some((level) => Array.isArray(level) && level[1] === null);
  const unknown = [...(isUnknown ? ['size'] : []), ...listUnknownFigures(bands?.map(([, band]) => band) ?? [])];
  return {
    sequence: levels.sequence,
    bids,
    asks,
    ...(unknown.length === 0
      ? {}
      : { null_reasons: sortByKey(Object.fromEntries(unknown.map((name) => [name, 'unit_unknown']))) }),
    collected_levels: { bids: levels.collected_bids, asks: levels.collected_asks },
    ...(bands === undefined ? {} : { bands: sortByKey(Object.fromEntries(bands)) }),
    ...(mode === 'published' ? {} : { conversion: makeConversion(version, mark) }),
  };
};

/** Everything after `quote` of an item. A book that is not present has empty sides and no bands, even if an older book is in memory. */
export const makeBookObject = (question: BookQuestion): Record<string, JsonValue | undefined> => {
  const { answer, version, units: mode } = question;
  // A layer that is off or not published has no reading, even if one is in memory.
  const book = answer.status === 'off' || answer.status === 'not_published' ? null : question.book;
  const levels = answer.status === 'present' ? (book?.book ?? null) : null;
  return {
    ...makeStatusHead(answer, book),
    age_ms: answer.age_ms,
    venue_age_ms: answer.venue_age_ms,
    valid_until: formatInstantOrNull(answer.valid_until),
    horizon_source: book?.horizon_source ?? null,
    anchor: book?.anchor ?? null,
    size_unit: chooseQuantityUnit(findCountedUnit(book ?? { quantity_unit: null }, version), mode),
    ...(book === null || levels === null ? NO_LEVELS : makePresentMembers(question, book, levels)),
  };
};
