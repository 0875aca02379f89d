// UTC days, by which nightly work is named.

/** `YYYY-MM-DD`, UTC. */
export type Day = string;

export const DAY_MS = 86_400_000;
export const findDayStart = (day: Day): number => Date.parse(`${day}T00:00:00.000Z`);
export const dayAt = (ms: number): Day => new Date(ms).toISOString().slice(0, 10);
export const dayAfter = (day: Day, days = 1): Day => dayAt(findDayStart(day) + days * DAY_MS);
