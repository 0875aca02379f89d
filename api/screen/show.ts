// Value objects of DQL answers: fields, indicators, depth, arithmetic, conditions, counts, aggregates (L-10, SC-03, DQL-33j).
import { formatDouble } from '../../schemas/decimals.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { type Figure, type JsonValue, makeFigure } from '../../schemas/json.ts';
import type { Digits } from '../../schemas/records.ts';
import type { StoredReading } from '../history/stored-row.ts';
import type { AggregateNode, ArithNode, Node, QuantifierNode } from '../language/tree.ts';
import { toFigureOrNull } from '../live/members.ts';
import { listOwnCauses } from './because.ts';
import { computeAggregate, listParts, type Parts } from './evaluate.ts';
import type { Element, Instrument } from './instrument.ts';
import { findUnitOfArithmetic, type LeafValue } from './leaf-values.ts';
import { isLeaf } from './plan.ts';
import { findFirstUnknown, toNumber, type Unknown, type Value } from './values.ts';

type Json = Readonly<Record<string, JsonValue | undefined>>;

const toComputed = (value: number): Figure => makeFigure(formatDouble(value));
/** Counts of listings and periods are no market figures (N-06). */
const COUNTED: ReadonlySet<string> = new Set(['venues_listed', 'venues_answered', 'gaps']);
const isCounted = (node: Node): boolean => isLeaf(node) && COUNTED.has(node.name);

/** The value of a leaf, or of an aggregate over it. */
const showLeaf = (leaf: Node, value: Value, digits: Digits | null): JsonValue =>
  value.kind === 'number' && isCounted(leaf) ? value.value : showValue(value, digits);

const showValue = (value: Value, digits: Digits | null): JsonValue => {
  switch (value.kind) {
    case 'number':
      return digits === null ? toComputed(value.value) : makeFigure(digits);
    case 'text':
    case 'truth':
      return value.value;
    case 'interval':
    case 'unknown':
      return null;
    default:
      return value satisfies never;
  }
};

type Optional = JsonValue | undefined;
const formatCandleEnd = ({ period }: LeafValue): Optional =>
  period === null ? undefined : period.end === null ? null : formatInstant(period.end);
const toDepthLevels = ({ depth }: LeafValue): Optional =>
  depth === null ? undefined : depth.levels === null ? null : Number(depth.levels);

type StampTexts = { readonly venue_ts: string | null; readonly received_at: string | null };
/** Readings never change and are shown often, so their instants are written once. */
const textsByReading = new WeakMap<StoredReading, StampTexts>();

const formatStamps = ({ reading, receivedAt }: LeafValue): StampTexts => {
  if (reading === null) return { venue_ts: null, received_at: formatInstantOrNull(receivedAt) };
  const held = textsByReading.get(reading);
  if (held !== undefined) return held;
  const texts = { venue_ts: formatInstantOrNull(reading.venue_ts), received_at: formatInstant(reading.received_at) };
  textsByReading.set(reading, texts);
  return texts;
};

const makeLeafObject = (leaf: Node, said: LeafValue, { facts }: Element): Json => {
  const shown = showLeaf(leaf, said.value, said.digits);
  const reason = said.reason ?? undefined;
  if (said.layer === 'reference') {
    return { value: shown, unit: said.unit, layer: 'reference', status: said.status, reason };
  }
  const { venue_ts, received_at } = formatStamps(said);
  const { period, depth } = said;
  return {
    value: shown,
    unit: said.unit,
    venue: facts.listing.venue,
    layer: said.layer,
    venue_ts,
    received_at,
    age_ms: said.ageMs,
    status: said.status,
    reason,
    timeframe: period?.timeframe,
    bars: period?.bars,
    candle_end: formatCandleEnd(said),
    band: depth?.band,
    reference: depth === null ? undefined : toFigureOrNull(depth.reference),
    levels: toDepthLevels(said),
  };
};

/** Leaves and aggregates that an expression is computed from, each once. */
const listAtoms = (node: Node): Node[] => {
  if (isLeaf(node) || node.type === 'agg' || node.type === 'count') return [node];
  switch (node.type) {
    case 'arith':
      return [...listAtoms(node.left), ...listAtoms(node.right)];
    case 'call':
      return node.args.flatMap(listAtoms);
    default:
      return [];
  }
};

