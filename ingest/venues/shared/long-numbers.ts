// JSON.parse that keeps the digits of numbers that exceed a double.
//
// A JSON number of up to fifteen significant digits survives a double unchanged (IEEE 754: any such decimal is the only one of its length
// near its double); longer ones are kept as `LongNumber`. So messages are parsed once, and only the few with a long number by the much slower
// reviver, which gets each number's source text.

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** A number that may exceed a double, in the venue's own text; in JSON it is that number again. */
export class LongNumber {
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

/**
 * Sixteen digits or more, without leading and trailing zeros (nanoseconds that are whole milliseconds have thirteen); of integers with sixteen
 * digits those that may be above 2^53.
 */
const LONG = /[[:,]\s*-?(?:[1-9](?=[\d.]{16})[\d.]{14,}[1-9]|9\d{15}|0\.(?:0*[1-9]\d{15}|0{99}))/;
/** Exponents beyond the exact range of a double, which overflow or vanish. A second test excludes ids, because hardly any text matches either. */
const MAYBE_FAR = /\d[eE][-+]?\d{3}/;
const FAR = /[[:,]\s*-?[\d.]+[eE][-+]?\d{3}/;

const isDigitOrPoint = (code: number): boolean => (code >= 48 && code <= 57) || code === 46;

const LONG_RUN = 16;

/** Whether sixteen consecutive digits or points exist: then one of every sixteen characters is one, so the others are skipped. */
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

/** A message that is a bare number is not tested: no venue sends one. */
const holdsLongNumber = (text: string): boolean =>
  (hasLongRun(text) && LONG.test(text)) || (MAYBE_FAR.test(text) && FAR.test(text));

const keepLong = (_key: string, value: unknown, context: { readonly source?: string }): unknown =>
  typeof value === 'number' && context.source !== undefined && holdsLongNumber(`:${context.source}`)
    ? new LongNumber(context.source)
    : value;

/** Throws the errors of `JSON.parse`. */
export const parseMessage = (text: string): unknown =>
  holdsLongNumber(text) ? JSON.parse(text, keepLong as (key: string, value: unknown) => unknown) : JSON.parse(text);
