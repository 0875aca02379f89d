// Every function over periods against published and hand-made vectors, read through the language (DQL-27, DQL-28, DQL-33a, DQL-33d).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { compile } from '../../../api/language/compile.ts';
import { type AtomValue, computeAtom, type Elements, REASONS } from '../../../api/screen/series.ts';
import { CODES } from './codes.ts';

type Numbers = readonly (number | null)[];
type Columns = Readonly<Record<string, Numbers>>;

const vectors = <T>(name: string): T =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../fixtures/indicators', `${name}.json`), 'utf8')) as T;

/** A column whose newest element is the last; null is a gap. */
const elements = (numbers: Numbers): Elements => ({
  values: Float64Array.from(numbers, (x) => x ?? Number.NaN),
  reasons: numbers.includes(null) ? Uint8Array.from(numbers, (x) => (x === null ? 2 : 0)) : null,
});

const atom = (text: string, columns: Columns): AtomValue => {
  const [node] = compile({ text: `select ${text} timeframe 1h` }, CODES).query.select;
  if (node?.type !== 'call' && node?.type !== 'source') throw new Error(`${text} is no atom`);
  return computeAtom(node, (spec) => {
    const held = elements(columns[spec.member] ?? []);
    const lacking = Math.max(0, 600 - held.values.length);
    // Data before the first stored element is no history.
    const values = new Float64Array(lacking + held.values.length).fill(Number.NaN);
    values.set(held.values, lacking);
    const reasons = new Uint8Array(values.length).fill(4, 0, lacking);
    if (held.reasons !== null) reasons.set(held.reasons, lacking);
    return { values, reasons };
  });
};

const worth = (text: string, columns: Columns): number | boolean | string => {
  const value = atom(text, columns);
  if ('number' in value) return value.number;
  return 'truth' in value ? value.truth : (REASONS[value.reason] ?? '');
};

/** The value at each bar: the result of the language when that bar is the newest. */
const alongside = (t: Test, text: string, columns: Columns, of: { expected: Numbers; tolerance: number }): void => {
  let compared = 0;
  of.expected.forEach((expected, i) => {
    const cut = Object.fromEntries(Object.entries(columns).map(([name, all]) => [name, all.slice(0, i + 1)]));
    const found = worth(text, cut);
    if (expected === null) {
      if (found !== 'insufficient_history') t.fail(`${text} at ${i}: ${found} where the window is short`);
    } else {
      compared++;
      if (typeof found !== 'number' || Math.abs(found - expected) > of.tolerance)
        t.fail(`${text} at ${i}: ${found}, not ${expected}`);
    }
  });
  t.ok(compared > 0, `${text}: ${compared} values`);
};

type Bars = { readonly high: Numbers; readonly low: Numbers; readonly close: Numbers };

t.test('moving averages and deviations of 502 bars', async (t) => {
  const { high, low, close, expected } = vectors<Bars & { expected: Record<string, Numbers> }>('bars502');
  const columns = { high, low, close };
  alongside(t, 'sma(close, 20)', columns, { expected: expected.sma20 ?? [], tolerance: 1e-9 });
  alongside(t, 'stdev(close, 14)', columns, { expected: expected.stdev14 ?? [], tolerance: 1e-9 });
  const { expected: fixed } = vectors<{ expected: Record<string, Numbers> }>('bars502-fixed-window');
  alongside(t, 'ema(close, 20)', columns, { expected: fixed.ema20_sma_seed ?? [], tolerance: 1e-9 });
  alongside(t, 'rsi(close, 14)', columns, { expected: fixed.rsi14_sma_seed ?? [], tolerance: 1e-9 });
  alongside(t, 'atr(14)', columns, { expected: fixed.atr14_sma_seed ?? [], tolerance: 1e-9 });
});

t.test('the chart school’s average', async (t) => {
  const { close, expected, tolerance } = vectors<{ close: Numbers; expected: Numbers; tolerance: number }>(
    'sma10-stockcharts',
  );
  alongside(t, 'sma(close, 10)', { close }, { expected, tolerance });
});

type Small = { readonly x: Numbers; readonly n: number } & Readonly<Record<string, Numbers>>;

