// What a listing's columns say at T: which period is the newest usable one, and copies of the elements that the query reads (DQL-26, DQL-27).
import { serviceError } from '../../../schemas/errors.ts';
import type { Digits, Micros } from '../../../schemas/records.ts';
import { RETENTION_DAYS } from '../../../schemas/tables.ts';
import type { CapabilityVersion } from '../../../schemas/topics.ts';
import type { QuantityUnit, UnitsMode } from '../../../schemas/units.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import { DAY } from '../../history/past.ts';
import { listingPolicyOf, pricePolicyOf } from '../../live/listing-view.ts';
import type { Selected } from '../../selection/resolve.ts';
import type { Columns, Need } from '../../series/cache.ts';
import type { Column } from '../../series/column.ts';
import { type ColumnSpec, isQuantitySpec, lengthOf, periodAt, specId } from '../../series/column-spec.ts';
import { FIELDS, SOURCES } from '../fields.ts';
import { type Elements, GAP_AT, INSUFFICIENT_AT, NOT_RETAINED_AT } from './series.ts';
import { type Unknown, unknown } from './values.ts';

/** A column as it stood: its elements, or why the venue has none of it. `recorded` only of what is to be converted, `units` of quantities. */
export type CapturedColumn = {
  readonly elements: Elements;
  readonly end: Micros;
  readonly receivedAt: Micros | null;
  readonly recorded: Float64Array | null;
  readonly units: readonly (QuantityUnit | null)[] | null;
  /** Of the newest element, where its double does not give them back. */
  readonly digits: Digits | null;
};
export type Captured = CapturedColumn | Unknown;
/** By `specId`. */
export type Windows = ReadonlyMap<string, Captured>;
export const NO_WINDOWS: Windows = new Map();

export type CaptureOptions = {
  /** T. */
  readonly at: Micros;
  readonly now: Micros;
  /** W of the listing's venue in a live answer; null in one about the past, where every period ended by T is looked at. */
  readonly watermark: Micros | null;
  readonly columns: Columns;
  readonly capability: CapabilityVersion | null;
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

/** Why nothing can be said of a column whatever is stored; null: its elements speak. */
const absenceOf = (spec: ColumnSpec, selected: Selected, { capability, stateLag }: CaptureOptions): Unknown | null => {
  const { version } = selected;
  const policy =
    spec.kind === 'candles'
      ? pricePolicyOf(capability, spec.priceType, version)
      : listingPolicyOf(capability, spec.layer, version);
  if (policy === 'off') return unknown('off', 'policy_off');
  const lacks = spec.kind === 'candles' ? lacksSource(spec, selected) : lacksField(spec, selected);
  if (policy === 'not_published' || lacks) return unknown('not_published', 'venue_capability');
  return stateLag ? unknown('stale', 'state_lag') : null;
};

/** Candles come when they are sealed, readings when their last window has ended; a silent period is a gap once it can no longer change. */
const isUsable = (spec: ColumnSpec, column: Column, period: number, watermark: Micros): boolean => {
  const end = period * lengthOf(spec);
  if (watermark >= end + SEALS_AFTER) return true;
  return column.has(period) && (spec.kind === 'candles' || watermark >= end);
};

/** The newest period that all columns of a timeframe can use. */
const newestPeriod = (
  columns: readonly (readonly [ColumnSpec, Column])[],
  { at, watermark }: CaptureOptions,
): number => {
  let newest = Number.POSITIVE_INFINITY;
  for (const [spec, column] of columns) {
    let period = periodAt(at, lengthOf(spec));
    while (watermark !== null && !isUsable(spec, column, period, watermark)) period--;
    newest = Math.min(newest, period);
  }
  return newest;
};

/** Why each absent element is none; blanks what retention has dropped. */
const explain = (
  values: Float64Array,
  spec: ColumnSpec,
  of: { last: number; selected: Selected; now: Micros },
): Elements => {
  const length = lengthOf(spec);
  const days = RETENTION_DAYS[spec.kind === 'candles' ? 'candles' : 'readings'];
  const floor = Math.floor((of.now - days * DAY) / DAY) * DAY;
  const { first_seen_at } = of.selected.version;
  let reasons: Uint8Array | null = null;
  for (let i = 0; i < values.length; i++) {
    const end = (of.last - (values.length - 1 - i)) * length;
    const isKept = (spec.kind === 'candles' ? end - length : end) >= floor;
    if (isKept && !Number.isNaN(values[i] as number)) continue;
    reasons ??= new Uint8Array(values.length);
    reasons[i] = !isKept ? NOT_RETAINED_AT : end <= first_seen_at ? INSUFFICIENT_AT : GAP_AT;
    values[i] = Number.NaN;
  }
  return { values, reasons };
};

const require = (column: Column | undefined): Column => {
  if (column !== undefined) return column;
  throw serviceError('DQL_LIMIT', 'The series of the query are more than the service holds at a time.', {
    hint: 'Narrow where, or use smaller windows.',
  });
};

/** Copies what a query reads of one listing. Synchronous, so all of it is of one state. */
export const capture = (selected: Selected, needs: readonly Need[], options: CaptureOptions): Windows => {
  const captured = new Map<string, Captured>();
  const held = new Map<string, [ColumnSpec, Column][]>();
  for (const { spec } of needs) {
    const absence = absenceOf(spec, selected, options);
    if (absence !== null) captured.set(specId(spec), absence);
    else {
      const column = require(options.columns.columnOf(selected.listing, spec));
      held.set(spec.timeframe, [...(held.get(spec.timeframe) ?? []), [spec, column]]);
    }
  }
  for (const columns of held.values()) {
    const last = newestPeriod(columns, options);
    for (const [spec, column] of columns) {
      const bars = needs.find((need) => need.spec === spec)?.bars ?? 1;
      const elements = explain(column.copy(last, bars), spec, { last, selected, now: options.now });
      const isConverted = options.units !== 'published' && isQuantitySpec(spec);
      captured.set(specId(spec), {
        elements,
        end: last * lengthOf(spec),
        receivedAt: column.receivedAt(last),
        recorded: isConverted ? column.copyRecorded(last, bars) : null,
        units: isQuantitySpec(spec) ? column.copyUnits(last, bars) : null,
        digits: column.digitsOf(last),
      });
    }
  }
  return captured;
};
