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

/** Expired entries are removed from the list when there are as many of them, and as many as the others. */
const REMOVED_AT_ONCE = 512;

/** The weight spent in the last `lengthMs`, as a running sum. Instants ascend. */
const createBoundWindow = ({ lengthMs, limit }: Bound): RateWindow => {
  let spent: Spent[] = [];
  let first = 0;
  let sum = 0;

  const expire = (nowMs: number): void => {
    for (let oldest = spent[first]; oldest !== undefined && oldest.atMs <= nowMs - lengthMs; oldest = spent[first]) {
      sum -= oldest.weight;
      first += 1;
    }
    if (first < REMOVED_AT_ONCE || first * 2 < spent.length) return;
    spent = spent.slice(first);
    first = 0;
  };
  /** Milliseconds until `excess` of the spent weight expires. */
  const computeWait = (nowMs: number, excess: number): number => {
    let freed = 0;
    for (let i = first; i < spent.length; i++) {
      const { atMs, weight } = spent[i] as Spent;
      freed += weight;
      if (freed >= excess) return atMs + lengthMs - nowMs;
    }
    return 0;
  };

  return {
    waitMs: (weight, nowMs) => {
      expire(nowMs);
      // A request heavier than the whole limit waits for an empty window instead of forever.
      const excess = sum + Math.min(weight, limit) - limit;
      return excess > 1e-9 ? computeWait(nowMs, excess) : 0;
    },
    spend: (weight, nowMs) => {
      expire(nowMs);
      spent.push({ atMs: nowMs, weight });
      sum += weight;
    },
  };
};

/**
 * `limitPerMinute` is the venue's limit. Any 60 s use at most 80 % of it, and any 10 s at most 48 %, or 80 % of the venue's own burst.
 * `share` scales all of these when this window counts only part of the requests.
 */
export const createRateWindow = (limitPerMinute: number, own?: Burst, share = 1): RateWindow => {
  const usable = limitPerMinute * USABLE * share;
  const burst = own === undefined ? usable * BURST : own.most * USABLE * share;
  const windows = [
    createBoundWindow({ lengthMs: WINDOW_MS, limit: usable }),
    createBoundWindow({ lengthMs: own?.ms ?? BURST_MS, limit: burst }),
  ];
  return {
    waitMs: (weight, nowMs) => Math.max(...windows.map((window) => window.waitMs(weight, nowMs))),
    spend: (weight, nowMs) => {
      for (const window of windows) window.spend(weight, nowMs);
    },
  };
};
