// Longer candles: minutes folded one by one, exactly, into each timeframe that contains them (H-12, H-13).
import { add, compare } from '../../schemas/decimals.ts';
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import {
  BASE_TIMEFRAME,
  type CandleFigures,
  TIMEFRAME_MINUTES,
  TIMEFRAMES,
  type Timeframe,
} from '../../schemas/layers/candle.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { CandleRow } from './rows.ts';
import type { CandleState, CandleView, Minute, Rollup, TaskView } from './state.ts';

/** Timeframes longer than the base one with their minutes, ascending. */
const ROLLUPS = TIMEFRAMES.filter((timeframe) => timeframe !== BASE_TIMEFRAME).map(
  (timeframe) => [timeframe, TIMEFRAME_MINUTES[timeframe]] as const,
);

const beginRollup = (openTime: Micros, minutes: number): Rollup => ({
  openTime,
  expected: minutes,
  seen: 0,
  present: 0,
  noTrades: 0,
  gapCause: null,
  figures: {},
  trades: null,
  last: null,
});

/** The period with its minutes sealed so far. */
const openRollup = ({ rollups }: CandleView, timeframe: Timeframe, openTime: Micros): Rollup => {
  const held = rollups[timeframe];
  return held?.openTime === openTime ? held : beginRollup(openTime, TIMEFRAME_MINUTES[timeframe]);
};

const pickHigher = (a: Digits, b: Digits): Digits => (compare(a, b) >= 0 ? a : b);
const pickLower = (a: Digits, b: Digits): Digits => (compare(a, b) <= 0 ? a : b);

/** A figure missing in one present minute is null for the period: a partial sum would look complete. */
const sum = (so: Digits | null | undefined, next: Digits | null | undefined): Digits | null =>
  so === null || so === undefined || next === null || next === undefined ? null : add(so, next);

/** Whether two minutes have volumes in different units. */
const areOtherUnits = (a: Minute | null, b: Minute | null): boolean => {
  const [one, other] = [a?.values.volume_unit ?? null, b?.values.volume_unit ?? null];
  return one !== null && other !== null && one !== other;
};

const fold = (rollup: Rollup, sealed: CandleRow): Rollup => {
  const { counted, figures, gapCause, minute } = sealed;
  const next = {
    ...rollup,
    seen: rollup.seen + 1,
    present: rollup.present + counted.present,
    noTrades: rollup.noTrades + counted.noTrades,
    gapCause: rollup.gapCause ?? gapCause,
  };
  if (counted.present === 0) return next;
  const isFirst = rollup.present === 0;
  const joined = isFirst ? beginFigures(figures) : foldFigures(rollup.figures, figures);
  const unitsDiffer = rollup.unitsDiffer === true || areOtherUnits(rollup.last, minute);
  return {
    ...next,
    ...(unitsDiffer ? { unitsDiffer, figures: { ...joined, volume: null } } : { figures: joined }),
    trades: isFirst ? sealed.trades : sumTrades(rollup.trades, sealed.trades),
    last: minute,
  };
};

/** The figures of a period's first present minute. */
const beginFigures = ({ open, high, low, close, volume, turnover }: CandleFigures): CandleFigures => ({
  open: open ?? null,
  high: high ?? null,
  low: low ?? null,
  close: close ?? null,
  volume: volume ?? null,
  turnover: turnover ?? null,
});

const foldFigures = (so: CandleFigures, next: CandleFigures): CandleFigures => ({
  open: so.open ?? next.open ?? null,
  high: so.high && next.high ? pickHigher(so.high, next.high) : (so.high ?? next.high ?? null),
  low: so.low && next.low ? pickLower(so.low, next.low) : (so.low ?? next.low ?? null),
  close: next.close ?? so.close ?? null,
  volume: sum(so.volume, next.volume),
  turnover: sum(so.turnover, next.turnover),
});

const sumTrades = (so: number | null, next: number | null): number | null =>
  so === null || next === null ? null : so + next;

/** Longer candles that end with this minute; they exist only when every base minute is present or proved empty. */
export const foldMinute = (candles: CandleState, sealed: CandleRow, lostBefore: Micros): CandleRow[] => {
  const complete: CandleRow[] = [];
  for (const [timeframe, minutes] of ROLLUPS) {
    const length = minutes * MICROS_PER_MINUTE;
    const openTime = Math.floor(sealed.openTime / length) * length;
    const rollup = fold(openRollup(candles, timeframe, openTime), sealed);
    candles.rollups[timeframe] = rollup;
    if (sealed.closeTime === openTime + length) complete.push(toLonger(timeframe, rollup, lostBefore));
  }
  return complete;
};

/**
 * Folds the uncollected minutes without data that open in `[from, to)`. No longer candle that ends there is a row, so only
 * the periods that contain the last minute are kept: the cost does not grow with the stretch.
 */
export const foldUncollected = (candles: CandleState, from: Micros, to: Micros): void => {
  if (to <= from) return;
  for (const [timeframe, minutes] of ROLLUPS) {
    const length = minutes * MICROS_PER_MINUTE;
    const openTime = Math.floor((to - MICROS_PER_MINUTE) / length) * length;
    const rollup = openRollup(candles, timeframe, openTime);
    const seen = rollup.seen + (to - Math.max(from, openTime)) / MICROS_PER_MINUTE;
    candles.rollups[timeframe] = { ...rollup, seen, gapCause: rollup.gapCause ?? 'unknown' };
  }
};

const toLonger = (timeframe: Timeframe, rollup: Rollup, lostBefore: Micros): CandleRow => {
  const exists = rollup.present + rollup.noTrades === rollup.expected;
  const isEmpty = exists && rollup.present === 0;
  // Minutes of a lost log were folded by an earlier life; minutes before the listing's first one were never sealed: it was not listed.
  const unseen = rollup.openTime < lostBefore ? 'storage_failure' : 'not_listed';
  const cause = rollup.gapCause ?? (rollup.seen < rollup.expected ? unseen : null);
  return {
    openTime: rollup.openTime,
    closeTime: rollup.openTime + rollup.expected * MICROS_PER_MINUTE,
    timeframe,
    minute: exists ? rollup.last : null,
    figures: exists ? (isEmpty ? { volume: '0' } : rollup.figures) : {},
    ...(exists && rollup.unitsDiffer ? { unitsDiffer: true } : {}),
    trades: exists ? rollup.trades : null,
    gapCause: exists ? null : cause,
    counted: { expected: rollup.expected, present: rollup.present, noTrades: rollup.noTrades },
  };
};

type LongerQuestion = {
  readonly candles: CandleView;
  readonly openTime: Micros;
  /** The row of a minute if it were sealed now; null without known data. */
  readonly known: (openTime: Micros) => CandleRow | null;
};

/** Longer candles that contain a minute and are already complete; the cause of a gap is published at its seal (H-16k). */
export const listKnownLonger = (
  { candles, openTime, known }: LongerQuestion,
  { minutesSealed, lostBefore }: TaskView,
): CandleRow[] =>
  ROLLUPS.flatMap(([timeframe, minutes]) => {
    const length = minutes * MICROS_PER_MINUTE;
    const open = Math.floor(openTime / length) * length;
    if (known(open + length - MICROS_PER_MINUTE) === null) return [];
    let rollup = openRollup(candles, timeframe, open);
    for (let at = Math.max(open, minutesSealed); at < open + length; at += MICROS_PER_MINUTE) {
      const minute = known(at);
      if (minute === null) return [];
      rollup = fold(rollup, minute);
    }
    const longer = toLonger(timeframe, rollup, lostBefore);
    return longer.gapCause === null ? [longer] : [];
  });
