// Readers of venue messages: JSON in, checked figures, ids and instants out; any fault becomes a `VenueError`.
import { formatDouble, isNegative, isPositive, toCanonicalDigits } from '../../../schemas/decimals.ts';
import { parseInstant } from '../../../schemas/instants.ts';
import type { Digits, Level, Micros } from '../../../schemas/records.ts';
import { type Unexpected, VenueError, VenueRefusal } from '../contract/listings.ts';
import { NumberText, parseMessage } from './json-numbers.ts';
import { type CutMember, type CutMessage, LevelList, placeLists } from './level-lists.ts';
import { MessageShapes } from './message-shapes.ts';
import { noteUnexpected } from './unexpected.ts';

const ZERO = 0x30;

export type Fields = Readonly<Record<string, unknown>>;

/** The engine's error for the conversion of an object whose `toString` and `valueOf` are no functions: JSON may contain such names. */
const isNoWord = (error: unknown): boolean => error instanceof TypeError && /to primitive value/.test(error.message);

type Cutter = (text: string) => CutMessage | null;

const NO_CUTS: readonly CutMember[] = [];
type Shapes = Pick<MessageShapes, 'parse'>;
const NO_SHAPES: Shapes = { parse: () => undefined };

/** Parses the message, with its level lists read from the text by `cut` if possible. */
const parseByShape = (text: string, shapes: Shapes, cut: Cutter): unknown => {
  const found = cut(text);
  if (found === null) return shapes.parse(text, NO_CUTS) ?? parseMessage(text);
  const known = shapes.parse(found.rest, found.cuts);
  if (known !== undefined) return known;
  const message = parseMessage(found.rest);
  return placeLists(message, found.cuts) === found.cuts.length ? message : parseMessage(text);
};

export const decodeText = (payload: Uint8Array): string =>
  (payload instanceof Buffer
    ? payload
    : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  ).toString();

/** Whether the message is this text, which is ASCII: a few frames are no JSON. */
export const isText = (payload: Uint8Array, text: string): boolean =>
  payload.byteLength === text.length && decodeText(payload) === text;

const mapParsed = <T>(text: string, parse: (text: string) => unknown, map: (message: unknown) => T): T => {
  try {
    return map(parse(text));
  } catch (error) {
    if (error instanceof VenueError) throw error;
    if (error instanceof SyntaxError || error instanceof RangeError)
      throw makeBadFrame(`not JSON: ${text.slice(0, 80)}`, 'unreadable');
    if (isNoWord(error)) throw makeBadFrame(`an object in a word's place: ${text.slice(0, 80)}`);
    throw error;
  }
};

/** Runs `map` over the parsed payload. Throws `VenueError` only. */
export const readMessage = <T>(payload: Uint8Array, map: (message: unknown) => T): T =>
  mapParsed(decodeText(payload), parseMessage, map);

type MessageReader = <T>(payload: Uint8Array, map: (message: unknown, text: string) => T) => T;

const cutNothing: Cutter = () => null;

/**
 * A `readMessage` for one venue, which knows the shapes of its messages (message-shapes.ts); `label` is before their kind, null where shapes do not
 * pay. `cut` reads the lists of its books (level-lists.ts).
 */
export const createMessageReader = (label: string | null, cut: Cutter = cutNothing): MessageReader => {
  const shapes = label === null ? NO_SHAPES : new MessageShapes(label);
  const parse = (text: string): unknown => parseByShape(text, shapes, cut);
  return (payload, map) => {
    const text = decodeText(payload);
    return mapParsed(text, parse, (message) => map(message, text));
  };
};

/** A lookup table with only its own keys, without inherited ones such as `constructor`. */
export const makeWords = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.assign(Object.create(null) as Record<string, string>, table);

export const makeBadFrame = (what: string, kind?: Unexpected): VenueError =>
  new VenueError('VENUE_BAD_FRAME', what, kind);
/** The error for a member that is absent, or is no `what`. */
const makeNotA = (value: unknown, what: string): VenueError =>
  makeBadFrame(what, value === undefined ? 'missing_member' : 'bad_shape');
export const makeRefusal = (what: string): VenueRefusal => new VenueRefusal(what.slice(0, 120));
export const makeBadFigure = (name: string, value: unknown): VenueError =>
  new VenueError('VENUE_BAD_FIGURE', `${name}: ${String(JSON.stringify(value)).slice(0, 60)} is not a figure`);

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);

export const readFields = (value: unknown, name: string): Fields => {
  if (!isFields(value)) throw makeNotA(value, `${name} is not an object`);
  return value;
};