t.test('functions give the exact values of the small vectors', async (t) => {
  const small = vectors<Record<string, (Small & { expected: Numbers; expected_last: number })[]>>('small');
  const along = (text: (n: number) => string, key: string, member = 'expected') => {
    for (const one of small[key] ?? [])
      alongside(t, text(one.n), { close: one.x }, { expected: one[member] ?? [], tolerance: 1e-15 });
  };
  along((n) => `sma(close, ${n})`, 'sma');
  along((n) => `highest(close, ${n})`, 'highest_lowest', 'highest');
  along((n) => `lowest(close, ${n})`, 'highest_lowest', 'lowest');
  along((n) => `change(close, ${n})`, 'change_roc', 'change');
  along((n) => `roc(close, ${n})`, 'change_roc', 'roc');
  along((n) => `rolling_sum(close, ${n})`, 'rolling_sum');
  for (const { x, n, expected_last } of small.stdev_population ?? [])
    t.equal(worth(`stdev(close, ${n})`, { close: x }), expected_last);
  for (const { x, n, expected_last } of small.percentile_rank ?? [])
    t.equal(worth(`percentile_rank(close, ${n})`, { close: x }), expected_last);
});

const ramp = (length: number, of: (i: number) => number): Numbers => Array.from({ length }, (_, i) => of(i));

t.test('an index of only gains is 100, of only losses 0, of neither 50', async (t) => {
  t.equal(worth('rsi(close, 2)', { close: ramp(9, (i) => i) }), 100);
  t.equal(worth('rsi(close, 2)', { close: ramp(9, (i) => -i) }), 0);
  t.equal(worth('rsi(close, 2)', { close: ramp(9, () => 5) }), 50);
  t.equal(worth('ema(close, 3)', { close: ramp(12, (i) => i) }), 10, 'a straight line lags by (n - 1) / 2');
});

/** Figures without a pattern, the same in every run. */
const walk = (length: number, seed: number): Numbers =>
  ramp(length, (i) => 100 + 7 * Math.sin(seed + i * 1.3) + ((i * 7919 + seed * 31) % 101) / 9);

t.test('windows that are computed together have the value of each alone, to the last bit (DQL-28)', async (t) => {
  const columns = { high: walk(180, 3), low: walk(180, 5), close: walk(180, 1) };
  const calls = (n: number): string[] => [
    ...['sma', 'ema', 'rsi', 'stdev', 'highest', 'lowest', 'change', 'roc', 'rolling_sum', 'percentile_rank'].map(
      (name) => `${name}(close, ${n})`,
    ),
    ...[`atr(${n})`, `percentile(close, ${n}, 37)`],
  ];
  for (const text of [1, 2, 5, 14, 30].flatMap(calls)) {
    const alone = ramp(9, (i) => {
      const cut = Object.entries(columns).map(([name, all]) => [name, all.slice(0, all.length - 8 + i)]);
      return Number(worth(text, Object.fromEntries(cut)));
    });
    const counts = Array.from({ length: 9 }, (_, i) => i + 1);
    t.same(
      counts.map((count) => worth(`rolling_sum(${text}, ${count})`, columns)),
      counts.map((count) => worth(`rolling_sum(close, ${count})`, { close: alone })),
      text,
    );
  }
});

t.test('of the reasons in a window the first one counts, wherever it lies (DQL-33f)', async (t) => {
  // A ratio to zero is no value; what lies before the first bar is no history.
  const close: Numbers = ramp(40, (i) => (i === 30 ? 0 : 100 + i)).map((x, i) => (i === 12 || i === 25 ? null : x));
  const bars = Array.from({ length: 40 }, (_, i) => i);
  const counts = Array.from({ length: 9 }, (_, i) => i + 1);
  const at = (text: string, bar: number): number | boolean | string => worth(text, { close: close.slice(0, bar + 1) });
  for (const text of ['roc(close, 1)', 'sma(close, 3)', 'ema(close, 1)', 'percentile(close, 3, 50)']) {
    const alone = bars.map((bar) => at(text, bar));
    const expect = (bar: number, count: number): string => {
      const window = counts.slice(0, count).map((i) => alone[bar + 1 - i] ?? 'insufficient_history');
      return REASONS.find((reason) => reason !== '' && window.includes(reason)) ?? 'a number';
    };
    const find = (bar: number, count: number): string => {
      const found = at(`rolling_sum(${text}, ${count})`, bar);
      return typeof found === 'string' ? found : 'a number';
    };
    const list = (of: typeof find) => bars.map((bar) => counts.map((count) => of(bar, count)));
    t.same(list(find), list(expect), text);
  }
});

