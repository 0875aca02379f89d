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
  flatten(WRITERS[numberFormat].write(value));

type JsonObject = { readonly [member: string]: JsonValue | undefined };

/** The start of objects that share their first members, for `finishObject`; there is at least one member. */
export const beginObject = (shared: JsonObject): string => WRITERS.json.addMembers('', shared);

/** Completes an object started by `beginObject` with its other members. */
export const finishObject = (begun: string, value: JsonObject, { numberFormat = 'json' }: WriteOptions = {}): string =>
  flatten(`${WRITERS[numberFormat].addMembers(begun, value)}}`);

/**
 * The engine keeps a concatenation as a tree of its parts until a character is read, and each collection of garbage copies the trees that live:
 * the many items of an answer are better kept as plain texts.
 */
const flatten = (text: string): string => (text.charCodeAt(0) > 0 ? text : '');

/** Printable ASCII without `"` and `\`: nothing to escape, true for nearly every string we send. */
const PLAIN = /^[ !#-[\]-~]*$/;
const quoteText = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Names repeat in every item, and so do codes, units and states; the bounds are for maps keyed by data and for texts of users. */
const MOST_LABELS = 4_096;
const MOST_TEXTS = 16_384;
const LONGEST_TEXT = 20;

/** `{"unit":` or `,"unit":`, and the same with null and with each short text that has followed it: one concatenation instead of up to four. */
type Label = { readonly text: string; readonly withNull: string; readonly withTexts: Map<string, string> };
type Labels = Map<string, Label>;
const firstLabels: Labels = new Map();
const laterLabels: Labels = new Map();
let textsHeld = 0;

const takeLabel = (key: string, labels: Labels, before: '{' | ','): Label => {
  const known = labels.get(key);
  if (known !== undefined) return known;
  const text = `${before}${JSON.stringify(key)}:`;
  const label = { text, withNull: `${text}null`, withTexts: new Map() };
  if (labels.size < MOST_LABELS) labels.set(key, label);
  return label;
};

const writeTextMember = ({ text, withTexts }: Label, value: string): string => {
  if (value.length > LONGEST_TEXT) return text + quoteText(value);
  const known = withTexts.get(value);
  if (known !== undefined) return known;
  const made = text + quoteText(value);
  if (textsHeld < MOST_TEXTS) {
    textsHeld += 1;
    withTexts.set(value, made);
  }
  return made;
};

/** Writes the values of one number format. Texts grow by concatenation, which the engine defers until the whole is read. */
class Writer {
  readonly #format: NumberFormat;

  constructor(format: NumberFormat) {
    this.#format = format;
  }

  write(value: JsonValue): string {
    if (value === null) return 'null';
    switch (typeof value) {
      case 'string':
        return quoteText(value);
      case 'number':
        return formatDouble(value);
      case 'boolean':
        return value ? 'true' : 'false';
      default:
        return this.#writeObject(value);
    }
  }

  /** The text of an unfinished object, with more members. */
  addMembers(begun: string, value: JsonObject): string {
    let text = begun;
    // Own members only: records decoded from Avro have enumerable methods on their prototype.
    for (const key of Object.keys(value)) {
      const member = value[key];
      if (member !== undefined) text = this.#addMember(text, key, member);
    }
    return text;
  }

  #addEntries(map: ReadonlyMap<string, JsonValue | undefined>): string {
    let text = '';
    for (const [key, member] of map) if (member !== undefined) text = this.#addMember(text, key, member);
    return text;
  }

  #addMember(begun: string, key: string, value: JsonValue): string {
    const label = begun === '' ? takeLabel(key, firstLabels, '{') : takeLabel(key, laterLabels, ',');
    if (typeof value === 'string') return begun + writeTextMember(label, value);
    if (value === null) return begun + label.withNull;
    if (value instanceof Figure) return begun + label.text + this.#writeFigure(value);
    return begun + label.text + this.write(value);
  }

  #writeFigure({ digits }: Figure): string {
    return this.#format === 'string' ? `"${digits}"` : digits;
  }

  #writeObject(value: Exclude<JsonValue, null | string | number | boolean>): string {
    if (value instanceof Figure) return this.#writeFigure(value);
    if (value instanceof RawJson) return value.text;
    if (Array.isArray(value)) {
      let text = '[';
      for (let i = 0; i < value.length; i++) text += (i === 0 ? '' : ',') + this.write(value[i] as JsonValue);
      return `${text}]`;
    }
    const text = value instanceof Map ? this.#addEntries(value) : this.addMembers('', value as JsonObject);
    return text === '' ? '{}' : `${text}}`;
  }
}

const WRITERS: Readonly<Record<NumberFormat, Writer>> = { json: new Writer('json'), string: new Writer('string') };
