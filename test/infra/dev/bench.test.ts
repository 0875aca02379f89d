// The options of a bench, the figures of its rounds, and the growth that a soak reports.
import t from 'tap';
import { makeFigure, makeLowerAim, makeUpperAim, renderTable } from '../../../infra/dev/bench/instruments/figures.ts';
import { combineRounds, runRounds } from '../../../infra/dev/bench/instruments/rounds.ts';
import { computeMedian } from '../../../infra/dev/bench/mapping/mapping-rounds.ts';
import { PlanError, readPlan } from '../../../infra/dev/bench/plan.ts';
import type { Sample } from '../../../infra/dev/bench/soak/health.ts';
import { computeSlopeAcross, computeSlopeWithin, type Point } from '../../../infra/dev/bench/soak/slopes.ts';
import { measureGrowths, renderGrowths } from '../../../infra/dev/bench/soak/soak-report.ts';

const MINUTE = 60_000;

t.test('a command line names one bench or one soak', (t) => {
  t.match(readPlan([]), { kind: 'full', rates: [1000, 3000, 5000], seconds: 20, listings: 500, faults: false });
  t.match(readPlan(['--quick']), { kind: 'quick', rates: [1000], seconds: 6, listings: 50 });
  t.match(readPlan(['--profile', '--rates', '5000']), { kind: 'profile', rates: [5000] });
  const soak = { kind: 'soak', minutes: 60, rate: 2000, killEvery: 120, replay: true, shards: 1 };
  t.match(readPlan(['--minutes', '60']), soak);
  t.match(readPlan(['--minutes', '2', '--rate', '300', '--kill-every', '0', '--no-replay']), {
    ...soak,
    ...{ minutes: 2, rate: 300, killEvery: 0, replay: false },
  });
  const refused: readonly (readonly [string[], string])[] = [
    [['--minutes', '0'], '--minutes is a number above 0, not "0"'],
    [['--rates', '1000,many'], '--rates is a number above 0, not "many"'],
    [['--minutes', '2', '--kill-every', 'x'], '--kill-every is a number of 0 or more, not "x"'],
    [['--minutes', '2', '--quick'], '--quick is not for a soak (--minutes)'],
    [['--rate', '500'], '--rate is for a soak: say --minutes too'],
    [['--no-replay'], '--no-replay is for a soak: say --minutes too'],
  ];
  for (const [words, message] of refused) t.throws(() => readPlan(words), new PlanError(message), words.join(' '));
  t.throws(() => readPlan(['--soak']), TypeError, 'unknown words');
  t.end();
});

t.test('a figure of several rounds is their median with the least and the most', async (t) => {
  const values = [12, 10, 90, 11, null];
  const rounds = values.map((ms, i) => [
    makeFigure({ name: 'a', unit: 'ms', measured: ms, aim: makeUpperAim(20), limit: i, note: `round ${i}` }),
  ]);
  const [figure] = combineRounds(rounds);
  t.match(figure, { measured: 11, spread: { min: 10, max: 90, of: 4 }, limit: 2, note: 'round 3' });
  t.equal(
    combineRounds([[makeFigure({ name: 'a', unit: 'ms', measured: 7 })]])[0]?.spread,
    null,
    'one round has no spread',
  );
  t.equal(
    combineRounds([[makeFigure({ name: 'a', unit: 'ms', measured: null })]])[0]?.measured,
    null,
    'nothing was measured',
  );
  let n = 0;
  const measured = await runRounds(3, async () => {
    n += 1;
    return [makeFigure({ name: 'b', unit: '/s', measured: n }), makeFigure({ name: 'c', unit: 's', measured: 10 * n })];
  });
  t.same(
    measured.map(({ name, measured: value }) => [name, value]),
    [
      ['b', 2],
      ['c', 20],
    ],
  );
});

t.test('the table has spread, limit, ratio, aim and whether it is met', (t) => {
  const rounds = [80, 120, 100].map((ms) => [
    makeFigure({ name: 'slow', unit: 'ms', measured: ms, limit: 50, limitIs: 'bare', aim: makeUpperAim(90) }),
  ]);
  const text = renderTable([
    ...combineRounds(rounds),
    makeFigure({ name: 'fast', unit: '/s', measured: 3_000, aim: makeLowerAim(2_940) }),
    makeFigure({ name: 'unknown', unit: 's', measured: null, aim: makeUpperAim(5) }),
    makeFigure({ name: 'bare count', unit: '', measured: 12 }),
  ]);
  t.same(
    text.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | ')),
    [
      'figure | median | min .. max | limit | ratio | aim | met | limit is; note',
      text.split('\n')[1]?.trim().replace(/ {2,}/g, ' | '),
      'slow | 100 ms | 80 .. 120 | 50 ms | 2 | < 90 ms | NO | bare',
      'fast | 3,000/s | - | - | >= 2,940/s | yes',
      'unknown | - | - | - | < 5 s | ?',
      'bare count | 12 | - | -',
    ],
  );
  t.end();
});

