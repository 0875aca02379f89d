// Rows of one listing and layer as one series: stored rows and rows in memory, without a gap or an overlap; and the row for a period or an instant (H-06).
import { countLeading } from '../../schemas/binary-search.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { Micros } from '../../schemas/records.ts';
import type { StoredReading, StoredRow } from './stored-row.ts';

/** What memory held before the store was queried: sealed rows it may not show yet, and windows that are not sealed. */
export type RecentSeries = { readonly sealed: readonly StoredRow[]; readonly provisional: readonly StoredRow[] };

const compareRows = (a: StoredRow, b: StoredRow): number =>
  a.at - b.at || Number(a.late) - Number(b.late) || a.srcOffset - b.srcOffset;

const isCovering = (row: StoredRow, at: Micros): boolean => !row.late && row.fromAt < at && at <= row.at;

/** One series in the order of time. A row in both counts once; a window that is sealed anywhere has no provisional row. */
export const joinSeries = (stored: readonly StoredRow[], recent: RecentSeries): StoredRow[] => {
  // Rows arrive nearly in order, and sorting such rows costs next to nothing.
  const all = [...recent.sealed, ...stored].sort(compareRows);
  const rows = all.filter((row, i) => i === 0 || compareRows(all[i - 1] as StoredRow, row) !== 0);
  const open = recent.provisional.filter(({ at }) => !rows.some((row) => isCovering(row, at)));
  return open.length === 0 ? rows : [...rows, ...open].sort(compareRows);
};

/** A row with the last reading of its window. */
export type ReadingRow = StoredRow & { readonly reading: StoredReading };
const isReading = (row: StoredRow): row is ReadingRow => row.reading !== null;

/** Rows with a reading or invalidation that count, in order (N-11). */
export const listReadings = (series: readonly StoredRow[]): ReadingRow[] =>
  series.filter(isReading).filter(({ late }) => !late);
const listGaps = (series: readonly StoredRow[]): StoredRow[] =>
  series.filter((row) => row.reading === null && !row.late);

/** Index of the last row that ended at or before `at`; -1 when none did. */
const findLastEnded = (rows: readonly StoredRow[], at: Micros): number =>
  countLeading(rows.length, (i) => (rows[i] as StoredRow).at <= at) - 1;

/** The newest reading whose window ended at or before `at` (H-06, mode at). */
export const findNewestAt = (readings: readonly ReadingRow[], at: Micros): ReadingRow | null =>
  readings[findLastEnded(readings, at)] ?? null;

/** The answer for a period `(start, end]` or for an instant: a reading, or the reason for its absence. Both null: nothing was ever received. */
export type AnswerAt = { readonly at: Micros; readonly row: ReadingRow | null; readonly gapCause: GapCause | null };

type Period = { readonly start: Micros; readonly end: Micros };

/** Periods of `length` in `(from, to]`; both ends lie on boundaries. */
export const listPeriods = (from: Micros, to: Micros, length: Micros): Period[] => {
  const periods: Period[] = [];
  for (let end = from + length; end <= to; end += length) periods.push({ start: end - length, end });
  return periods;
};

/** Cause of a period without a reading: that of the last gap that reaches into it; a window that was never sealed is `unknown`. */
const findCauseIn = (gaps: readonly StoredRow[], { start, end }: Period): GapCause => {
  // Gaps do not overlap, so only the first one that ends after the period's end can begin before it.
  const ended = findLastEnded(gaps, end);
  const later = gaps[ended + 1];
  if (later !== undefined && later.fromAt < end) return later.gapCause ?? 'unknown';
  const last = gaps[ended];
  return last !== undefined && last.at > start ? (last.gapCause ?? 'unknown') : 'unknown';
};

/** The last reading of each period; the previous period's is not carried (H-06, mode interval). */
export const answerPeriods = (series: readonly StoredRow[], periods: readonly Period[]): AnswerAt[] => {
  const readings = listReadings(series);
  const gaps = listGaps(series);
  return periods.map((period) => {
    const newest = findNewestAt(readings, period.end);
    const row = newest !== null && newest.at > period.start ? newest : null;
    return { at: period.end, row, gapCause: row === null ? findCauseIn(gaps, period) : null };
  });
};

/**
 * Every stored row with `from <= received_at < to`, late ones too, and each window without a row's reading by its end (H-06, mode raw).
 * A row that closes several windows is one answer a window, so that answers do not depend on how many were sealed at once.
 */
export const answerRaw = (
  series: readonly StoredRow[],
  { from, to, windowMicros }: { readonly from: Micros; readonly to: Micros; readonly windowMicros: Micros },
): AnswerAt[] => {
  const received = series.filter(isReading).map((row) => ({ at: row.reading.received_at, row, gapCause: null }));
  const filled = new Set(listReadings(series).map(({ at }) => at));
  const first = Math.ceil(from / windowMicros) * windowMicros;
  const windows: Period[] = [];
  for (let end = first; end < to; end += windowMicros) windows.push({ start: end - windowMicros, end });
  const gaps = listGaps(series);
  const silent = windows
    .filter(({ end }) => !filled.has(end))
    .map((window) => ({ at: window.end, row: null, gapCause: findCauseIn(gaps, window) }));
  return [...received.filter(({ at }) => at >= from && at < to), ...silent].sort(
    (a, b) => a.at - b.at || compareRaw(a, b),
  );
};

const compareRaw = (a: AnswerAt, b: AnswerAt): number =>
  Number(a.row === null) - Number(b.row === null) || (a.row !== null && b.row !== null ? compareRows(a.row, b.row) : 0);