t.test('percentiles by nearest rank and linear', async (t) => {
  type Case = { values: Numbers | { range: [number, number] }; p: number; nearest_rank: number; linear: number };
  for (const { values, p, nearest_rank, linear } of vectors<{ cases: Case[] }>('percentile').cases) {
    // p is greater than 0 (DQL-12).
    if (p === 0) continue;
    const close = 'range' in values ? ramp(values.range[1], (i) => i + 1) : values;
    t.equal(worth(`percentile(close, ${close.length}, ${p})`, { close }), nearest_rank, `${p} of ${close.length}`);
    const found = worth(`percentile(close, ${close.length}, ${p}, linear)`, { close });
    if (typeof found !== 'number' || Math.abs(found - linear) > 1e-9) t.fail(`${p} of ${close.length}: ${found}`);
  }
  t.equal(worth('percentile(close, 100, 0.07)', { close: ramp(100, (i) => i + 1) }), 1);
});

t.test(
  'a linear percentile lies between the two values that it stands between, however far they are apart',
  async (t) => {
    // 375 * 18.4 / 100 is 69, and a little less as a double.
    const steep = ramp(376, (i) => (i <= 69 ? i / 100 : 1e16));
    const found = worth('percentile(close, 376, 18.4, linear)', { close: steep });
    t.ok(typeof found === 'number' && found >= 0.68 && found <= 0.69, String(found));
    t.equal(
      worth('percentile(close, 2, 99.99999999999999999999, linear)', { close: [-1e16, 1] }),
      1,
      'its double is 100',
    );
    const close = ramp(500, (i) => (i % 2 === 0 ? -1 : 1) * 10 ** (i % 17));
    for (let n = 2; n <= 500; n += 7) {
      const window = close.slice(-n).map(Number);
      for (let p = 1; p <= 100; p += 0.9) {
        const figure = worth(`percentile(close, ${n}, ${p.toFixed(1)}, linear)`, { close });
        if (typeof figure === 'number' && figure >= Math.min(...window) && figure <= Math.max(...window)) continue;
        t.fail(`${p.toFixed(1)} of ${n}: ${figure}`);
      }
    }
  },
);

t.test('a moving percentile is that of each of its windows', async (t) => {
  const close = ramp(60, (i) => ((i * 7919) % 97) / 10);
  for (const method of ['', ', linear']) {
    const means = Array.from({ length: 20 }, (_, i) =>
      worth(`percentile(close, 30, 35${method})`, { close: close.slice(0, close.length - i) }),
    ) as number[];
    const mean = means.reduce((sum, x) => sum + x, 0) / means.length;
    const found = worth(`sma(percentile(close, 30, 35${method}), 20)`, { close });
    t.ok(typeof found === 'number' && Math.abs(found - mean) < 1e-12, `${found} ${mean}`);
  }
});

t.test('a window with an absent element has no value; a gap counts before missing history', async (t) => {
  const close = [1, 2, null, 4, 5, 6];
  t.equal(worth('sma(close, 3)', { close }), 5);
  t.equal(worth('sma(close, 4)', { close }), 'gap');
  t.equal(worth('sma(close, 8)', { close }), 'gap');
  t.equal(worth('sma(close, 7)', { close: [1, 2, 3] }), 'insufficient_history');
  t.equal(worth('prev(close, 4)', { close }), 'gap', 'every element up to it is needed (DQL-33a)');
  t.equal(worth('percentile(close, 4, 50)', { close }), 'gap');
  t.equal(worth('sma(percentile(close, 2, 50), 2)', { close }), 4.5 - 0, 'nested windows shift');
  t.equal(worth('gaps(6)', { present: close }), 1);
  t.equal(worth('gaps(7)', { present: close }), 'insufficient_history');
});

t.test('what has no number has no value, and a crossing is true', async (t) => {
  t.equal(worth('roc(close, 1)', { close: [0, 1] }), 'no_value');
  t.equal(worth('sma(close / open, 2)', { close: [1, 2], open: [1, 0] }), 'no_value');
  t.equal(worth('rolling_sum(close, 2)', { close: [1e308, 1e308] }), 'no_value');
  t.equal(worth('rolling_sum(close, 4)', { close: [1, 1e100, 1, -1e100] }), 2, 'a sum loses nothing (N-05)');
  t.equal(worth('crossover(close, open)', { close: [1, 3], open: [1, 2] }), true);
  t.equal(worth('crossover(close, open)', { close: [3, 3], open: [1, 2] }), false);
  t.equal(worth('crossunder(close, 2)', { close: [2, 1] }), true);
  t.equal(worth('crossover(close, open)', { close: [1, 3], open: [null, 2] }), 'gap');
  t.equal(worth('sma(abs(close - open), 2)', { close: [1, 2], open: [3, 5] }), 2.5);
});