export const readList = (value: unknown, name: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw makeNotA(value, `${name} is not an array`);
  return value;
};

/** A text with half of a surrogate pair is none: it has no UTF-8, so no URL can name it, and a topic would hold another text. */
export const readText = (value: unknown, name: string): string => {
  if (typeof value !== 'string' || value === '' || !value.isWellFormed())
    throw makeNotA(value, `${name} is not a text`);
  return value;
};

/** A required figure; may be negative or zero. */
export const readFigure = (value: unknown, name: string): Digits => {
  try {
    if (typeof value === 'string') return toCanonicalDigits(value);
    if (typeof value === 'number') return formatDouble(value);
    if (value instanceof NumberText) return toCanonicalDigits(value.text);
  } catch {
    throw makeBadFigure(name, value);
  }
  throw value === undefined ? makeNotA(value, `${name} is absent`) : makeBadFigure(name, value);
};

/** A member that is missing, null or an empty text: the venue sent nothing, and a reader `…OrNull` gives null. */
export const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

export const readFigureOrNull = (value: unknown, name: string): Digits | null =>
  isAbsent(value) ? null : readFigure(value, name);

export const readPrice = (value: unknown, name: string): Digits => requirePositive(readFigure(value, name), name);

export const readPriceOrNull = (value: unknown, name: string): Digits | null => {
  const digits = readFigureOrNull(value, name);
  return digits === null ? null : requirePositive(digits, name);
};

/** A mark, an index or a last price: the venues send zero, or an empty text, while there is none. */
export const readPriceUnlessZero = (value: unknown, name: string): Digits | null => {
  const digits = readAmountOrNull(value, name);
  return digits === '0' ? null : digits;
};

const requirePositive = (digits: Digits, name: string): Digits => {
  if (!isPositive(digits)) throw makeBadFigure(name, digits);
  return digits;
};

/** An amount: zero or more. */
export const readAmount = (value: unknown, name: string): Digits => {
  const digits = readFigure(value, name);
  if (isNegative(digits)) throw makeBadFigure(name, value);
  return digits;
};

export const readAmountOrNull = (value: unknown, name: string): Digits | null =>
  isAbsent(value) ? null : readAmount(value, name);

/**
 * The figure that a message is about. Without it there is no reading, as in messages of several; a member that is missing altogether is counted,
 * because it may have a new name.
 */
export const readSoleFigure = (value: unknown, name: string): Digits | null => {
  if (value === undefined) noteUnexpected('missing_member');
  return readFigureOrNull(value, name);
};

/** The same for an amount: zero or more. */
export const readSoleAmount = (value: unknown, name: string): Digits | null => {
  if (value === undefined) noteUnexpected('missing_member');
  return readAmountOrNull(value, name);
};

/** A trading rule: a step or a size above zero, a minimum (`min_`) not below it. Any other value is none. */
export const readRuleOrNull = (rule: string, value: unknown, name: string): Digits | null => {
  const digits = readFigureOrNull(value, name);
  if (digits === null || isPositive(digits)) return digits;
  if (digits === '0' && rule.startsWith('min_')) return digits;
  noteUnexpected('bad_figure');
  return null;
};

/** A venue's id as decimal text (may exceed 2^53). */
export const readId = (value: unknown, name: string): string => {
  // An id above 2^53 arrives as a `LongNumber`, so this number is exact. One that ends in zeros may be longer than JavaScript writes without an exponent.
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21) return String(value);
  const whole = typeof value === 'number' && Number.isInteger(value) ? formatDouble(value) : value;
  const text = whole instanceof NumberText ? whole.text : whole;
  if (typeof text !== 'string' || !/^-?\d{1,40}$/.test(text)) throw makeNotA(value, `${name} is not an id`);
  return text;
};

/** The number of a message in a book's chain (may exceed 2^53). */
export const readSequence = (value: unknown, name: string): bigint =>
  // Read from the number itself: a text would be created only to be parsed again.
  BigInt(typeof value === 'number' && Number.isSafeInteger(value) ? value : readId(value, name));

export const readSequenceOrNull = (value: unknown, name: string): bigint | null =>
  isAbsent(value) ? null : readSequence(value, name);

/** An id of any text; a number keeps its digits. */
export const readIdText = (value: unknown, name: string): string =>
  typeof value === 'string' && value !== '' ? readText(value, name) : readId(value, name);

export const readIdOrNull = (value: unknown, name: string): string | null =>
  isAbsent(value) ? null : readId(value, name);

export const readIdTextOrNull = (value: unknown, name: string): string | null =>
  isAbsent(value) ? null : readIdText(value, name);

