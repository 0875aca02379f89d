// The weight that a rate window admits: in any minute, in any burst, and of its share.
import fc from 'fast-check';
import t from 'tap';
import { createRateWindow } from '../../../ingest/feed/rate-window.ts';

type Spent = { readonly atMs: number; readonly weight: number };

const spendAll = (limit: number, asks: readonly { readonly weight: number; readonly gapMs: number }[]): Spent[] => {
  const window = createRateWindow(limit);
  const spent: Spent[] = [];
  let nowMs = 0;
  for (const { weight, gapMs } of asks) {
    nowMs += gapMs;
    for (let waitMs = window.waitMs(weight, nowMs); waitMs > 0; waitMs = window.waitMs(weight, nowMs)) {
      nowMs += waitMs;
      t.ok(window.waitMs(weight, nowMs - 1) > 0, 'no wait is longer than it must be');
    }
    window.spend(weight, nowMs);
    spent.push({ atMs: nowMs, weight });
  }
  return spent;
};
const most = (spent: readonly Spent[], lengthMs: number): number =>
  Math.max(
    ...spent.map(({ atMs }) =>
      spent.reduce((sum, s) => (s.atMs > atMs - lengthMs && s.atMs <= atMs ? sum + s.weight : sum), 0),
    ),
  );

t.test('no minute holds more than 80 % of the limit and no ten seconds more than 48 %', async (t) => {
  const asks = fc.array(
    fc.record({ weight: fc.integer({ min: 1, max: 40 }), gapMs: fc.integer({ min: 0, max: 5_000 }) }),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 600 }), asks, (limit, wanted) => {
      const spent = spendAll(limit, wanted);
      return most(spent, 60_000) <= limit * 0.8 && most(spent, 10_000) <= Math.max(limit * 0.48, 40);
    }),
    { numRuns: 200 },
  );
  t.pass('held for 200 schedules');
});

t.test("a venue's own burst is kept to in any span of its length", (t) => {
  const window = createRateWindow(7_200, { most: 600, ms: 5_000 });
  const spent: number[] = [];
  for (let nowMs = 0; nowMs < 30_000; nowMs += 10) {
    while (window.waitMs(1, nowMs) === 0) {
      window.spend(1, nowMs);
      spent.push(nowMs);
    }
  }
  const most = Math.max(...spent.map((from) => spent.filter((at) => at >= from && at < from + 5_000).length));
  t.equal(most, 480, 'four fifths of 600');
  t.equal(spent.length, 2_880, 'and no less is granted');
  t.end();
});

t.test('the whole usable minute is granted, the first burst at once', async (t) => {
  const spent = spendAll(
    2_400,
    Array.from({ length: 120 }, () => ({ weight: 20, gapMs: 0 })),
  );
  t.equal(spent.filter(({ atMs }) => atMs === 0).length, 57, '48 % of 2400 at weight 20');
  t.equal(spent.filter(({ atMs }) => atMs < 60_000).length, 96, '80 % of 2400 at weight 20');
});

t.test('a request above the whole limit waits for an empty window, not for ever', async (t) => {
  const window = createRateWindow(100);
  t.equal(window.waitMs(500, 0), 0);
  window.spend(500, 0);
  t.equal(window.waitMs(1, 1), 59_999);
});

t.test('what yields may use a share of the window only', async (t) => {
  const window = createRateWindow(100, undefined, 0.5);
  for (let n = 0; n < 24; n += 1) {
    t.equal(window.waitMs(1, 0), 0);
    window.spend(1, 0);
  }
  t.equal(window.waitMs(1, 0), 10_000, 'half of the burst of 48');
});
