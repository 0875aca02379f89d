// Books of a task, one a listing and connection: joined, continuity-checked, published by 100 ms buckets of `received_at` (design section 5).

import type { BookRule, Chain, FullSides } from '../../ingest/venues/shared/book-sync.ts';
import {
  type BookSync,
  isConfirmed,
  isWhole,
  newBookSync,
  stepBookSync,
  type Waiting,
} from '../../ingest/venues/shared/book-sync.ts';
import type { BookRecord, Level, Micros } from '../../schemas/records.ts';
import { COUNTS_WITHIN } from '../../schemas/windows.ts';
import { applySnapshot, applyUpdate, type Book, copyBook, createBook } from './book.ts';
import type { View } from './view.ts';

/** A book is published at most once per bucket at its first change and once at its end. */
const BUCKET: Micros = 100_000;

/** The message that changed a book last: its stamps belong to the published reading. */
type BookChange = {
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
  readonly venueTs: Micros | null;
  readonly full?: FullSides | undefined;
};

/** A payload as JSON. Hundreds of diffs of a book may wait for its snapshot, and every checkpoint writes them: as text they are small and written once. */
type PayloadText = string;
/** What a book has heard and not applied. */
export type WaitingDiff = Waiting<PayloadText>;

/** Plain data: the item `book:<symbol>|<conn_id>` of a checkpoint. */
export type BookState = {
  readonly symbol: string;
  readonly connId: string;
  sync: BookSync<PayloadText>;
  levels: Book;
  /** End of the bucket of the last change. */
  bucket: Micros;
  change: BookChange | null;
  /** Place in the order of books whose last change is not published yet; null when it is. */
  pending: number | null;
};

/** `venueTs`: of the message the book stands at. */
type BookOutcome = { readonly became: 'changed' | 'broke' | 'waiting'; readonly venueTs: Micros | null };

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

/** The book as it stands, whatever becomes of it: its levels are changed in place, all else is replaced. */
export const copyBookState = (book: View<BookState>): BookState => ({ ...book, levels: copyBook(book.levels) });

/** End of the `(start, end]` bucket of an instant; sampling windows end on bucket ends, so a window's end closes its bucket. */
export const bucketEnd = (receivedAt: Micros): Micros => Math.ceil(receivedAt / BUCKET) * BUCKET;

/** True when the message at `receivedAt` begins a new bucket: an unpublished change of the older one goes out first. */
export const beginsBucket = (book: View<BookState>, receivedAt: Micros): boolean =>
  bucketEnd(receivedAt) !== book.bucket;

/** When an unpublished change goes out if nothing follows it. The log passed the bucket of a late one long ago: it waits as long as in its time. */
export const dueAt = ({ bucket, change }: View<BookState>): Micros => {
  const isLate = change !== null && change.recordedAt - change.receivedAt > COUNTS_WITHIN;
  return isLate ? change.recordedAt + BUCKET : bucket;
};

type PayloadPlain = readonly [
  kind: Payload['kind'],
  venueTs: Micros | null,
  sequence: string | null,
  bids: readonly Level[],
  asks: readonly Level[],
  full: FullSides | null,
];

const payloadText = ({ kind, venueTs, sequence, bids, asks, full }: Payload): PayloadText =>
  JSON.stringify([kind, venueTs, sequence, bids, asks, full ?? null] satisfies PayloadPlain);

const parsePayload = (of: Payload | PayloadText): Payload => {
  if (typeof of !== 'string') return of;
  const [kind, venueTs, sequence, bids, asks, full] = JSON.parse(of) as PayloadPlain;
  return { kind, venueTs, sequence, bids, asks, full: full ?? undefined };
};

/** Of what waits only the newest may have come just now. */
const asText = (sync: BookSync<Payload | PayloadText>): BookSync<PayloadText> => {
  const held = sync as BookSync<PayloadText>;
  const newest = sync.waiting.at(-1);
  if (newest === undefined || typeof newest.payload === 'string') return held;
  return { ...held, waiting: held.waiting.with(-1, { ...newest, payload: payloadText(newest.payload) }) };
};

/** Feeds one book message through the venue's rule and the levels; a confirmed book is told anew as it stands (F-03). A figure that cannot be held leaves the book unsynced, and is thrown on. */
export const feedBook = (book: BookState, rule: BookRule, chain: Chain, record: BookRecord): BookOutcome => {
  const { values, venue_ts: venueTs } = record;
  if (chain.kind === 'confirmation') return { became: isConfirmed(book.sync, chain) ? 'changed' : 'waiting', venueTs };
  const { kind, bids, asks, sequence } = values;
  const payload = { kind, bids, asks, sequence, venueTs, full: chain.full };
  const step = stepBookSync<Payload | PayloadText>(rule, book.sync, chain, payload);
  book.sync = newBookSync();
  const apply = step.apply.map(parsePayload);
  for (const taken of apply) {
    if (taken.kind === 'snapshot') applySnapshot(book.levels, taken);
    else applyUpdate(book.levels, taken);
  }
  book.sync = asText(step.state);
  if (step.broke) return { became: 'broke', venueTs };
  // A snapshot may join diffs that came before it and are newer.
  const last = apply.at(-1);
  if (last === undefined || !isWhole(step.state)) return { became: 'waiting', venueTs };
  return { became: 'changed', venueTs: last.venueTs ?? venueTs };
};
