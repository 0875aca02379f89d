// The books of one connection without their levels: which need a snapshot, since when, and which have gone quiet.
import type { BookRule, Chain } from '../venue.ts';
import { type BookSync, isWhole, newBookSync, stepBookSync } from '../venues/book-sync.ts';

/** A book that says nothing is confirmed by a snapshot before the layer's bound of 30 s ends its status `present` (F-03). */
const QUIET_MS = 20_000;
/**
 * A whole book is asked for again after this long: levels that no diff ever named come in, and a book that the task had to
 * give up for a figure it could not read is whole again.
 */
const REFRESH_MS = 300_000;

/** `join`: the book is not whole without it; `confirm`: whole, but quiet; `refresh`: its last snapshot is old. */
export type BookNeed = {
  readonly symbol: string;
  readonly why: 'join' | 'confirm' | 'refresh';
  readonly sinceMs: number;
};

export type BookWatch = {
  /** Takes one message of the chain, frame or snapshot. True when it broke a book that was whole. */
  readonly take: (chain: Chain, nowMs: number) => boolean;
  /** The oldest need to join, else the book that is quiet the longest; null when nothing is needed now. */
  readonly urgent: (nowMs: number) => BookNeed | null;
  /** Not asked again before `untilMs`. */
  readonly postpone: (symbol: string, untilMs: number) => void;
  readonly allWhole: () => boolean;
};

type Watched = {
  sync: BookSync<null>;
  heardMs: number;
  snapshotMs: number;
  neededMs: number | null;
  notBeforeMs: number;
};

export type BookWatchOptions = { readonly rule: BookRule; readonly symbols: Iterable<string>; readonly nowMs: number };

export const createBookWatch = ({ rule, symbols, nowMs: openedMs }: BookWatchOptions): BookWatch => {
  const books = new Map<string, Watched>();
  for (const symbol of symbols) {
    books.set(symbol, { sync: newBookSync(), heardMs: openedMs, snapshotMs: openedMs, neededMs: null, notBeforeMs: 0 });
  }
  const needOf = (symbol: string, book: Watched, nowMs: number): BookNeed | null => {
    if (nowMs < book.notBeforeMs) return null;
    if (book.neededMs !== null) return { symbol, why: 'join', sinceMs: book.neededMs };
    if (nowMs - book.heardMs < QUIET_MS) {
      const isOld = rule.style === 'snapshot' && nowMs - book.snapshotMs >= REFRESH_MS;
      return isOld ? { symbol, why: 'refresh', sinceMs: book.snapshotMs } : null;
    }
    // A book that was never heard may be one nobody trades: its snapshot is all there is to say.
    return { symbol, why: isWhole(book.sync) ? 'confirm' : 'join', sinceMs: book.heardMs };
  };

  return {
    take: (chain, nowMs) => {
      const book = books.get(chain.symbol);
      if (!book) return false;
      const step = stepBookSync(rule, book.sync, chain, null);
      book.sync = step.state;
      book.heardMs = nowMs;
      if (chain.kind === 'snapshot') book.snapshotMs = nowMs;
      // Only a join by request can be asked for; a venue that sends its snapshots itself needs no asking.
      book.neededMs = step.needSnapshot && rule.style === 'snapshot' ? (book.neededMs ?? nowMs) : null;
      return step.broke;
    },
    urgent: (nowMs) => {
      let best: BookNeed | null = null;
      for (const [symbol, book] of books) {
        const need = needOf(symbol, book, nowMs);
        if (need && (!best || isMoreUrgent(need, best))) best = need;
      }
      return best;
    },
    postpone: (symbol, untilMs) => {
      const book = books.get(symbol);
      if (book) book.notBeforeMs = untilMs;
    },
    allWhole: () => [...books.values()].every((book) => isWhole(book.sync)),
  };
};

const URGENCY = { join: 0, confirm: 1, refresh: 2 } as const;

export const isMoreUrgent = (a: BookNeed, b: BookNeed): boolean =>
  a.why === b.why ? a.sinceMs < b.sinceMs : URGENCY[a.why] < URGENCY[b.why];
