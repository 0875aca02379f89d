// Readers of venue messages: JSON in, checked figures, ids and instants out; whatever is wrong becomes a `VenueError`.
//
// Figures keep the venue's digits. A JSON number of up to fifteen significant digits comes out of a double as it went in (IEEE 754: any such decimal
// is the only one of its length near its double); longer ones are kept as `LongNumber`. So messages are parsed once, and only those that hold a
// long number, which few do, by the much slower way that sees each number's source text.
import { canonicalDigits, isPositive, plainDouble } from '../../../schemas/decimals.ts';
import { parseInstant } from '../../../schemas/instants.ts';
import type { Digits, Level, Micros } from '../../../schemas/records.ts';
import { type Unexpected, VenueError, VenueRefusal } from '../contract/listings.ts';
import { note } from './unexpected.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** A number that a double may not hold, as the venue wrote it; in JSON it is that number again. */
class LongNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
  toJSON(): unknown {
    return rawJSON(this.text);
  }
}

/** Sixteen digits or more, zeros ahead not counted; of whole numbers those that may be above 2^53. */
const LONG = /[[:,]\s*-?(?:[1-9][\d.]{16}|9\d{15}|0\.(?:0*[1-9]\d{15}|0{99}))/;
/** Exponents that leave what a double holds exactly, and overflow or vanish; told apart from ids in a second look, since hardly any text has either. */
const MAYBE_FAR = /\d[eE][-+]?\d{3}/;
const FAR = /[[:,]\s*-?[\d.]+[eE][-+]?\d{3}/;

const isDigitOrPoint = (code: number): boolean => (code >= 48 && code <= 57) || code === 46;

const LONG_RUN = 16;

/** Whether so many digits and points stand in a row: one of every sixteen characters is then one of them, the others need no look. */
const hasLongRun = (text: string): boolean => {
  for (let at = LONG_RUN - 1; at < text.length; at += LONG_RUN) {
    if (!isDigitOrPoint(text.charCodeAt(at))) continue;
    let from = at;
    while (from > 0 && isDigitOrPoint(text.charCodeAt(from - 1))) from -= 1;
    let to = at + 1;
    while (to < text.length && isDigitOrPoint(text.charCodeAt(to))) to += 1;
    if (to - from >= LONG_RUN) return true;
  }
  return false;
};

/** A message that is a number alone is not looked at: no venue says anything so. */
const holdsLongNumber = (text: string): boolean =>
  (hasLongRun(text) && LONG.test(text)) || (MAYBE_FAR.test(text) && FAR.test(text));

const keepLong = (_key: string, value: unknown, context: { readonly source?: string }): unknown =>
  typeof value === 'number' && context.source !== undefined && holdsLongNumber(`:${context.source}`)
    ? new LongNumber(context.source)
    : value;

const parseMessage = (text: string): unknown =>
  holdsLongNumber(text) ? JSON.parse(text, keepLong as (key: string, value: unknown) => unknown) : JSON.parse(text);

/** What the engine says when an object is taken as text whose own members `toString` and `valueOf` are no functions: JSON may name them so. */
const isNoWord = (error: unknown): boolean => error instanceof TypeError && /to primitive value/.test(error.message);

/** Runs `map` over the parsed payload. Throws `VenueError` only. */
export const readMessage = <T>(payload: Uint8Array, map: (message: unknown) => T): T => {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8');
  try {
    return map(parseMessage(text));
  } catch (error) {
    if (error instanceof VenueError) throw error;
    if (error instanceof SyntaxError || error instanceof RangeError)
      throw badFrame(`not JSON: ${text.slice(0, 80)}`, 'unreadable');
    if (isNoWord(error)) throw badFrame(`an object in a word's place: ${text.slice(0, 80)}`);
    throw error;
  }
};

/** A table looked up by a venue's word: it knows only its own, and not what every object has (`constructor`). */
export const words = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.assign(Object.create(null) as Record<string, string>, table);

export const badFrame = (what: string, kind?: Unexpected): VenueError => new VenueError('VENUE_BAD_FRAME', what, kind);
/** Of a member that is not there, or is no `what`. */
const notA = (value: unknown, what: string): VenueError =>
  badFrame(what, value === undefined ? 'missing_member' : 'bad_shape');
export const refusal = (what: string): VenueRefusal => new VenueRefusal(what.slice(0, 120));
const badFigure = (name: string, value: unknown): VenueError =>
  new VenueError('VENUE_BAD_FIGURE', `${name}: ${String(JSON.stringify(value)).slice(0, 60)} is no figure`);

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof LongNumber);

export const readFields = (value: unknown, name: string): Fields => {
  if (!isFields(value)) throw notA(value, `${name} is no object`);
  return value;
};

export const readList = (value: unknown, name: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw notA(value, `${name} is no array`);
  return value;
};

export const readText = (value: unknown, name: string): string => {
  if (typeof value !== 'string' || value === '') throw notA(value, `${name} is no text`);
  return value;
};

/** A figure that must be there; may be negative or zero. */
export const readFigure = (value: unknown, name: string): Digits => {
  try {
    if (typeof value === 'string') return canonicalDigits(value);
    if (typeof value === 'number') return plainDouble(value);
    if (value instanceof LongNumber) return canonicalDigits(value.text);
  } catch {
    throw badFigure(name, value);
  }
  throw value === undefined ? notA(value, `${name} is absent`) : badFigure(name, value);
};

/** Absent, null and empty text mean: the venue sent no figure. */
export const readFigureOrNull = (value: unknown, name: string): Digits | null =>
  value === undefined || value === null || value === '' ? null : readFigure(value, name);

export const readPrice = (value: unknown, name: string): Digits => positive(readFigure(value, name), name);

export const readPriceOrNull = (value: unknown, name: string): Digits | null => {
  const digits = readFigureOrNull(value, name);
  return digits === null ? null : positive(digits, name);
};

const positive = (digits: Digits, name: string): Digits => {
  if (!isPositive(digits)) throw badFigure(name, digits);
  return digits;
};

/** An amount: zero or more. */
export const readAmount = (value: unknown, name: string): Digits => {
  const digits = readFigure(value, name);
  if (digits.startsWith('-')) throw badFigure(name, value);
  return digits;
};

export const readAmountOrNull = (value: unknown, name: string): Digits | null =>
  value === undefined || value === null || value === '' ? null : readAmount(value, name);

/** A rule of trading: a step or a size is above zero, a smallest amount (`min_`) not below it. What is neither, is none. */
export const readRuleOrNull = (rule: string, value: unknown, name: string): Digits | null => {
  const digits = readFigureOrNull(value, name);
  if (digits === null || isPositive(digits)) return digits;
  if (digits === '0' && rule.startsWith('min_')) return digits;
  note('bad_figure');
  return null;
};

/** A venue's id as decimal text (may exceed 2^53). */
export const readId = (value: unknown, name: string): string => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  const text = value instanceof LongNumber ? value.text : value;
  if (typeof text !== 'string' || !/^-?\d{1,40}$/.test(text)) throw notA(value, `${name} is no id`);
  return text;
};

