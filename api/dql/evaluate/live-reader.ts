// What a listing says now for a leaf: reference fields, fields of a layer, depth, age and status, from the memory copy (DQL-15, DQL-20, L-02, L-07).
import { type StatusAnswer, statusAt } from '../../../schemas/freshness.ts';
import { MICROS_PER_MS } from '../../../schemas/instants.ts';
import type { ReadingLayer } from '../../../schemas/layers.ts';
import type { Digits, Micros } from '../../../schemas/records.ts';
import type { ListingVersion, Reading } from '../../../schemas/topics.ts';
import { convertQuantity, type QuantityUnit, type UnitsMode } from '../../../schemas/units.ts';
import type { Bounds } from '../../live/bounds.ts';
import { isQuantity, unitCounted } from '../../live/layer-object.ts';
import { type LiveListing, versionAt } from '../../live/listing-book.ts';
import { lostAt, policyOf, presentMark, type VenueView } from '../../live/listing-view.ts';
import { FIELDS } from '../fields.ts';
import type { CallNode, FieldNode } from '../tree.ts';
import type { Leaf } from './evaluate.ts';
import { NO_VALUE, numberOf, unknown, type Value } from './values.ts';

/** A selected listing with what is the same for all of its venue. */
export type LiveElement = {
  readonly view: VenueView;
  readonly listing: LiveListing;
  readonly version: ListingVersion;
};

export type LiveOptions = {
  /** T. */
  readonly at: Micros;
  readonly units: UnitsMode;
  readonly bounds: Bounds;
  /** The instrument's selected listings. */
  readonly elements: readonly LiveElement[];
  /** Reads what needs periods: sources and series calls. */
  readonly series: (leaf: Leaf, element: LiveElement) => Value;
};

/** A layer of a listing at T: its reading, and whether it holds. */
export type LayerState = { readonly reading: Reading | null; readonly answer: StatusAnswer };

export const layerStateOf = (
  { view, listing }: LiveElement,
  layer: ReadingLayer,
  { at, bounds }: Pick<LiveOptions, 'at' | 'bounds'>,
): LayerState => {
  const reading = listing.readings[layer] ?? null;
  const answer = statusAt({
    reading,
    policy: policyOf(view.capability, layer),
    lostAt: lostAt(view, reading),
    boundMs: bounds[layer],
    at,
    stateLag: view.stateLag,
  });
  return { reading, answer };
};

const textOrNone = (text: string | undefined): Value => (text === undefined ? NO_VALUE : { kind: 'text', value: text });

type Quantity = { readonly digits: Digits; readonly unit: QuantityUnit; readonly version: ListingVersion };

const inUnits = ({ digits, unit, version }: Quantity, element: LiveElement, options: LiveOptions): Value => {
  const mark = options.units === 'published' ? null : presentMark(element.view, element.listing, options);
  const listing = version.record.values;
  const converted = convertQuantity({ digits, unit, mode: options.units, listing, mark: mark?.digits ?? null });
  return converted === null ? unknown('missing', 'unit_unknown') : numberOf(Number(converted));
};

const QUANTITY_UNITS: readonly string[] = ['base', 'contracts', 'quote'] satisfies QuantityUnit[];

const ruleOf = (name: 'tick_size' | 'lot_size' | 'min_qty', element: LiveElement, options: LiveOptions): Value => {
  const { version } = element;
  const { values } = version.record;
  const digits = values[name];
  if (digits === null) {
    return values.not_published.includes(name) ? unknown('not_published', 'venue_capability') : NO_VALUE;
  }
  const stated = values.units[name];
  const isCounted = name !== 'tick_size' && stated !== null && QUANTITY_UNITS.includes(stated);
  if (!isCounted) return numberOf(Number(digits));
  return inUnits({ digits, unit: stated as QuantityUnit, version }, element, options);
};

