// Minutes of trades that one alive span should have closed and did not, while they can still count (H-12, N-11). Pure: instants go in.
import type { ClosedMinute } from '../venues/contract/feed.ts';
import { MINUTE_SETTLES_MS } from '../venues/contract/listings.ts';

/** Minutes to ask for, by the instants they open at. */
type CandleNeed = { readonly symbol: string; readonly fromMs: number; readonly toMs: number };

/** By symbol the minutes that the task has whole, or proved empty, by whatever links of a slot: they are asked for no more. */
export type ClosedMinutes = Map<string, Set<number>>;

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
const PATIENCE_MS = MINUTE_SETTLES_MS;
/** Recorded later than 100 s after its end a minute counts no more (N-11); an answer takes a while to come and to be recorded. */
const IN_TIME_MS = 90_000;
const AGAIN_MS = 15_000;
const FORGET_MS = 5 * MINUTE_MS;

/** `isTold` by a frame; an answer ends in a minute of which it is no record. */
type Newest = { readonly openMs: number; readonly isTold: boolean };
/** `known`: closed in this span, or answered; an answer alone may end in a minute that only a newer one makes whole. */
type Listing = {
  readonly known: Set<number>;
  readonly closed: Set<number>;
  /** When it was asked last. */
  askedMs: number;
  newest: Newest | null;
};

const note = (minutes: Set<number>, openMs: number): void => {
  for (const before of minutes) if (before < openMs - FORGET_MS) minutes.delete(before);
  minutes.add(openMs);
};

const openMinutes = (closed: ClosedMinutes, symbol: string): Set<number> => {
  const minutes = closed.get(symbol) ?? new Set();
  closed.set(symbol, minutes);
  return minutes;
};

/** Open instants of the minutes that should be closed by now and still count, oldest first. */
const dueMinutes = (nowMs: number): readonly number[] => {
  const newest = Math.floor((nowMs - PATIENCE_MS) / MINUTE_MS) * MINUTE_MS - MINUTE_MS;
  return [newest - MINUTE_MS, newest].filter((openMs) => openMs + MINUTE_MS + IN_TIME_MS > nowMs);
};

/** A span that has just begun knows no minute: what was missed before it, and no span of the slot `closed`, is asked for at once. */
export const createCandleWatch = (symbols: Iterable<string>, closed: ClosedMinutes): CandleWatch => {
  const listings = new Map<string, Listing>();
  for (const symbol of symbols) {
    listings.set(symbol, { known: new Set(), closed: openMinutes(closed, symbol), askedMs: -AGAIN_MS, newest: null });
  }

  const close = ({ symbol, openMs }: ClosedMinute): void => {
    const listing = listings.get(symbol);
    if (!listing) return;
    note(listing.known, openMs);
    note(listing.closed, openMs);
  };

  /** As the task counts them: what was told or answered before is over, and minutes between had no trades (H-12). */
  const begin = ({ symbol, openMs }: ClosedMinute): void => {
    const listing = listings.get(symbol);
    if (!listing) return;
    const { newest, known } = listing;
    if (newest && openMs < newest.openMs) return;
    const over = newest ? newest.openMs + (newest.isTold ? 0 : MINUTE_MS) : openMs;
    for (let at = Math.max(over, openMs - FORGET_MS); at < openMs; at += MINUTE_MS) note(known, at);
    if (newest) for (const at of known) if (at < openMs) note(listing.closed, at);
    listing.newest = { openMs, isTold: true };
  };

  /** Of minutes that this span does not know those that another closed are asked for along with the rest: its proofs begin there. */
  const findNeed = (symbol: string, { known, closed, askedMs }: Listing, nowMs: number): CandleNeed | null => {
    if (nowMs < askedMs + AGAIN_MS) return null;
    const missing = dueMinutes(nowMs).filter((openMs) => !known.has(openMs));
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
      for (let openMs = fromMs; openMs <= toMs; openMs += MINUTE_MS) note(listing.known, openMs);
      // A span that no frame told anything may have begun in the minute that ran when it was asked: that one is asked for itself.
      const askedIn = listing.newest ? 0 : Math.floor(listing.askedMs / MINUTE_MS) * MINUTE_MS;
      const running = Math.max(toMs + MINUTE_MS, askedIn);
      if (running > (listing.newest?.openMs ?? 0)) listing.newest = { openMs: running, isTold: false };
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
