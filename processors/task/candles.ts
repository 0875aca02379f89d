// Candles: which record a minute keeps, which minutes are proved empty, when they are sealed, and their exact roll-up (H-12, H-13).
import { add, compare } from '../../schemas/decimals.ts';
import type { CandleRecord, Digits, Micros, PriceType } from '../../schemas/records.ts';
import { counts, SEALS_AFTER } from '../../schemas/windows.ts';
import type { Subject } from './accept.ts';
import { pushRecord, pushSealed, type TaskContext, watermarkOf } from './context.ts';
import { type CandleRow, candleRow } from './rows.ts';
import type { CandleState, Connection, ListingState, Minute, Rollup } from './state.ts';
import { gapCause } from './windows.ts';

export const MINUTE: Micros = 60_000_000;

/** Minutes of each timeframe longer than the base one, ascending. All divide a day, so periods are aligned to UTC. */
export const ROLLUPS: Readonly<Record<string, number>> = {
  '2m': 2,
  '3m': 3,
  '5m': 5,
  '15m': 15,
  '30m': 30,
  '1h': 60,
  '4h': 240,
  '12h': 720,
  '1d': 1440,
};

const candlesOf = (listing: ListingState, priceType: PriceType): CandleState => {
  let candles = listing.candles[priceType];
  if (!candles) {
    candles = { minutes: {}, proved: {}, newest: {}, rollups: {} };
    listing.candles[priceType] = candles;
  }
  return candles;
};

export const collectsCandles = ({ state }: TaskContext): boolean =>
  state.capability?.layers['candles']?.policy === 'on';

/** Applies a candle record of any connection: of several counting records of a minute the last in the log wins (H-13). */
export const applyCandle = (context: TaskContext, { connection, listing }: Subject, record: CandleRecord): void => {
  if (!collectsCandles(context) || record.values.closed === false) return;
  const { state, out } = context;
  const { open_time: openTime, price_type: priceType } = record.values;
  const candles = candlesOf(listing, priceType);
  const late = !counts(state.recordedAt, openTime + MINUTE);
  const source = { connId: connection.conn_id, recordedAt: state.recordedAt, srcOffset: out.offset, late };
  const { values, venue_ts, received_at } = record;
  const minute: Minute = { values, venue_ts, received_at, final: values.closed === true, ...source };
  if (late) {
    pushSealed(context, listing.symbol, candleRow(identityOf(context, listing, record), presentMinute(minute)));
    return;
  }
  proveBefore(candles, connection, openTime);
  candles.minutes[openTime] = minute;
  pushRecord(context, record, connection);
};

const identityOf = ({ venue }: TaskContext, listing: ListingState, { values }: CandleRecord) => ({
  venue: venue.id,
  symbol: listing.symbol,
  priceType: values.price_type,
});

/**
 * A newer minute on one unbroken connection makes the one before it final (venues without a flag) and proves that the
 * minutes between them had no trades (H-12).
 */
const proveBefore = (candles: CandleState, connection: Connection, openTime: Micros): void => {
  const spanKey = `${connection.conn_id}@${connection.span.from}`;
  const before = candles.newest[spanKey];
  if (before === undefined || openTime > before) candles.newest[spanKey] = openTime;
  if (before === undefined || openTime <= before) return;
  const held = candles.minutes[before];
  if (held) candles.minutes[before] = { ...held, final: true };
  for (let at = before + MINUTE; at < openTime; at += MINUTE) candles.proved[at] = true;
};

// ---- sealing ----

const isFinal = (minute: Minute | undefined): minute is Minute => minute?.final === true;

/** The row of a minute as published, without its identity. */
const presentMinute = (minute: Minute): CandleRow => ({
  openTime: minute.values.open_time,
  closeTime: minute.values.open_time + MINUTE,
  timeframe: '1m',
  minute,
  figures: minute.values,
  trades: minute.values.trades,
  gapCause: null,
  counted: { expected: 1, present: 1, noTrades: 0 },
});

const emptyMinute = (openTime: Micros): CandleRow => ({
  openTime,
  closeTime: openTime + MINUTE,
  timeframe: '1m',
  minute: null,
  figures: { volume: '0' },
  trades: null,
  gapCause: null,
  counted: { expected: 1, present: 0, noTrades: 1 },
});

const missingMinute = (openTime: Micros, gapCause: string): CandleRow => ({
  openTime,
  closeTime: openTime + MINUTE,
  timeframe: '1m',
  minute: null,
  figures: {},
  trades: null,
  gapCause,
  counted: { expected: 1, present: 0, noTrades: 0 },
});

/** Seals every minute that closed by W − 100.001 s, once, and folds it into the longer timeframes. */
export const sealMinutes = (context: TaskContext, listing: ListingState, from: Micros, to: Micros): void => {
  for (const priceType of listing.version.record.values.candles.price_types) {
    const candles = candlesOf(listing, priceType);
    const identity = { venue: context.venue.id, symbol: listing.symbol, priceType };
    for (const openTime of minutesOfLife(listing, from, to)) {
      const sealed = sealMinute(context, listing, candles, openTime);
      pushSealed(context, listing.symbol, candleRow(identity, sealed, context.out.offset));
      for (const longer of foldMinute(candles, sealed)) {
        pushSealed(context, listing.symbol, candleRow(identity, longer, context.out.offset));
      }
    }
    forgetSealed(candles, to);
  }
};

