// JSON.parse that keeps the digits of numbers that exceed a double, and a number by its text alone.
//
// A JSON number of up to fifteen significant digits survives a double unchanged (IEEE 754: any such decimal is the only one of its length
// near its double); longer ones are kept as `LongNumber`. So messages are parsed once; in the few with a long number it is replaced before.

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** A number in the venue's own text. */
export abstract class NumberText {
  /** Only declared: a field would first be defined and then assigned, for each figure of a message. */
  declare readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
  abstract toJSON(): unknown;
}

/** A number that may exceed a double; in JSON it is its text. */
class LongNumber extends NumberText {
  override toJSON(): unknown {
    return rawJSON(this.text);
  }
}

/** A fraction of at most fifteen digits, for which readers of figures need no double. Its text is what JavaScript writes for the number. */
class ShortFraction extends NumberText {
  override toJSON(): unknown {
    return Number(this.text);
  }
}

/**
 * Sixteen digits or more, without leading and trailing zeros (nanoseconds that are whole milliseconds have thirteen); of integers with sixteen
 * digits those that may be above 2^53 or have an exponent.
 */
const LONG = /^-?(?:[1-9](?=[\d.]{16})[\d.]{14,}[1-9]|9\d{15}|[1-9]\d{15}[eE]|0\.(?:0*[1-9]\d{15}|0{99}))/;
/** Exponents beyond the exact range of a double, which overflow or vanish. A second test excludes ids, because hardly any text matches either. */
const MAYBE_FAR = /\d[eE][-+]?\d{3}/;
const FAR = /[[:,]\s*-?[\d.]+[eE][-+]?\d{3}/;
/** A number of JSON, as a pattern. */
export const NUMBER_PATTERN = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?`;
const NUMBER = new RegExp(NUMBER_PATTERN, 'y');

const isDigitOrPoint = (code: number): boolean => (code >= 48 && code <= 57) || code === 46;

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
/** The longest text of which no number is long. */
const LONGEST_SHORT = 15;
/** JavaScript writes smaller numbers with an exponent. */
const TINY = /^-?0\.0{6}/;

/** What `parseMessage` gives for a number by its text, but for a short fraction, which stays text. */
export const parseNumber = (text: string): unknown => {
  if (text.length > LONGEST_SHORT) return parseLongText(text);
  const first = text.charCodeAt(0) === MINUS ? 1 : 0;
  let whole = 0;
  for (let at = first; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === POINT) return parseShortFraction(text, at, first === 1 ? -whole : whole);
    if (!isDigitOrPoint(code)) return parseLongText(text);
    whole = whole * 10 + (code - ZERO);
  }
  return first === 1 ? -whole : whole;
};

/** `whole`: what is before the point. */
const parseShortFraction = (text: string, point: number, whole: number): unknown => {
  let code = ZERO;
  let hasFraction = false;
  for (let at = point + 1; at < text.length; at++) {
    code = text.charCodeAt(at);
    if (!isDigitOrPoint(code)) return parseLongText(text);
    if (code !== ZERO) hasFraction = true;
  }
  if (!hasFraction) return whole;
  const isTiny = text.charCodeAt(point + 1) === ZERO && TINY.test(text);
  return code === ZERO || isTiny ? Number(text) : new ShortFraction(text);
};

const isLong = (text: string): boolean => LONG.test(text) || (MAYBE_FAR.test(text) && FAR.test(`:${text}`));

/** A number that may be long, or has an exponent. */
const parseLongText = (text: string): unknown => (isLong(text) ? new LongNumber(text) : Number(text));

/** Throws the errors of `JSON.parse`. */
export const parseMessage = (text: string): unknown => {
  if (MAYBE_FAR.test(text) && FAR.test(text)) return parseSlowly(text);
  const longs = findLongs(text);
  return longs.length === 0 ? JSON.parse(text) : parseLongs(text, longs);
};

type Found = { readonly at: number; readonly number: NumberText };

const NONE: readonly Found[] = [];
const LONG_RUN = 16;

/**
 * The long numbers of a message, but for far ones. Sixteen consecutive digits or points contain one of every sixteen characters, so the others
 * are skipped. A message that is a bare number is not tested: no venue sends one.
 */
const findLongs = (text: string): readonly Found[] => {
  let longs: Found[] | null = null;
  for (let at = LONG_RUN - 1; at < text.length; at += LONG_RUN) {
    if (!isDigitOrPoint(text.charCodeAt(at)) || !mayBeLong(text, at)) continue;
    let from = at;
    while (from > 0 && isDigitOrPoint(text.charCodeAt(from - 1))) from -= 1;
    at += 1;
    while (at < text.length && isDigitOrPoint(text.charCodeAt(at))) at += 1;
    const found = at - from < LONG_RUN ? null : readLong(text, from, at);
    if (found !== null) longs = longs === null ? [found] : [...longs, found];
  }
  return longs ?? NONE;
};

/** Of a long run, eight characters on one side are digits or points; spares short figures the look at each of theirs. */
const mayBeLong = (text: string, at: number): boolean =>
  (isDigitOrPoint(text.charCodeAt(at - 4)) && isDigitOrPoint(text.charCodeAt(at - 8))) ||
  (isDigitOrPoint(text.charCodeAt(at + 4)) && isDigitOrPoint(text.charCodeAt(at + 8)));

/** A number follows `[`, `:` or `,`. */
const OPENERS: ReadonlySet<number> = new Set([0x5b, 0x3a, 0x2c]);
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** The number whose digits and points these are; null when it is not long, or they are part of a text. */
const readLong = (text: string, from: number, to: number): Found | null => {
  const at = text.charCodeAt(from - 1) === MINUS ? from - 1 : from;
  let ahead = at - 1;
  while (isSpace(text.charCodeAt(ahead))) ahead -= 1;
  if (!OPENERS.has(text.charCodeAt(ahead))) return null;
  NUMBER.lastIndex = at;
  const digits = NUMBER.exec(text)?.[0] ?? '';
  // Else no number of JSON, which is left to its parser.
  const isWhole = at + digits.length >= to;
  return isWhole && LONG.test(digits) ? { at, number: new LongNumber(digits) } : null;
};

/** The first long number is parsed as this, the second as its double: any other number this small has a far exponent. */
const PLACE = 1e-300;
const LARGEST_PLACE = 1e-290;

/**
 * Parses a number in each long number's place, then puts the long ones there. One that is part of a text, or of a member that exists twice,
 * finds no place.
 */
const parseLongs = (text: string, longs: readonly Found[]): unknown => {
  let rest = '';
  let from = 0;
  for (const [i, { at, number }] of longs.entries()) {
    rest += `${text.slice(from, at)}${i + 1}e-300`;
    from = at + number.text.length;
  }
  const message: unknown = JSON.parse(rest + text.slice(from));
  return placeLongs(message, longs) === longs.length ? message : parseSlowly(text);
};

/** Returns how many found their place. */
const placeLongs = (value: unknown, longs: readonly Found[]): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const members = value as Record<string, unknown>;
  let placed = 0;
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (typeof member === 'object') placed += placeLongs(member, longs);
    if (typeof member !== 'number' || member <= 0 || member > LARGEST_PLACE) continue;
    members[name] = longs[Math.round(member / PLACE) - 1]?.number;
    placed += 1;
  }
  return placed;
};

/** The reviver gets each number's source text. */
const parseSlowly = (text: string): unknown => JSON.parse(text, keepLong as (key: string, value: unknown) => unknown);

const keepLong = (_key: string, value: unknown, context: { readonly source?: string }): unknown => {
  const { source } = context;
  if (typeof value !== 'number' || source === undefined) return value;
  return isLong(source) ? new LongNumber(source) : value;
};
