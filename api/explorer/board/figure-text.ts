// Figures as a person reads them: digits moved and cut as text, never through floating point; ages in one unit.

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** `digits × 10^places`, exactly. What is no plain decimal stays as it is. */
export const shiftPoint = (digits: string, places: number): string => {
  const found = DECIMAL.exec(digits);
  if (found === null) return digits;
  const [, sign = '', whole = '', fraction = ''] = found;
  const moved = fraction.padEnd(places, '0');
  const all = `${whole}${moved.slice(0, places)}`.replace(/^0+(?=\d)/, '');
  const rest = moved.slice(places).replace(/0+$/, '');
  const text = rest === '' ? all : `${all}.${rest}`;
  return /[1-9]/.test(text) ? `${sign}${text}` : text;
};

/** Adds one to the last digit of a row of digits. */
const increaseDigits = (digits: string): string => {
  const nines = /9*$/.exec(digits)?.[0].length ?? 0;
  const kept = digits.slice(0, digits.length - nines);
  const raised = kept === '' ? '1' : `${kept.slice(0, -1)}${Number(kept.at(-1)) + 1}`;
  return `${raised}${'0'.repeat(nines)}`;
};

/** Rounded half away from zero to so many decimals; zeros at the end stay, so that columns line up. */
export const roundDigits = (digits: string, decimals: number): string => {
  const found = DECIMAL.exec(digits);
  if (found === null) return digits;
  const [, sign = '', whole = '', fraction = ''] = found;
  const cut = fraction.slice(0, decimals).padEnd(decimals, '0');
  const all = `${whole}${cut}`;
  const rounded = (fraction[decimals] ?? '0') >= '5' ? increaseDigits(all) : all;
  const point = rounded.length - decimals;
  const text = decimals === 0 ? rounded : `${rounded.slice(0, point)}.${rounded.slice(point)}`;
  return /[1-9]/.test(text) ? `${sign}${text}` : text;
};

/** A thin space between thousands: no mistake for a decimal point in any language. No line ends at it. */
export const groupThousands = (digits: string): string => {
  const [whole = '', fraction] = digits.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
};

const countDecimals = (text: string): number => text.split('.')[1]?.length ?? 0;

/** Points stand below each other: what has fewer decimals ends with spaces as wide as figures, since a zero would be a digit that nobody stated. */
export const alignPoints = (texts: readonly string[]): readonly string[] => {
  const most = Math.max(0, ...texts.map(countDecimals));
  return texts.map((text) => {
    const decimals = countDecimals(text);
    return `${text}${decimals === 0 && most > 0 ? '\u2008' : ''}${'\u2007'.repeat(most - decimals)}`;
  });
};

/** Large figures: `1.284M`. */
export const SCALES = [
  { digits: 12, places: -12, suffix: 'T' },
  { digits: 9, places: -9, suffix: 'B' },
  { digits: 6, places: -6, suffix: 'M' },
] as const;

