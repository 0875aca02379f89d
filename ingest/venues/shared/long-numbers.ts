// JSON.parse that keeps the digits of numbers which no double holds.
//
// A JSON number of up to fifteen significant digits comes out of a double as it went in (IEEE 754: any such decimal is the only one of its length
// near its double); longer ones are kept as `LongNumber`. So messages are parsed once, and only those that hold a long number, which few do, by the
// much slower way that sees each number's source text.

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** A number that a double may not hold, as the venue wrote it; in JSON it is that number again. */
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
 * Sixteen digits or more, zeros ahead and behind not counted (nanoseconds that are whole milliseconds have thirteen); of whole numbers of sixteen
 * digits those that may be above 2^53.
 */
const LONG = /[[:,]\s*-?(?:[1-9](?=[\d.]{16})[\d.]{14,}[1-9]|9\d{15}|0\.(?:0*[1-9]\d{15}|0{99}))/;
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

/** Throws what `JSON.parse` throws. */
export const parseMessage = (text: string): unknown =>
  holdsLongNumber(text) ? JSON.parse(text, keepLong as (key: string, value: unknown) => unknown) : JSON.parse(text);
