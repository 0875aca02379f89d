// How much of a venue's limit is used: a sliding minute and a burst inside it. Pure: instants go in, waiting times come out.
import type { Burst } from '../venues/contract/feed.ts';

/** The venue counts at its own clock's minute: a fifth of its limit is left for what we see late. */
const USABLE = 0.8;
/** Of that, the share that may be spent within one burst, so that a need that comes a moment later is not behind an empty minute. */
const BURST = 0.6;
const WINDOW_MS = 60_000;
const BURST_MS = 10_000;

export type RateWindow = {
  /** Milliseconds until `weight` may be spent; 0 means now. */
  readonly waitMs: (weight: number, nowMs: number) => number;
  /** Counts `weight` as spent at `nowMs`. */
  readonly spend: (weight: number, nowMs: number) => void;
};

/** Any `lengthMs` hold at most `limit`. */
type Bound = { readonly lengthMs: number; readonly limit: number };
type Spent = { readonly atMs: number; readonly weight: number };

/**
 * `limitPerMinute` is the venue's own. Any 60 s hold at most 80 % of it, any 10 s at most 48 %, or 80 % of the venue's own burst; of all that
 * `share`, when this window counts only some of what is sent.
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
  /** Milliseconds until `excess` of what was spent in the last `lengthMs` counts no more. */
  const freedAfter = (nowMs: number, lengthMs: number, excess: number): number => {
    let freed = 0;
    for (const { atMs, weight } of spent) {
      if (atMs <= nowMs - lengthMs) continue;
      freed += weight;
      if (freed >= excess) return atMs + lengthMs - nowMs;
    }
    return 0;
  };
  const waitFor = (weight: number, nowMs: number, { lengthMs, limit }: Bound): number => {
    // A request heavier than the whole limit waits for an empty window instead of for ever.
    const excess = sumSince(nowMs - lengthMs) + Math.min(weight, limit) - limit;
    return excess > 1e-9 ? freedAfter(nowMs, lengthMs, excess) : 0;
  };

  return {
    waitMs: (weight, nowMs) => Math.max(...bounds.map((bound) => waitFor(weight, nowMs, bound))),
    spend: (weight, nowMs) => {
      spent = spent.filter((s) => s.atMs > nowMs - Math.max(WINDOW_MS, burstMs));
      spent.push({ atMs: nowMs, weight });
    },
  };
};