/** Samples of one life, one a minute. */
const makeLife = (life: number, fromMinute: number, values: readonly number[]): Point[] =>
  values.map((value, i) => ({ atMs: (fromMinute + i) * MINUTE, life, value }));

t.test('growth is of warm processes: within a life, and from one life to the next', (t) => {
  const filling = Array.from({ length: 10 }, (_, i) => i * 50);
  const steady = Array.from({ length: 50 }, (_, i) => 500 + i / 2);
  const long = makeLife(1, 0, [...filling, ...steady]);
  t.equal(
    Math.round(computeSlopeWithin(long)?.perHour ?? Number.NaN),
    30,
    'half a unit a minute, the filling left out',
  );
  t.equal(computeSlopeAcross(long), null, 'one life does not follow another');
  const level = (n: number): number => (n < 2 ? 200 : 300 + n);
  const lives = Array.from({ length: 8 }, (_, n) =>
    makeLife(n, n * 6, [100, 150, 180, level(n), level(n), level(n)]),
  ).flat();
  const across = computeSlopeAcross(lives);
  t.equal(
    Math.round(across?.perHour ?? Number.NaN),
    10,
    'each life of six minutes is one higher, once windows are full',
  );
  t.ok((across?.error ?? 1) < 1e-6, 'and exactly so');
  t.match(computeSlopeWithin(lives), { perHour: 0, error: 0 }, 'the first half of each short life is left out');
  t.equal(computeSlopeWithin(makeLife(1, 0, [1, 2, 3])), null, 'three minutes show nothing of an hour');
  t.equal(computeSlopeAcross(lives.slice(0, 30)), null, 'nor do two lives with full windows');
  t.end();
});

const sampleAt = (minute: number, pid: number, ownMb: number): Sample => ({
  atMs: minute * MINUTE,
  processes: new Map([['ingest', { pid, ownMb, descriptors: 40 }]]),
  lag: { usualMs: 200, highestMs: 400 },
  tables: { suspended: [], waiting: 0 },
  totals: { sent: 0, collected: 0, applied: 0, published: 0, written: 0, deadLetters: 0 },
});

t.test('memory is flat when an hour adds less than a tenth', (t) => {
  const hour = Array.from({ length: 61 }, (_, i) => i);
  const [flat, descriptors] = measureGrowths(hour.map((i) => sampleAt(i, 7, 300 + (i % 2))));
  t.match(flat, { process: 'ingest', lives: 1, at10: 300, at50: 300, at100: 300, highest: 301, flat: true });
  t.match(descriptors, { of: 'descriptors', at50: 40, within: { perHour: 0, error: 0 }, flat: true });
  const [leaking] = measureGrowths(hour.map((i) => sampleAt(i, 7, 300 + i)));
  t.match(leaking, { at10: 306, at50: 330, at100: 360, flat: false });
  const [short] = measureGrowths(hour.slice(0, 4).map((i) => sampleAt(i, 7, 300)));
  t.equal(short?.flat, null, 'too short to know');
  t.match(renderGrowths([leaking, short].flatMap((growth) => growth ?? [])), /NO\n.*\?$/);
  t.end();
});

t.test('a growth that may be chance is reported as not known', (t) => {
  // Lives of six minutes whose levels jump by a hundred, and rise by fifteen.
  const jumping = Array.from({ length: 72 }, (_, i) => {
    const life = Math.floor(i / 6);
    return sampleAt(i, life, 300 + (life % 2) * 100 + life * 15);
  });
  const [chance] = measureGrowths(jumping);
  t.ok(
    (chance?.across?.perHour ?? 0) > 100 && (chance?.across?.error ?? 0) > 50,
    'more than a tenth, by points far apart',
  );
  t.equal(chance?.flat, null);
  const rising = jumping.map((_, i) => sampleAt(i, Math.floor(i / 6), 300 + Math.floor(i / 6) * 15));
  t.equal(measureGrowths(rising)[0]?.flat, false, 'the same rise without jumps is growth');
  t.end();
});

t.test('a ratio of a mapping bench is the median of its rounds with the bounds of 19 of 20 benches', (t) => {
  const rounds = Array.from({ length: 41 }, (_, i) => (i * 7) % 41);
  t.same(computeMedian(rounds), { median: 20, from: 13, to: 27 }, 'the 14th and the 28th of 41 (binomial: 0.972)');
  t.same(computeMedian([3, 1, 2]), { median: 2, from: 1, to: 3 }, 'of few rounds the least and the most');
  t.end();
});
