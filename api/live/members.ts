// Members of a reading as answers print them: figures and counts with their units and conversions (L-04, L-05, N-05 to N-08).
import type { StatusAnswer } from '../../schemas/freshness.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { type Figure, type JsonValue, makeFigure, makeRawJson, type RawJson, sortByKey } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Digits, Micros, QuantityUnit } from '../../schemas/records.ts';
import type { ListingVersion, Reading } from '../../schemas/topics.ts';
import {
  chooseQuantityUnit,
  convertQuantity,
  needsMark,
  type QuantityRule,
  type UnitsMode,
} from '../../schemas/units.ts';
import type { LiveListing } from './listing-book.ts';

/** The listing's own mark at T when it is present, for conversions (N-07). */
export type Mark = { readonly digits: Digits; readonly receivedAt: Micros };

/** The parts of a reading that its members are made from. */
type Measured = Pick<Reading, 'layer' | 'values' | 'null_reasons' | 'quantity_unit'>;
type MembersQuestion = {
  readonly units: UnitsMode;
  /** In force when the reading was recorded (H-16k). */
  readonly version: ListingVersion;
};

/** Members of a reading, ready to print in any number format. `conversion` only where quantities were converted. */
type Members = {
  readonly values: JsonValue;
  readonly nullReasons: JsonValue | undefined;
  readonly conversion: JsonValue | undefined;
};

/** The first members of the object of a reading: its status and its instants (L-04, H-14). */
export const makeStatusHead = (
  { status, reason, gap_cause }: StatusAnswer,
  reading: Pick<Reading, 'venue_ts' | 'received_at'> | null,
) => ({
  status,
  reason: reason ?? undefined,
  gap_cause: gap_cause ?? undefined,
  venue_ts: formatInstantOrNull(reading?.venue_ts ?? null),
  received_at: formatInstantOrNull(reading?.received_at ?? null),
});

/** Members of each layer, ascending. */
const ASCENDING = Object.fromEntries(
  READING_LAYERS.map((layer) => [layer, Object.keys(LAYERS[layer].members).sort()]),
) as unknown as Readonly<Record<ReadingLayer, readonly string[]>>;

/** Members that a reading has, or has a null reason for; ascending. */
const listNames = ({ layer, values, null_reasons }: Measured): readonly string[] =>
  ASCENDING[layer].filter((member) => values[member] !== undefined || null_reasons[member] !== undefined);

export const findUnit = (member: string, layer: ReadingLayer, quantity: string): string => {
  const unit = LAYERS[layer].members[member] ?? 'count';
  return unit === 'quantity' ? quantity : unit;
};

export const isQuantity = (layer: ReadingLayer, member: string): boolean =>
  LAYERS[layer].members[member] === 'quantity';

/** The unit of the quantities of a reading. */
export const findCountedUnit = (reading: Pick<Reading, 'quantity_unit'>, { record }: ListingVersion): QuantityUnit =>
  (reading.quantity_unit ?? record.values.quantity_unit) as QuantityUnit;

/** Whether rows that count in these units (null: as the listing does) convert with a mark under any version of the listing. */
export const mayNeedMark = ({ versions }: LiveListing, counted: Iterable<string | null>, mode: UnitsMode): boolean => {
  const units = [...new Set(counted)];
  return versions.some((version) =>
    units.some((unit) => needsMark(findCountedUnit({ quantity_unit: unit }, version), mode, version.record.values)),
  );
};

/** The mark that its quantities are converted with; null when none is needed, or none is present. */
export const findMarkFor = (
  reading: Pick<Reading, 'quantity_unit'>,
  { units, version }: MembersQuestion,
  mark: () => Mark | null,
): Mark | null => (needsMark(findCountedUnit(reading, version), units, version.record.values) ? mark() : null);

/** Counts are never strings (H-16h); everything else is a market figure. */
const printMember = (digits: Digits, layer: ReadingLayer, member: string): Figure | RawJson =>
  findUnit(member, layer, '') === 'count' ? makeRawJson(digits) : makeFigure(digits);

const makePlainValues = (
  { layer, values: digitsOf }: Measured,
  names: readonly string[],
): Record<string, JsonValue> => {
  const values: Record<string, JsonValue> = {};
  for (const member of names) {
    const digits = digitsOf[member];
    values[member] = digits === undefined ? null : printMember(digits, layer, member);
  }
  return values;
};

