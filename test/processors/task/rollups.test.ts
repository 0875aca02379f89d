// Longer candles: exact folds of their minutes, whatever these lack, and what is known of them where minutes count in different units (H-13, N-08).
import { isDeepStrictEqual } from 'node:util';
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import t from 'tap';
import { makeMissingMinute } from '../../../processors/task/minutes.ts';
import { foldMinute } from '../../../processors/task/rollups.ts';
import { type CandleRow, makeCandleRow } from '../../../processors/task/rows.ts';
import type { CandleState } from '../../../processors/task/state.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { QuantityUnit } from '../../../schemas/records.ts';
import { SECOND, START } from '../../support/tasks/task-driver.ts';

const MINUTE = 60 * SECOND;

type Bar = { readonly volume: string; readonly unit: QuantityUnit };

const makeMinute = (n: number, bar: Bar | null): CandleRow => {
  const openTime = START + n * MINUTE;
  const figures = { open: '10', high: '12', low: '9', close: '11', turnover: '100' };
  const head = { openTime, closeTime: openTime + MINUTE, timeframe: '1m', gapCause: null } as const;
  if (bar === null) {
    const counted = { expected: 1, present: 0, noTrades: 1 };
    return { ...head, minute: null, figures: { volume: '0' }, trades: null, counted };
  }
  const { volume, unit } = bar;
  const record = { open_time: openTime, price_type: 'trade', timeframe: '1m', trades: 3, closed: true } as const;
  const values = { ...record, ...figures, volume, volume_unit: unit };
  const stamps = { venue_ts: null, received_at: openTime + MINUTE, recordedAt: openTime + MINUTE };
  const minute = { values, ...stamps, connId: 'k1', srcOffset: n, late: false, final: true };
  const counted = { expected: 1, present: 1, noTrades: 0 };
  return { ...head, minute, figures: { ...figures, volume }, trades: 3, counted };
};

/** The row of the first candle of two, or three, minutes. */
const rolled = (bars: readonly (Bar | null)[]) => {
  const candles: CandleState = { minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} };
  const longer = bars.flatMap((bar, n) => foldMinute(candles, makeMinute(n, bar), 0));
  const found = longer.find(({ timeframe }) => timeframe === `${bars.length}m`);
  return found && makeCandleRow({ venue: 'paper', symbol: 'LIN', priceType: 'trade' }, found, 9);
};

t.test('minutes that were never sealed are lost with the log up to where it is lost, and unlisted after it', (t) => {
  const causeWith = (lostBefore: number): string | null | undefined => {
    const candles: CandleState = { minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} };
    const longer = foldMinute(candles, makeMinute(1, { volume: '1', unit: 'base' }), lostBefore);
    return longer.find(({ timeframe }) => timeframe === '2m')?.gapCause;
  };
  t.equal(causeWith(0), 'not_listed');
  t.equal(causeWith(START), 'not_listed', 'nothing of the candle is before the log');
  t.equal(causeWith(START + 1), 'storage_failure');
  t.end();
});

t.test('minutes of one unit add up, also around one without trades', (t) => {
  const row = rolled([{ volume: '1.5', unit: 'base' }, null, { volume: '2', unit: 'base' }]);
  t.equal(row?.figures['volume'], '3.5');
  t.equal(row?.texts['quantity_unit'], 'base');
  t.equal(row?.texts['null_reasons'], undefined);
  t.end();
});

t.test('minutes of two units have no sum: the volume is unknown, everything else is known', (t) => {
  const row = rolled([{ volume: '1.5', unit: 'base' }, null, { volume: '2', unit: 'contracts' }]);
  t.same(row?.figures, { open: '10', high: '12', low: '9', close: '11', turnover: '200' });
  t.equal(row?.texts['status'], 'present');
  t.equal(row?.texts['null_reasons'], '{"volume":"unit_unknown"}');
  t.equal(row?.texts['quantity_unit'], undefined, 'nothing is counted');
  t.equal(row?.integers['trades'], 6);
  t.end();
});

t.test('a unit that returns does not make the sum known again', (t) => {
  const units = ['base', 'contracts', 'base'] as const;
  const row = rolled(units.map((unit) => ({ volume: '1', unit })));
  t.equal(row?.figures['volume'], undefined);
  t.equal(row?.texts['null_reasons'], '{"volume":"unit_unknown"}');
  t.end();
});

t.test('a candle that lacks a minute has only the number of the others, and the cause of the first gap', (t) => {
  const gap = (n: number, gapCause: GapCause): CandleRow => makeMissingMinute(START + n * MINUTE, gapCause);
  const candles: CandleState = { minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} };
  const minutes = [
    makeMinute(0, { volume: '1', unit: 'base' }),
    gap(1, 'connection_lost'),
    makeMinute(2, { volume: '1', unit: 'contracts' }),
    makeMinute(3, null),
    gap(4, 'venue_down'),
  ];
  const longer = minutes.flatMap((minute) => foldMinute(candles, minute, 0));
  const found = longer.find(({ timeframe }) => timeframe === '5m');
  t.same(found, {
    ...{ openTime: START, closeTime: START + 5 * MINUTE, timeframe: '5m', minute: null, figures: {}, trades: null },
    ...{ gapCause: 'connection_lost', counted: { expected: 5, present: 2, noTrades: 1 } },
  });
  t.end();
});

