// Exact decimals on digit strings (N-05): canonical form, sums, products, one rounded division.
import type { Digits } from './scalars.ts';

/** The text is not a decimal. */
export class DecimalError extends Error {
  override readonly name = 'DecimalError';
}

const DECIMAL = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,5}))?$/;
/** Longer figures and exponents are an error or an attack, not a price. */
const LONGEST = 400;
const SIGNIFICANT = 18;

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** Digits under N-05 rule 1: no `+`, no leading or trailing zeros, no exponent, `-0` is `0`. Null: the text is not a decimal. */
export const findCanonicalDigits = (text: string): Digits | null => trimPlain(text) ?? rewrite(text);

/** The same; throws DecimalError. */
export const toCanonicalDigits = (text: string): Digits => {
  const digits = findCanonicalDigits(text);
  if (digits === null) throw new DecimalError(`"${text.slice(0, 80)}" is not a decimal`);
  return digits;
};

/** Fast path for `1250`, `0.5` or `-12.50`, nearly every figure: one pass, trailing zeros cut. Null: any other spelling. */
const trimPlain = (text: string): Digits | null => {
  const length = text.length;
  if (length > LONGEST) return null;
  const first = text.charCodeAt(0) === MINUS ? 1 : 0;
  let point = -1;
  /** Last digit that is not a zero. */
  let last = -1;
  for (let at = first; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code > ZERO && code <= NINE) last = at;
    else if (code === POINT && point < 0) point = at;
    else if (code !== ZERO) return null;
  }
  const wholeEnd = point < 0 ? length : point;
  const isPadded = wholeEnd > first + 1 && text.charCodeAt(first) === ZERO;
  if (wholeEnd === first || isPadded || (first === 1 && last < 0)) return null;
  if (point < 0 || last === length - 1) return text;
  return text.slice(0, Math.max(point, last + 1));
};

const rewrite = (text: string): Digits | null => {
  const found = text.length <= LONGEST ? DECIMAL.exec(text) : null;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = found ?? [];
  const exponent = Number(exponentText);
  if (found && whole.length + fraction.length > 0 && Math.abs(exponent) <= LONGEST) {
    const expanded = placePoint(sign === '-' ? '-' : '', whole + fraction, fraction.length - exponent);
    // An accepted figure must be readable again, also when the expanded exponent made it longer.
    if (expanded.length <= LONGEST) return expanded;
  }
  return null;
};

/** Text of `digits × 10^-scale` with that sign. */
const placePoint = (sign: '-' | '', digits: string, scale: number): Digits => {
  const padded = scale < 0 ? digits + '0'.repeat(-scale) : digits.padStart(scale + 1, '0');
  const point = scale <= 0 ? padded.length : padded.length - scale;
  let first = 0;
  while (first < point - 1 && padded.charCodeAt(first) === ZERO) first += 1;
  let end = padded.length;
  while (end > point && padded.charCodeAt(end - 1) === ZERO) end -= 1;
  const whole = padded.slice(first, point);
  const text = end === point ? whole : `${whole}.${padded.slice(point, end)}`;
  return text === '0' ? text : sign + text;
};

type Scaled = { readonly integer: bigint; readonly scale: number };

const toScaled = (digits: Digits): Scaled => {
  const dot = digits.indexOf('.');
  if (dot < 0) return { integer: BigInt(digits), scale: 0 };
  return { integer: BigInt(digits.slice(0, dot) + digits.slice(dot + 1)), scale: digits.length - dot - 1 };
};

const fromScaled = (integer: bigint, scale: number): Digits => {
  return integer < 0n ? placePoint('-', String(-integer), scale) : placePoint('', String(integer), scale);
};

const alignScales = (a: Digits, b: Digits): { readonly a: bigint; readonly b: bigint; readonly scale: number } => {
  const x = toScaled(a);
  const y = toScaled(b);
  const scale = Math.max(x.scale, y.scale);
  return { a: x.integer * 10n ** BigInt(scale - x.scale), b: y.integer * 10n ** BigInt(scale - y.scale), scale };
};

export const add = (a: Digits, b: Digits): Digits => {
  const x = alignScales(a, b);
  return fromScaled(x.a + x.b, x.scale);
};

