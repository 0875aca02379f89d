// Text to tokens: longest match, in the order of the table of DQL-02.
import { INSTANT_HINT } from '../../schemas/instants.ts';
import type { Digits } from '../../schemas/records.ts';
import { clip } from '../contract/sent-text.ts';
import { Faults } from './faults.ts';
import { Source } from './source.ts';

type TokenKind =
  | 'string'
  | 'instant'
  | 'code'
  | 'bps'
  | 'percent'
  | 'duration'
  | 'number'
  | 'name'
  | 'op'
  | 'invalid'
  | 'end';

export type Token = {
  readonly kind: TokenKind;
  /** As in the source. */
  readonly text: string;
  /** Its meaning: a string's characters, a number's plain digits; else the text. */
  readonly value: string;
  readonly from: number;
  readonly to: number;
};

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/sy;
const UNTERMINATED = /"[^\r\n]*/y;
const DATE = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
const INSTANT = new RegExp(
  `${DATE}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?(?![A-Za-z0-9_])`,
  'y',
);
const LIKE_INSTANT = new RegExp(`${DATE}(?:[Tt][0-9A-Za-z_:.+-]*|[0-9A-Za-z_]+)`, 'y');
const CODE = /[0-9]*[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)*/y;
const CODE_TAIL = /[A-Za-z0-9_]*/y;
const NUMBER = /(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?/y;
const DURATION = /(?:0|[1-9][0-9]*)[smhd](?![A-Za-z0-9_.])/y;
const BPS = /bps(?![A-Za-z0-9_])/y;
const NAME = /nearest-rank(?![A-Za-z0-9_])|[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR = /<=|>=|[<>=+\-*/(),]/y;
/** Spellings of other languages, and runs of what no token begins with. */
const FOREIGN =
  /!=|<>|==|&&|\|\||\.[0-9]+(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_.%]*|;|[^ \t\r\nA-Za-z0-9_"<>=+\-*/(),.;!&|]+|[\s\S]/uy;
const NUMBER_TAIL = /(?:E[+-][0-9])?[A-Za-z0-9_.%]*/y;
/** `1E` is a code, and with a dash `1E-5` is one; with a plus sign it is a number in another spelling. */
const UPPER_EXPONENT = /[0-9]+E\+[0-9][A-Za-z0-9_.%]*/y;

const MOST_EXPONENT = 400;
const BPS_SHIFT = 4;
const PERCENT_SHIFT = 2;

const matchAt = (pattern: RegExp, text: string, at: number): string => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
};

/** Written without a regular expression, which would be quadratic in a fraction of zeros. */
const withoutTrailingZeros = (digits: string): string => {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
};

/** Digits of a NUMBER divided by `10^shift`, by moving the point (DQL-09.1); null when its exponent is beyond 400 in size. */
export const toPlainDecimal = (literal: string, shift = 0): Digits | null => {
  const [mantissa = '', exponent = '0'] = literal.split('e');
  if (Math.abs(Number(exponent)) > MOST_EXPONENT) return null;
  const [whole = '', fraction = ''] = mantissa.split('.');
  const point = whole.length + Number(exponent) - shift;
  const digits = point <= 0 ? '0'.repeat(1 - point) + whole + fraction : (whole + fraction).padEnd(point, '0');
  const at = Math.max(point, 1);
  const before = digits.slice(0, at).replace(/^0+(?=.)/, '');
  const after = withoutTrailingZeros(digits.slice(at));
  return after === '' ? before : `${before}.${after}`;
};

const FIGURE = /^((?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)(?:bps|%)?$/;
const PERIOD = /^(?:0|[1-9][0-9]*)[smhd]$/;

/** Whether a text is one number, figure with a unit, or duration. */
export const isFigure = (text: string): boolean => {
  const number = FIGURE.exec(text)?.[1];
  return number === undefined ? PERIOD.test(text) : toPlainDecimal(number) !== null;
};

/**
 * A figure that is spelt otherwise as the language spells it (DQL-02): with a digit before the point, unit and exponent in lower case. Null for
 * other texts, and for `1M`, which elsewhere is a month.
 */
export const findSpelling = (text: string): string | null => {
  const spelt = (text.startsWith('.') ? `0${text}` : text).toLowerCase();
  return spelt !== text && isFigure(spelt) && !/[0-9]M$/.test(text) ? spelt : null;
};

/** `not` and `!` of other languages. */
export const NO_NOT = 'Version 1 has no "not"; turn the comparison round.';

const describeUnequal = (text: string): string =>
  `Version 1 has no "${text}"; write the comparisons that should hold, as in a < b or a > b, and of codes those wanted, as in base in (BTC, ETH).`;

const HINTS: readonly (readonly [RegExp, string | ((text: string) => string)])[] = [
  [/^"/, 'Close a string with " and escape as JSON does.'],
  [/^!=$|^<>$|^≠/, describeUnequal],
  [/^==$/, 'Write "=".'],
  [/^&&?$/, 'Write "and".'],
  [/^\|\|?$/, 'Write "or".'],
  [/^;/, 'A query has no end mark; leave ";" out.'],
  [/^!/, NO_NOT],
  [/^[0-9]{4}-[0-9]{2}-[0-9]{2}/, INSTANT_HINT],
  [
    /^[0-9.]+(?:[mM][sS]|[smhdSHD]|(?:sec|min|hr|hour|day|week)[a-z]*)$/,
    'Write a whole number of one unit of s, m, h, d, such as 90s.',
  ],
  [/^[0-9.]+e[+-]?[0-9]+(?:bps|%)?$/, 'Write a number with an exponent of at most 400 in size.'],
  [/^[0-9]|^\.[0-9]/, 'Write a number such as 0.5, 1e6, 1bps or 0.01%.'],
  [/^['`‘’“”„«»＂＇]/, 'Write a string in double quotes, such as "BTC".'],
  [/^%/, 'Write "%" directly after its number, as in 0.01%.'],
  [/^[≥≧]/, 'Write ">=".'],
  [/^[≤≦]/, 'Write "<=".'],
  [/^[×∗·]/, 'Write "*".'],
  [/^÷/, 'Write "/".'],
  [/^[−–—]/, 'Write "-".'],
  [/^\[|^\]/, 'Write a list in parentheses, as in base in (BTC, ETH).'],
  [/^[{}]/, 'Write text, such as base = BTC; the machine form is a JSON object of the body, not a string.'],
  [/^#/, 'A query has no comments; leave it out.'],
  [
    /^:/,
    'Write a listing as two terms, venue = ... and symbol = "...", or quote a code with ":" in it, such as "A:b".',
  ],
  [/^\.$/, 'Quote a code with "." in it, such as "A.b". A field has no path before it, as in max(venues, mark).'],
  [/^[\s\ufeff]/, 'Separate words by spaces, tabs or line ends only.'],
];

/** ASCII in its full width, as an East Asian keyboard writes it. */
const FULL_WIDTH = /[\uff01-\uff5e]/g;
const FULL_WIDTH_SHIFT = 0xfee0;
const toHalfWidth = (text: string): string =>
  text.replace(FULL_WIDTH, (sign) => String.fromCharCode(sign.charCodeAt(0) - FULL_WIDTH_SHIFT));

const isRead = (text: string): boolean => {
  const source = new Source(text);
  const faults = new Faults(source);
  readTokens(source, faults);
  return faults.isEmpty;
};

const findHintFor = (text: string): string => {
  const spelt = findSpelling(text);
  if (spelt !== null) return `Write ${spelt}.`;
  for (const [pattern, hint] of HINTS) if (pattern.test(text)) return typeof hint === 'string' ? hint : hint(text);
  const half = toHalfWidth(text);
  if (half !== text) return isRead(half) ? `Write "${clip(half)}".` : findHintFor(half);
  return 'Quote a code that is not all letters and digits, such as "A.b".';
};

class Lexer {
  readonly #source: Source;
  readonly #faults: Faults;

  constructor(source: Source, faults: Faults) {
    this.#source = source;
    this.#faults = faults;
  }

  read(): Token[] {
    const { text } = this.#source;
    const tokens: Token[] = [];
    for (let at = matchAt(SPACE, text, 0).length; at < text.length; ) {
      const token = this.#readAt(at);
      tokens.push(token);
      at = token.to + matchAt(SPACE, text, token.to).length;
    }
    tokens.push({ kind: 'end', text: '', value: '', from: text.length, to: text.length });
    return tokens;
  }

  #readAt(at: number): Token {
    const { text } = this.#source;
    const first = text[at] as string;
    if (first === '"') return this.#readString(at);
    const isDigit = first >= '0' && first <= '9';
    if (isDigit) {
      const instant = matchAt(INSTANT, text, at);
      if (instant !== '') return this.#token('instant', instant, at);
      const like = matchAt(LIKE_INSTANT, text, at);
      if (like !== '') return this.#invalid(like, at);
    }
    const figure = matchAt(UPPER_EXPONENT, text, at);
    if (figure !== '') return this.#invalid(figure, at);
    const [code, name] = [matchAt(CODE, text, at), matchAt(NAME, text, at)];
    if (code !== '' && code.length >= name.length) return this.#readCode(code, at);
    if (name !== '') return this.#token('name', name, at);
    if (isDigit) return this.#readNumber(at);
    const operator = text.startsWith('==', at) || text.startsWith('<>', at) ? '' : matchAt(OPERATOR, text, at);
    if (operator !== '') return this.#token('op', operator, at);
    return this.#invalid(matchAt(FOREIGN, text, at), at);
  }

  #readCode(code: string, at: number): Token {
    const tail = matchAt(CODE_TAIL, this.#source.text, at + code.length);
    return tail === '' ? this.#token('code', code, at) : this.#invalid(code + tail, at);
  }

  #readString(at: number): Token {
    const { text } = this.#source;
    const literal = matchAt(STRING, text, at);
    try {
      // JSON's own rules decide what a string may hold.
      return { ...this.#token('string', literal, at), value: JSON.parse(literal) as string };
    } catch {
      return this.#invalid(literal === '' ? matchAt(UNTERMINATED, text, at) : literal, at);
    }
  }

  #readNumber(at: number): Token {
    const { text } = this.#source;
    const duration = matchAt(DURATION, text, at);
    if (duration !== '') return this.#token('duration', duration, at);
    const number = matchAt(NUMBER, text, at);
    const end = at + number.length;
    if (matchAt(BPS, text, end) !== '') return this.#figure('bps', `${number}bps`, { at, number, shift: BPS_SHIFT });
    if (text[end] === '%') return this.#figure('percent', `${number}%`, { at, number, shift: PERCENT_SHIFT });
    const tail = matchAt(NUMBER_TAIL, text, end);
    if (tail !== '') return this.#invalid(number + tail, at);
    return this.#figure('number', number, { at, number, shift: 0 });
  }

  #figure(
    kind: 'bps' | 'percent' | 'number',
    text: string,
    { at, number, shift }: { readonly at: number; readonly number: string; readonly shift: number },
  ): Token {
    const digits = toPlainDecimal(number, shift);
    return digits === null ? this.#invalid(text, at) : { ...this.#token(kind, text, at), value: digits };
  }

  #token(kind: TokenKind, text: string, from: number): Token {
    return { kind, text, value: text, from, to: from + text.length };
  }

  #invalid(text: string, from: number): Token {
    const token = this.#token('invalid', text, from);
    this.#faults.add('DQL_SYNTAX', token, () => ({
      message: `"${clip(text)}" is not allowed here.`,
      hint: findHintFor(text),
    }));
    return token;
  }
}

/** Tokens of the source, followed by an `end`. Text that is not a token is a fault and an `invalid` token. */
export const readTokens = (source: Source, faults: Faults): Token[] => new Lexer(source, faults).read();

const WHOLE_CODE = new RegExp(`^(?:${CODE.source})$`);
const WHOLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether a code is allowed without quotes (DQL-09.7). */
export const isBareCode = (text: string): boolean => WHOLE_NAME.test(text) || WHOLE_CODE.test(text);