/** Unit of an expression; what is measured decides, not whether it is known. */
const findUnit = (node: Node, instrument: Instrument, element: Element | null): string => {
  if (isLeaf(node)) return instrument.said(node, element).unit;
  switch (node.type) {
    case 'duration':
      return 'ms';
    case 'arith':
      return findArithmeticUnit(node, instrument, element);
    case 'call':
      return findUnit(node.args[0] as Node, instrument, element);
    case 'agg':
      return findAggregateUnit(node, instrument);
    case 'number':
    case 'count':
      return 'count';
    default:
      return 'code';
  }
};

/** A duration times or by a number stays one (DQL-12). */
const findArithmeticUnit = (
  { op, left, right }: ArithNode,
  instrument: Instrument,
  element: Element | null,
): string => {
  const [a, b] = [findUnit(left, instrument, element), findUnit(right, instrument, element)];
  if (op === '*' && (a === 'ms' || b === 'ms')) return 'ms';
  return op === '/' && a === 'ms' && b !== 'ms' ? 'ms' : findUnitOfArithmetic(op, a, b);
};

/** The unit that the values of all who take part have, of all listings when none does; a mixture is a bare number. */
const findAggregateUnit = (node: AggregateNode, instrument: Instrument): string => {
  const taking = listTaking(listParts(node, instrument.environment));
  const measured = taking.length === 0 ? instrument.elements : taking;
  const units = new Set(measured.map((element) => findUnit(node.expr, instrument, element)));
  const [unit = 'count'] = units;
  return units.size === 1 ? unit : 'count';
};

/**
 * For an unknown or bounded value: status and reason of the first of the inputs that made it one (L-10, DQL-33f). What is computed of a present
 * figure that cannot be converted is missing (DQL-33j).
 */
const makeComputedStatus = (value: Value, unknowns: readonly Unknown[]) => {
  if (value.kind === 'number' || value.kind === 'text') return { status: 'present' };
  const { status, reason } = findFirstUnknown(unknowns.length === 0 && value.kind === 'unknown' ? [value] : unknowns);
  return { status: status === 'present' ? 'missing' : status, reason };
};

const makeDerivedObject = (node: Node, instrument: Instrument, element: Element | null): Json => {
  const value = instrument.value(node, element);
  const unknowns = listOwnCauses(node, instrument, element).map((cause) => cause.unknown);
  const { status, reason } = makeComputedStatus(value, unknowns);
  const atoms = new Map<string, JsonValue>();
  for (const atom of listAtoms(node)) {
    const text = isLeaf(atom) ? String(instrument.plan.slotOf.get(atom)) : JSON.stringify([atom.type, atom.place]);
    atoms.set(text, makeValueObject(atom, instrument, element));
  }
  return {
    value: showValue(value, null),
    unit: findUnit(node, instrument, element),
    venue: element?.facts.listing.venue,
    derived: true,
    status,
    reason,
    atoms: [...atoms.values()],
  };
};

const makeConditionObject = (node: Node, instrument: Instrument, element: Element | null): Json => {
  const value = instrument.value(node, element);
  const truth = value.kind === 'truth' ? value.value : null;
  const unknowns = truth === null ? listOwnCauses(node, instrument, element).map((cause) => cause.unknown) : [];
  return {
    value: truth,
    unit: 'code',
    status: 'present',
    reason: truth === null ? findFirstUnknown(unknowns).reason : undefined,
  };
};

const countObject = (node: QuantifierNode, instrument: Instrument): Json => {
  const value = instrument.value(node, null);
  if (value.kind !== 'interval') {
    return { value: value.kind === 'number' ? value.value : null, unit: 'count', unknown: 0 };
  }
  const { low, high } = value;
  return { value: null, unit: 'count', unknown: high - low, bound: { at_least: low, at_most: high } };
};

const makeOwnStamps = (said: LeafValue) => ({ received_at: formatStamps(said).received_at, age_ms: said.ageMs });

/** Stamps of what an element's value was computed from: those of the newest candle or reading used (DQL-29). */
const makeStamps = (node: Node, instrument: Instrument, element: Element) => {
  const leaves = listAtoms(node)
    .filter(isLeaf)
    .map((leaf) => instrument.said(leaf, element));
  const newest = leaves.reduce<LeafValue | null>(
    (held, said) => (held === null || (said.receivedAt ?? -Infinity) > (held.receivedAt ?? -Infinity) ? said : held),
    null,
  );
  return newest === null ? { received_at: null, age_ms: null } : makeOwnStamps(newest);
};

