// Books of a recording, joined as the service joins them, and printed whole after each message that changed them (records.md).
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import {
  type BookSync,
  type Chain,
  type FullSides,
  isWhole,
  makeBookSync,
  stepBookSync,
} from '../../../ingest/venues/shared/book-sync.ts';
import {
  applySnapshot,
  applyUpdate,
  type BandDepth,
  countLevels,
  createBook,
  isCrossed,
  type QuantityRule,
  sumBookBands,
} from '../../../processors/task/book.ts';
import { type Book, listTopLevels } from '../../../processors/task/book-levels.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import { sortByKey } from '../../../schemas/json.ts';
import type { BookRecord, GapRecord, ListingRecord } from '../../../schemas/records.ts';

/** Books as in their messages, or assembled and printed whole after each message. */
export type BookForm = 'published' | 'assembled';

/** An assembled book: its values are not those of its message. */
type WholeBook = Omit<BookRecord, 'values'> & { readonly values: unknown };

type Applied = Pick<BookRecord, 'values' | 'venue_ts'> & {
  readonly full: FullSides | undefined;
  readonly depth: number | undefined;
};
type HeldBook = { sync: BookSync<Applied>; levels: Book; crossed: boolean };
/** A book's message in the chain of its channel. */
type Chained = { readonly chain: Chain; readonly channel?: string | undefined };
type Changed = { readonly book: HeldBook; readonly record: BookRecord };

/** Levels a side of an assembled book (records.md). */
const TOP = 25;

export class RecordedBooks {
  readonly #venue: Venue;
  readonly #form: BookForm;
  readonly #books = new Map<string, HeldBook>();
  /** Books that the current message changed: a message may hold several changes of one. */
  readonly #changed = new Map<string, Changed>();

  constructor(venue: Venue, form: BookForm) {
    this.#venue = venue;
    this.#form = form;
  }

  /**
   * What one record of a book gives at once: itself where books are not assembled, and the gap that it proves. A recording may hold several
   * channels of one listing: each has a book of its own.
   */
  take(record: BookRecord, { chain, channel = '' }: Chained): readonly (BookRecord | GapRecord)[] {
    const place = JSON.stringify([chain.symbol, channel]);
    const book = this.#books.get(place) ?? openBook();
    this.#books.set(place, book);
    const step = stepBookSync(this.#venue.bookRule, book.sync, {
      chain: isFirstSnapshot(this.#venue, book, chain) ? { ...chain, kind: 'snapshot' } : chain,
      payload: { values: record.values, venue_ts: record.venue_ts, full: chain.full, depth: chain.depth },
    });
    book.sync = step.state;
    const broke = step.broke ? [toGap(record, 'sequence_break')] : [];
    if (this.#form === 'published') return [record, ...broke];
    if (step.broke || step.apply.length > 0) this.#changed.delete(place);
    const last = step.apply.at(-1);
    if (last !== undefined) {
      applyAll(book, step.apply);
      // A snapshot may join newer diffs that arrived before it: the book is then that of the last of them (D-54).
      this.#changed.set(place, { book, record: { ...record, venue_ts: last.venue_ts ?? record.venue_ts } });
    }
    return broke;
  }

  /** A change of a book cannot be read, and no later message shows it. */
  lose(symbol: string): void {
    for (const [place, book] of this.#books)
      if ((JSON.parse(place) as readonly string[])[0] === symbol) book.sync = makeBookSync();
  }

  /** Forgets the books that a connection told whole: the next one tells them anew. Books joined with REST snapshots are proved by their chain. */
  dropStreamed(): void {
    if (this.#venue.bookRule.style === 'stream') this.#books.clear();
  }

  /** The books that changed since the last call. A crossed book is never served (L-03): one gap, until it is no longer crossed. */
  printChanged(listings: ReadonlyMap<string, ListingRecord>): readonly (WholeBook | GapRecord)[] {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    return changed.flatMap(({ book, record }): readonly (WholeBook | GapRecord)[] => {
      const was = book.crossed;
      book.crossed = isCrossed(book.levels);
      if (book.crossed) return was ? [] : [toGap(record, 'crossed_book')];
      const { venue_symbol: symbol } = record;
      const rule = listings.get(symbol)?.values ?? this.#venue.impliedQuantity?.(symbol) ?? UNKNOWN_QUANTITY;
      return [{ ...record, values: toAssembled(book.levels, rule) }];
    });
  }
}

/** Our collector requests few levels only to confirm a whole book; whoever made a recording may have begun one with them. */
const isFirstSnapshot = ({ bookRule }: Venue, { sync }: HeldBook, { kind }: Chain): boolean =>
  kind === 'confirmation' && bookRule.style === 'snapshot' && !isWhole(sync);

const openBook = (): HeldBook => ({ sync: makeBookSync<Applied>(), levels: createBook(), crossed: false });

/** A book that could not apply a message is no longer whole. */
const applyAll = (book: HeldBook, messages: readonly Applied[]): void => {
  try {
    for (const { values, full, depth } of messages) {
      (values.kind === 'snapshot' ? applySnapshot : applyUpdate)(book.levels, { ...values, full, depth });
    }
  } catch (error) {
    book.sync = makeBookSync();
    throw error;
  }
};

const UNKNOWN_QUANTITY: QuantityRule = { venue_kind: null, contract_size: null, quantity_unit: 'base' };

const toAssembled = (book: Book, rule: QuantityRule): unknown => ({
  ...listTopLevels(book, TOP),
  sequence: book.sequence,
  collected_levels: countLevels(book),
  bands: sortByKey(sumBookBands(book, rule) as Readonly<Record<string, BandDepth>>),
});

const toGap = ({ venue, venue_symbol, received_at }: BookRecord, cause: GapCause): GapRecord => ({
  layer: 'gap',
  venue,
  venue_symbol,
  venue_ts: null,
  received_at,
  values: { scope: 'symbol', cause, of: ['book'] },
});
