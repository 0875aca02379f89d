// Books of a task, one a listing and connection: joined, continuity-checked, published by 100 ms buckets of `received_at` (design section 5).

import type { BookRule, Chain, FullSides } from '../../ingest/venue.ts';
import { type BookSync, isConfirmed, isWhole, newBookSync, stepBookSync } from '../../ingest/venues/book-sync.ts';
import type { BookRecord, Level, Micros } from '../../schemas/records.ts';
import { COUNTS_WITHIN } from '../../schemas/windows.ts';
import { applySnapshot, applyUpdate, type Book, bookFromJson, bookToJson, createBook } from './book.ts';

/** A book is published at most once per bucket at its first change and once at its end. */
const BUCKET: Micros = 100_000;

/** The message that changed a book last: its stamps belong to the published reading. */
export type BookChange = {
  readonly offset: number;
  readonly receivedAt: Micros;
  readonly recordedAt: Micros;
  readonly venueTs: Micros | null;
  readonly raw: string | null;
};

type Payload = {
  readonly kind: 'snapshot' | 'update';
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly sequence: string | null;
  readonly full?: FullSides | undefined;
};

export type BookState = {
  readonly symbol: string;
  readonly connId: string;
  sync: BookSync<Payload>;
  levels: Book;
  /** End of the bucket of the last change. */
  bucket: Micros;
  change: BookChange | null;
  /** Place in the order of books whose last change is not published yet; null when it is. */
  pending: number | null;
};

export type BookOutcome = 'changed' | 'broke' | 'waiting';

export const bookKey = (symbol: string, connId: string): string => `${symbol}|${connId}`;

export const createBookState = (symbol: string, connId: string): BookState => ({
  symbol,
  connId,
  sync: newBookSync(),
  levels: createBook(),
  bucket: 0,
  change: null,
  pending: null,
});

/** End of the `(start, end]` bucket of an instant; sampling windows end on bucket ends, so a window's end closes its bucket. */
export const bucketEnd = (receivedAt: Micros): Micros => Math.ceil(receivedAt / BUCKET) * BUCKET;

/** True when the message at `receivedAt` begins a new bucket: an unpublished change of the older one goes out first. */
export const beginsBucket = (book: BookState, receivedAt: Micros): boolean => bucketEnd(receivedAt) !== book.bucket;

/** When an unpublished change goes out if nothing follows it. The log passed the bucket of a late one long ago: it waits as long as in its time. */
export const dueAt = ({ bucket, change }: BookState): Micros => {
  const isLate = change !== null && change.recordedAt - change.receivedAt > COUNTS_WITHIN;
  return isLate ? change.recordedAt + BUCKET : bucket;
};

/** Feeds one book message through the venue's rule and the levels; a confirmed book is told anew as it stands (F-03). A figure that cannot be held leaves the book unsynced, and is thrown on. */
export const feedBook = (book: BookState, rule: BookRule, chain: Chain, record: BookRecord): BookOutcome => {
  if (chain.kind === 'confirmation') return isConfirmed(book.sync, chain) ? 'changed' : 'waiting';
  const { kind, bids, asks, sequence } = record.values;
  const step = stepBookSync<Payload>(rule, book.sync, chain, { kind, bids, asks, sequence, full: chain.full });
  book.sync = newBookSync();
  for (const payload of step.apply) {
    if (payload.kind === 'snapshot') applySnapshot(book.levels, payload);
    else applyUpdate(book.levels, payload);
  }
  book.sync = step.state;
  if (step.broke) return 'broke';
  return step.apply.length > 0 && isWhole(step.state) ? 'changed' : 'waiting';
};

/** The item `book:<symbol>|<conn_id>` of a checkpoint. */
export const bookStateToJson = (book: BookState): string =>
  JSON.stringify({ ...book, levels: bookToJson(book.levels) });

export const bookStateFromJson = (text: string): BookState => {
  const plain = JSON.parse(text) as Omit<BookState, 'levels'> & { readonly levels: string };
  return { ...plain, levels: bookFromJson(plain.levels) };
};
