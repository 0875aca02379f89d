// The value object of one listing and layer at T, exactly as L-04 shapes it.
import { type Policy, type StatusAnswer, statusAt } from '../../schemas/freshness.ts';
import { formatInstant } from '../../schemas/instants.ts';
import {
  byKey,
  type Figure,
  figure,
  type JsonValue,
  type NumberFormat,
  type RawJson,
  rawJson,
  writeJson,
} from '../../schemas/json.ts';
import { LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { BookLevels, ListingVersion, Reading } from '../../schemas/topics.ts';
import { convertQuantity, needsMark, type QuantityUnit, quantityUnitFor, type UnitsMode } from '../../schemas/units.ts';

/** The listing's own mark at T when it is present, for conversions (N-07). */
export type Mark = { readonly digits: Digits; readonly receivedAt: Micros };

export type LayerQuestion = {
  readonly layer: ReadingLayer;
  readonly reading: Reading | null;
  readonly policy: Policy;
  readonly lostAt: Micros | null;
  readonly boundMs: number;
  readonly at: Micros;
  readonly stateLag: boolean;
  readonly units: UnitsMode;
  readonly allowStale: boolean;
  readonly includeRaw: boolean;
  readonly numberFormat: NumberFormat;
  /** Levels of a book to show (ST-09); none when left out. */
  readonly depth?: number;
  /** Version in force when the reading was recorded (H-16k). */
  readonly version: ListingVersion;
  readonly mark: () => Mark | null;
};

/** What of a reading its members are made from, and what of a question decides how they print. */
export type Measured = Pick<Reading, 'layer' | 'values' | 'null_reasons' | 'quantity_unit'>;
export type MembersQuestion = Pick<LayerQuestion, 'layer' | 'units' | 'version' | 'numberFormat'>;

/** Members of a reading, ready to print. `conversion` only where quantities were converted. */
export type Members = {
  readonly values: JsonValue;
  readonly nullReasons: JsonValue | undefined;
  readonly units: JsonValue;
  readonly conversion: JsonValue | undefined;
};
const NO_MEMBERS: Members = { values: {}, nullReasons: undefined, units: {}, conversion: undefined };

/** What of a reading prints alike whatever is asked: made once, because readings never change and are asked for often. */
type Printed = {
  readonly venueTs: string | null;
  readonly receivedAt: string;
  readonly instants: JsonValue | undefined;
  /** As present, one for each way to ask; there are few. */
  readonly frames: Frame[];
};
/** A layer object as text around its two ages, which alone change while it holds. */
type Frame = Pick<LayerQuestion, 'units' | 'numberFormat' | 'includeRaw' | 'version'> & {
  readonly mark: Mark | null;
  readonly validUntil: Micros | null;
  readonly head: string;
  readonly tail: string;
};
type Objects = Record<string, JsonValue | undefined>;
const printed = new WeakMap<Reading, Printed>();

const printedOf = (reading: Reading): Printed => {
  const held = printed.get(reading);
  if (held !== undefined) return held;
  const { venue_ts, received_at, instants } = reading;
  const names = Object.keys(instants);
  const texts = byKey(Object.fromEntries(names.map((name) => [name, formatInstant(instants[name] ?? 0)])));
  const made: Printed = {
    venueTs: venue_ts === null ? null : formatInstant(venue_ts),
    receivedAt: formatInstant(received_at),
    instants: names.length === 0 ? undefined : rawJson(writeJson(texts)),
    frames: [],
  };
  printed.set(reading, made);
  return made;
};

export const unitOf = (member: string, layer: ReadingLayer, quantity: string): string => {
  const unit = LAYERS[layer].members[member] ?? 'count';
  return unit === 'quantity' ? quantity : unit;
};

/** Counts are never strings (H-16h); everything else is a market figure. */
const printMember = (digits: Digits, unit: string): Figure | RawJson =>
  unit === 'count' ? rawJson(digits) : figure(digits);

type Plain = {
  readonly values: Record<string, JsonValue>;
  readonly units: Record<string, string>;
  readonly nullReasons: Readonly<Record<string, string>>;
};

const plainMembers = ({ layer, quantity_unit: quantity, values: digitsOf, null_reasons }: Measured): Plain => {
  const values: Record<string, JsonValue> = {};
  const units: Record<string, string> = {};
  for (const member of [...Object.keys(digitsOf), ...Object.keys(null_reasons)].sort()) {
    const unit = unitOf(member, layer, quantity ?? 'contracts');
    const digits = digitsOf[member];
    values[member] = digits === undefined ? null : printMember(digits, unit);
    units[member] = unit;
  }
  return { values, units, nullReasons: null_reasons };
};

export const orNone = (nullReasons: Readonly<Record<string, string>>): Record<string, string> | undefined =>
  Object.keys(nullReasons).length === 0 ? undefined : byKey(nullReasons);

export const isQuantity = (layer: ReadingLayer, member: string): boolean =>
  LAYERS[layer].members[member] === 'quantity';

/** Replaces the quantities by what they are in the unit asked for; what cannot be converted is null with its reason. */
const convert = (plain: Plain, reading: Measured, question: MembersQuestion, mark: Mark | null): Plain => {
  const { layer, units: mode, version } = question;
  const listing = version.record.values;
  const unit = unitCounted(reading, version);
  const [values, units, nullReasons] = [{ ...plain.values }, { ...plain.units }, { ...plain.nullReasons }];
  for (const member of Object.keys(values)) {
    if (!isQuantity(layer, member)) continue;
    units[member] = quantityUnitFor(unit, mode);
    const digits = reading.values[member];
    if (digits === undefined) continue;
    const converted = convertQuantity({ digits, unit, mode, listing, mark: mark?.digits ?? null });
    values[member] = figureOrNull(converted);
    if (converted === null) nullReasons[member] = 'unit_unknown';
  }
  return { values, units, nullReasons };
};

/** What the quantities of a reading are counted in. */
export const unitCounted = (reading: Pick<Reading, 'quantity_unit'>, { record }: ListingVersion): QuantityUnit =>
  (reading.quantity_unit ?? record.values.quantity_unit) as QuantityUnit;

/** Members of a reading in the units and number format asked for. */
export const makeMembers = (reading: Measured, question: MembersQuestion, mark: Mark | null): Members => {
  const { layer, units: mode, version, numberFormat } = question;
  const plain = plainMembers(reading);
  const converts = mode !== 'published' && Object.keys(plain.values).some((member) => isQuantity(layer, member));
  const { values, units, nullReasons } = converts ? convert(plain, reading, question, mark) : plain;
  return {
    values: rawJson(writeJson(values, { numberFormat })),
    nullReasons: orNone(nullReasons),
    units: rawJson(writeJson(units)),
    conversion: converts ? conversionOf(version, mark) : undefined,
  };
};

const markOf = (reading: Reading, { units, version, mark }: LayerQuestion): Mark | null =>
  needsMark(unitCounted(reading, version), units, version.record.values) ? mark() : null;

/** What a converted figure was made with, so that it can be made again (N-07). */
export const conversionOf = ({ record }: ListingVersion, mark: Mark | null): JsonValue => ({
  multiplier: figureOrNull(record.values.multiplier),
  contract_size: figureOrNull(record.values.contract_size),
  ...(mark === null ? {} : { mark: figure(mark.digits), mark_received_at: formatInstant(mark.receivedAt) }),
});

export const figureOrNull = (digits: Digits | null): Figure | null => (digits === null ? null : figure(digits));
export const instantOrNull = (at: Micros | null): string | null => (at === null ? null : formatInstant(at));

const membersShown = (question: LayerQuestion, { status }: StatusAnswer): Members => {
  const { reading, allowStale } = question;
  const shown = status === 'present' || (status === 'stale' && allowStale);
  return reading !== null && shown ? makeMembers(reading, question, markOf(reading, question)) : NO_MEMBERS;
};

/** One side of a book to the depth asked: prices and sizes are strings in every format (L-06), sizes in the unit asked at their own price (N-07). */
const sideOf = (levels: BookLevels['bids'], reading: Reading, question: LayerQuestion): JsonValue => {
  const { units: mode, version, depth } = question;
  const shown = levels.slice(0, depth);
  if (mode === 'published') return shown;
  const unit = unitCounted(reading, version);
  return shown.map(([price, digits]) => [
    price,
    convertQuantity({ digits, unit, mode, listing: version.record.values, mark: price }),
  ]);
};

const levelsOf = (question: LayerQuestion): { bids: JsonValue; asks: JsonValue } | undefined => {
  const { reading, depth = 0 } = question;
  if (depth === 0 || reading === null || reading.book === null) return undefined;
  const { bids, asks } = reading.book;
  return { bids: sideOf(bids, reading, question), asks: sideOf(asks, reading, question) };
};

const beforeAges = ({ status, reason, gap_cause }: StatusAnswer, reading: Reading | null): Objects => {
  const texts = reading === null ? null : printedOf(reading);
  return {
    status,
    reason: reason ?? undefined,
    gap_cause: gap_cause ?? undefined,
    venue_ts: texts?.venueTs ?? null,
    received_at: texts?.receivedAt ?? null,
  };
};

const afterAges = (
  { status, valid_until: validUntil }: StatusAnswer,
  reading: Reading | null,
  { members, question }: { readonly members: Members; readonly question: LayerQuestion },
): Objects => {
  const present = status === 'present';
  const shown = members !== NO_MEMBERS;
  return {
    valid_until: instantOrNull(validUntil),
    horizon_source: reading?.horizon_source ?? null,
    anchor: reading?.anchor ?? null,
    values: present ? members.values : {},
    ...(present ? levelsOf(question) : {}),
    null_reasons: present ? members.nullReasons : undefined,
    units: members.units,
    instants: shown && reading !== null ? printedOf(reading).instants : undefined,
    conversion: members.conversion,
    withheld: shown && !present ? { values: members.values, null_reasons: members.nullReasons } : undefined,
    raw: question.includeRaw && reading !== null && reading.raw !== null ? rawJson(reading.raw) : undefined,
  };
};

const isSameMark = (a: Mark | null, b: Mark | null): boolean =>
  a === b || (a?.digits === b?.digits && a?.receivedAt === b?.receivedAt);

/** What was made for somebody who asked in the same way; it holds for its listing version, mark and loss. */
const frameOf = (reading: Reading, question: LayerQuestion, answer: StatusAnswer): Frame => {
  const { units, numberFormat, includeRaw, version } = question;
  const { frames } = printedOf(reading);
  const mark = markOf(reading, question);
  const i = frames.findIndex(
    (frame) => frame.units === units && frame.numberFormat === numberFormat && frame.includeRaw === includeRaw,
  );
  const held = frames[i];
  const holds = held?.version === version && held.validUntil === answer.valid_until && isSameMark(held.mark, mark);
  if (held !== undefined && holds) return held;
  const members = makeMembers(reading, question, mark);
  const before = writeJson(beforeAges(answer, reading));
  const after = writeJson(afterAges(answer, reading, { members, question }), { numberFormat });
  const made: Frame = {
    ...{ units, numberFormat, includeRaw, version, mark, validUntil: answer.valid_until },
    ...{ head: `${before.slice(0, -1)},"age_ms":`, tail: `,${after.slice(1)}` },
  };
  frames[i < 0 ? frames.length : i] = made;
  return made;
};

/** The layer object. Numbers of a stale reading stand under `withheld`, and only when asked for (L-09). */
export const layerObject = (question: LayerQuestion): JsonValue => {
  const answer = statusAt(question);
  const { status, age_ms, venue_age_ms } = answer;
  // A layer that is off or not published has no reading to speak of, even if one is remembered.
  const reading = status === 'off' || status === 'not_published' ? null : question.reading;
  if (status === 'present' && reading !== null && (question.depth ?? 0) === 0) {
    const { head, tail } = frameOf(reading, question, answer);
    return rawJson(`${head}${age_ms},"venue_age_ms":${venue_age_ms}${tail}`);
  }
  const members = membersShown(question, answer);
  return {
    ...beforeAges(answer, reading),
    ...{ age_ms, venue_age_ms },
    ...afterAges(answer, reading, { members, question }),
  };
};
