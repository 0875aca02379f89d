// Growth of a quantity of a process: within its lives and from life to life, without the beginning of each life.
import { computeMean } from '../instruments/figures.ts';

export type Point = { readonly atMs: number; readonly life: number; readonly value: number };

const HOUR_MS = 3_600_000;
/** A process that has just started fills its caches; a short life is warm after half of it. */
const WARM_UP_MS = 600_000;
/** A shorter span does not allow a figure for an hour. */
const LEAST_SPAN_MS = 300_000;
const LEAST_LIVES = 3;

type Line = readonly { readonly x: number; readonly y: number }[];

/** `error`: its standard error, from the distances of the points to the lines; infinite for too few points. */
export type Slope = { readonly perHour: number; readonly error: number };

/** One slope (least squares) common to lines with their own heights, and its standard error; null when x does not vary. */
export const fitLines = (lines: readonly Line[]): { readonly slope: number; readonly error: number } | null => {
  let [along, across, high, points] = [0, 0, 0, 0];
  for (const line of lines) {
    const [mx, my] = [computeMean(line.map(({ x }) => x)), computeMean(line.map(({ y }) => y))];
    for (const { x, y } of line) {
      along += (x - mx) ** 2;
      across += (x - mx) * (y - my);
      high += (y - my) ** 2;
      points++;
    }
  }
  if (along === 0) return null;
  const slope = across / along;
  const free = points - lines.length - 1;
  const beside = Math.max(0, high - slope * across);
  return { slope, error: free > 0 ? Math.sqrt(beside / free / along) : Number.POSITIVE_INFINITY };
};

/** Of lines over hours. */
const computeCommonSlope = (lines: readonly Line[]): Slope | null => {
  const fitted = fitLines(lines);
  return fitted === null ? null : { perHour: fitted.slope, error: fitted.error };
};

/** Samples grouped by their process, in the order of time. */
export const groupLives = (points: readonly Point[]): readonly (readonly Point[])[] => [
  ...Map.groupBy(points, ({ life }) => life).values(),
];

const computeSpan = (life: readonly Point[]): number => (life.at(-1)?.atMs ?? 0) - (life[0]?.atMs ?? 0);

const cutWarmPart = (life: readonly Point[]): readonly Point[] => {
  const from = (life[0]?.atMs ?? 0) + Math.min(WARM_UP_MS, computeSpan(life) / 2);
  return life.filter(({ atMs }) => atMs >= from);
};

const toLine = (points: readonly Point[]): Line => points.map(({ atMs, value }) => ({ x: atMs / HOUR_MS, y: value }));

/** Growth an hour within the warm parts of all lives; null when these are shorter than five minutes. */
export const computeSlopeWithin = (points: readonly Point[]): Slope | null => {
  const warm = groupLives(points).map(cutWarmPart);
  const spanMs = warm.reduce((sum, life) => sum + computeSpan(life), 0);
  return spanMs < LEAST_SPAN_MS ? null : computeCommonSlope(warm.map(toLine));
};

/** The median of a life's warm part, at its end: a single sample may fall into a garbage collection. */
const findLevel = (life: readonly Point[]): Point[] => {
  const warm = cutWarmPart(life);
  const [last, middle] = [warm.at(-1), warm.toSorted((a, b) => a.value - b.value)[Math.floor(warm.length / 2)]];
  return last === undefined || middle === undefined ? [] : [{ ...last, value: middle.value }];
};

/**
 * Growth an hour from the level of one life to the next; null with fewer than three lives or less than five minutes. Excludes the last life,
 * which has not ended, and lives that began in the first ten minutes, when windows were still filling.
 */
export const computeSlopeAcross = (points: readonly Point[]): Slope | null => {
  const from = (points[0]?.atMs ?? 0) + WARM_UP_MS;
  const lives = groupLives(points).filter(([first]) => (first?.atMs ?? 0) >= from);
  const levels = lives.slice(0, -1).flatMap(findLevel);
  return levels.length < LEAST_LIVES || computeSpan(levels) < LEAST_SPAN_MS
    ? null
    : computeCommonSlope([toLine(levels)]);
};
