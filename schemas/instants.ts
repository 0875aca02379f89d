// Instants: microseconds since 1970 internally, ISO 8601 UTC text externally (N-02, N-03).
import type { Micros } from './records.ts';

export const MS_PER_MINUTE = 60_000;
export const MS_PER_DAY = 1_440 * MS_PER_MINUTE;
export const MICROS_PER_MS = 1_000;
export const MICROS_PER_SECOND = 1_000_000;
export const MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND;
export const MICROS_PER_DAY = 1_440 * MICROS_PER_MINUTE;

const EARLIEST = Date.UTC(2000, 0, 1) * MICROS_PER_MS;
const LATEST = Date.UTC(2100, 0, 1) * MICROS_PER_MS;
const SECONDS = 'T(\\d{2}):(\\d{2})(?::(\\d{2})(?:\\.(\\d{1,6}))?)?';
const INSTANT = new RegExp(`^(\\d{4})-(\\d{2})-(\\d{2})(?:${SECONDS}(?:Z|([+-])(\\d{2}):(\\d{2})))?$`);

const DAY = '-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])';
const HOUR_MINUTE = '([01][0-9]|2[0-3]):[0-5][0-9]';
const TIME = `T${HOUR_MINUTE}(:[0-5][0-9](\\.[0-9]{1,6})?)?(Z|[+-]${HOUR_MINUTE})`;
/** What documents state of an instant. `parseInstant` is finer in the length of a month, and where an offset leads beyond either end. */
export const INSTANT_FORM = `^((20[0-9]{2}${DAY}|2100-01-01)(${TIME})?|1999-12-31${TIME})$`;
export const DAY_FORM = `^(20[0-9]{2}${DAY}|2100-01-01)$`;
/** Of a day with or without dashes. */
export const LOOSE_DAY_FORM = `${DAY_FORM}|${DAY_FORM.replaceAll('-(', '(').replace('2100-01-01', '21000101')}`;

/** Cache of minute texts (`YYYY-MM-DDTHH:MM:`): rows of an answer are close together, and a Date costs ten times the rest. Cleared when full. */
const MOST_MINUTES = 4_096;
const minutes = new Map<number, string>();
const formatMinute = (minute: number): string => {
  const held = minutes.get(minute);
  if (held !== undefined) return held;
  if (minutes.size >= MOST_MINUTES) minutes.clear();
  const text = new Date(minute * 60_000).toISOString().slice(0, 17);
  minutes.set(minute, text);
  return text;
};

const write = (at: Micros, digits: 3 | 6): string => {
  const minute = Math.floor(at / MICROS_PER_MINUTE);
  const second = String(at - minute * MICROS_PER_MINUTE + 100_000_000);
  return `${formatMinute(minute)}${second.slice(1, 3)}.${second.slice(3, 3 + digits)}Z`;
};

/** `YYYY-MM-DDTHH:MM:SS.uuuuuuZ`: always six digits (anchored rows). */
export const formatInstantMicros = (at: Micros): string => write(at, 6);

/** Three fractional digits when the instant is a whole millisecond, else six (N-02). */
export const formatInstant = (at: Micros): string => write(at, at % MICROS_PER_MS === 0 ? 3 : 6);
export const formatInstantOrNull = (at: Micros | null): string | null => (at === null ? null : formatInstant(at));

/** Minutes of texts in our own form, as they were parsed. Cleared when full. */
const parsedMinutes = new Map<string, Micros>();
/** Length of `YYYY-MM-DDTHH:MM:`. */
const MINUTE_LENGTH = 17;

/** The number of the digits in `[from, to)`; NaN when another character is among them. */
const readDigits = (text: string, from: number, to: number): number => {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
};

/** What a caller is told whose text `parseInstant` refuses: many programs omit the zone, or write nanoseconds (N-03). */
export const INSTANT_HINT =
  'Write an instant with a zone and at most six fractional digits, such as 2026-01-15T12:00:00Z, or a date.';

/** RFC 3339 with `Z` or an offset, or a bare date, 2000 to 2100 (N-03); null for anything else. */
export const parseInstant = (text: string): Micros | null => {
  const isOwnForm = (text.length === 27 || text.length === 24) && text.endsWith('Z');
  if (!isOwnForm) return parseAny(text);
  const minute = parsedMinutes.get(text.slice(0, MINUTE_LENGTH));
  if (minute === undefined) {
    const at = parseAny(text);
    if (at === null) return null;
    if (parsedMinutes.size >= MOST_MINUTES) parsedMinutes.clear();
    parsedMinutes.set(text.slice(0, MINUTE_LENGTH), at - (at % MICROS_PER_MINUTE));
    return at;
  }
  const second = readDigits(text, MINUTE_LENGTH, MINUTE_LENGTH + 2);
  const fraction = readDigits(text, MINUTE_LENGTH + 3, text.length - 1) * (text.length === 24 ? MICROS_PER_MS : 1);
  const at = minute + second * MICROS_PER_SECOND + fraction;
  // Anything else about the text: NaN compares as false.
  return text[MINUTE_LENGTH + 2] === '.' && second < 60 && at <= LATEST ? at : parseAny(text);
};

type SixNumbers = [number, number, number, number, number, number];

const parseAny = (text: string): Micros | null => {
  const found = INSTANT.exec(text);
  if (!found) return null;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part = '0') => Number(part)) as SixNumbers;
  const [fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = found.slice(7);
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  if (hour > 23 || minute > 59 || second > 59) return null;
  // A day beyond the end of its month is one of the next.
  if (new Date(ms).getUTCMonth() !== month - 1) return null;
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return null;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const at = (ms - offset) * MICROS_PER_MS + Number(fraction.padEnd(6, '0'));
  return at >= EARLIEST && at <= LATEST ? at : null;
};

/** UTC day of an instant, `YYYY-MM-DD`. */
export const toDayOf = (at: Micros): string => new Date(Math.floor(at / MICROS_PER_MS)).toISOString().slice(0, 10);