/** A text of digits as a number, any other as it is; a loop is faster than a pattern and `Number` for a text that was never read. */
const toCount = (text: string): unknown => {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return text;
    count = count * 10 + digit;
  }
  return count;
};

/** A small whole number such as a count of trades. */
export const readCountOrNull = (value: unknown, name: string): number | null => {
  if (isAbsent(value)) return null;
  const count = typeof value === 'string' ? toCount(value) : value;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0)
    throw makeBadFrame(`${name} is not a count`);
  return count;
};

/** Latest accepted instant: 2100-01-01, the end of our range (N-03). */
const LATEST_MS = 4_102_444_800_000;

/** Unix milliseconds to microseconds. Zero and absent mean: no stamp. */
export const readMsOrNull = (value: unknown, name: string): Micros | null => {
  const ms = readCountOrNull(value, name);
  if (ms === null || ms === 0) return null;
  if (ms > LATEST_MS) throw makeBadFrame(`${name} is not an instant`);
  return ms * 1000;
};

/** Caches the last stamp: most rows of a message share one. */
let lastInstant: { readonly text: unknown; readonly at: Micros } = { text: '', at: 0 };

/** RFC 3339 text to microseconds, truncated (records.md). Null, absent and empty mean: no stamp. */
export const readInstantOrNull = (value: unknown, name: string): Micros | null => {
  if (isAbsent(value)) return null;
  if (value === lastInstant.text) return lastInstant.at;
  const at = typeof value === 'string' ? parseInstant(value.replace(/(\.\d{6})\d+/, '$1')) : null;
  if (at === null) throw makeBadFrame(`${name} is not an instant`);
  lastInstant = { text: value, at };
  return at;
};

/** A list that was read from the text, as JSON.parse gives it. */
export const toParsedLevels = (value: unknown): unknown => (value instanceof LevelList ? value.toJSON() : value);

/** `[price, size]` levels. Throws when a price is not above zero or a size is below it. */
export const readLevels = (value: unknown, name: string): readonly Level[] => {
  if (value instanceof LevelList && !value.isNamed) return value.levels;
  return readList(toParsedLevels(value), name).map((level): Level => {
    if (!Array.isArray(level)) throw makeBadFrame(`${name} holds no level`, 'bad_level');
    return [readPrice(level[0], name), readAmount(level[1], name)];
  });
};

/** Levels that are objects, where they were read from the text; null otherwise. */
export const toScannedNames = (value: unknown): readonly Level[] | null =>
  value instanceof LevelList && (value.isNamed || value.levels.length === 0) ? value.levels : null;

/** The same for levels that are objects; `names` are those of price and size. */
export const readNamedLevels = (
  value: unknown,
  [priceName, sizeName]: readonly [string, string],
  name: string,
): readonly Level[] => {
  const scanned = toScannedNames(value);
  if (scanned !== null) return scanned;
  return readList(toParsedLevels(value), name).map((item): Level => {
    const level = readFields(item, name);
    return [readPrice(level[priceName], name), readAmount(level[sizeName], name)];
  });
};

type SideWords = readonly [buy: unknown, sell: unknown];

/** The side of an order or a level, by the venue's words. */
export const readSide = (value: unknown, [buy, sell]: SideWords, name: string): 'buy' | 'sell' => {
  if (value === buy) return 'buy';
  if (value === sell) return 'sell';
  throw makeBadFrame(`${name} is not a side`, 'unknown_side');
};

/** The taker's side; null, and counted, for a trade without one: it is not recorded (V-03a). */
export const readTaker = (value: unknown, words: SideWords, name: string): 'buy' | 'sell' | null => {
  if (!isAbsent(value)) return readSide(value, words, name);
  noteUnexpected('no_side');
  return null;
};

/** The query of a message without a request. */
export const NO_QUERY = new URLSearchParams();

/** A path in plain characters, which may name a symbol (`币安人生_USDT`). One whose encoding is wrong stays as it is. */
const decodePath = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

/** Decoded path and query of a recorded or sent request: `GET https://host/path?a=b`, the same without method, or `GET /path`. Null: it is none. */
export const parseRequest = (
  request: string | null,
): { readonly path: string; readonly query: URLSearchParams } | null => {
  if (request === null) return null;
  const match = /^(?:(?:GET|POST) )?(https?:\/\/[^/?#]+)?(\/[^?#\s]*)(?:\?([^#\s]*))?(?:#\S*)?$/.exec(request);
  return match ? { path: decodePath(match[2] ?? '/'), query: new URLSearchParams(match[3] ?? '') } : null;
};
