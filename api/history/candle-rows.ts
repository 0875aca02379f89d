// Candles as they are stored and as memory holds them: the same digits from either, one row a period (H-12, H-13).
import type { Cell } from '../../infra/runtime/questdb/reader.ts';
import { joinFigure } from '../../schemas/decimals.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import { formatInstantMicros } from '../../schemas/instants.ts';
import { CANDLE_FIGURES, type CandleFigure, type Timeframe } from '../../schemas/layers/candle.ts';
import { CANDLES } from '../../schemas/layers/index.ts';
import type { Digits, Micros, PriceType } from '../../schemas/records.ts';
import type { Row } from '../../schemas/topics.ts';
import { toSealInstant } from '../../schemas/windows.ts';
import { type Selected, toListingId } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { type HistoryReader, listPlaceholders, type Sources } from './store.ts';
import { parseTexts, toNumberOrNull } from './stored-row.ts';

/** A period as sealed, or as it is now while its last minutes are not sealed. */
export type StoredCandle = {
  readonly openTime: Micros;
  /** Null: it exists. */
  readonly gapCause: GapCause | null;
  readonly receivedAt: Micros | null;
  readonly recordedAt: Micros | null;
  readonly figures: Readonly<Partial<Record<CandleFigure, Digits>>>;
  readonly trades: number | null;
  readonly quantityUnit: string | null;
  /** Its minutes count in different units: they have no sum. */
  readonly unitsDiffer: boolean;
  readonly expected: number;
  readonly present: number;
  readonly noTrades: number;
};

/** Candles of one timeframe and price type whose `open_time` is in `[from, to)`. */
export type CandleQuestion = {
  readonly timeframe: Timeframe;
  readonly priceType: PriceType;
  readonly from: Micros;
  readonly to: Micros;
};

/** The same for periods of `length`: `from` and `to` are on boundaries. */
export type CandlePeriods = CandleQuestion & { readonly length: Micros };

/** By listing id, then by open time. */
export type Candles = ReadonlyMap<string, ReadonlyMap<Micros, StoredCandle>>;

const SELECT =
  'listing, open_time::long open_time, gap_cause, received_at::long received_at, recorded_at::long recorded_at,' +
  ` ${CANDLE_FIGURES.join(', ')}, trades, quantity_unit,` +
  ' minutes_expected, minutes_present, minutes_no_trades, status, digits, null_reasons';

/** Why a candle that exists has no volume: marks and indices have none; a traded period lacks it where one of its minutes does. */
export const toNoVolumeReason = (priceType: PriceType): 'no_value' | 'venue_capability' =>
  priceType === 'trade' ? 'no_value' : 'venue_capability';

export type WhyMissing = { readonly reason: string; readonly gap_cause?: GapCause };
export const NOT_RETAINED: WhyMissing = { reason: 'not_retained' };

/** The reason why a candle does not exist. Minutes before the listing was first seen are not retained; this reason precedes `not_listed` (H-16f). */
export const explainMissing = (cause: GapCause, openTime: Micros, kept: Micros): WhyMissing =>
  cause === 'not_listed' && openTime < kept ? NOT_RETAINED : { reason: 'gap', gap_cause: cause };

/** Whether a candle has no volume because its minutes count in different units, by its `null_reasons` (H-13). */
export const hasOtherUnits = (nullReasons: string | null | undefined): boolean =>
  parseTexts(nullReasons).volume === 'unit_unknown';

const toCause = (text: string | null | undefined): GapCause => (text ?? 'unknown') as GapCause;

/** Place of the first figure in a line. */
const FIGURES_AT = 5;

const fromCells = (line: readonly Cell[]): { readonly listing: string; readonly candle: StoredCandle } => {
  const [listing, openTime, gapCause, receivedAt, recordedAt] = line;
  const rest = line.slice(FIGURES_AT + CANDLE_FIGURES.length);
  const [trades, quantityUnit, expected, present, noTrades, status, digits, nullReasons] = rest;
  const exact = parseTexts(digits);
  const figures: Partial<Record<CandleFigure, Digits>> = {};
  for (let i = 0; i < CANDLE_FIGURES.length; i++) {
    const name = CANDLE_FIGURES[i] as CandleFigure;
    const figure = joinFigure(line[FIGURES_AT + i] ?? null, exact[name]);
    if (figure !== null) figures[name] = figure;
  }
  const candle: StoredCandle = {
    openTime: Number(openTime),
    gapCause: status === 'present' ? null : toCause(gapCause),
    receivedAt: toNumberOrNull(receivedAt),
    recordedAt: toNumberOrNull(recordedAt),
    figures,
    trades: toNumberOrNull(trades),
    quantityUnit: quantityUnit ?? null,
    unitsDiffer: hasOtherUnits(nullReasons),
    expected: toNumberOrNull(expected) ?? 0,
    present: toNumberOrNull(present) ?? 0,
    noTrades: toNumberOrNull(noTrades) ?? 0,
  };
  return { listing: listing ?? '', candle };
};

