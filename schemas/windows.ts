// Sampling windows on `received_at`: `(start, end]`, aligned to UTC (H-06, N-11).
import { MS_PER_MINUTE, toDayOf } from './instants.ts';
import type { Micros } from './records.ts';

/** A reading counts when it was recorded at most this long after its window's end (N-11). */
export const COUNTS_WITHIN: Micros = 100_000_000;
/** A window is sealed once W has passed its end by this: the first millisecond at which nothing more can count. */
export const SEALS_AFTER: Micros = 100_001_000;
/** A collector whose clock is further than this off the broker's ends itself, some seconds after it began (D-11). */
export const MOST_CLOCK_OFFSET: Micros = 5_000_000;

/** End of the window `(start, end]` of `windowMs` that contains `receivedAt`; an instant on a boundary belongs to the window that ends there. */
export const toWindowEnd = (receivedAt: Micros, windowMs: number): Micros => {
  const length = windowMs * 1000;
  return Math.ceil(receivedAt / length) * length;
};

/** End of the newest window of `windowMs` that ended by `at`. */
export const findLastEnd = (at: Micros, windowMs: number): Micros => {
  const length = windowMs * 1000;
  return Math.floor(at / length) * length;
};

/** Start of the minute that an instant is in. */
export const toMinute = (at: Micros): Micros => findLastEnd(at, MS_PER_MINUTE);

/** True when a reading recorded at `recordedAt` still counts for the window that ends at `end`. */
export const isCounted = (recordedAt: Micros, end: Micros): boolean => recordedAt <= end + COUNTS_WITHIN;

/** The watermark from which on the window is sealed. */
export const toSealInstant = (end: Micros): Micros => end + SEALS_AFTER;

/** UTC day of a window: a window that ends at midnight belongs to the day that ends there. */
export const toWindowDay = (end: Micros): string => toDayOf(end - 1);

/** Windows in which gaps between events are sealed; the stretches keep their real length (H-15). */
export const EVENT_GAP_WINDOW_MS = 10_000;
