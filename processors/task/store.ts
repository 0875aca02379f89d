// The state of a task and the only way to change it: items that a checkpoint has not saved yet are copied before a change (design section 5).
import { type BookState, copyBookState, toBookKey } from './books.ts';
import {
  type Connection,
  type CoreState,
  copyListing,
  type ListingState,
  type ListingView,
  type TaskState,
  type TaskView,
} from './state.ts';
import type { View } from './view.ts';

type BookView = View<BookState>;
/** Connections also belong to the core; they are changed individually. */
type Core = Omit<CoreState, 'connections'>;

/** Items of one kind that a checkpoint has not saved yet. */
type Unsaved<T> = {
  readonly size: number;
  /** The next item as of the checkpoint's start; null when none is left. */
  readonly take: () => { readonly key: string; readonly item: T } | null;
};

/** Items of a checkpoint in progress, as of its start. */
export type Snapshot = { readonly listings: Unsaved<ListingView>; readonly books: Unsaved<BookView> };

export type Store = {
  /** Changed by the `change…` functions; always the same object. */
  readonly state: TaskView;
  /** The core and the connections are saved at the start of a checkpoint, so their changes need no copy. */
  readonly changeCore: <R>(change: (core: Core) => R) => R;
  readonly addConnection: (connection: Connection) => void;
  readonly changeConnection: <R>(connId: string, change: (connection: Connection) => R) => R;
  readonly deleteConnection: (connId: string) => void;
  readonly addListing: (listing: ListingState) => void;
  /** Calls may nest, also for one listing. The listing is valid only during the call. Throws RangeError for an unknown listing. */
  readonly changeListing: <R>(symbol: string, change: (listing: ListingState) => R) => R;
  readonly addBook: (book: BookState) => void;
  /** By `toBookKey`, otherwise as `changeListing`. */
  readonly changeBook: <R>(key: string, change: (book: BookState) => R) => R;
  readonly deleteBook: (key: string) => void;
  /** From here on items are copied before they change. A checkpoint in progress is abandoned. */
  readonly beginSnapshot: () => Snapshot;
};

/** A copy costs a hundredth of the text of an item, and one record may change all items when windows are sealed. */
class CopyOnChange<T> implements Unsaved<T> {
  readonly #items: ReadonlyMap<string, T>;
  readonly #copy: (item: T) => T;
  /** By key; null for an unchanged item. */
  readonly #copies = new Map<string, T | null>();

  constructor(items: ReadonlyMap<string, T>, copy: (item: T) => T) {
    this.#items = items;
    this.#copy = copy;
  }

  get size(): number {
    return this.#copies.size;
  }

  begin(): void {
    this.#copies.clear();
    for (const key of this.#items.keys()) this.#copies.set(key, null);
  }

  /** Must be called before the item changes. */
  keep(key: string, item: T): void {
    if (this.#copies.get(key) === null) this.#copies.set(key, this.#copy(item));
  }

  take(): { readonly key: string; readonly item: T } | null {
    for (const [key, copy] of this.#copies) {
      this.#copies.delete(key);
      const item = copy ?? this.#items.get(key);
      if (item !== undefined) return { key, item };
    }
    return null;
  }
}

const find = <T>(items: ReadonlyMap<string, T>, key: string): T => {
  const item = items.get(key);
  if (item === undefined) throw new RangeError(`no "${key}" in the state of the task`);
  return item;
};

/** The store owns `state` from here on: its creator must not change it. */
export const createStore = (state: TaskState): Store => {
  const { connections, listings, books } = state;
  const unsavedListings = new CopyOnChange<ListingView>(listings, copyListing);
  const unsavedBooks = new CopyOnChange<BookView>(books, copyBookState);
  return {
    state,
    changeCore: (change) => change(state),
    addConnection: (connection) => void connections.set(connection.conn_id, connection),
    changeConnection: (connId, change) => change(find(connections, connId)),
    deleteConnection: (connId) => void connections.delete(connId),
    addListing: (listing) => void listings.set(listing.symbol, listing),
    changeListing: (symbol, change) => {
      const listing = find(listings, symbol);
      unsavedListings.keep(symbol, listing);
      return change(listing);
    },
    addBook: (book) => void books.set(toBookKey(book.symbol, book.connId), book),
    changeBook: (key, change) => {
      const book = find(books, key);
      unsavedBooks.keep(key, book);
      return change(book);
    },
    deleteBook: (key) => {
      unsavedBooks.keep(key, find(books, key));
      books.delete(key);
    },
    beginSnapshot: () => {
      unsavedListings.begin();
      unsavedBooks.begin();
      return { listings: unsavedListings, books: unsavedBooks };
    },
  };
};
