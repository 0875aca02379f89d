// A store whose items are frozen between changes: a change around it throws where it happens.
import { copyBookState } from '../../../processors/task/books.ts';
import { type Connection, copyListing, type TaskState } from '../../../processors/task/state.ts';
import { createStore, type Store } from '../../../processors/task/store.ts';

const refuse = (): never => {
  throw new TypeError('the state of a task changes only through its store');
};
const REFUSED = { value: refuse };
const CHANGES = { set: REFUSED, add: REFUSED, delete: REFUSED, clear: REFUSED };

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  if (value instanceof Map || value instanceof Set) {
    for (const member of value.values()) freeze(member);
    Object.defineProperties(value, CHANGES);
  } else for (const member of Object.values(value)) freeze(member);
  Object.freeze(value);
};

const copyConnection = (held: Connection): Connection => ({
  ...held,
  ended: [...held.ended],
  failures: [...held.failures],
  unreadable: [...held.unreadable],
});

/** Changes of the items of one kind: each is on a fresh copy, which is frozen when the outermost change of the item ends. */
const guard = <T>(items: Map<string, T>, copy: (item: T) => T) => {
  const open = new Set<string>();
  for (const item of items.values()) freeze(item);
  return <R>(key: string, change: () => R): R => {
    const held = items.get(key);
    if (held === undefined || open.has(key)) return change();
    items.set(key, copy(held));
    open.add(key);
    try {
      return change();
    } finally {
      open.delete(key);
      freeze(items.get(key));
    }
  };
};

export const openFrozenStore = (state: TaskState): Store => {
  const store = createStore(state);
  const inConnection = guard(state.connections, copyConnection);
  const inListing = guard(state.listings, copyListing);
  const inBook = guard(state.books, copyBookState);
  return {
    ...store,
    addConnection: (connection) => {
      freeze(connection);
      store.addConnection(connection);
    },
    changeConnection: (connId, change) => inConnection(connId, () => store.changeConnection(connId, change)),
    addListing: (listing) => {
      freeze(listing);
      store.addListing(listing);
    },
    changeListing: (symbol, change) => inListing(symbol, () => store.changeListing(symbol, change)),
    addBook: (book) => {
      freeze(book);
      store.addBook(book);
    },
    changeBook: (key, change) => inBook(key, () => store.changeBook(key, change)),
  };
};
