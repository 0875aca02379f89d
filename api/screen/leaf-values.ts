// The value of a listing for each leaf of a query, with unit, stamps, age, status and reason (L-10, DQL-15, DQL-20, DQL-25, DQL-29).
import type { Status } from '../../schemas/freshness.ts';
import { MICROS_PER_MS } from '../../schemas/instants.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Digits, Micros, QuantityUnit } from '../../schemas/records.ts';
import type { ListingVersion } from '../../schemas/topics.ts';
import { chooseQuantityUnit, convertQuantity, needsMark } from '../../schemas/units.ts';
import type { StoredReading } from '../history/stored-row.ts';
import { countBars } from '../language/cost.ts';
import { FIELDS, SOURCES } from '../language/fields.ts';
import type { CallNode, FieldNode, Node, SourceNode } from '../language/tree.ts';
import { findVersionAt } from '../live/listing-book.ts';
import { findCountedUnit, findUnit, isQuantity } from '../live/members.ts';
import { toSpecId } from '../series/column-spec.ts';
import type { Captured, CapturedColumn } from './capture.ts';
import type { Leaf } from './evaluate.ts';
import { type Facts, findMark, type LayerState, requireLayer } from './facts.ts';
import { type AtomValue, computeAtom, listColumns, REASONS, requireFunction, UNIT_UNKNOWN_AT } from './series.ts';
import { findFirstUnknown, makeUnknown, NO_VALUE, toNumber, UNIT_UNKNOWN, type Unknown, type Value } from './values.ts';

export type LeafValue = {
  readonly value: Value;
  readonly unit: string;
  /** The digits a known figure is printed with; null prints the double (N-05). */
  readonly digits: Digits | null;
  readonly layer: string;
  /** The reading spoken of; null for series, reference fields, and layers without one. */
  readonly reading: StoredReading | null;
  readonly receivedAt: Micros | null;
  readonly ageMs: number | null;
  readonly status: Status;
  readonly reason: string | null;
  /** For an indicator: the end of the newest period used, and the number of periods. */
  readonly period: { readonly timeframe: string; readonly bars: number; readonly end: Micros | null } | null;
  /** Of a depth: the band, its mid, and the levels summed. */
  readonly depth: { readonly band: string; readonly reference: Digits | null; readonly levels: Digits | null } | null;
};

const BARE = { digits: null, reading: null, receivedAt: null, ageMs: null, period: null, depth: null } as const;

const toStatus = (value: Value): Pick<LeafValue, 'status' | 'reason'> =>
  value.kind === 'unknown' ? { status: value.status, reason: value.reason } : { status: 'present', reason: null };

const makeReference = (value: Value, unit: string, digits: Digits | null = null): LeafValue => ({
  ...BARE,
  value,
  unit,
  digits,
  layer: 'reference',
  ...toStatus(value),
});

const makeText = (value: string): Value => ({ kind: 'text', value });
const QUANTITY_UNITS = ['base', 'contracts', 'quote'] as const satisfies readonly QuantityUnit[];

type Quantity = { readonly digits: Digits; readonly unit: QuantityUnit; readonly version: ListingVersion };

/** A quantity in the requested unit; null: it cannot be converted (N-07). */
const convertDigits = ({ digits, unit, version }: Quantity, facts: Facts): Digits | null => {
  const { units: mode } = facts.terms;
  const listing = version.record.values;
  const mark = needsMark(unit, mode, listing) ? findMark(facts) : null;
  return convertQuantity({ digits, unit, mode, listing, mark });
};

type RuleName = 'tick_size' | 'lot_size' | 'min_qty';

/** What a rule counts in: as stated, else as the listing counts (N-08); null of a price. */
const findRuleUnit = (name: RuleName, version: ListingVersion): QuantityUnit | null => {
  if (name === 'tick_size') return null;
  const stated = version.record.values.units[name];
  return stated === null
    ? findCountedUnit({ quantity_unit: null }, version)
    : (QUANTITY_UNITS.find((unit) => unit === stated) ?? null);
};

/** Rules of the listing: known, left out, or not published. */
const readRule = (name: RuleName, facts: Facts): LeafValue => {
  const { version, terms } = facts;
  const { values } = version.record;
  const digits = values[name];
  const counted = findRuleUnit(name, version);
  const unit = counted === null ? (values.units[name] ?? 'quote') : chooseQuantityUnit(counted, terms.units);
  if (digits === null) {
    return makeReference(
      values.not_published.includes(name) ? makeUnknown('not_published', 'venue_capability') : NO_VALUE,
      unit,
    );
  }
  const shown = counted === null ? digits : convertDigits({ digits, unit: counted, version }, facts);
  return shown === null ? makeReference(UNIT_UNKNOWN, unit) : makeReference(toNumber(Number(shown)), unit, shown);
};

