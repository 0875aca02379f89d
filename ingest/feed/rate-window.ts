// Measures how much of a venue's limit is used: a sliding minute and a burst inside it. Pure: instants in, waiting times out.
import type { Burst } from '../venues/contract/feed.ts';

/** The venue counts by its own clock's minute: a fifth of its limit is left unused for the difference. */
const USABLE = 0.8;
/** Share of the usable limit that one burst may spend, so that the next request does not wait for a whole minute. */
const BURST = 0.6;
const WINDOW_MS = 60_000;
const BURST_MS = 10_000;

export type RateWindow = {
  /** Milliseconds until `weight` may be spent; 0: now. */
  readonly waitMs: (weight: number, nowMs: number) => number;
  /** Counts `weight` as spent at `nowMs`. */
  readonly spend: (weight: number, nowMs: number) => void;
};

/** Any `lengthMs` hold at most `limit`. */
type Bound = { readonly lengthMs: number; readonly limit: number };
type Spent = { readonly atMs: number; readonly weight: number };

/**
 * `limitPerMinute` is the venue's limit. Any 60 s use at most 80 % of it, and any 10 s at most 48 %, or 80 % of the venue's own burst.
 * `share` scales all of these when this window counts only part of the requests.
 */
export const createRateWindow = (limitPerMinute: number, own?: Burst, share = 1): RateWindow => {
  const usable = limitPerMinute * USABLE * share;
  const burst = own === undefined ? usable * BURST : own.most * USABLE * share;
  const burstMs = own?.ms ?? BURST_MS;
  const bounds: readonly Bound[] = [
    { lengthMs: WINDOW_MS, limit: usable },
    { lengthMs: burstMs, limit: burst },
  ];
  let spent: Spent[] = [];

  const sumSince = (sinceMs: number): number => spent.reduce((sum, s) => (s.atMs > sinceMs ? sum + s.weight : sum), 0);
  /** Milliseconds until `excess` of the weight spent in the last `lengthMs` expires. */
  const computeWait = (nowMs: number, lengthMs: number, excess: number): number => {
    let freed = 0;
    for (const { atMs, weight } of spent) {
      if (atMs <= nowMs - lengthMs) continue;
      freed += weight;
      if (freed >= excess) return atMs + lengthMs - nowMs;
    }
    return 0;
  };
  const waitFor = (weight: number, nowMs: number, { lengthMs, limit }: Bound): number => {
    // A request heavier than the whole limit waits for an empty window instead of forever.
    const excess = sumSince(nowMs - lengthMs) + Math.min(weight, limit) - limit;
    return excess > 1e-9 ? computeWait(nowMs, lengthMs, excess) : 0;
  };

  return {
    waitMs: (weight, nowMs) => Math.max(...bounds.map((bound) => waitFor(weight, nowMs, bound))),
    spend: (weight, nowMs) => {
      spent = spent.filter((s) => s.atMs > nowMs - Math.max(WINDOW_MS, burstMs));
      spent.push({ atMs: nowMs, weight });
    },
  };
};
