// UTC days, by which nightly work is named.
import { MS_PER_DAY } from '../../schemas/instants.ts';

/** `YYYY-MM-DD`, UTC. */
export type Day = string;

/** A day closes so long after its start: what is recorded later is in no tree and no file of it (AN-02). */
export const CLOSES_AFTER_MS = 7 * MS_PER_DAY;

export const findDayStart = (day: Day): number => Date.parse(`${day}T00:00:00.000Z`);
export const toDayAt = (ms: number): Day => new Date(ms).toISOString().slice(0, 10);
export const addDays = (day: Day, days = 1): Day => toDayAt(findDayStart(day) + days * MS_PER_DAY);

/** Whether a text is a day of the calendar: `Date` takes 31 November for 1 December. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(findDayStart(text)) && toDayAt(findDayStart(text)) === text;