const isPresent = (facts: Facts): boolean => requireLayer(facts, 'mark').answer.status === 'present';

/** Reference fields; those of the instrument are the same for each of its listings. */
const readReference = (name: string, facts: Facts, group: readonly Facts[]): LeafValue => {
  const { listing, version } = facts;
  switch (name) {
    case 'instrument':
    case 'base':
    case 'quote':
      return makeReference(makeText(version.record.values[name]), 'code');
    case 'venue':
      return makeReference(makeText(listing.venue), 'code');
    case 'venues_listed':
      return makeReference(toNumber(group.length), 'count');
    case 'venues_answered':
      return makeReference(toNumber(group.filter(isPresent).length), 'count');
    case 'tick_size':
    case 'lot_size':
    case 'min_qty':
      return readRule(name, facts);
    default:
      throw new Error(`"${name}" is not a reference field`);
  }
};

type Member = { readonly value: Value; readonly unit: string; readonly digits: Digits | null };
type StatusReason = Pick<LeafValue, 'status' | 'reason'>;

/**
 * The value of a layer with the stamps of its reading; a layer that is off or not published has none. A literal of every member:
 * thousands are made a query, and spreading parts into one costs several times as much.
 */
const makeLeafValue = (
  { reading, answer }: LayerState,
  layer: ReadingLayer,
  { value, unit, digits, status, reason }: Member & StatusReason,
): LeafValue => {
  const isSilent = answer.status === 'off' || answer.status === 'not_published';
  return {
    value,
    unit,
    digits,
    layer,
    reading: isSilent ? null : reading,
    receivedAt: isSilent || reading === null ? null : reading.received_at,
    ageMs: answer.age_ms,
    status,
    reason,
    period: null,
    depth: null,
  };
};

/** In force when the reading was recorded (H-16k). */
const findVersion = ({ recorded_at }: StoredReading, { listing, version }: Facts): ListingVersion =>
  findVersionAt(listing.versions, recorded_at) ?? version;

/** An instant that has passed has no remaining time: the venue has not published the next settlement yet (L-02), unless it never does (DQL-33c). */
const computeTimeToFunding = (reading: StoredReading, facts: Facts): Value => {
  const next = reading.instants.next_funding_at;
  const { at } = facts.terms;
  const { not_published } = findVersion(reading, facts).record.values;
  if (next === undefined && not_published.includes('next_funding_at'))
    return makeUnknown('not_published', 'venue_capability');
  return next === undefined || next <= at ? NO_VALUE : toNumber(Math.floor((next - at) / MICROS_PER_MS));
};

/** The status of a member that is null in a present layer: `unit_unknown` never changes it (L-07). */
const STATUS_OF_NULL: Readonly<Record<string, Status>> = { venue_capability: 'not_published', unit_unknown: 'present' };

/** A member of a reading that is valid; one that is null has a reason (L-02, DQL-33c). */
const readMember = (reading: StoredReading, member: string, facts: Facts): Member => {
  const unit = findUnitOfMember(member, reading.layer, facts);
  if (member === 'time_to_funding') return { value: computeTimeToFunding(reading, facts), unit, digits: null };
  const version = findVersion(reading, facts);
  const digits = reading.values[member];
  if (digits === undefined) {
    const reason = reading.null_reasons[member] ?? 'no_value';
    return { value: makeUnknown(STATUS_OF_NULL[reason] ?? 'missing', reason), unit, digits: null };
  }
  const shown = isQuantity(reading.layer, member)
    ? convertDigits({ digits, unit: findCountedUnit(reading, version), version }, facts)
    : digits;
  if (shown === null) return { value: UNIT_UNKNOWN, unit, digits: null };
  return { value: toNumber(Number(shown)), unit, digits: shown };
};

/** The unit of the newest reading, valid or not; without one as the listing counts (N-08). */
const findUnitOfMember = (member: string, layer: ReadingLayer, facts: Facts): string => {
  if (member === 'time_to_funding') return 'ms';
  const { reading } = requireLayer(facts, layer);
  const counted =
    reading === null
      ? findCountedUnit({ quantity_unit: null }, facts.version)
      : findCountedUnit(reading, findVersion(reading, facts));
  return findUnit(member, layer, chooseQuantityUnit(counted, facts.terms.units));
};