/** A venue's id that is any text; one that is a number keeps its digits. */
export const readIdText = (value: unknown, name: string): string =>
  typeof value === 'string' && value !== '' ? value : readId(value, name);

/** A small whole number such as a count of trades; null when absent. */
export const readCountOrNull = (value: unknown, name: string): number | null => {
  if (value === undefined || value === null || value === '') return null;
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) throw badFrame(`${name} is no count`);
  return count;
};

/** Latest instant a venue may stamp: 2100-01-01, the end of our range (N-03). */
const LATEST_MS = 4_102_444_800_000;

/** Unix milliseconds to microseconds. Zero and absent mean: no stamp. */
export const readMsOrNull = (value: unknown, name: string): Micros | null => {
  const ms = readCountOrNull(value, name);
  if (ms === null || ms === 0) return null;
  if (ms > LATEST_MS) throw badFrame(`${name} is no instant`);
  return ms * 1000;
};

/** RFC 3339 text to microseconds, what is finer cut (records.md). Null, absent and empty mean: no stamp. */
export const readInstantOrNull = (value: unknown, name: string): Micros | null => {
  if (value === undefined || value === null || value === '') return null;
  const at = typeof value === 'string' ? parseInstant(value.replace(/(\.\d{6})\d+/, '$1')) : null;
  if (at === null) throw badFrame(`${name} is no instant`);
  return at;
};

/** `[price, size]` levels. Throws when a price is not above zero or a size is below it. */
export const readLevels = (value: unknown, name: string): Level[] =>
  readList(value, name).map((level): Level => {
    if (!Array.isArray(level)) throw badFrame(`${name} holds no level`, 'bad_level');
    return [readPrice(level[0], name), readAmount(level[1], name)];
  });

type SideWords = readonly [buy: unknown, sell: unknown];

/** The side of an order or a level, in the venue's words. */
export const readSide = (value: unknown, [buy, sell]: SideWords, name: string): 'buy' | 'sell' => {
  if (value === buy) return 'buy';
  if (value === sell) return 'sell';
  throw badFrame(`${name} is no side`, 'unknown_side');
};

/** The taker's side; null, and counted, for a trade that has none: it is no record (V-03a). */
export const readTaker = (value: unknown, words: SideWords, name: string): 'buy' | 'sell' | null => {
  if (value !== undefined && value !== null && value !== '') return readSide(value, words, name);
  note('no_side');
  return null;
};

/** Of a message that answers no request. */
export const NO_QUERY = new URLSearchParams();

/** Method, path and query of a recorded or sent request: `GET https://host/path?a=b`, the same without method, or `GET /path`. Null: it is none. */
export const parseRequest = (
  request: string | null,
): { readonly path: string; readonly query: URLSearchParams } | null => {
  const match = /^(?:(?:GET|POST) )?(https?:\/\/[^/?#]+)?(\/[^?#\s]*)(?:\?([^#\s]*))?(?:#\S*)?$/.exec(request ?? '');
  return match ? { path: match[2] ?? '/', query: new URLSearchParams(match[3] ?? '') } : null;
};
