// Books of a task, one a listing and connection: joined, checked for continuity, published by 100 ms buckets of `received_at` (design section 5).
import {
  type BookRule,
  type BookSync,
  type Chain,
  type FullSides,
  isConfirmed,
  isWhole,
  makeBookSync,
  stepBookSync,
  type Waiting,
} from '../../ingest/venues/shared/book-sync.ts';
import type { BookRecord, Level, Micros } from '../../schemas/records.ts';
import { COUNTS_WITHIN } from '../../schemas/windows.ts';
import { applySnapshot, applyUpdate, copyBook, createBook } from './book.ts';
import type { Book } from './book-levels.ts';
import type { Raw } from './raw-element.ts';
import type { View } from './view.ts';

/** A book is published at most twice per bucket: at its first change and at the bucket's end. */
const BUCKET: Micros = 100_000;

/** The message of a book's last change: its stamps belong to the published reading. */
type BookChange = {
  readonly offset: number;
  readonly receivedAt: Micros;
  readonly recordedAt: Micros;
  readonly venueTs: Micros | null;
  readonly raw: Raw;
};

type Payload = {
  readonly kind: 'snapshot' | 'update';
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly sequence: string | null;
  readonly venueTs: Micros | null;
  readonly full?: FullSides | undefined;
  readonly depth?: number | undefined;
};

/** A payload as JSON text. Hundreds of diffs may wait for a snapshot, and every checkpoint writes them: as text they are small and formatted once. */
type PayloadText = string;
/** A received diff that is not applied yet. */
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
  /** Position in the order of books with an unpublished change; null when it is published. */
  pending: number | null;
};

/** A message of a book with its place in the venue's chain. */
export type BookMessage = { readonly record: BookRecord; readonly chain: Chain };

/** `venueTs`: stamp of the book's last message. */
type BookOutcome = { readonly became: 'changed' | 'broke' | 'waiting'; readonly venueTs: Micros | null };

export const toBookKey = (symbol: string, connId: string): string => `${symbol}|${connId}`;

export const createBookState = (symbol: string, connId: string): BookState => ({
  symbol,
  connId,
  sync: makeBookSync(),
  levels: createBook(),
  bucket: 0,
  change: null,
  pending: null,
});

/** A copy that later changes do not affect: the levels are changed in place, everything else is replaced. */
export const copyBookState = (book: View<BookState>): BookState => ({ ...book, levels: copyBook(book.levels) });

/** End of the `(start, end]` bucket of an instant; sampling windows end at bucket ends, so a window's end closes its bucket. */
export const toBucketEnd = (receivedAt: Micros): Micros => Math.ceil(receivedAt / BUCKET) * BUCKET;

/** True when the message at `receivedAt` starts a new bucket: an unpublished change of the older one is published first. */
export const isNewBucket = (book: View<BookState>, receivedAt: Micros): boolean =>
  toBucketEnd(receivedAt) !== book.bucket;

/**
 * When an unpublished change is published without a further message: at its bucket's end. One recorded after that waits as long as one in time, because
 * more of its bucket may follow, but never past the time in which it counts.
 */
export const toDueInstant = ({ bucket, change }: View<BookState>): Micros => {
  const recordedAt = change?.recordedAt ?? 0;
  if (recordedAt <= bucket) return bucket;
  const counted = bucket + COUNTS_WITHIN;
  return recordedAt > counted ? recordedAt + BUCKET : Math.min(recordedAt + BUCKET, counted);
};

type PayloadPlain = readonly [
  kind: Payload['kind'],
  venueTs: Micros | null,
  sequence: string | null,
  bids: readonly Level[],
  asks: readonly Level[],
  full: FullSides | null,
  depth?: number | null,
];

const formatPayload = ({ kind, venueTs, sequence, bids, asks, full, depth }: Payload): PayloadText =>
  JSON.stringify([kind, venueTs, sequence, bids, asks, full ?? null, depth ?? null] satisfies PayloadPlain);

const parsePayload = (of: Payload | PayloadText): Payload => {
  if (typeof of !== 'string') return of;
  const [kind, venueTs, sequence, bids, asks, full, depth] = JSON.parse(of) as PayloadPlain;
  return { kind, venueTs, sequence, bids, asks, full: full ?? undefined, depth: depth ?? undefined };
};

/** Only the newest waiting payload can be unformatted. */
const toText = (sync: BookSync<Payload | PayloadText>): BookSync<PayloadText> => {
  const held = sync as BookSync<PayloadText>;
  const newest = sync.waiting.at(-1);
  if (newest === undefined || typeof newest.payload === 'string') return held;
  return { ...held, waiting: held.waiting.with(-1, { ...newest, payload: formatPayload(newest.payload) }) };
};

/** Applies one book message by the venue's rule; a confirmed book is published again (F-03). Resets the book and throws for a figure out of range. */
export const feedBook = (book: BookState, rule: BookRule, { record, chain }: BookMessage): BookOutcome => {
  const { values, venue_ts: venueTs, received_at: receivedAt } = record;
  if (chain.kind === 'confirmation') return { became: isConfirmed(book.sync, chain) ? 'changed' : 'waiting', venueTs };
  const { kind, bids, asks, sequence } = values;
  const payload = { kind, bids, asks, sequence, venueTs, full: chain.full, depth: chain.depth };
  const step = stepBookSync<Payload | PayloadText>(rule, book.sync, { chain, payload, receivedAt });
  book.sync = makeBookSync();
  const apply = step.apply.map(parsePayload);
  for (const taken of apply) {
    if (taken.kind === 'snapshot') applySnapshot(book.levels, taken);
    else applyUpdate(book.levels, taken);
  }
  book.sync = toText(step.state);
  if (step.broke) return { became: 'broke', venueTs };
  // A snapshot may join newer diffs that arrived before it.
  const last = apply.at(-1);
  if (last === undefined || !isWhole(step.state)) return { became: 'waiting', venueTs };
  return { became: 'changed', venueTs: last.venueTs ?? venueTs };
};
