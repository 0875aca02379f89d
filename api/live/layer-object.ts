// The value object of one listing and layer at T, exactly as L-04 shapes it.
import { statusAt, type Policy, type StatusAnswer } from '../../schemas/freshness.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { byKey, type Figure, figure, type JsonValue, type RawJson, rawJson } from '../../schemas/json.ts';
import { LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { ListingVersion, Reading } from '../../schemas/topics.ts';
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
  /** Version in force when the reading was recorded (H-16k). */
  readonly version: ListingVersion;
  readonly mark: () => Mark | null;
};

/** Members of a reading, ready to print. `conversion` only where quantities were converted. */
type Members = {
  readonly values: Readonly<Record<string, JsonValue>>;
  readonly nullReasons: Readonly<Record<string, string>> | undefined;
  readonly units: Readonly<Record<string, string>>;
  readonly conversion: JsonValue | undefined;
};
const NO_MEMBERS: Members = { values: {}, nullReasons: undefined, units: {}, conversion: undefined };

/** Readings are never changed, so what they print as published is made once. */
const asPublished = new WeakMap<Reading, Members>();

const unitOf = (member: string, layer: ReadingLayer, quantity: string): string => {
  const unit = LAYERS[layer].members[member] ?? 'count';
  return unit === 'quantity' ? quantity : unit;
};

/** Counts are never strings (H-16h); everything else is a market figure. */
const print = (digits: Digits, unit: string): Figure | RawJson => (unit === 'count' ? rawJson(digits) : figure(digits));

const publishedMembers = (reading: Reading): Members => {
  const { layer, quantity_unit: quantity } = reading;
  const values: Record<string, JsonValue> = {};
  const units: Record<string, string> = {};
  for (const member of [...Object.keys(reading.values), ...Object.keys(reading.null_reasons)].sort()) {
    const unit = unitOf(member, layer, quantity ?? 'contracts');
    const digits = reading.values[member];
    values[member] = digits === undefined ? null : print(digits, unit);
    units[member] = unit;
  }
  const hasNulls = Object.keys(reading.null_reasons).length > 0;
  return { values, units, nullReasons: hasNulls ? byKey(reading.null_reasons) : undefined, conversion: undefined };
};

const membersAsPublished = (reading: Reading): Members => {
  const held = asPublished.get(reading);
  if (held !== undefined) return held;
  const members = publishedMembers(reading);
  asPublished.set(reading, members);
  return members;
};

const convertedMembers = (reading: Reading, question: LayerQuestion): Members => {
  const { layer, units: mode, version } = question;
  const published = membersAsPublished(reading);
  const quantities = Object.keys(published.values).filter((m) => LAYERS[layer].members[m] === 'quantity');
  if (quantities.length === 0) return published;
  const listing = version.record.values;
  const unit = (reading.quantity_unit ?? listing.quantity_unit) as QuantityUnit;
  const mark = needsMark(unit, mode, listing) ? question.mark() : null;
  const values: Record<string, JsonValue> = { ...published.values };
  const units: Record<string, string> = { ...published.units };
  const nullReasons: Record<string, string> = { ...published.nullReasons };
  for (const member of quantities) {
    units[member] = quantityUnitFor(unit, mode);
    const digits = reading.values[member];
    if (digits === undefined) continue;
    const converted = convertQuantity({ digits, unit, mode, listing, mark: mark?.digits ?? null });
    values[member] = converted === null ? null : figure(converted);
    if (converted === null) nullReasons[member] = 'unit_unknown';
  }
  const hasNulls = Object.keys(nullReasons).length > 0;
  return { values, units, nullReasons: hasNulls ? byKey(nullReasons) : undefined, conversion: conversionOf(version, mark) };
};

/** What a converted figure was made with, so that it can be made again (N-07). */
const conversionOf = ({ record }: ListingVersion, mark: Mark | null): JsonValue => ({
  multiplier: figureOrNull(record.values.multiplier),
  contract_size: figureOrNull(record.values.contract_size),
  ...(mark === null ? {} : { mark: figure(mark.digits), mark_received_at: formatInstant(mark.receivedAt) }),
});

export const figureOrNull = (digits: Digits | null): Figure | null => (digits === null ? null : figure(digits));
const instantOrNull = (at: Micros | null): string | null => (at === null ? null : formatInstant(at));

const membersShown = (question: LayerQuestion, { status }: StatusAnswer): Members => {
  const { reading, units, allowStale } = question;
  if (reading === null || (status !== 'present' && !(status === 'stale' && allowStale))) return NO_MEMBERS;
  return units === 'published' ? membersAsPublished(reading) : convertedMembers(reading, question);
};

const printInstants = (reading: Reading): Record<string, string> | undefined => {
  const names = Object.keys(reading.instants);
  if (names.length === 0) return undefined;
  return byKey(Object.fromEntries(names.map((name) => [name, formatInstant(reading.instants[name] ?? 0)])));
};

/** The layer object. Numbers of a stale reading stand under `withheld`, and only when asked for (L-09). */
export const layerObject = (question: LayerQuestion): JsonValue => {
  const answer = statusAt(question);
  const members = membersShown(question, answer);
  const present = answer.status === 'present';
  const shown = members !== NO_MEMBERS;
  // A layer that is off or not published has no reading to speak of, even if one is remembered.
  const reading = answer.status === 'off' || answer.status === 'not_published' ? null : question.reading;
  return {
    status: answer.status,
    reason: answer.reason ?? undefined,
    gap_cause: answer.gap_cause ?? undefined,
    venue_ts: instantOrNull(reading?.venue_ts ?? null),
    received_at: instantOrNull(reading?.received_at ?? null),
    age_ms: answer.age_ms,
    venue_age_ms: answer.venue_age_ms,
    valid_until: instantOrNull(answer.valid_until),
    horizon_source: reading?.horizon_source ?? null,
    anchor: reading?.anchor ?? null,
    values: present ? members.values : {},
    null_reasons: present ? members.nullReasons : undefined,
    units: members.units,
    instants: shown && reading !== null ? printInstants(reading) : undefined,
    conversion: members.conversion,
    withheld: shown && !present ? { values: members.values, null_reasons: members.nullReasons } : undefined,
    raw: question.includeRaw && reading !== null && reading.raw !== null ? rawJson(reading.raw) : undefined,
  };
};