/** A row as a task published it. */
const fromRow = ({ at, texts, instants, integers, figures: digits }: Row): StoredCandle => {
  const figures: Partial<Record<CandleFigure, Digits>> = {};
  for (const name of CANDLE_FIGURES) {
    const figure = digits[name];
    if (figure !== undefined) figures[name] = figure;
  }
  return {
    openTime: at,
    gapCause: texts.status === 'present' ? null : toCause(texts.gap_cause),
    receivedAt: instants.received_at ?? null,
    recordedAt: instants.recorded_at ?? null,
    figures,
    trades: integers.trades ?? null,
    quantityUnit: texts.quantity_unit ?? null,
    unitsDiffer: hasOtherUnits(texts.null_reasons),
    expected: integers.minutes_expected ?? 0,
    present: integers.minutes_present ?? 0,
    noTrades: integers.minutes_no_trades ?? 0,
  };
};

type Recent = { readonly sealed: readonly StoredCandle[]; readonly provisional: readonly StoredCandle[] };

/** Copies what memory holds. Must run before the store is queried: a row that leaves memory meanwhile is in the store. */
const readRecent = (live: LiveMemory, { listing }: Selected, question: CandleQuestion): Recent => {
  const history = live.partitionOf(listing)?.history ?? 0;
  const sealed: StoredCandle[] = [];
  const provisional: StoredCandle[] = [];
  for (const recent of live.recentRows(listing.venue, CANDLES.table, listing.venueSymbol)) {
    const { at, texts, flags, instants } = recent.row;
    if (texts.timeframe !== question.timeframe || texts.price_type !== question.priceType) continue;
    if (flags.late === true || at < question.from || at >= question.to) continue;
    if (recent.sealed) sealed.push(fromRow(recent.row));
    // The store already shows what its minutes were sealed as.
    else if (toSealInstant(instants.close_time ?? at) > history) provisional.push(fromRow(recent.row));
  }
  return { sealed, provisional };
};

const readStored = (
  reader: HistoryReader,
  listings: readonly Selected[],
  { timeframe, priceType, from, to }: CandleQuestion,
): Promise<Cell[][]> => {
  const ids = listings.map(toListingId);
  const text =
    `SELECT ${SELECT} FROM ${reader.table(CANDLES.table)}` +
    ' WHERE open_time >= $1 AND open_time < $2 AND timeframe = $3 AND price_type = $4 AND NOT late' +
    ` AND listing IN (${listPlaceholders(ids, 4)}) ORDER BY listing, open_time, src_offset`;
  return reader.query({
    text,
    values: [formatInstantMicros(from), formatInstantMicros(to), timeframe, priceType, ...ids],
    among: ids,
  });
};

/** Candles of each listing: sealed ones from the store or memory, then those whose minutes are not all sealed. */
export const gatherCandles = async (
  { reader, live }: Sources,
  listings: readonly Selected[],
  question: CandleQuestion,
): Promise<Candles> => {
  const recent = listings.map((one) => [toListingId(one), readRecent(live, one, question)] as const);
  const lines = question.from < question.to ? await readStored(reader, listings, question) : [];
  const candles = new Map(listings.map((one) => [toListingId(one), new Map<Micros, StoredCandle>()] as const));
  const put = (id: string, rows: readonly StoredCandle[]): void => {
    for (const row of rows) candles.get(id)?.set(row.openTime, row);
  };
  for (const [id, { provisional }] of recent) put(id, provisional);
  for (const [id, { sealed }] of recent) put(id, sealed);
  for (const line of lines) {
    const { listing, candle } = fromCells(line);
    put(listing, [candle]);
  }
  return candles;
};