const referenceOf = (name: string, element: LiveElement | null, options: LiveOptions): Value => {
  const values = (element ?? options.elements[0])?.version.record.values;
  switch (name) {
    case 'instrument':
    case 'base':
    case 'quote':
      return textOrNone(values?.[name]);
    case 'venue':
      return textOrNone(element?.listing.venue);
    case 'venues_listed':
      return numberOf(options.elements.length);
    case 'venues_answered':
      return numberOf(
        options.elements.filter((each) => layerStateOf(each, 'mark', options).answer.status === 'present').length,
      );
    case 'tick_size':
    case 'lot_size':
    case 'min_qty':
      return element === null ? NO_VALUE : ruleOf(name, element, options);
    default:
      throw new Error(`"${name}" is no reference field`);
  }
};

/** A member of a present reading; one that is null says why (L-02, DQL-33c). */
const memberOf = (
  reading: Reading,
  member: string,
  { element, options }: { element: LiveElement; options: LiveOptions },
): Value => {
  const digits = reading.values[member];
  if (digits === undefined) {
    const reason = reading.null_reasons[member] ?? 'no_value';
    return unknown(reason === 'venue_capability' ? 'not_published' : 'missing', reason);
  }
  if (!isQuantity(reading.layer, member)) return numberOf(Number(digits));
  const version = versionAt(element.listing.versions, reading.recorded_at) ?? element.version;
  return inUnits({ digits, unit: unitCounted(reading, version), version }, element, options);
};

/** Time that has passed is none: the venue has not published the next settlement yet (L-02). */
const timeToFunding = ({ instants }: Reading, at: Micros): Value => {
  const next = instants.next_funding_at;
  return next === undefined || next <= at ? NO_VALUE : numberOf(Math.floor((next - at) / MICROS_PER_MS));
};

const layerValue = (layer: ReadingLayer, member: string, of: { element: LiveElement; options: LiveOptions }): Value => {
  const { reading, answer } = layerStateOf(of.element, layer, of.options);
  if (answer.status !== 'present') return unknown(answer.status, answer.reason ?? 'no_value');
  if (reading === null) return NO_VALUE;
  return member === 'time_to_funding' ? timeToFunding(reading, of.options.at) : memberOf(reading, member, of);
};

const fieldOf = ({ name }: FieldNode, element: LiveElement | null, options: LiveOptions): Value => {
  const layer = FIELDS.get(name)?.layer;
  if (layer === undefined || layer === 'reference') return referenceOf(name, element, options);
  return element === null ? NO_VALUE : layerValue(layer, name, { element, options });
};

/** `age` is known whenever there is an accepted reading, `status` always (DQL-15). */
const aboutLayer = (node: CallNode, element: LiveElement, options: LiveOptions): Value => {
  const [field] = node.args;
  const layer = field?.type === 'field' ? FIELDS.get(field.name)?.layer : undefined;
  if (layer === undefined || layer === 'reference') throw new Error(`${node.name} takes a field of a layer`);
  const { answer } = layerStateOf(element, layer, options);
  if (node.name === 'status') return { kind: 'text', value: answer.status };
  const isKnown = answer.status === 'present' || answer.status === 'stale';
  if (isKnown && answer.age_ms !== null) return numberOf(answer.age_ms);
  return answer.status === 'present' ? NO_VALUE : unknown(answer.status, answer.reason ?? 'no_value');
};

const DEPTH = /^depth_/;

/** The reader of the present, for `Environment.read`. */
export const liveReader =
  (options: LiveOptions) =>
  (leaf: Leaf, element: LiveElement | null): Value => {
    if (leaf.type === 'field' && leaf.period === undefined) return fieldOf(leaf, element, options);
    if (element === null) return NO_VALUE;
    if (leaf.type !== 'call') return options.series(leaf, element);
    const [argument] = leaf.args;
    if (DEPTH.test(leaf.name) && argument?.type === 'code') {
      return layerValue('venue_depth', `${leaf.name}_${argument.value}`, { element, options });
    }
    const isAbout = leaf.name === 'age' || leaf.name === 'status';
    return isAbout ? aboutLayer(leaf, element, options) : options.series(leaf, element);
  };