/** The sum of a figure and those before it; null while there is none. An absent figure adds nothing. */
export const addPresent = (sum: Digits | null, figure: Digits | null): Digits | null =>
  figure === null ? sum : add(sum ?? '0', figure);

export const subtract = (a: Digits, b: Digits): Digits => {
  const x = alignScales(a, b);
  return fromScaled(x.a - x.b, x.scale);
};

export const multiply = (a: Digits, b: Digits): Digits => {
  const x = toScaled(a);
  const y = toScaled(b);
  return fromScaled(x.integer * y.integer, x.scale + y.scale);
};

/** A percentage as a fraction: the point two places to the left. */
export const toFraction = (percent: Digits): Digits => {
  const sign = isNegative(percent) ? '-' : '';
  const dot = percent.indexOf('.');
  const whole = dot < 0 ? percent.slice(sign.length) : percent.slice(sign.length, dot);
  const fraction = dot < 0 ? '' : percent.slice(dot + 1);
  return placePoint(sign, whole + fraction, fraction.length + 2);
};

/** a / b rounded half-even to 18 significant digits (N-05 rule 2); null when b is zero. */
export const divide = (a: Digits, b: Digits): Digits | null => {
  const x = toScaled(a);
  const y = toScaled(b);
  if (y.integer === 0n) return null;
  if (x.integer === 0n) return '0';
  const sign = x.integer < 0n === y.integer < 0n ? '' : '-';
  const top = x.integer < 0n ? -x.integer : x.integer;
  const bottom = y.integer < 0n ? -y.integer : y.integer;
  // Enough digits that the integer quotient has at least 18, then cut back to 18 with the remainder deciding ties.
  const shift = Math.max(0, SIGNIFICANT + 1 + String(bottom).length - String(top).length);
  const lifted = top * 10n ** BigInt(shift);
  const quotient = lifted / bottom;
  const excess = Math.max(0, String(quotient).length - SIGNIFICANT);
  const unit = 10n ** BigInt(excess);
  const kept = quotient / unit;
  const rest = (quotient % unit) * bottom + (lifted % bottom);
  const half = unit * bottom;
  const up = rest * 2n > half || (rest * 2n === half && kept % 2n === 1n);
  return placePoint(sign, String((up ? kept + 1n : kept) * unit), x.scale - y.scale + shift);
};

export const compare = (a: Digits, b: Digits): -1 | 0 | 1 => {
  const x = alignScales(a, b);
  return x.a < x.b ? -1 : x.a > x.b ? 1 : 0;
};

export const isPositive = (a: Digits): boolean => a !== '0' && !isNegative(a);

export const isNegative = (a: Digits): boolean => a.charCodeAt(0) === MINUS;

/** Shortest decimal that parses to the same binary64, without exponent (N-05 rule 3). Throws DecimalError for NaN and infinities. */
export const formatDouble = (n: number): string => {
  if (!Number.isFinite(n)) throw new DecimalError(`${n} does not exist on the wire (N-05)`);
  const text = String(n);
  const size = Math.abs(n);
  // Only then JavaScript writes an exponent.
  return size >= 1e21 || size < 1e-6 ? toCanonicalDigits(text) : text;
};

/** True when a binary64 represents exactly these digits. */
export const isExactDouble = (digits: Digits): boolean => {
  const n = Number(digits);
  return Number.isFinite(n) && formatDouble(n) === digits;
};

/** Decimals of at most this many digits are distinct as doubles, so that each is the shortest of its double (IEEE 754). */
const DISTINCT_DIGITS = 15;

/**
 * The venue's digits, from a stored DOUBLE as text and the exact digits stored beside it where the double cannot represent them
 * (N-05 rule 1); null when nothing is stored.
 */
export const joinFigure = (double: string | null, exact: string | undefined): Digits | null => {
  if (exact !== undefined) return toCanonicalDigits(exact);
  if (double === null || double === 'NaN') return null;
  const plain = double.length <= DISTINCT_DIGITS ? trimPlain(double) : null;
  return plain ?? formatDouble(Number(double));
};

/** 10^-n, the step of figures with `n` decimals; below zero a multiple of ten. */
export const toStep = (decimals: number): Digits =>
  decimals > 0 ? `0.${'0'.repeat(decimals - 1)}1` : `1${'0'.repeat(-decimals)}`;
