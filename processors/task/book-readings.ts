// Readings from assembled books: top of book and depth bands, by 100 ms buckets, invalidated when crossed or broken (L-03, design section 5).
import { isWhole, makeBookSync } from '../../ingest/venues/shared/book-sync.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Reading } from '../../schemas/topics.ts';
import { acceptReading, isLateReading, makeSource, type Subject } from './accept.ts';
import { countLevels, isCrossed, makeBandValues, makeBookValues, sumBookBands } from './book.ts';
import { listTopLevels } from './book-levels.ts';
import {
  type BookMessage,
  type BookState,
  createBookState,
  feedBook,
  isNewBucket,
  toBookKey,
  toBucketEnd,
} from './books.ts';
import { admitDelivery } from './connections.ts';
import { isCollected, openLayer, type TaskContext } from './context.ts';
import { pushListingGap } from './gap-records.ts';
import { pushMd } from './outputs.ts';
import { type Raw, toRawText } from './raw-element.ts';
import { type Measured, type ReadingSource, toInvalidation, toReading } from './readings.ts';

/** Levels a side in readings and `md.book` (`endpoints.book_depth`). */
const BOOK_LEVELS = 25;

/** A listing whose book is being changed. */
type BookSubject = Subject & { readonly book: BookState };

/** Applies a book message. Throws the `VenueError` of a figure that is out of range, after invalidating the book. */
export const applyBook = (
  context: TaskContext,
  { listing, connection }: Subject,
  message: BookMessage & { readonly raw: Raw },
): void => {
  const { store } = context;
  const key = toBookKey(listing.symbol, connection.conn_id);
  if (!isCollected(context, listing, 'book')) return dropUnread(context, key);
  if (!store.state.books.has(key)) store.addBook(createBookState(listing.symbol, connection.conn_id));
  store.changeBook(key, (book) => changeBook(context, { listing, connection, book }, message));
};

/** With an unread message the held book is no longer valid. */
const dropUnread = ({ store, pending }: TaskContext, key: string): void => {
  pending.delete(key);
  if (store.state.books.has(key)) store.deleteBook(key);
};

const changeBook = (context: TaskContext, subject: BookSubject, message: BookMessage & { readonly raw: Raw }): void => {
  const { book } = subject;
  const { record, raw } = message;
  const begins = isNewBucket(book, record.received_at);
  if (begins && book.pending !== null) publishPending(context, toBookKey(book.symbol, book.connId));
  const note = (venueTs: Micros | null): void => {
    book.bucket = toBucketEnd(record.received_at);
    const { recordedAt } = context.state;
    book.change = { offset: context.out.offset, receivedAt: record.received_at, recordedAt, venueTs, raw };
  };
  try {
    const { became, venueTs } = feedBook(book, context.venue.bookRule, message);
    if (became === 'waiting') return;
    note(venueTs);
    if (became === 'broke') breakBook(context, subject, 'sequence_break');
    else if (begins) publishBook(context, subject);
    else waitForBucket(context, book);
  } catch (error) {
    note(record.venue_ts);
    breakBook(context, subject, 'parse_error');
    throw error;
  }
};

/** A change of a book was lost, and no later message shows it: the book has no value until the next snapshot. */
export const loseChange = (context: TaskContext, { listing, connection }: Subject, receivedAt: Micros): void => {
  const { store, state, out } = context;
  const key = toBookKey(listing.symbol, connection.conn_id);
  if (!isCollected(context, listing, 'book')) return dropUnread(context, key);
  const held = state.books.get(key);
  if (held === undefined || !isWhole(held.sync)) return;
  if (held.pending !== null && isNewBucket(held, receivedAt)) publishPending(context, key);
  store.changeBook(key, (book) => {
    book.sync = makeBookSync();
    book.bucket = toBucketEnd(receivedAt);
    book.change = { offset: out.offset, receivedAt, recordedAt: state.recordedAt, venueTs: null, raw: null };
    breakBook(context, { listing, connection, book }, 'parse_error');
  });
};

const waitForBucket = ({ store, pending }: TaskContext, book: BookState): void => {
  if (book.pending !== null) return;
  book.pending = store.changeCore((core) => core.pendings++);
  pending.add(toBookKey(book.symbol, book.connId));
};

