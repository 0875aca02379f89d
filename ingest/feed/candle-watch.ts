// Minutes of trades that one connection should have closed and did not, while they can still count (H-12, N-11). Pure: instants go in.
import type { ClosedMinute } from '../venue.ts';

/** Minutes to ask for, by the instants they open at. */
export type CandleNeed = { readonly symbol: string; readonly fromMs: number; readonly toMs: number };

export type CandleWatch = {
  readonly close: (minute: ClosedMinute) => void;
  /** The newest minute of a frame, where none is marked as closed: those before it, from the newest that a frame told, are over. */
  readonly begin: (minute: ClosedMinute) => void;
  /** An answer told these minutes. */
  readonly fill: (need: CandleNeed) => void;
  /** The listing that misses the oldest minute, null when none does; it is not named again before `AGAIN_MS`. `nowMs` is wall time. */
  readonly next: (nowMs: number) => CandleNeed | null;
};

const MINUTE_MS = 60_000;
/** A minute that is over so long and was not closed is asked for. */
const PATIENCE_MS = 10_000;
/** Recorded later than 100 s after its end a minute counts no more (N-11); an answer takes a while to come and to be recorded. */
const IN_TIME_MS = 90_000;
const AGAIN_MS = 15_000;

/** `isTold` by a frame; an answer ends in a minute of which it is no record. */
type Newest = { readonly openMs: number; readonly isTold: boolean };
type Listing = { readonly closed: Set<number>; notBeforeMs: number; newest: Newest | null };

/** Open instants of the minutes that should be closed by now and still count, oldest first. */
const dueMinutes = (nowMs: number): readonly number[] => {
  const newest = Math.floor((nowMs - PATIENCE_MS) / MINUTE_MS) * MINUTE_MS - MINUTE_MS;
  return [newest - MINUTE_MS, newest].filter((openMs) => openMs + MINUTE_MS + IN_TIME_MS > nowMs);
};

/** Of a connection that has just opened no minute is known to be closed: what was missed before it is asked for at once. */
export const createCandleWatch = (symbols: Iterable<string>): CandleWatch => {
  const listings = new Map<string, Listing>();
  for (const symbol of symbols) listings.set(symbol, { closed: new Set(), notBeforeMs: 0, newest: null });

  const close = ({ symbol, openMs }: ClosedMinute): void => {
    const listing = listings.get(symbol);
    if (!listing) return;
    for (const known of listing.closed) if (known < openMs - 5 * MINUTE_MS) listing.closed.delete(known);
    listing.closed.add(openMs);
  };

  /** As the task counts them: what was told before is over, and minutes between had no trades (H-12). */
  const begin = ({ symbol, openMs }: ClosedMinute): void => {
    const listing = listings.get(symbol);
    if (!listing) return;
    const { newest } = listing;
    if (newest && openMs < newest.openMs) return;
    const over = newest ? newest.openMs + (newest.isTold ? 0 : MINUTE_MS) : openMs;
    for (let at = Math.max(over, openMs - 5 * MINUTE_MS); at < openMs; at += MINUTE_MS) close({ symbol, openMs: at });
    listing.newest = { openMs, isTold: true };
  };

  const needOf = (symbol: string, { closed, notBeforeMs }: Listing, nowMs: number): CandleNeed | null => {
    if (nowMs < notBeforeMs) return null;
    const missing = dueMinutes(nowMs).filter((openMs) => !closed.has(openMs));
    const [fromMs] = missing;
    const toMs = missing.at(-1);
    return fromMs === undefined || toMs === undefined ? null : { symbol, fromMs, toMs };
  };

  return {
    close,
    begin,
    fill: ({ symbol, fromMs, toMs }) => {
      for (let openMs = fromMs; openMs <= toMs; openMs += MINUTE_MS) close({ symbol, openMs });
      const listing = listings.get(symbol);
      const running = toMs + MINUTE_MS;
      if (listing && running > (listing.newest?.openMs ?? 0)) listing.newest = { openMs: running, isTold: false };
    },
    next: (nowMs) => {
      let best: CandleNeed | null = null;
      for (const [symbol, listing] of listings) {
        const need = needOf(symbol, listing, nowMs);
        if (need && (!best || need.fromMs < best.fromMs)) best = need;
      }
      const asked = best && listings.get(best.symbol);
      if (asked) asked.notBeforeMs = nowMs + AGAIN_MS;
      return best;
    },
  };
};
