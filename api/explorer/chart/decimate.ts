// As many points as a line needs on so many columns of pixels: of each column the first, the lowest, the highest and the last, so that what is
// drawn is what all points would draw; a hole ends one run of points, and the next begins after it.
import { countLeading } from '../../../schemas/binary-search.ts';

/** Places of points that are joined by a line, in their order. */
type Run = readonly number[];

export type Columns = {
  readonly fromMs: number;
  readonly toMs: number;
  readonly columns: number;
};

/** First place whose instant is not before `ms`. */
const findFirstFrom = (xs: readonly number[], ms: number): number => countLeading(xs.length, (i) => (xs[i] ?? 0) < ms);

type Bucket = { column: number; first: number; low: number; high: number; last: number };

const flush = ({ first, low, high, last }: Bucket, run: number[]): void => {
  for (const place of [first, Math.min(low, high), Math.max(low, high), last])
    if (run.at(-1) !== place) run.push(place);
};

/**
 * Runs within `fromMs`..`toMs`, with the one point before and after it, so that lines reach the edges. `ys` is NaN in holes.
 * At most four points a column and run.
 */
export const decimateLine = (
  xs: readonly number[],
  ys: readonly number[],
  { fromMs, toMs, columns }: Columns,
): readonly Run[] => {
  const begin = Math.max(0, findFirstFrom(xs, fromMs) - 1);
  const end = Math.min(xs.length, findFirstFrom(xs, toMs) + 1);
  const spanMs = toMs - fromMs;
  const runs: Run[] = [];
  let run: number[] = [];
  let bucket: Bucket | null = null;
  const endRun = (): void => {
    if (bucket !== null) flush(bucket, run);
    if (run.length > 0) runs.push(run);
    run = [];
    bucket = null;
  };
  for (let place = begin; place < end; place++) {
    const y = ys[place] ?? Number.NaN;
    if (Number.isNaN(y)) {
      endRun();
      continue;
    }
    const column = Math.floor((((xs[place] ?? 0) - fromMs) * columns) / spanMs);
    if (bucket !== null && bucket.column === column) {
      if (y < (ys[bucket.low] ?? 0)) bucket.low = place;
      if (y > (ys[bucket.high] ?? 0)) bucket.high = place;
      bucket.last = place;
      continue;
    }
    if (bucket !== null) flush(bucket, run);
    bucket = { column, first: place, low: place, high: place, last: place };
  }
  endRun();
  return runs;
};
