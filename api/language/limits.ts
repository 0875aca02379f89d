// The language's limits and constant lists, as the catalogue shows them beside those of endpoints (interface, Limits; DQL-30 to DQL-32).
import { BANDS } from '../../schemas/layers/book-bands.ts';
import { TIMEFRAMES, type Timeframe } from '../../schemas/layers/candle.ts';
import { IN_LIST } from './selection.ts';

export const VERSION = '1';

export const LIMITS = {
  source_bytes: 8_192,
  nodes: 256,
  depth: 24,
  quantifiers_and_aggregates: 16,
  series_calls: 32,
  timeframes: 3,
  window: 500,
  bars_per_atom: 2_000,
  cost: 10_000,
  in_list: IN_LIST,
  select: 16,
  order_by: 4,
  freshness_min: '1s',
  freshness_max: '604800s',
  screen_limit: 500,
} as const;

/** Parentheses may nest this deep; they make no nodes, so `depth` does not see them (DQL-34g). */
export const PARENTHESES = 64;

/** The text of every limit: the figure and the limit (DQL-32). */
export const describeOverLimit = (what: string, figure: number, most: number): string =>
  `${what} ${figure}, the limit is ${most}.`;

export { TIMEFRAMES, type Timeframe };

export const findTimeframe = (text: string): Timeframe | undefined => TIMEFRAMES.find((t) => t === text);

export const isBand = (text: string): boolean => (BANDS as readonly string[]).includes(text);
