// Layer `candles`: a minute of a price as published by the venue, and the longer periods rolled up from minutes (H-11 to H-13).
import type { Digits, Micros, QuantityUnit } from '../scalars.ts';
import { declareCandle, type RecordOf } from './layer.ts';

export const PRICE_TYPES = ['trade', 'mark', 'index'] as const;
export type PriceType = (typeof PRICE_TYPES)[number];

/** Minutes of each timeframe, ascending. All divide a day, so periods are aligned to UTC (DQL-26). */
export const TIMEFRAME_MINUTES = {
  '1m': 1,
  '2m': 2,
  '3m': 3,
  '5m': 5,
  '15m': 15,
  '30m': 30,
  '1h': 60,
  '4h': 240,
  '12h': 720,
  '1d': 1_440,
} as const;
export type Timeframe = keyof typeof TIMEFRAME_MINUTES;
export const TIMEFRAMES = Object.keys(TIMEFRAME_MINUTES) as readonly Timeframe[];

/** The venue's own candles, from which longer ones are rolled up. */
export const BASE_TIMEFRAME = '1m' as const satisfies Timeframe;

export const CANDLE_PRICES = ['open', 'high', 'low', 'close'] as const;
/** Figures of a candle in the order of columns; `trades` is a count. */
export const CANDLE_FIGURES = [...CANDLE_PRICES, 'volume', 'turnover'] as const;
export type CandleFigure = (typeof CANDLE_FIGURES)[number];
export type CandleFigures = Readonly<Partial<Record<CandleFigure, Digits | null>>>;

export type CandleRecord = RecordOf<
  'candle',
  {
    readonly open_time: Micros;
    readonly price_type: PriceType;
    readonly timeframe: typeof BASE_TIMEFRAME;
    readonly open: Digits | null;
    readonly high: Digits | null;
    readonly low: Digits | null;
    readonly close: Digits | null;
    readonly volume: Digits | null;
    readonly volume_unit: QuantityUnit | null;
    readonly turnover: Digits | null;
    readonly trades: number | null;
    readonly closed: boolean | null;
  }
>;

export const candle = declareCandle<CandleRecord>()({
  kind: 'candle',
  name: 'candles',
  recordName: 'candles',
  record: 'candle',
  aliases: ['candle'],
  table: 'candles',
  members: {
    open: { unit: 'quote', sentence: 'First price.' },
    high: { unit: 'quote', sentence: 'Highest price.' },
    low: { unit: 'quote', sentence: 'Lowest price.' },
    close: { unit: 'quote', sentence: 'Last price.' },
    volume: { unit: 'quantity', sentence: 'Quantity traded.' },
    turnover: { unit: 'quote', sentence: 'Value traded, in quote currency, where published.' },
    trades: { unit: 'count', sentence: 'Number of trades, where published.' },
  },
  anchored: {
    open: 'figure',
    high: 'figure',
    low: 'figure',
    close: 'figure',
    volume: 'figure',
    volume_unit: ['text', 'quantity_unit'],
    turnover: 'figure',
    trades: 'integer',
  },
  endpoint: 'POST /v2/candles',
});