const unshiftPoint = (digits: string, places: number): string => {
  const [, sign = '', whole = '', fraction = ''] = DECIMAL.exec(digits) ?? [];
  const padded = whole.padStart(places + 1, '0');
  return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}${fraction}`;
};

/** A quantity in four or five places: `97 010`, `1.284M`, `0.0421`. */
export const formatShortQuantity = (digits: string): string => {
  const [, , whole = '', fraction = ''] = DECIMAL.exec(digits) ?? [];
  if (whole === '') return digits;
  for (const { digits: least, places, suffix } of SCALES)
    if (whole.length > least)
      return `${roundDigits(unshiftPoint(digits, -places), whole.length - least > 2 ? 1 : 3)}${suffix}`;
  if (whole.length > 3) return groupThousands(roundDigits(digits, 0));
  if (whole !== '0') return roundDigits(digits, Math.min(fraction.length, 2));
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  return roundDigits(digits, Math.min(fraction.length, zeros + 3));
};

/** Of a price from 1 up, and of one below. */
const MOST_FIGURES = { fromOne: 9, belowOne: 7 };
const MOST_DECIMALS = 12;
const LEAST_FIGURES = 3;

/** A price in the width of a cell: what venues quote is whole, what they calculate is cut to nine figures (`96 995.0172`). */
const formatShortPrice = (digits: string): string => {
  const [, , whole = '', fraction = ''] = DECIMAL.exec(digits) ?? [];
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  const decimals = /^0*$/.test(whole)
    ? Math.max(zeros + LEAST_FIGURES, Math.min(zeros + MOST_FIGURES.belowOne, MOST_DECIMALS))
    : Math.max(0, MOST_FIGURES.fromOne - whole.length);
  return groupThousands(fraction.length > decimals ? roundDigits(digits, decimals) : digits);
};

const formatSigned = (text: string): string => (/^-|^[^1-9]*$/.test(text) ? text.replace(/^-/, '\u2212') : `+${text}`);

/** `rate`: a signed share as percent; `bps`: a signed share as basis points; `width`: one that has no sign; `digits`: all of a price or a size. */
export type Form = 'rate' | 'bps' | 'width' | 'quantity' | 'price' | 'digits';

/** Text of a cell; its details have all digits. */
export const formatForm = (form: Form, digits: string): string => {
  switch (form) {
    case 'rate':
      return `${formatSigned(roundDigits(shiftPoint(digits, 2), 4))} %`;
    case 'bps':
      return `${formatSigned(roundDigits(shiftPoint(digits, 4), 2))} bps`;
    case 'width':
      return `${roundDigits(shiftPoint(digits, 4), 2)} bps`;
    case 'quantity':
      return formatShortQuantity(digits);
    case 'price':
      return formatShortPrice(digits);
    case 'digits':
      return groupThousands(digits);
    default:
      return form satisfies never;
  }
};

/** A quantity in `base` is a number of the listing's own asset, such as 1000PEPE. */
export const nameUnit = (unit: string, asset: string): string => (unit === 'base' ? asset : unit);

/** The unit of a figure as a person reads it: its currency for `quote`, its asset for `base`; empty for codes and counts. */
export const formatUnit = (unit: string | undefined, quote: string | undefined, asset = 'base'): string =>
  unit === 'quote'
    ? (quote ?? 'quote')
    : unit === undefined || unit === 'code' || unit === 'count'
      ? ''
      : nameUnit(unit, asset);

/** A quantity means nothing without its unit, which differs by listing: `151 718 contracts`. */
export const formatQuantity = (digits: string, unit: string | undefined, quote: string | undefined): string =>
  `${formatForm('quantity', digits)} ${formatUnit(unit, quote)}`.trim();

const AGES = [
  { below: 60_000, unitMs: 1_000, unit: 's' },
  { below: 3_600_000, unitMs: 60_000, unit: 'min' },
  { below: 86_400_000, unitMs: 3_600_000, unit: 'h' },
  { below: Number.POSITIVE_INFINITY, unitMs: 86_400_000, unit: 'd' },
] as const;

/** Whole units, rounded down: `0 s`, `59 s`, `2 min`. An age is never negative: clocks differ by less than a unit. */
export const formatAgeMs = (ageMs: number): string => {
  const age = Math.max(0, ageMs);
  const { unitMs, unit } = AGES.find(({ below }) => age < below) ?? AGES[3];
  return `${Math.floor(age / unitMs)} ${unit}`;
};

/** `12:00:04 UTC`, of an instant whose day is known. */
export const formatClock = (ms: number): string => `${new Date(ms).toISOString().slice(11, 19)} UTC`;
export const formatUtc = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);

/** `2026-11-29 06:39:03 to 06:40:00`; a span that is shorter than a second to the millisecond. */
export const formatSpan = (fromMs: number, toMs: number): string => {
  const digits = toMs - fromMs < 1_000 ? 23 : 19;
  const [begin = '', end = ''] = [fromMs, toMs].map((ms) =>
    new Date(ms).toISOString().replace('T', ' ').slice(0, digits),
  );
  return `${begin} to ${begin.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end}`;
};
