// A listing's columns at T: the newest usable period, and copies of the elements that the query reads (DQL-26, DQL-27).
import { makeServiceError } from '../../schemas/errors.ts';
import { MICROS_PER_DAY } from '../../schemas/instants.ts';
import { findListingPolicy, findPricePolicy } from '../../schemas/policies.ts';
import type { Digits, Micros, QuantityUnit } from '../../schemas/records.ts';
import { RETENTION_DAYS } from '../../schemas/tables.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { SEALS_AFTER } from '../../schemas/windows.ts';
import { FIELDS, SOURCES } from '../language/fields.ts';
import { findVersionAt, type Selected } from '../live/listing-book.ts';
import { createHeldWithin } from '../live/listing-view.ts';
import { findCountedUnit } from '../live/members.ts';
import type { Columns, Need } from '../series/cache.ts';
import type { Column } from '../series/column.ts';
import { type ColumnSpec, findLength, isQuantitySpec, toPeriod, toSpecId } from '../series/column-spec.ts';
import { type Elements, GAP_AT, INSUFFICIENT_AT, NOT_RETAINED_AT, UNIT_UNKNOWN_AT } from './series.ts';
import { makeUnknown, type Unknown } from './values.ts';

/** The unit of each element of a column of quantities; null where there is no element. */
type Units = readonly (QuantityUnit | null)[];

/** A column as captured: its elements, or why they are unknown. `recorded` only for columns to convert, `units` for quantities, `received` for counts. */
export type CapturedColumn = {
  readonly elements: Elements;
  readonly end: Micros;
  /** Of the newest period. */
  readonly receivedAt: Micros | null;
  /** Of each period; NaN where no candle is, infinite where nothing was received for it. */
  readonly received: Float64Array | null;
  readonly recorded: Float64Array | null;
  readonly units: Units | null;
  /** Of the newest element, where its double does not give them back. */
  readonly digits: Digits | null;
  /** As `digits`, of each element of a column to convert; null when none has any. */
  readonly exact: readonly (Digits | null)[] | null;
};
type AbsentColumn = Unknown & { readonly units?: Units | null };
export type Captured = CapturedColumn | AbsentColumn;
/** By `toSpecId`. */
export type Windows = ReadonlyMap<string, Captured>;
export const NO_WINDOWS: Windows = new Map();

type CaptureOptions = {
  /** T. */
  readonly at: Micros;
  readonly now: Micros;
  /** W of the listing's venue in a live answer; null in an answer about the past, where every period that ended by T is used. */
  readonly watermark: Micros | null;
  /** Candles that were received later do not count, unless the watermark alone decides; without this instant all received candles count. */
  readonly cameBy?: Micros;
  readonly columns: Columns;
  /** Of the listing's venue, ascending. */
  readonly capabilities: readonly CapabilityVersion[];
  readonly stateLag: boolean;
  readonly units: UnitsMode;
};

const lacksSource = (spec: ColumnSpec & { kind: 'candles' }, { version }: Selected): boolean => {
  const { candles, not_published } = version.record.values;
  if (spec.priceType !== 'trade' && spec.member === 'volume') return true;
  const source = [...SOURCES.values()].find((s) => s.priceType === spec.priceType && s.member === spec.member);
  return !candles.price_types.includes(spec.priceType) || (source !== undefined && not_published.includes(source.name));
};

const lacksField = (spec: ColumnSpec & { kind: 'layer' }, { version }: Selected): boolean => {
  const { not_published } = version.record.values;
  return (FIELDS.get(spec.member)?.needs ?? []).some((name) => not_published.includes(name));
};

/** The reason why a column is unknown regardless of its stored rows; null: its elements count. */
const findAbsence = (
  spec: ColumnSpec,
  selected: Selected,
  { capabilities, at, stateLag }: CaptureOptions,
): Unknown | null => {
  const { version } = selected;
  const capability = findVersionAt(capabilities, at);
  const policy =
    spec.kind === 'candles'
      ? findPricePolicy(capability, spec.priceType, version)
      : findListingPolicy(capability, spec.layer, version);
  // Before anything was known of the venue, and the listing was not seen either, its elements state that there is no history yet (DQL-27).
  const isUnheard = capability === null && at < version.first_seen_at;
  if (policy === 'off' && !isUnheard) return makeUnknown('off', 'policy_off');
  const lacks = spec.kind === 'candles' ? lacksSource(spec, selected) : lacksField(spec, selected);
  if (policy === 'not_published' || lacks) return makeUnknown('not_published', 'venue_capability');
  return stateLag ? makeUnknown('stale', 'state_lag') : null;
};