/** Open times of the minutes that close in `(from, to]` within the listing's life. */
const minutesOfLife = (listing: ListingState, from: Micros, to: Micros): readonly Micros[] => {
  const { first_seen_at, delisted_at } = listing.version;
  const first = Math.max(from, Math.floor(first_seen_at / MINUTE) * MINUTE);
  const last = Math.min(to, delisted_at === null ? to : Math.floor(delisted_at / MINUTE) * MINUTE + MINUTE);
  const opens: Micros[] = [];
  for (let at = first; at + MINUTE <= last; at += MINUTE) opens.push(at);
  return opens;
};

const sealMinute = (context: TaskContext, listing: ListingState, candles: CandleState, openTime: Micros): CandleRow => {
  const minute = candles.minutes[openTime];
  if (isFinal(minute)) return presentMinute(minute);
  if (candles.proved[openTime]) return emptyMinute(openTime);
  const window = { from: openTime, at: openTime + MINUTE };
  return missingMinute(openTime, gapCause(context.state, listing, 'candles', window));
};

const forgetSealed = (candles: CandleState, to: Micros): void => {
  for (const at of Object.keys(candles.minutes)) if (Number(at) + MINUTE <= to) delete candles.minutes[Number(at)];
  for (const at of Object.keys(candles.proved)) if (Number(at) + MINUTE <= to) delete candles.proved[Number(at)];
  for (const [key, at] of Object.entries(candles.newest))
    if (at + MINUTE <= to - SEALS_AFTER) delete candles.newest[key];
};

// ---- roll-up ----

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

const higher = (a: Digits, b: Digits): Digits => (compare(a, b) >= 0 ? a : b);
const lower = (a: Digits, b: Digits): Digits => (compare(a, b) <= 0 ? a : b);

type Figures = Readonly<Partial<Record<'open' | 'high' | 'low' | 'close' | 'volume' | 'turnover', Digits | null>>>;

/** A figure that one present minute lacks is no figure of the period: a partial sum would pass for the whole. */
const sum = (so: Digits | null | undefined, next: Digits | null | undefined, isFirst: boolean): Digits | null => {
  if (isFirst) return next ?? null;
  return so === null || so === undefined || next === null || next === undefined ? null : add(so, next);
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
  return {
    ...next,
    figures: join(rollup.figures, figures, isFirst),
    trades: joinTrades(rollup, sealed, isFirst),
    last: minute,
  };
};

const join = (so: Figures, next: Figures, isFirst: boolean): Figures => ({
  open: so.open ?? next.open ?? null,
  high: so.high && next.high ? higher(so.high, next.high) : (so.high ?? next.high ?? null),
  low: so.low && next.low ? lower(so.low, next.low) : (so.low ?? next.low ?? null),
  close: next.close ?? so.close ?? null,
  volume: sum(so.volume, next.volume, isFirst),
  turnover: sum(so.turnover, next.turnover, isFirst),
});

const joinTrades = (rollup: Rollup, sealed: CandleRow, isFirst: boolean): number | null => {
  if (isFirst) return sealed.trades;
  return rollup.trades === null || sealed.trades === null ? null : rollup.trades + sealed.trades;
};

/** Longer candles whose last minute this was; they exist only when every base minute is present or proved empty. */
const foldMinute = (candles: CandleState, sealed: CandleRow): CandleRow[] => {
  const complete: CandleRow[] = [];
  for (const [timeframe, minutes] of Object.entries(ROLLUPS)) {
    const length = minutes * MINUTE;
    const openTime = Math.floor(sealed.openTime / length) * length;
    const held = candles.rollups[timeframe];
    const rollup = fold(held && held.openTime === openTime ? held : beginRollup(openTime, minutes), sealed);
    candles.rollups[timeframe] = rollup;
    if (sealed.closeTime === openTime + length) complete.push(toLonger(timeframe, rollup, length));
  }
  return complete;
};

const toLonger = (timeframe: string, rollup: Rollup, length: Micros): CandleRow => {
  const exists = rollup.present + rollup.noTrades === rollup.expected;
  const isEmpty = exists && rollup.present === 0;
  // Minutes before the listing's first one were never sealed: they are missing because it was not listed.
  const cause = rollup.gapCause ?? (rollup.seen < rollup.expected ? 'not_listed' : null);
  return {
    openTime: rollup.openTime,
    closeTime: rollup.openTime + length,
    timeframe,
    minute: exists ? rollup.last : null,
    figures: exists ? (isEmpty ? { volume: '0' } : rollup.figures) : {},
    trades: exists ? rollup.trades : null,
    gapCause: exists ? null : cause,
    counted: { expected: rollup.expected, present: rollup.present, noTrades: rollup.noTrades },
  };
};

export const lastMinuteToSeal = (context: TaskContext): Micros =>
  Math.floor((watermarkOf(context.state) - SEALS_AFTER) / MINUTE) * MINUTE;
