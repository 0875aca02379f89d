// Tracks the books of one connection without their levels: which need a snapshot, since when, and which are quiet.
import { MICROS_PER_MS } from '../../schemas/instants.ts';
import type { BookRule, Chain } from '../venues/shared/book-sync.ts';
import { type BookSync, isConfirmed, isWhole, makeBookSync, stepBookSync } from '../venues/shared/book-sync.ts';

/** A quiet book is confirmed by a snapshot before the layer's bound of 30 s ends its status `present` (F-03). */
const QUIET_MS = 20_000;
/**
 * A whole book is requested again after this time. The snapshot brings levels that no diff named, and restores a book that the task
 * discarded because of an unreadable figure.
 */
const REFRESH_MS = 300_000;

/** `join`: the book is not whole without it; `confirm`: whole, but quiet; `refresh`: its last snapshot is old. */
export type BookWhy = 'join' | 'confirm' | 'refresh';
export type BookNeed = {
  readonly symbol: string;
  readonly why: BookWhy;
  readonly sinceMs: number;
  /** A confirmation named another id: only a whole snapshot resolves the need. */
  readonly isDoubted?: boolean;
};

export type BookWatch = {
  /** Takes one message of the chain, frame or snapshot. True when it broke a book that was whole. */
  readonly take: (chain: Chain, nowMs: number) => boolean;
  /** The oldest need of a kind; null when nothing of it is needed now. */
  readonly oldest: (nowMs: number, why: BookWhy) => BookNeed | null;
  /** Suspends requests of this book until `untilMs`. */
  readonly postpone: (symbol: string, untilMs: number) => void;
  readonly isWhole: (symbol: string) => boolean;
  readonly allWhole: () => boolean;
};

type Watched = {
  readonly symbol: string;
  sync: BookSync<null>;
  receivedMs: number;
  snapshotMs: number;
  neededMs: number | null;
  /** A confirmation named another id than the book's, and no frame has come since. */
  isDoubted: boolean;
  notBeforeMs: number;
};

const openWatched = (symbol: string, nowMs: number): Watched => ({
  symbol,
  sync: makeBookSync(),
  receivedMs: nowMs,
  snapshotMs: nowMs,
  neededMs: null,
  isDoubted: false,
  notBeforeMs: 0,
});

const findNeed = ({ style }: BookRule, book: Watched, nowMs: number): BookNeed | null => {
  const { symbol, neededMs, receivedMs, snapshotMs } = book;
  if (nowMs < book.notBeforeMs) return null;
  if (neededMs !== null) return { symbol, why: 'join', sinceMs: neededMs };
  if (nowMs - receivedMs < QUIET_MS) {
    const isOld = style === 'snapshot' && nowMs - snapshotMs >= REFRESH_MS;
    return isOld ? { symbol, why: 'refresh', sinceMs: snapshotMs } : null;
  }
  // A book without messages may have no trading: only a snapshot shows it.
  if (!isWhole(book.sync)) return { symbol, why: 'join', sinceMs: receivedMs };
  return { symbol, why: 'confirm', sinceMs: receivedMs, ...(book.isDoubted ? { isDoubted: true } : {}) };
};

type BookWatchOptions = { readonly rule: BookRule; readonly symbols: Iterable<string>; readonly nowMs: number };

export const createBookWatch = ({ rule, symbols, nowMs: openedMs }: BookWatchOptions): BookWatch => {
  const books = new Map<string, Watched>();
  for (const symbol of symbols) books.set(symbol, openWatched(symbol, openedMs));
  return {
    take: (chain, nowMs) => {
      const book = books.get(chain.symbol);
      if (!book) return false;
      if (chain.kind === 'confirmation') {
        book.isDoubted = !isConfirmed(book.sync, chain);
        if (!book.isDoubted) book.receivedMs = nowMs;
        return false;
      }
      book.isDoubted = false;
      const step = stepBookSync(rule, book.sync, { chain, payload: null, receivedAt: nowMs * MICROS_PER_MS });
      book.sync = step.state;
      book.receivedMs = nowMs;
      if (chain.kind === 'snapshot') book.snapshotMs = nowMs;
      // Only style `snapshot` joins on request; other venues send their snapshots themselves.
      book.neededMs = step.needSnapshot && rule.style === 'snapshot' ? (book.neededMs ?? nowMs) : null;
      return step.broke;
    },
    oldest: (nowMs, why) => {
      let oldest: BookNeed | null = null;
      for (const book of books.values()) {
        const need = findNeed(rule, book, nowMs);
        if (need?.why === why && (oldest === null || need.sinceMs < oldest.sinceMs)) oldest = need;
      }
      return oldest;
    },
    postpone: (symbol, untilMs) => {
      const book = books.get(symbol);
      if (book) book.notBeforeMs = untilMs;
    },
    isWhole: (symbol) => {
      const book = books.get(symbol);
      return book === undefined || isWhole(book.sync);
    },
    allWhole: () => [...books.values()].every((book) => isWhole(book.sync)),
  };
};