/** A column of a listing, and whether the listing holds the last reading of a period at its end (F-04); candles are always held. */
type Source = Need & { readonly column: Column; readonly isHeld: (period: number) => boolean };

const keepAll = (): boolean => true;

const toSource = (
  { spec, bars }: Need,
  { listing }: Selected,
  { columns, capabilities, at }: CaptureOptions,
): Source | null => {
  const column = columns.columnOf(listing, spec);
  if (column === undefined) return null;
  if (spec.kind === 'candles') return { spec, bars, column, isHeld: keepAll };
  const length = findLength(spec);
  const { versions } = listing;
  const holds = createHeldWithin(spec.layer, { capabilities, versions }, { from: (column.first - 1) * length, to: at });
  const isHeld = holds && ((period: number) => holds(column.recordedAt(period), period * length));
  return { spec, bars, column, isHeld: isHeld ?? keepAll };
};

/**
 * Candles count when they have come and none before them may still come, readings when their last window has ended; a silent period is a gap once it
 * can no longer change.
 */
const isUsable = (
  source: Source,
  period: number,
  known: { readonly watermark: Micros; readonly cameBy: Micros },
): boolean => {
  const { spec, column, isHeld } = source;
  const end = period * findLength(spec);
  if (known.watermark >= end + SEALS_AFTER) return true;
  if (!column.has(period) || !isHeld(period)) return false;
  if (spec.kind === 'layer') return known.watermark >= end;
  return column.cameAt(period) <= known.cameBy && isUsable(source, period - 1, known);
};

/** The newest period that all columns of a timeframe can use. */
const findNewestPeriod = (
  sources: readonly Source[],
  { at, watermark, cameBy = Number.POSITIVE_INFINITY }: CaptureOptions,
): number => {
  let newest = Number.POSITIVE_INFINITY;
  for (const source of sources) {
    let period = toPeriod(at, findLength(source.spec));
    while (watermark !== null && !isUsable(source, period, { watermark, cameBy })) period--;
    newest = Math.min(newest, period);
  }
  return newest;
};

/** The last `bars` periods of a column up to `last`. */
type Stretch = Source & { readonly last: number };

/** The reason of each absent element; clears elements that retention has dropped. */
const explain = (
  values: Float64Array,
  { column, spec, last }: Stretch,
  of: { readonly selected: Selected; readonly now: Micros },
): Elements => {
  const length = findLength(spec);
  const days = RETENTION_DAYS[spec.kind === 'candles' ? 'candles' : 'readings'];
  const floor = Math.floor((of.now - days * MICROS_PER_DAY) / MICROS_PER_DAY) * MICROS_PER_DAY;
  const { first_seen_at } = of.selected.version;
  /** A candle's period that began before the first sight was never collected as a whole (DQL-27). */
  const findReason = (period: number): number => {
    const end = period * length;
    if (column.hasDifferentUnits(period)) return UNIT_UNKNOWN_AT;
    const isBefore = spec.kind === 'candles' ? end - length < first_seen_at : end < first_seen_at;
    return isBefore ? INSUFFICIENT_AT : GAP_AT;
  };
  let reasons: Uint8Array | null = null;
  for (let i = 0; i < values.length; i++) {
    const period = last - (values.length - 1 - i);
    const isKept = (spec.kind === 'candles' ? period - 1 : period) * length >= floor;
    if (isKept && !Number.isNaN(values[i] as number)) continue;
    reasons ??= new Uint8Array(values.length);
    reasons[i] = isKept ? findReason(period) : NOT_RETAINED_AT;
    values[i] = Number.NaN;
  }
  return { values, reasons };
};