/** The parts of an aggregate: every contributing and every open element (DQL-21). */
const makePartObject = (node: AggregateNode, instrument: Instrument, element: Element): Json => {
  const value = instrument.value(node.expr, element);
  const said = isLeaf(node.expr) ? instrument.said(node.expr, element) : null;
  const stamps = said === null ? makeStamps(node.expr, instrument, element) : makeOwnStamps(said);
  return {
    venue: element.facts.listing.venue,
    symbol: element.facts.listing.venueSymbol,
    quote: element.facts.version.record.values.quote,
    value: showLeaf(node.expr, value, said?.digits ?? null),
    received_at: stamps.received_at,
    age_ms: stamps.age_ms,
    status: said?.status ?? makeComputedStatus(value, []).status,
  };
};

type Shown = { readonly value: JsonValue; readonly bound: JsonValue | undefined };

/** The figure that was picked or added up: the value, or what it is at least or at most. */
const showAggregate = (node: AggregateNode, instrument: Instrument, { contributing, open }: Parts<Element>): Shown => {
  const value = computeAggregate(node.fn, { contributing, open });
  const figureOf = (known: number): JsonValue => {
    const picked = contributing.find((part) => part.value === known)?.element;
    return showLeaf(node.expr, toNumber(known), findPickedDigits(node, instrument, picked));
  };
  if (value.kind === 'number') return { value: figureOf(value.value), bound: undefined };
  if (value.kind !== 'interval') return { value: null, bound: undefined };
  const bound = Number.isFinite(value.low) ? { at_least: figureOf(value.low) } : { at_most: figureOf(value.high) };
  return { value: null, bound };
};

/** Contributing and open elements (DQL-21). */
const listTaking = ({ contributing, open }: Parts<Element>): readonly Element[] =>
  [...contributing, ...open].map(({ element }) => element);

const listQuotes = (elements: readonly Element[]): string[] =>
  [...new Set(elements.map(({ facts }) => facts.version.record.values.quote))].sort();

/** Digits of the listing that gave the largest or smallest value: a published figure keeps them (N-05 rule 1). */
const findPickedDigits = (node: AggregateNode, instrument: Instrument, picked: Element | undefined): Digits | null =>
  node.fn !== 'sum' && picked !== undefined && isLeaf(node.expr) ? instrument.said(node.expr, picked).digits : null;

const makeAggregateObject = (node: AggregateNode, instrument: Instrument): Json => {
  const parts = listParts(node, instrument.environment);
  const value = computeAggregate(node.fn, parts);
  const taking = listTaking(parts);
  const unknowns = parts.open.flatMap(({ element }) =>
    [node.where, node.expr].flatMap((side) =>
      side === undefined ? [] : listOwnCauses(side, instrument, element).map((cause) => cause.unknown),
    ),
  );
  const { status, reason } = makeComputedStatus(value, unknowns);
  const unit = findAggregateUnit(node, instrument);
  const quotes = listQuotes(parts.contributing.map(({ element }) => element));
  const shown = showAggregate(node, instrument, parts);
  return {
    value: shown.value,
    unit,
    status,
    reason,
    bound: shown.bound,
    fn: node.fn,
    quotes: node.fn === 'sum' && unit === 'quote' && quotes.length > 1 ? quotes : undefined,
    from: instrument.elements
      .filter((element) => taking.includes(element))
      .map((element) => makePartObject(node, instrument, element)),
  };
};

/** The object of any expression at a listing, or of the instrument with `null`. */
export const makeValueObject = (node: Node, instrument: Instrument, element: Element | null): Json => {
  if (isLeaf(node)) {
    return makeLeafObject(node, instrument.said(node, element), element ?? (instrument.elements[0] as Element));
  }
  switch (node.type) {
    case 'agg':
      return makeAggregateObject(node, instrument);
    case 'count':
      return countObject(node, instrument);
    case 'duration':
      // A literal is echoed as a text; what is computed of one is a number of milliseconds (N-08).
      return { ...makeDerivedObject(node, instrument, element), value: node.value, unit: 'duration' };
    case 'call':
    case 'number':
    case 'arith':
      return makeDerivedObject(node, instrument, element);
    default:
      return makeConditionObject(node, instrument, element);
  }
};
