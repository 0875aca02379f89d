// Finds minutes of trades that one alive span did not close and that still count (H-12, N-11). Pure: instants are arguments.
import { MS_PER_MINUTE } from '../../schemas/instants.ts';
import type { ClosedMinute } from '../venues/contract/feed.ts';
import { MINUTE_SETTLES_MS } from '../venues/contract/listings.ts';

/** Minutes to request, by their open instants. */
type CandleNeed = { readonly symbol: string; readonly fromMs: number; readonly toMs: number };

/** By symbol the minutes that the task has whole, or proved empty, through any link of the slot: they are not requested again. */
export type ClosedMinutes = Map<string, Set<number>>;

export type CandleWatch = {
  readonly close: (minute: ClosedMinute) => void;
  /** The newest minute of a frame, at venues that mark none as closed. The minutes since the newest one of an earlier frame are over. */
  readonly begin: (minute: ClosedMinute) => void;
  /** An answer contained these minutes. */
  readonly fill: (need: CandleNeed) => void;
  /** The listing with the oldest missing minute, or null; it is not returned again before `AGAIN_MS`. `nowMs` is wall time. */
  readonly next: (nowMs: number) => CandleNeed | null;
};

/** A minute that ended this long ago and was not closed is requested. */
const PATIENCE_MS = MINUTE_SETTLES_MS;
/** A minute recorded later than 100 s after its end no longer counts (N-11); the difference is for the answer and its recording. */
const IN_TIME_MS = 90_000;
const AGAIN_MS = 15_000;
const FORGET_MS = 5 * MS_PER_MINUTE;

/** `isFromFrame`: named by a frame. An answer ends in a minute that it does not record. */
type Newest = { readonly openMs: number; readonly isFromFrame: boolean };
/** `known`: closed in this span, or answered. The last minute of an answer may become whole only with a newer minute. */
type Listing = {
  readonly known: Set<number>;
  readonly closed: Set<number>;
  /** Time of the last request. */
  askedMs: number;
  newest: Newest | null;
};

const noteMinute = (minutes: Set<number>, openMs: number): void => {
  for (const before of minutes) if (before < openMs - FORGET_MS) minutes.delete(before);
  minutes.add(openMs);
};

const openMinutes = (closed: ClosedMinutes, symbol: string): Set<number> => {
  const minutes = closed.get(symbol) ?? new Set();
  closed.set(symbol, minutes);
  return minutes;
};

/** Open instants of the minutes that should be closed and still count, oldest first. */
const listDueMinutes = (nowMs: number): readonly number[] => {
  const newest = Math.floor((nowMs - PATIENCE_MS) / MS_PER_MINUTE) * MS_PER_MINUTE - MS_PER_MINUTE;
  return [newest - MS_PER_MINUTE, newest].filter((openMs) => openMs + MS_PER_MINUTE + IN_TIME_MS > nowMs);
};

/** A new span knows no minute: it requests at once the minutes that precede it and that no span of the slot `closed`. */
export const createCandleWatch = (symbols: Iterable<string>, closed: ClosedMinutes): CandleWatch => {
  const listings = new Map<string, Listing>();
  for (const symbol of symbols) {
    listings.set(symbol, { known: new Set(), closed: openMinutes(closed, symbol), askedMs: -AGAIN_MS, newest: null });
  }

  const close = ({ symbol, openMs }: ClosedMinute): void => {
    const listing = listings.get(symbol);
    if (!listing) return;
    noteMinute(listing.known, openMs);
    noteMinute(listing.closed, openMs);
  };

  /** Counts as the task does: minutes received or answered earlier are over, and minutes between them had no trades (H-12). */
  const begin = ({ symbol, openMs }: ClosedMinute): void => {
    const listing = listings.get(symbol);
    if (!listing) return;
    const { newest, known } = listing;
    if (newest && openMs < newest.openMs) return;
    const over = newest ? newest.openMs + (newest.isFromFrame ? 0 : MS_PER_MINUTE) : openMs;
    for (let at = Math.max(over, openMs - FORGET_MS); at < openMs; at += MS_PER_MINUTE) noteMinute(known, at);
    if (newest) for (const at of known) if (at < openMs) noteMinute(listing.closed, at);
    listing.newest = { openMs, isFromFrame: true };
  };

  /** The range may include minutes that only another span closed: this span's proofs begin there. */
  const findNeed = (symbol: string, { known, closed, askedMs }: Listing, nowMs: number): CandleNeed | null => {
    if (nowMs < askedMs + AGAIN_MS) return null;
    const missing = listDueMinutes(nowMs).filter((openMs) => !known.has(openMs));
    if (missing.every((openMs) => closed.has(openMs))) return null;
    const [fromMs] = missing;
    const toMs = missing.at(-1);
    return fromMs === undefined || toMs === undefined ? null : { symbol, fromMs, toMs };
  };

  return {
    close,
    begin,
    fill: ({ symbol, fromMs, toMs }) => {
      const listing = listings.get(symbol);
      if (!listing) return;
      for (let openMs = fromMs; openMs <= toMs; openMs += MS_PER_MINUTE) noteMinute(listing.known, openMs);
      // Without a frame the span may have begun in the minute that ran at the request: that minute still has to be requested.
      const askedIn = listing.newest ? 0 : Math.floor(listing.askedMs / MS_PER_MINUTE) * MS_PER_MINUTE;
      const running = Math.max(toMs + MS_PER_MINUTE, askedIn);
      if (running > (listing.newest?.openMs ?? 0)) listing.newest = { openMs: running, isFromFrame: false };
    },
    next: (nowMs) => {
      let best: CandleNeed | null = null;
      for (const [symbol, listing] of listings) {
        const need = findNeed(symbol, listing, nowMs);
        if (need && (!best || need.fromMs < best.fromMs)) best = need;
      }
      const asked = best && listings.get(best.symbol);
      if (asked) asked.askedMs = nowMs;
      return best;
    },
  };
};
