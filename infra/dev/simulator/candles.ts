// Minute candles of the simulated market: trades counted individually, mark and index sampled each second.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import { computeAmount, type SimListing } from './listings.ts';
import type { Trade } from './trade.ts';

export type PriceCandle = {
  readonly openMs: number;
  open: number;
  high: number;
  low: number;
  close: number;
  ticks: number;
};
/** Volumes in quantity units; amounts in the listing's `decimals.amount`, of quote (linear) or base (inverse). */
export type TradeCandle = PriceCandle & {
  volume: number;
  amount: number;
  buyVolume: number;
  buyAmount: number;
  firstId: number;
  lastId: number;
  /** Stamp of the last trade; null while there is none. */
  lastAtMs: number | null;
};

export type Candles = {
  readonly trade: (trade: Trade) => void;
  /** One second passed; returns the closed trade candle when the second ended a minute. */
  readonly second: (atMs: number, mark: number, index: number) => TradeCandle | null;
  readonly current: () => TradeCandle;
  /** Oldest first, the open one last. */
  readonly trades: readonly TradeCandle[];
  readonly marks: readonly PriceCandle[];
  readonly indexes: readonly PriceCandle[];
};

/** Minutes kept for each series: the most that one REST request returns. */
const KEPT = 1_500;

function openTrades(openMs: number, price: number): TradeCandle {
  const flat = { openMs, open: price, high: price, low: price, close: price, ticks: 0 };
  return { ...flat, volume: 0, amount: 0, buyVolume: 0, buyAmount: 0, firstId: -1, lastId: -1, lastAtMs: null };
}

function extend(candle: PriceCandle, price: number): void {
  if (candle.ticks === 0) {
    candle.open = price;
    candle.high = price;
    candle.low = price;
  }
  candle.high = Math.max(candle.high, price);
  candle.low = Math.min(candle.low, price);
  candle.close = price;
  candle.ticks += 1;
}

function push<T>(series: T[], candle: T): T {
  series.push(candle);
  if (series.length > KEPT) series.shift();
  return candle;
}

function addTick(series: PriceCandle[], openMs: number, price: number): void {
  const newest = series.at(-1);
  const candle =
    newest !== undefined && newest.openMs === openMs
      ? newest
      : push(series, { openMs, open: price, high: price, low: price, close: price, ticks: 0 });
  extend(candle, price);
}

export function createCandles(listing: SimListing, startMs: number): Candles {
  const toMinute = (atMs: number): number => Math.floor(atMs / MS_PER_MINUTE) * MS_PER_MINUTE;
  const trades: TradeCandle[] = [openTrades(toMinute(startMs), listing.startPrice)];
  const marks: PriceCandle[] = [];
  const indexes: PriceCandle[] = [];
  let open = trades[0] ?? openTrades(toMinute(startMs), listing.startPrice);

  return {
    trades,
    marks,
    indexes,
    current: () => open,
    trade: (trade) => {
      const { id, price, qty, buyerIsMaker } = trade;
      const amount = computeAmount(listing, trade, listing.decimals.amount);
      extend(open, price);
      open.volume += qty;
      open.amount += amount;
      if (!buyerIsMaker) {
        open.buyVolume += qty;
        open.buyAmount += amount;
      }
      if (open.firstId < 0) open.firstId = id;
      open.lastId = id;
      open.lastAtMs = trade.atMs;
    },
    second: (atMs, mark, index) => {
      addTick(marks, toMinute(atMs), mark);
      addTick(indexes, toMinute(atMs), index);
      if (toMinute(atMs) === open.openMs) return null;
      const closed = open;
      open = push(trades, openTrades(toMinute(atMs), closed.close));
      return closed;
    },
  };
}