/** Whether the listing never has a field; a field of its reading is published, regardless of the listing's statement. */
const isNeverPublished = (member: string, reading: StoredReading | null, { version }: Facts): boolean => {
  const held = member === 'time_to_funding' ? reading?.instants.next_funding_at : reading?.values[member];
  const { not_published } = version.record.values;
  return held === undefined && (FIELDS.get(member)?.needs ?? []).some((name) => not_published.includes(name));
};

/** Why a field of a layer that is not present is unknown: behind `off` a field that is never published goes before the state of its layer (L-07). */
const explainAbsence = (member: string, { reading, answer }: LayerState, facts: Facts): Unknown =>
  answer.status !== 'off' && isNeverPublished(member, reading, facts)
    ? makeUnknown('not_published', 'venue_capability')
    : makeUnknown(answer.status === 'present' ? 'missing' : answer.status, answer.reason ?? 'no_value');

const readMemberValue = (layer: ReadingLayer, member: string, facts: Facts): LeafValue => {
  const state = requireLayer(facts, layer);
  const { reading, answer } = state;
  if (answer.status !== 'present' || reading === null) {
    const value = explainAbsence(member, state, facts);
    const { status, reason } = value;
    return makeLeafValue(state, layer, {
      value,
      unit: findUnitOfMember(member, layer, facts),
      digits: null,
      status,
      reason,
    });
  }
  const { value, unit, digits } = readMember(reading, member, facts);
  if (value.kind !== 'unknown')
    return makeLeafValue(state, layer, { value, unit, digits, status: 'present', reason: null });
  const { status, reason } = value;
  return makeLeafValue(state, layer, { value, unit, digits, status, reason });
};

const readDepth = (name: string, band: string, facts: Facts): LeafValue => {
  const said = readMemberValue('venue_depth', `${name}_${band}`, facts);
  const { reading, answer } = requireLayer(facts, 'venue_depth');
  const values = answer.status === 'present' ? (reading?.values ?? {}) : {};
  const side = name.includes('bid') ? 'bid' : 'ask';
  const levels = values[`levels_${side}_${band}`] ?? null;
  return { ...said, depth: { band, reference: values.mid ?? null, levels } };
};

/** `age` is known whenever there is an accepted reading, `status` always (DQL-15). */
const readAbout = (what: 'age' | 'status', layer: ReadingLayer, facts: Facts): LeafValue => {
  const state = requireLayer(facts, layer);
  const { answer } = state;
  const known = { digits: null, status: 'present', reason: null } as const;
  if (what === 'status') return makeLeafValue(state, layer, { ...known, value: makeText(answer.status), unit: 'code' });
  const isKnown = (answer.status === 'present' || answer.status === 'stale') && answer.age_ms !== null;
  const status = answer.status === 'present' ? 'missing' : answer.status;
  if (isKnown) return makeLeafValue(state, layer, { ...known, value: toNumber(answer.age_ms ?? 0), unit: 'ms' });
  const value = makeUnknown(status, answer.reason ?? 'no_value');
  return makeLeafValue(state, layer, { digits: null, value, unit: 'ms', status, reason: value.reason });
};

/** That of the newest element, else as the listing counts (N-08). */
const findQuantityUnit = (node: SourceNode | FieldNode, { version, terms, windows }: Facts): string => {
  const counted = listColumns(node).flatMap((spec) => windows.get(toSpecId(spec))?.units ?? []);
  const unit = counted.findLast((one) => one !== null) ?? null;
  return chooseQuantityUnit(findCountedUnit({ quantity_unit: unit }, version), terms.units);
};

/** Unit of a sum, difference, product or quotient (L-10). */
export const findUnitOfArithmetic = (op: string, left: string, right: string): string => {
  if (left !== right) return 'count';
  if (op === '+' || op === '-') return left;
  return op === '/' ? 'fraction' : 'count';
};

const findUnitOfSeries = (node: Node, facts: Facts): string => {
  switch (node.type) {
    case 'source':
    case 'field': {
      const unit = (node.type === 'source' ? SOURCES : FIELDS).get(node.name)?.unit ?? 'count';
      return unit === 'quantity' ? findQuantityUnit(node, facts) : unit;
    }
    case 'arith':
      return findUnitOfArithmetic(node.op, findUnitOfSeries(node.left, facts), findUnitOfSeries(node.right, facts));
    case 'call': {
      const { unit } = requireFunction(node);
      return unit === 'argument' ? findUnitOfSeries(node.args[0] as Node, facts) : unit;
    }
    default:
      return 'count';
  }
};

