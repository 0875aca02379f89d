// Decimation for charts: never over a hole, never without an extreme, never more points than columns allow.
import t from 'tap';
import { type Columns, decimateLine } from '../../../../api/explorer/chart/decimate.ts';
import { createRandom, type Random } from '../../../support/mutations.ts';

type Series = { readonly xs: readonly number[]; readonly ys: readonly number[] };

/** Irregular instants, now and then equal ones; holes of any length, also first and last. */
const anySeries = (random: Random): Series => {
  const length = random(400);
  const xs: number[] = [];
  const ys: number[] = [];
  let at = random(1_000);
  let isHole = random(3) === 0;
  for (let i = 0; i < length; i++) {
    at += random(20);
    if (random(12) === 0) isHole = !isHole;
    xs.push(at);
    ys.push(isHole ? Number.NaN : random(2_000) - 1_000);
  }
  return { xs, ys };
};

const anyColumns = (random: Random, { xs }: Series): Columns => {
  const [first = 0, last = first] = [xs[0], xs.at(-1)];
  const fromMs = first + random(500) - 250;
  return { fromMs, toMs: Math.max(fromMs + 1, last + random(500) - 250), columns: 1 + random(120) };
};

const computeColumn = (x: number, { fromMs, toMs, columns }: Columns): number =>
  Math.floor(((x - fromMs) * columns) / (toMs - fromMs));

/** Places of all points of one unbroken stretch and one column, by their key. */
const groupColumns = ({ xs, ys }: Series, asked: Columns): Map<string, number[]> => {
  const columns = new Map<string, number[]>();
  let stretch = 0;
  for (const [place, x] of xs.entries()) {
    if (Number.isNaN(ys[place])) stretch += 1;
    else if (x >= asked.fromMs && x < asked.toMs) {
      const key = `${stretch} ${computeColumn(x, asked)}`;
      columns.set(key, [...(columns.get(key) ?? []), place]);
    }
  }
  return columns;
};

t.test('what is joined has no hole between it, in any series', (t) => {
  const random = createRandom(28);
  let joined = 0;
  for (let round = 0; round < 2_000; round++) {
    const series = anySeries(random);
    const faults: string[] = [];
    for (const run of decimateLine(series.xs, series.ys, anyColumns(random, series)))
      for (const [i, place] of run.entries()) {
        const before = i === 0 ? place : (run[i - 1] ?? place);
        if (i > 0) joined += 1;
        if (i > 0 && before >= place) faults.push(`round ${round}: ${before} then ${place}`);
        for (let between = before; between <= place; between++)
          if (Number.isNaN(series.ys[between])) faults.push(`round ${round}: joined over the hole at ${between}`);
      }
    if (faults.length > 0) t.same(faults, []);
  }
  t.ok(joined > 10_000, `${joined} joints looked at`);
  t.end();
});

t.test('each column keeps its first, lowest, highest and last point, and no more than four', (t) => {
  const random = createRandom(29);
  let looked = 0;
  for (let round = 0; round < 1_000; round++) {
    const series = anySeries(random);
    const asked = anyColumns(random, series);
    const runs = decimateLine(series.xs, series.ys, asked);
    const kept = new Set(runs.flat());
    const faults: string[] = [];
    for (const [key, places] of groupColumns(series, asked)) {
      looked += 1;
      const values = places.map((place) => series.ys[place] ?? 0);
      const shown = places.filter((place) => kept.has(place));
      const shownValues = shown.map((place) => series.ys[place] ?? 0);
      if (!kept.has(places[0] ?? -1)) faults.push(`${round} ${key}: first`);
      if (!kept.has(places.at(-1) ?? -1)) faults.push(`${round} ${key}: last`);
      if (Math.min(...values) !== Math.min(...shownValues)) faults.push(`${round} ${key}: lowest`);
      if (Math.max(...values) !== Math.max(...shownValues)) faults.push(`${round} ${key}: highest`);
      if (shown.length > 4) faults.push(`${round} ${key}: ${shown.length} points`);
    }
    if (faults.length > 0) t.same(faults, []);
  }
  t.ok(looked > 5_000, `${looked} columns looked at`);
  t.end();
});

t.test('50,000 points become at most four a column', (t) => {
  const xs = Array.from({ length: 50_000 }, (_, i) => i * 1_000);
  const ys = xs.map((x) => Math.sin(x / 1e6));
  const runs = decimateLine(xs, ys, { fromMs: 0, toMs: 50_000_000, columns: 800 });
  t.equal(runs.length, 1);
  t.ok((runs[0]?.length ?? 0) <= 4 * 801 && (runs[0]?.length ?? 0) >= 1_600, `${runs[0]?.length} points`);
  t.same([runs[0]?.[0], runs[0]?.at(-1)], [0, 49_999]);
  t.end();
});

t.test('a point alone between holes is a run of its own', (t) => {
  t.same(decimateLine([1, 2, 3], [Number.NaN, 5, Number.NaN], { fromMs: 0, toMs: 4, columns: 4 }), [[1]]);
  t.same(decimateLine([], [], { fromMs: 0, toMs: 4, columns: 4 }), []);
  t.end();
});
