// The content of a column of a series: one member of one kind of row at one timeframe.
import { parseDuration } from '../../schemas/durations.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros, PriceType } from '../../schemas/records.ts';

/** `present`: 1 for every candle that exists, whatever its values. */
export type CandleMember = 'open' | 'high' | 'low' | 'close' | 'volume' | 'present';

/** Rows a column is made of: one statement reads the members of one group together. */
export type ColumnGroup =
  | { readonly kind: 'candles'; readonly priceType: PriceType }
  | { readonly kind: 'layer'; readonly layer: ReadingLayer };

export type ColumnSpec = ColumnGroup & { readonly member: string; readonly timeframe: string };

/** Length of a period. Timeframes are the language's, so they always parse. */
export const findLength = ({ timeframe }: Pick<ColumnSpec, 'timeframe'>): Micros =>
  (parseDuration(timeframe) ?? 60_000) * 1_000;

export const toGroupId = (spec: ColumnGroup & { readonly timeframe: string }): string =>
  `${spec.kind === 'candles' ? `candles ${spec.priceType}` : spec.layer}@${spec.timeframe}`;

const ids = new WeakMap<ColumnSpec, string>();

/** One text for one column of any listing. */
export const toSpecId = (spec: ColumnSpec): string => {
  const id = ids.get(spec) ?? `${spec.member} ${toGroupId(spec)}`;
  ids.set(spec, id);
  return id;
};

/** Whether its values count in the unit of their listing, so that `units` converts them. */
export const isQuantitySpec = (spec: ColumnSpec): boolean =>
  spec.kind === 'candles' ? spec.member === 'volume' : LAYERS[spec.layer].members[spec.member] === 'quantity';

/** Periods are counted from 1970: the one with number i ends at `i * length`. */
export const toPeriod = (instant: Micros, length: Micros): number => Math.floor(instant / length);
export const toWindowPeriod = (windowEnd: Micros, length: Micros): number => Math.ceil(windowEnd / length);
