// The computations of the functions over periods, each over one fixed window, oldest element first (DQL-28). NaN and infinities mean: no value.
import { countLeading } from '../../schemas/binary-search.ts';
import { computeEmas, computeWilderAverages, computeWilderPair } from './smoothing.ts';
import { computeMean, computeSum } from './sums.ts';

/** Elements `[from, from + length)` of a series, oldest first; every one of them is there. */
type Window = { readonly values: Float64Array; readonly from: number; readonly length: number };

/** Literal arguments of a call in addition to its series. */
export type Arguments = {
  readonly n: number;
  /** Percentage of `percentile`, in its canonical digits: a double cannot hold every one exactly. */
  readonly p: string;
  readonly isLinear: boolean;
};

/** Computes every element of a series at once: `count` windows that start at 0, 1, 2 … */
type Slide = (values: Float64Array, window: number, given: Arguments & { readonly count: number }) => Float64Array;

/** How a function reads its series: the number of elements that a value needs, the cost of one relative to an addition (1), and the value. */
export type Rule = { readonly window: (n: number) => number; readonly weight?: number } & (
  | { readonly compute: (window: Window, given: Arguments) => number }
  | { readonly slide: Slide }
);

/** Gains and losses from each element to the next. */
const computeMoves = (values: Float64Array): readonly [up: Float64Array, down: Float64Array] => {
  const moves = Math.max(0, values.length - 1);
  const [up, down] = [new Float64Array(moves), new Float64Array(moves)];
  for (let i = 0; i < moves; i++) {
    const change = (values[i + 1] as number) - (values[i] as number);
    if (change > 0) up[i] = change;
    else down[i] = 0 - change;
  }
  return [up, down];
};

const slideEma: Slide = (values, _window, windows) => computeEmas(values, windows);

/** Wilder's smoothing of 4n gains and losses. */
const slideRsi: Slide = (values, _window, windows) => {
  const [ups, downs] = computeWilderPair(computeMoves(values), windows);
  return ups.map((up, i) => {
    const down = downs[i] as number;
    return down === 0 ? (up > 0 ? 100 : 50) : 100 - 100 / (1 + up / down);
  });
};

/** Averages of 4n true ranges of 4n + 1 candles, `count` of them, smoothed as `rsi` does. */
export const computeAtrs = (
  [high, low, close]: readonly [high: Float64Array, low: Float64Array, close: Float64Array],
  { n, count }: { readonly n: number; readonly count: number },
): Float64Array => {
  const ranges = new Float64Array(count + 4 * n - 1);
  for (let i = 0; i < ranges.length; i++) {
    const [h, l, before] = [high[i + 1] as number, low[i + 1] as number, close[i] as number];
    ranges[i] = Math.max(h - l, Math.abs(h - before), Math.abs(l - before));
  }
  return computeWilderAverages(ranges, { n, count });
};

/** Population form, two passes. */
const computeStdev = ({ values, from, length }: Window): number => {
  const mean = computeMean(values, from, length);
  const squares = new Float64Array(length);
  for (let i = 0; i < length; i++) squares[i] = ((values[from + i] as number) - mean) ** 2;
  return Math.sqrt(computeSum(squares) / length);
};

const findExtreme = ({ values, from, length }: Window, pick: (a: number, b: number) => number): number => {
  let found = values[from] as number;
  for (let i = from + 1; i < from + length; i++) found = pick(found, values[i] as number);
  return found;
};

const computeRank = ({ values, from, length }: Window): number => {
  const newest = values[from + length - 1] as number;
  let count = 0;
  for (let i = from; i < from + length; i++) if ((values[i] as number) <= newest) count++;
  return count / length;
};

/** Rank of the nearest-rank percentile among 1 to n: `ceil(p * n / 100)`, exact on the digits of p (DQL-33d). */
const computeNearestRank = (p: string, n: number): number => {
  const [whole = '0', part = ''] = p.split('.');
  const [above, below] = [BigInt(whole + part) * BigInt(n), 100n * 10n ** BigInt(part.length)];
  return Math.max(1, Number((above + below - 1n) / below));
};

/** The percentile among values in ascending order. */
const computePercentile = (sorted: Float64Array, n: number, { p, isLinear }: Arguments): number => {
  if (!isLinear) return sorted[computeNearestRank(p, n) - 1] as number;
  // The position and the share above it are computed from the same h: an exact position with a rounded share would be outside of the two values (N-05, DQL-28).
  const h = ((n - 1) * Number(p)) / 100;
  const i = Math.floor(h);
  const low = sorted[i] as number;
  // At p = 100 there is nothing above (DQL-33d).
  return i >= n - 1 ? low : low + (h - i) * ((sorted[i + 1] as number) - low);
};

/** First place among the `n` sorted values whose value is not below `value`. */
const findPlace = (sorted: Float64Array, n: number, value: number): number =>
  countLeading(n, (i) => (sorted[i] as number) < value);

/** Keeps the window sorted while it moves: sorting each window would exceed the time budget of a screen. Absent elements are not included. */
const slidePercentile: Slide = (values, window, given) => {
  const out = new Float64Array(given.count);
  const sorted = new Float64Array(window);
  let held = 0;
  const insert = (value: number): void => {
    if (Number.isNaN(value)) return;
    const place = findPlace(sorted, held, value);
    sorted.copyWithin(place + 1, place, held);
    sorted[place] = value;
    held++;
  };
  const remove = (value: number): void => {
    if (Number.isNaN(value)) return;
    const place = findPlace(sorted, held, value);
    sorted.copyWithin(place, place + 1, held);
    held--;
  };
  for (let i = 0; i < window - 1; i++) insert(values[i] as number);
  for (let i = 0; i < given.count; i++) {
    insert(values[i + window - 1] as number);
    out[i] = held === window ? computePercentile(sorted, window, given) : Number.NaN;
    remove(values[i] as number);
  }
  return out;
};

const keepCount = (n: number): number => n;
const addOne = (n: number): number => n + 1;
const findNewest = ({ values, from, length }: Window): number => values[from + length - 1] as number;

export const RULES = {
  prev: { window: addOne, compute: ({ values, from }) => values[from] as number },
  sma: { window: keepCount, compute: ({ values, from, length }) => computeMean(values, from, length) },
  ema: { window: (n) => 4 * n, slide: slideEma },
  rsi: { window: (n) => 4 * n + 1, weight: 3, slide: slideRsi },
  stdev: { window: keepCount, weight: 3, compute: computeStdev },
  highest: { window: keepCount, compute: (window) => findExtreme(window, Math.max) },
  lowest: { window: keepCount, compute: (window) => findExtreme(window, Math.min) },
  change: { window: addOne, compute: (window) => findNewest(window) - (window.values[window.from] as number) },
  roc: {
    window: addOne,
    compute: (window) => {
      const before = window.values[window.from] as number;
      return (findNewest(window) - before) / before;
    },
  },
  rolling_sum: { window: keepCount, compute: ({ values, from, length }) => computeSum(values, from, from + length) },
  percentile: { window: keepCount, slide: slidePercentile },
  percentile_rank: { window: keepCount, compute: computeRank },
} as const satisfies Readonly<Record<string, Rule>>;
