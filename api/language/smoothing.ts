// Averages smoothed step by step over 4n elements, of every window of a series (DQL-28): the mean of the oldest n, then 3n steps.
// A step waits for the one before it in its window, but not for other windows: those that advance in one loop take little more time than one alone.
import { computeMean } from './sums.ts';

/** `count` windows of 4n elements, which start at 0, 1, 2 … */
type Windows = { readonly n: number; readonly count: number };

const computeSeeds = (values: Float64Array, { n, count }: Windows): Float64Array => {
  const seeds = new Float64Array(count);
  for (let i = 0; i < count; i++) seeds[i] = computeMean(values, i, n);
  return seeds;
};

/** Steps `e = a * x + (1 - a) * e` with a = 2 / (n + 1). */
export const computeEmas = (values: Float64Array, windows: Windows): Float64Array => {
  const { n, count } = windows;
  const a = 2 / (n + 1);
  const b = 1 - a;
  const out = computeSeeds(values, windows);
  let w = 0;
  for (; w + 4 <= count; w += 4) {
    let [e0, e1, e2, e3] = [out[w] as number, out[w + 1] as number, out[w + 2] as number, out[w + 3] as number];
    for (let i = w + n; i < w + 4 * n; i++) {
      e0 = a * (values[i] as number) + b * e0;
      e1 = a * (values[i + 1] as number) + b * e1;
      e2 = a * (values[i + 2] as number) + b * e2;
      e3 = a * (values[i + 3] as number) + b * e3;
    }
    [out[w], out[w + 1], out[w + 2], out[w + 3]] = [e0, e1, e2, e3];
  }
  for (; w < count; w++) {
    let e = out[w] as number;
    for (let i = w + n; i < w + 4 * n; i++) e = a * (values[i] as number) + b * e;
    out[w] = e;
  }
  return out;
};

type Pair = readonly [first: Float64Array, second: Float64Array];

/** Wilder's steps `average = (average * (n - 1) + x) / n` of two series of one length, two windows of each at once. */
export const computeWilderPair = ([xs, ys]: Pair, windows: Windows): Pair => {
  const { n, count } = windows;
  const kept = n - 1;
  const [outX, outY] = [computeSeeds(xs, windows), computeSeeds(ys, windows)];
  let w = 0;
  for (; w + 2 <= count; w += 2) {
    let [x0, x1, y0, y1] = [outX[w] as number, outX[w + 1] as number, outY[w] as number, outY[w + 1] as number];
    for (let i = w + n; i < w + 4 * n; i++) {
      x0 = (x0 * kept + (xs[i] as number)) / n;
      x1 = (x1 * kept + (xs[i + 1] as number)) / n;
      y0 = (y0 * kept + (ys[i] as number)) / n;
      y1 = (y1 * kept + (ys[i + 1] as number)) / n;
    }
    [outX[w], outX[w + 1], outY[w], outY[w + 1]] = [x0, x1, y0, y1];
  }
  for (; w < count; w++) {
    let [x, y] = [outX[w] as number, outY[w] as number];
    for (let i = w + n; i < w + 4 * n; i++) {
      x = (x * kept + (xs[i] as number)) / n;
      y = (y * kept + (ys[i] as number)) / n;
    }
    [outX[w], outY[w]] = [x, y];
  }
  return [outX, outY];
};

/** The same steps of one series: its older and its newer windows are the two. */
export const computeWilderAverages = (values: Float64Array, { n, count }: Windows): Float64Array => {
  const half = Math.ceil(count / 2);
  const [older, newer] = computeWilderPair([values, values.subarray(count - half)], { n, count: half });
  const out = new Float64Array(count);
  out.set(older);
  out.set(newer, count - half);
  return out;
};