type Figures = { readonly [name in 'open' | 'high' | 'low' | 'close' | 'volume' | 'turnover']: string | null };
/** A published minute, which has no prices when it had no trades; null: a proved empty one. */
type Published = { readonly figures: Figures; readonly trades: number | null } | null;

const published = (n: number, bar: Published): CandleRow => {
  const made = makeMinute(n, bar && { volume: '0', unit: 'base' });
  if (bar === null || made.minute === null) return made;
  const values = { ...made.minute.values, ...bar.figures, trades: bar.trades };
  return { ...made, ...bar, minute: { ...made.minute, values } };
};

const ExactDecimal = Decimal.clone({ precision: 100, toExpPos: 100, toExpNeg: -100 });

/** The period as H-13 has it, read off its minutes. */
const expected = (bars: readonly Published[]) => {
  const present = bars.filter((bar) => bar !== null);
  const list = (name: keyof Figures) => present.map(({ figures }) => figures[name]);
  const known = (name: keyof Figures) => list(name).filter((digits) => digits !== null);
  const sum = (name: 'volume' | 'turnover') =>
    list(name).includes(null) ? null : ExactDecimal.sum(0, ...known(name)).toString();
  const pick = (name: 'high' | 'low', of: (...values: string[]) => Decimal) =>
    known(name).length === 0 ? null : of(...known(name)).toString();
  const [open, close] = [known('open').at(0) ?? null, known('close').at(-1) ?? null];
  const [high, low] = [
    pick('high', (...all) => ExactDecimal.max(...all)),
    pick('low', (...all) => ExactDecimal.min(...all)),
  ];
  const trades = present.some((bar) => bar.trades === null)
    ? null
    : present.reduce((n, bar) => n + (bar.trades ?? 0), 0);
  if (present.length === 0) return { figures: { volume: '0' }, trades: null };
  return { figures: { open, high, low, close, volume: sum('volume'), turnover: sum('turnover') }, trades };
};

t.test(
  'a longer candle has the first and last price, the extremes and the sums of its minutes, exactly (H-12, H-13)',
  (t) => {
    const short = fc.integer({ min: 1, max: 99_999 }).map((n) => new ExactDecimal(n).div(1000).toString());
    // More digits than a double has, on both sides of the point.
    const long = fc
      .tuple(fc.bigInt({ min: 1n, max: 10n ** 40n }), fc.nat(30))
      .map(([n, scale]) => new ExactDecimal(String(n)).div(new ExactDecimal(10).pow(scale)).toString());
    const digits = fc.oneof({ weight: 3, arbitrary: short }, { weight: 1, arbitrary: long });
    const priced = fc.record({ open: digits, high: digits, low: digits, close: digits });
    const unpriced = fc.constant({ open: null, high: null, low: null, close: null });
    const amounts = fc.record({ volume: fc.option(digits, { freq: 9 }), turnover: fc.option(digits, { freq: 5 }) });
    const bar = fc.oneof(
      fc.constant(null),
      fc.record({ prices: priced, amounts, trades: fc.option(fc.nat(9), { freq: 5 }) }),
      fc.record({ prices: unpriced, amounts: fc.constant({ volume: '0', turnover: '0' }), trades: fc.constant(0) }),
    );
    const isRight = (drawn: readonly (typeof bar extends fc.Arbitrary<infer B> ? B : never)[]): boolean => {
      const bars = drawn.map((one) => one && { figures: { ...one.prices, ...one.amounts }, trades: one.trades });
      const candles: CandleState = { minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} };
      const longer = bars.flatMap((one, n) => foldMinute(candles, published(n, one), 0));
      const found = longer.find(({ timeframe, openTime }) => timeframe === '5m' && openTime === START);
      if (found === undefined) return false;
      const wanted = {
        ...expected(bars),
        closeTime: START + 5 * MINUTE,
        gapCause: null,
        present: bars.filter((one) => one !== null).length,
        stampsOf: bars.some((one) => one !== null) ? START + bars.findLastIndex((one) => one !== null) * MINUTE : null,
      };
      const { figures, trades, closeTime, gapCause, counted, minute } = found;
      const rolled = { figures, trades, closeTime, gapCause, present: counted.present };
      return isDeepStrictEqual({ ...rolled, stampsOf: minute?.values.open_time ?? null }, wanted);
    };
    fc.assert(fc.property(fc.array(bar, { minLength: 5, maxLength: 5 }), isRight), {
      numRuns: 150,
      examples: [[[null, null, null, null, null]]],
    });
    t.end();
  },
);