/** The units of the rows, else those of the listing when they were recorded; null for a column that is no quantity. */
const readUnits = (
  { column, spec, last, bars }: Omit<Stretch, 'isHeld'>,
  { listing, version }: Selected,
): Units | null => {
  if (!isQuantitySpec(spec)) return null;
  const [values, recorded] = [column.copy(last, bars), column.copyRecorded(last, bars)];
  return column.copyUnits(last, bars).map((stated, i) => {
    if (stated !== null || Number.isNaN(values[i] as number)) return stated;
    const stamp = recorded?.[i] ?? Number.NaN;
    const held = Number.isNaN(stamp) ? version : (findVersionAt(listing.versions, stamp) ?? version);
    return findCountedUnit({ quantity_unit: null }, held);
  });
};

/** As published, one window cannot mix figures of different units: only those in the newest one's unit are known (N-07). */
const keepOneUnit = ({ values, reasons: given }: Elements, units: Units): Elements => {
  const unit = units.findLast((one, i) => one !== null && !Number.isNaN(values[i] as number));
  let reasons = given;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i] as number) || units[i] === unit) continue;
    reasons ??= new Uint8Array(values.length);
    reasons[i] = UNIT_UNKNOWN_AT;
    values[i] = Number.NaN;
  }
  return { values, reasons };
};

/** Values of a stretch; NaN where there is none, or the listing does not hold it. */
const copyHeld = ({ column, last, bars, isHeld }: Stretch): Float64Array => {
  const values = column.copy(last, bars);
  if (isHeld !== keepAll) for (let i = 0; i < bars; i++) if (!isHeld(last - bars + 1 + i)) values[i] = Number.NaN;
  return values;
};

const captureColumn = (stretch: Stretch, selected: Selected, { now, units: mode }: CaptureOptions): CapturedColumn => {
  const { column, spec, last, bars } = stretch;
  const units = readUnits(stretch, selected);
  const isConverted = units !== null && mode !== 'published';
  const elements = explain(copyHeld(stretch), stretch, { selected, now });
  return {
    elements: units === null || mode !== 'published' ? elements : keepOneUnit(elements, units),
    end: last * findLength(spec),
    receivedAt: stretch.isHeld(last) ? column.receivedAt(last) : null,
    received: spec.kind === 'candles' && spec.member === 'present' ? column.copyReceived(last, bars) : null,
    recorded: isConverted ? column.copyRecorded(last, bars) : null,
    units,
    digits: column.digitsOf(last),
    exact: isConverted ? column.copyDigits(last, bars) : null,
  };
};

/** A column that is unknown regardless of its stored rows; null: its elements count. A stale column still has its unit (N-08). */
const captureAbsence = ({ spec, bars }: Need, selected: Selected, options: CaptureOptions): AbsentColumn | null => {
  const absence = findAbsence(spec, selected, options);
  if (absence?.status !== 'stale') return absence;
  const column = options.columns.columnOf(selected.listing, spec);
  if (column === undefined) return absence;
  const last = toPeriod(options.at, findLength(spec));
  return { ...absence, units: readUnits({ column, spec, bars, last }, selected) };
};

const require = (source: Source | null): Source => {
  if (source !== null) return source;
  throw makeServiceError('DQL_LIMIT', 'The query needs more series than the service can hold at a time.', {
    hint: 'Narrow where, or use smaller windows.',
  });
};

/** Copies what a query reads of one listing. Synchronous, so all of it is of one state. */
export const capture = (selected: Selected, needs: readonly Need[], options: CaptureOptions): Windows => {
  const captured = new Map<string, Captured>();
  const byTimeframe = new Map<string, Source[]>();
  for (const need of needs) {
    const { spec } = need;
    const absence = captureAbsence(need, selected, options);
    if (absence !== null) captured.set(toSpecId(spec), absence);
    else {
      const source = require(toSource(need, selected, options));
      byTimeframe.set(spec.timeframe, [...(byTimeframe.get(spec.timeframe) ?? []), source]);
    }
  }
  for (const sources of byTimeframe.values()) {
    const last = findNewestPeriod(sources, options);
    for (const source of sources)
      captured.set(toSpecId(source.spec), captureColumn({ ...source, last }, selected, options));
  }
  return captured;
};