const stopWaiting = ({ pending }: TaskContext, book: BookState): void => {
  pending.delete(toBookKey(book.symbol, book.connId));
  book.pending = null;
};

/** Publishes the change of a book whose bucket has ended. */
export const publishPending = (context: TaskContext, key: string): void => {
  const { store, state } = context;
  store.changeBook(key, (book) => {
    stopWaiting(context, book);
    const connection = state.connections.get(book.connId);
    if (!connection || !state.listings.has(book.symbol)) return;
    store.changeListing(book.symbol, (listing) => publishBook(context, { listing, connection, book }));
  });
};

/** An ended connection does not return: publishes the pending changes of its books and deletes them. */
export const endBooks = (context: TaskContext, connId: string): void => {
  for (const [key, book] of context.state.books) {
    if (book.connId !== connId) continue;
    if (book.pending !== null) publishPending(context, key);
    context.store.deleteBook(key);
  }
};

/** The book is no longer whole: both of its layers have no value until the next snapshot. */
const breakBook = (context: TaskContext, subject: BookSubject, cause: GapCause): void => {
  stopWaiting(context, subject.book);
  invalidateBook(context, subject, cause);
};

/** A record of `md.gap` goes out with the first of several invalidations of one cause: `md.book` has none until the book is valid again. */
const invalidateBook = (context: TaskContext, subject: BookSubject, cause: GapCause): void => {
  const { change, connId, symbol } = subject.book;
  const before = openLayer(subject.listing, 'book').reading?.gap_cause;
  const replaced = offerBook(context, subject, (source, venueTs) => toInvalidation(source, cause, venueTs));
  if (!replaced || change === null || before === cause) return;
  pushListingGap(context, { symbol, of: ['book'] }, { cause, receivedAt: change.receivedAt, connId, of: change });
};

const readReceivedAt = (book: BookState): Micros => book.change?.receivedAt ?? 0;

const publishBook = (context: TaskContext, subject: BookSubject): void => {
  const { book } = subject;
  if (isCrossed(book.levels)) return invalidateBook(context, subject, 'crossed_book');
  const rule = subject.listing.version.record.values;
  const top = listTopLevels(book.levels, BOOK_LEVELS);
  const held = countLevels(book.levels);
  const bands = sumBookBands(book.levels, rule);
  const { sequence } = book.levels;
  const levels = { ...top, sequence, collected_bids: held.bids, collected_asks: held.asks };
  const values = { book: makeBookValues(book.levels), venue_depth: makeBandValues(bands) };
  const replaced = offerBook(context, subject, (source, venueTs) => {
    const { values: figures, null_reasons } = values[source.layer as 'book' | 'venue_depth'];
    const measured: Measured = { values: { ...figures }, instants: {}, quantityUnit: rule.quantity_unit, venueTs };
    const reading = toReading(source, measured, source.layer === 'book' ? levels : null);
    return { ...reading, null_reasons };
  });
  if (!replaced) return;
  const record = {
    layer: 'book' as const,
    venue: context.venue.id,
    venue_symbol: book.symbol,
    venue_ts: book.change?.venueTs ?? null,
    received_at: readReceivedAt(book),
    values: { ...top, sequence, collected_levels: held, bands },
  };
  const { change } = book;
  pushMd(context, record, { connId: book.connId, ...(change === null ? {} : { of: change }) });
};

/** Offers the book's reading to both of its layers; returns whether `book` was replaced. */
const offerBook = (
  context: TaskContext,
  subject: BookSubject,
  make: (source: ReadingSource, venueTs: Micros | null) => Reading,
): boolean => {
  const { change } = subject.book;
  if (!change) return false;
  let replaced = false;
  for (const name of ['book', 'venue_depth'] as const) {
    const layer = openLayer(subject.listing, name);
    const isLate = isLateReading(name, change.receivedAt, change.recordedAt);
    if (!admitDelivery(context.state, layer, { connection: subject.connection, isLate })) continue;
    const raw = name === 'book' ? toRawText(change.raw) : null;
    const source = makeSource(context, subject, { ...change, layer: name, rev: layer.rev + 1, raw });
    const reading = make(source, change.venueTs);
    const taken = acceptReading(context, subject.listing, { reading, offset: change.offset });
    if (name === 'book') replaced = taken;
  }
  return replaced;
};
