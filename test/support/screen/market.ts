// Candles and readings of a small market as a task would have written them, for tests of series: in a store, or on `live`.
import { makeCandleRow, makeReadingRow, type RowSpan } from '../../../processors/task/rows.ts';
import type { Timeframe } from '../../../schemas/layers/candle.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros, PriceType, QuantityUnit } from '../../../schemas/records.ts';
import type { CapabilityVersion, Reading, Row } from '../../../schemas/topics.ts';
import { toWindowEnd } from '../../../schemas/windows.ts';
import { capability, reading } from '../apps/live-fixture.ts';

export const MINUTE: Micros = 60_000_000;
export const HOUR: Micros = 60 * MINUTE;

/** A venue that collects candles too. */
export const withCandles = (venue: string, over: Parameters<typeof capability>[1] = {}): CapabilityVersion => {
  const version = capability(venue, over);
  const candles = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' } as const;
  return { ...version, layers: { ...version.layers, candles } };
};

export type Bar = {
  readonly open?: string;
  readonly high?: string;
  readonly low?: string;
  readonly close?: string;
  readonly volume?: string;
  /** Unit of the volume; base by default. */
  readonly unit?: QuantityUnit;
  /** Its minutes count in different units. */
  readonly unitsDiffer?: true;
};

let offsets = 1;

type CandleOf = {
  readonly venue: string;
  readonly symbol: string;
  readonly timeframe: Timeframe;
  readonly length: Micros;
  readonly open: Micros;
  readonly priceType?: PriceType;
};

/** A sealed candle: with prices, without trades (`empty`), or a gap (`null`). */
export const candle = (of: CandleOf, bar: Bar | 'empty' | null): Row => {
  const { venue, symbol, timeframe, length, open, priceType = 'trade' } = of;
  const close = open + length;
  const { unit = 'base', unitsDiffer, ...figures }: Bar = bar === 'empty' ? { volume: '0' } : (bar ?? {});
  const minute =
    bar === null || bar === 'empty'
      ? null
      : {
          values: { volume_unit: unit } as never,
          venue_ts: null,
          received_at: close + 500_000,
          final: true,
          connId: 'c1',
          recordedAt: close + 600_000,
          srcOffset: offsets,
          late: false,
        };
  return makeCandleRow(
    { venue, symbol, priceType },
    {
      openTime: open,
      closeTime: close,
      timeframe,
      minute,
      figures,
      ...(unitsDiffer ? { unitsDiffer } : {}),
      trades: null,
      gapCause: bar === null ? 'collector_down' : null,
      counted: { expected: length / MINUTE, present: bar === null ? 0 : length / MINUTE, noTrades: 0 },
    },
    offsets++,
  );
};

/** A reading's row in its sampling window. */
export const sampled = (
  { venue, symbol, layer }: { readonly venue: string; readonly symbol: string; readonly layer: ReadingLayer },
  received: Micros,
  { late = false, ...over }: Partial<Reading> & { readonly late?: boolean } = {},
): Row => {
  const at = toWindowEnd(received, LAYERS[layer].windowMs);
  const span: RowSpan = { from: at - LAYERS[layer].windowMs * 1_000, at, srcOffset: offsets++, late };
  const stamps = { venue_ts: received - 100_000, received_at: received, recorded_at: received + 1_000 };
  return makeReadingRow(
    { venue, symbol, layer },
    span,
    reading({ layer, instants: {}, raw: null, ...stamps, ...over }),
  );
};