export const toOptional = (nullReasons: Readonly<Record<string, string>>): Record<string, string> | undefined => {
  for (const _reason in nullReasons) return sortByKey(nullReasons);
  return undefined;
};

/** Quantities in the requested unit; one that cannot be converted is null with its reason. */
const convertMembers = (
  reading: Measured,
  names: readonly string[],
  { units: mode, version, mark }: MembersQuestion & { readonly mark: Mark | null },
): Members => {
  const { layer } = reading;
  const [values, nullReasons] = [makePlainValues(reading, names), { ...reading.null_reasons }];
  const rule = {
    unit: findCountedUnit(reading, version),
    mode,
    listing: version.record.values,
    mark: mark?.digits ?? null,
  };
  for (const member of names) {
    const digits = reading.values[member];
    if (!isQuantity(layer, member) || digits === undefined) continue;
    const inUnit = convertQuantity({ digits, ...rule });
    values[member] = toFigureOrNull(inUnit);
    if (inUnit === null) nullReasons[member] = 'unit_unknown';
  }
  return { values, nullReasons: toOptional(nullReasons), conversion: makeConversion(version, mark) };
};

/** Members of a reading in the requested units. */
export const makeMembers = (reading: Measured, question: MembersQuestion, mark: Mark | null): Members => {
  const names = listNames(reading);
  const converts = question.units !== 'published' && names.some((member) => isQuantity(reading.layer, member));
  if (converts) return convertMembers(reading, names, { ...question, mark });
  return {
    values: makePlainValues(reading, names),
    nullReasons: toOptional(reading.null_reasons),
    conversion: undefined,
  };
};

/** Units of the members that a reading shows. */
export const makeUnits = (reading: Measured, { units: mode, version }: MembersQuestion): JsonValue => {
  const quantity = chooseQuantityUnit(findCountedUnit(reading, version), mode);
  const units: Record<string, string> = {};
  for (const member of listNames(reading)) units[member] = findUnit(member, reading.layer, quantity);
  return units;
};

/** The inputs of a converted figure, so that the conversion can be repeated (N-07). */
export const makeConversion = ({ record }: ListingVersion, mark: Mark | null): JsonValue => ({
  multiplier: toFigureOrNull(record.values.multiplier),
  contract_size: toFigureOrNull(record.values.contract_size),
  ...(mark === null ? {} : { mark: makeFigure(mark.digits), mark_received_at: formatInstant(mark.receivedAt) }),
});

type CountedVolume = {
  readonly digits: Digits;
  /** Null: that of the listing. */
  readonly quantityUnit: string | null;
  readonly version: ListingVersion;
  readonly units: UnitsMode;
  /** The mark at the end of the candle. */
  readonly mark: () => Mark | null;
};
type Volume = { readonly volume: Digits | null; readonly conversion?: JsonValue };

/** The volume of a candle in the requested unit, null when it cannot be converted, and what it was converted with (N-07). */
export const convertVolume = ({ digits, quantityUnit, version, units: mode, mark: find }: CountedVolume): Volume => {
  if (mode === 'published') return { volume: digits };
  const listing = version.record.values;
  const unit = findCountedUnit({ quantity_unit: quantityUnit }, version);
  const mark = needsMark(unit, mode, listing) ? find() : null;
  const volume = convertQuantity({ digits, unit, mode, listing, mark: mark?.digits ?? null });
  return { volume, conversion: makeConversion(version, mark) };
};

const ANY_MULTIPLIER = '1';

/** The rule of a value at its own price: the multiplier cancels, so an unknown one does not matter (H-16e). */
export const toValueRule = (rule: QuantityRule): QuantityRule => ({
  ...rule,
  multiplier: rule.multiplier ?? ANY_MULTIPLIER,
});

export const toFigureOrNull = (digits: Digits | null): Figure | null => (digits === null ? null : makeFigure(digits));
/** `instants` of a reading; none when it has none. */
export const makeInstants = ({ instants }: Pick<Reading, 'instants'>): JsonValue | undefined => {
  const names = Object.keys(instants);
  if (names.length === 0) return undefined;
  return sortByKey(Object.fromEntries(names.map((name) => [name, formatInstant(instants[name] ?? 0)])));
};
