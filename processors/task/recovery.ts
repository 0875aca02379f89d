// What earlier lives of a task published, for a life that starts without their checkpoint (design section 5).
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion, Span } from '../../schemas/topics.ts';

/** Unfinished data of earlier lives. Plain data: a checkpoint taken meanwhile contains it. */
export type Recovery = {
  /** Highest raw offset of any published output; above it this life publishes. */
  readonly spokenTo: number;
  /** The last published W: windows sealed by it are rows. */
  readonly watermark: Micros | null;
  /** Newest row of a series (`formatSeries`) sealed after that W; its windows are not published again. */
  readonly covered: Readonly<Record<string, Micros>>;
  /** Newest published `rev`, by symbol and layer; null without a state round. */
  readonly revs: Readonly<Record<string, Readonly<Partial<Record<ReadingLayer, number>>>>> | null;
  /** When the readings of these numbers were recorded; absent in a checkpoint from before it was kept. */
  readonly readAt?: Readonly<Record<string, Readonly<Partial<Record<ReadingLayer, Micros>>>>>;
  /** Spans that were alive in the last published state. */
  readonly spans: readonly Span[];
  readonly listings: readonly ListingVersion[];
  readonly capabilities: readonly CapabilityVersion[];
};

/** Rows of one series have no gaps, so the newest one covers all earlier ones. `kind` is empty for readings. */
export const formatSeries = (table: string, symbol: string, kind = ''): string => `${table}|${symbol}|${kind}`;

/** Instant up to which earlier lives have written rows of a series. */
export const findCoveredTo = (recovery: Recovery | null, series: string): Micros => recovery?.covered[series] ?? 0;
