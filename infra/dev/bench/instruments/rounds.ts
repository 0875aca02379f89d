// Repeats a measurement: each figure's median with its spread, so that a slow moment of the machine is visible as such.
import { type Figure, findQuantile, type Spread } from './figures.ts';

export const ROUNDS = 5;

/** Minimum and maximum of the values; null when fewer than two are known. */
export const computeSpread = (values: readonly (number | null)[]): Spread | null => {
  const known = values.filter((value) => value !== null);
  return known.length < 2 ? null : { min: Math.min(...known), max: Math.max(...known), of: known.length };
};

const computeMedian = (values: readonly (number | null)[]): number | null =>
  findQuantile(
    values.filter((value) => value !== null),
    0.5,
  );

/** Combines the figures of all rounds by name; their descriptions are those of the middle round. */
export const combineRounds = (rounds: readonly (readonly Figure[])[]): Figure[] => {
  const byName = Map.groupBy(rounds.flat(), ({ name }) => name);
  return [...byName.values()].flatMap((figures) => {
    const values = figures.map(({ measured }) => measured);
    const measured = computeMedian(values);
    const middle = figures.find((figure) => figure.measured === measured) ?? figures[0];
    if (middle === undefined) return [];
    return [
      { ...middle, measured, limit: computeMedian(figures.map(({ limit }) => limit)), spread: computeSpread(values) },
    ];
  });
};

/** Runs one round after the other. */
export const runRounds = async (rounds: number, measure: () => Promise<readonly Figure[]>): Promise<Figure[]> => {
  const done: (readonly Figure[])[] = [];
  for (let round = 0; round < rounds; round += 1) done.push(await measure());
  return combineRounds(done);
};
