// Axes: round figures within the range, round instants in UTC, texts as exact as their step.
import t from 'tap';
import {
  findRange,
  formatTick,
  formatTimeTick,
  listTicks,
  makeTimeTicks,
} from '../../../../api/explorer/chart/scales.ts';
import { createRandom } from '../../../support/mutations.ts';

t.test('large figures of an axis are short, and as exact as their step', (t) => {
  const show = (low: number, high: number): readonly string[] => {
    const ticks = listTicks({ low, high }, 5);
    return ticks.map((tick) => formatTick(tick, (ticks[1] ?? 1) - (ticks[0] ?? 0)));
  };
  t.same(show(5.6e12, 9.2e12), ['6T', '7T', '8T', '9T']);
  t.same(show(9.121e12, 9.129e12), ['9.122T', '9.124T', '9.126T', '9.128T']);
  t.same(show(0, 2.1e6), ['0', '500000', '1.0M', '1.5M', '2.0M']);
  t.same(show(96_900, 97_100), ['96900', '96950', '97000', '97050', '97100']);
  t.end();
});

t.test('ticks are round, ascend, and lie within the range', (t) => {
  t.same(listTicks({ low: 0.4, high: 10.1 }, 5), [2, 4, 6, 8, 10]);
  t.same(
    listTicks({ low: -0.00012, high: 0.00031 }, 5).map((tick) => formatTick(tick, 0.0001)),
    ['-0.0001', '0.0000', '0.0001', '0.0002', '0.0003'],
  );
  const random = createRandom(5);
  for (let round = 0; round < 500; round++) {
    const low = (random(2_000_000) - 1_000_000) / 10 ** random(8);
    const high = low + (1 + random(1_000_000)) / 10 ** random(8);
    const ticks = listTicks({ low, high }, 5);
    const isGood = ticks.every(
      (tick, i) => tick >= low - 1e-9 && tick <= high && (i === 0 || tick > (ticks[i - 1] ?? 0)),
    );
    if (!isGood || ticks.length > 12) t.fail(`${low} to ${high}: ${ticks}`);
  }
  t.pass('500 ranges');
  t.end();
});

t.test('a range leaves holes aside, and has a height when all figures are one', (t) => {
  t.equal(findRange([Number.NaN]), null);
  const one = findRange([5, Number.NaN, 5]);
  t.ok(one !== null && one.low < 5 && one.high > 5);
  t.ok((findRange([0])?.high ?? 0) > 0);
  t.end();
});

t.test('instants are round in UTC', (t) => {
  const from = Date.parse('2026-01-15T11:47:13.000Z');
  const { stepMs, at } = makeTimeTicks(from, from + 900_000, 8);
  t.equal(stepMs, 120_000);
  t.same(
    at.slice(0, 2).map((ms) => formatTimeTick(ms, stepMs)),
    ['11:48', '11:50'],
  );
  t.equal(formatTimeTick(from, 1_000), '11:47:13');
  t.equal(formatTimeTick(from, 86_400_000), '01-15');
  const midnight = Date.parse('2026-01-16T00:00:00.000Z');
  t.equal(formatTimeTick(midnight, 43_200_000), '01-16', 'the first tick of a day names it');
  t.end();
});