/** A source whose figure cannot be converted is there (L-07); what a function computes of it is missing (DQL-33j). */
const toValue = (leaf: CallNode | SourceNode, atom: AtomValue): Value => {
  if ('number' in atom) return toNumber(atom.number);
  if ('truth' in atom) return { kind: 'truth', value: atom.truth };
  if (leaf.type === 'source' && atom.reason === UNIT_UNKNOWN_AT) return UNIT_UNKNOWN;
  return makeUnknown('missing', REASONS[atom.reason] ?? 'no_value');
};

const isUnknown = (captured: Captured): captured is Unknown => 'kind' in captured;

/** When the newest candle or reading used was received; a count uses the newest candle that there is among its periods (DQL-29). */
const findReceivedAt = ({ received, receivedAt }: CapturedColumn, bars: number): Micros | null => {
  if (received === null) return receivedAt;
  const newest = received.slice(-bars).findLast((instant) => !Number.isNaN(instant));
  return newest !== undefined && Number.isFinite(newest) ? newest : null;
};

const readSeriesValue = (leaf: CallNode | SourceNode, facts: Facts): LeafValue => {
  const specs = listColumns(leaf);
  const columns = specs.map((spec): Captured => {
    const captured = facts.windows.get(toSpecId(spec));
    if (captured === undefined) throw new Error(`the column ${toSpecId(spec)} was not captured`);
    return captured;
  });
  const layers = new Set(specs.map((spec) => (spec.kind === 'candles' ? 'candles' : spec.layer)));
  const [layer = 'candles', ...others] = layers;
  const timeframe = leaf.period ?? '';
  const said = {
    ...BARE,
    unit: findUnitOfSeries(leaf, facts),
    layer: others.length === 0 ? layer : 'candles',
    period: { timeframe, bars: countBars(leaf), end: null },
  };
  const absent = columns.filter(isUnknown);
  if (absent.length > 0) {
    const value = findFirstUnknown(absent);
    return { ...said, value, ...toStatus(value) };
  }
  const read = new Map(specs.map((spec, i) => [toSpecId(spec), columns[i] as CapturedColumn]));
  const value = toValue(
    leaf,
    computeAtom(leaf, (spec) => {
      const captured = read.get(toSpecId(spec));
      if (captured === undefined) throw new Error(`the column ${toSpecId(spec)} is none of the atom's`);
      return captured.elements;
    }),
  );
  let receivedAt: Micros | null = null;
  let end: Micros | null = null;
  for (const column of read.values()) {
    end = column.end;
    const received = findReceivedAt(column, said.period.bars);
    if (received !== null && received > (receivedAt ?? 0)) receivedAt = received;
  }
  const ageMs = receivedAt === null ? null : Math.floor((facts.terms.at - receivedAt) / MICROS_PER_MS);
  // A bare source has digits as published; everything else is computed.
  const digits = leaf.type === 'source' && value.kind === 'number' ? ([...read.values()][0]?.digits ?? null) : null;
  return { ...said, value, digits, ...toStatus(value), receivedAt, ageMs, period: { ...said.period, end } };
};

const readFieldValue = ({ name }: FieldNode, facts: Facts, group: readonly Facts[]): LeafValue => {
  const layer = FIELDS.get(name)?.layer;
  if (layer === undefined || layer === 'reference') return readReference(name, facts, group);
  return readMemberValue(layer, name, facts);
};

/** The value of a leaf for a listing of an instrument; `group` are all the instrument's selected listings. */
export const readLeaf = (leaf: Leaf, facts: Facts, group: readonly Facts[]): LeafValue => {
  if (leaf.type === 'field') return readFieldValue(leaf, facts, group);
  if (leaf.type === 'source') return readSeriesValue(leaf, facts);
  const { how } = requireFunction(leaf);
  if (how.by !== 'layer') return readSeriesValue(leaf, facts);
  const [argument] = leaf.args;
  if (how.what === 'depth') return readDepth(leaf.name, argument?.type === 'code' ? argument.value : '', facts);
  const layer = argument?.type === 'field' ? FIELDS.get(argument.name)?.layer : undefined;
  if (layer === undefined || layer === 'reference') throw new Error(`${leaf.name} takes a field of a layer`);
  return readAbout(how.what, layer, facts);
};
