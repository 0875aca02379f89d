// What earlier lives of a task said, for a life that begins without their checkpoint (design section 5).
import type { ReadingLayer } from '../../schemas/layers.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion, Span } from '../../schemas/topics.ts';

/** What is still to be read of earlier lives. Plain data: a checkpoint taken meanwhile carries it. */
export type Recovery = {
  /** Highest raw offset any output speaks of; above it this life speaks for itself. */
  readonly spokenTo: number;
  /** The last W said: what it sealed is rows. */
  readonly watermark: Micros | null;
  /** Newest row of a series (`seriesOf`) that was sealed after that W; its windows are not said again. */
  readonly covered: Readonly<Record<string, Micros>>;
  /** Newest `rev` said, by symbol and layer; null when no state round was left. */
  readonly revs: Readonly<Record<string, Readonly<Partial<Record<ReadingLayer, number>>>>> | null;
  /** Spans that were alive when last heard of. */
  readonly spans: readonly Span[];
  readonly listings: readonly ListingVersion[];
  readonly capabilities: readonly CapabilityVersion[];
};

/** Rows of one series follow each other without a hole, so the newest one covers all before it. `kind` is empty for readings. */
export const formatSeries = (table: string, symbol: string, kind = ''): string => `${table}|${symbol}|${kind}`;

/** Instant up to which earlier lives have written rows of a series. */
export const coveredTo = (recovery: Recovery | null, series: string): Micros => recovery?.covered[series] ?? 0;
