// The serialiser: figures as their digits, documented order, no white space (N-01, N-05, N-06).
import { formatDouble } from './decimals.ts';
import type { Digits } from './records.ts';
import { compareBytes } from './text-order.ts';

/** A market figure, printed with exactly its digits, as a number or a string by `number_format` (N-06). */
export class Figure {
  readonly digits: Digits;
  constructor(digits: Digits) {
    this.digits = digits;
  }
}

/** Text that is already JSON: a venue's message under `include_raw`, a cached answer. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export const makeFigure = (digits: Digits): Figure => new Figure(digits);
export const makeRawJson = (text: string): RawJson => new RawJson(text);

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | Figure
  | RawJson
  | readonly JsonValue[]
  | ReadonlyMap<string, JsonValue | undefined>
  | { readonly [member: string]: JsonValue | undefined };

export type NumberFormat = 'json' | 'string';
type WriteOptions = { readonly numberFormat?: NumberFormat };

/**
 * Sorts a map keyed by data by ascending bytes of the key (N-01). Keys are our names: an object puts whole numbers first, so what has others as
 * keys is written from a `Map`.
 */
export const sortByKey = <T>(map: Readonly<Record<string, T>>): Record<string, T> => {
  const sorted: Record<string, T> = {};
  for (const key of Object.keys(map).sort(compareBytes)) sorted[key] = map[key] as T;
  return sorted;
};

/** Members of objects and maps in insertion order; `undefined` ones are omitted. Throws DecimalError for NaN and infinities (N-05). */
export const writeJson = (value: JsonValue, { numberFormat = 'json' }: WriteOptions = {}): string =>
  write(value, numberFormat);

type JsonObject = { readonly [member: string]: JsonValue | undefined };

/** The start of objects that share their first members, for `finishObject`; there is at least one member. */
export const beginObject = (shared: JsonObject): string => addMembers('', shared, 'json');

/** Completes an object started by `beginObject` with its other members. */
export const finishObject = (begun: string, value: JsonObject, { numberFormat = 'json' }: WriteOptions = {}): string =>
  `${addMembers(begun, value, numberFormat)}}`;

const write = (value: JsonValue, format: NumberFormat): string => {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return quoteText(value);
    case 'number':
      return formatDouble(value);
    case 'boolean':
      return value ? 'true' : 'false';
    default:
      return writeObject(value, format);
  }
};

/** Printable ASCII without `"` and `\`: nothing to escape, true for nearly every string we send. */
const PLAIN = /^[ !#-[\]-~]*$/;
const quoteText = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Names are few and repeat in every item; the bound is for maps keyed by data. */
const MOST_LABELS = 4_096;
type Labels = Map<string, string>;
/** Includes the text before a name: one concatenation less. */
const firstLabels: Labels = new Map();
const laterLabels: Labels = new Map();
const takeLabel = (key: string, labels: Labels, before: '{' | ','): string => {
  const known = labels.get(key);
  if (known !== undefined) return known;
  const label = `${before}${JSON.stringify(key)}:`;
  if (labels.size < MOST_LABELS) labels.set(key, label);
  return label;
};

const writeObject = (value: Exclude<JsonValue, null | string | number | boolean>, format: NumberFormat): string => {
  if (value instanceof Figure) return format === 'string' ? `"${value.digits}"` : value.digits;
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) {
    let text = '[';
    for (let i = 0; i < value.length; i++) text += (i === 0 ? '' : ',') + write(value[i] as JsonValue, format);
    return `${text}]`;
  }
  const text = value instanceof Map ? addEntries(value, format) : addMembers('', value as JsonObject, format);
  return text === '' ? '{}' : `${text}}`;
};

const addMember = (text: string, key: string): string =>
  text + (text === '' ? takeLabel(key, firstLabels, '{') : takeLabel(key, laterLabels, ','));

const addEntries = (map: ReadonlyMap<string, JsonValue | undefined>, format: NumberFormat): string => {
  let text = '';
  for (const [key, member] of map) if (member !== undefined) text = addMember(text, key) + write(member, format);
  return text;
};

/** The text of an unfinished object, with more members. */
const addMembers = (begun: string, value: JsonObject, format: NumberFormat): string => {
  let text = begun;
  // Own members only: records decoded from Avro have enumerable methods on their prototype.
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    text = addMember(text, key) + write(member, format);
  }
  return text;
};
