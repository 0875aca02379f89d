// Longer candles over minutes that count in different units: the prices of the period are known, its volume is not (H-13, N-08).
import t from 'tap';
import { foldMinute } from '../../processors/task/rollups.ts';
import { type CandleRow, candleRow } from '../../processors/task/rows.ts';
import type { CandleState } from '../../processors/task/state.ts';
import type { QuantityUnit } from '../../schemas/records.ts';
import { SECOND, START } from '../support/task-driver.ts';

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
  const candles: CandleState = { minutes: {}, proved: {}, newest: {}, rollups: {} };
  const longer = bars.flatMap((bar, n) => foldMinute(candles, makeMinute(n, bar), 0));
  const found = longer.find(({ timeframe }) => timeframe === `${bars.length}m`);
  return found && candleRow({ venue: 'paper', symbol: 'LIN', priceType: 'trade' }, found, 9);
};

t.test('minutes that were never sealed are lost with the log up to where it is lost, and unlisted after it', (t) => {
  const causeWith = (lostBefore: number): string | null | undefined => {
    const candles: CandleState = { minutes: {}, proved: {}, newest: {}, rollups: {} };
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
