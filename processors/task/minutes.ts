// The known data of a minute, as its row if it were sealed now: present, proved empty, or missing (H-12).
import type { GapCause } from '../../schemas/gap-causes.ts';
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CandleRow } from './rows.ts';
import type { CandleView, Minute } from './state.ts';

export const isFinal = (minute: Minute | undefined): minute is Minute => minute?.final === true;

/** The row of a published minute, without its identity. */
export const makePresentMinute = (minute: Minute): CandleRow => ({
  openTime: minute.values.open_time,
  closeTime: minute.values.open_time + MICROS_PER_MINUTE,
  timeframe: '1m',
  minute,
  figures: minute.values,
  trades: minute.values.trades,
  gapCause: null,
  counted: { expected: 1, present: 1, noTrades: 0 },
});

const toEmptyMinute = (openTime: Micros): CandleRow => ({
  openTime,
  closeTime: openTime + MICROS_PER_MINUTE,
  timeframe: '1m',
  minute: null,
  figures: { volume: '0' },
  trades: null,
  gapCause: null,
  counted: { expected: 1, present: 0, noTrades: 1 },
});

export const makeMissingMinute = (openTime: Micros, gapCause: GapCause): CandleRow => ({
  openTime,
  closeTime: openTime + MICROS_PER_MINUTE,
  timeframe: '1m',
  minute: null,
  figures: {},
  trades: null,
  gapCause,
  counted: { expected: 1, present: 0, noTrades: 0 },
});

/** The row of a minute if it were sealed now; null without known data. */
export const findKnownMinute = (candles: CandleView, openTime: Micros): CandleRow | null => {
  const minute = candles.minutes[openTime];
  if (isFinal(minute)) return makePresentMinute(minute);
  return minute === undefined && candles.proved[openTime] ? toEmptyMinute(openTime) : null;
};
