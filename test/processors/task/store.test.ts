// The store of a task: nothing changes around it, and a checkpoint contains the state at its begin, whatever changes meanwhile.
import fc from 'fast-check';
import t from 'tap';
import { beginRound, createRestorer, makeMarker, saveSome } from '../../../processors/runner/checkpoint.ts';
import { applySnapshot, applyUpdate } from '../../../processors/task/book.ts';
import { createBookState, toBookKey } from '../../../processors/task/books.ts';
import { createConnection } from '../../../processors/task/connections.ts';
import { createSeenIds, hasSeenId, rememberId } from '../../../processors/task/seen-ids.ts';
import {
  type CandleState,
  createLayer,
  createListing,
  createState,
  type ListingState,
  type TaskState,
} from '../../../processors/task/state.ts';
import { formatBook, formatCore, formatListing } from '../../../processors/task/state-json.ts';
import { createStore, type Store } from '../../../processors/task/store.ts';
import { Task } from '../../../processors/task/task.ts';
import type { CheckpointEntry, ListingVersion } from '../../../schemas/topics.ts';
import { openFrozenStore } from '../../support/tasks/frozen-store.ts';
import { runTask } from '../../support/tasks/task-driver.ts';
import { busyLog, SPEC } from '../../support/tasks/task-logs.ts';

const SYMBOLS = ['A', 'B', 'C'];
const CONNECTIONS = ['k1', 'k2'];
const NO_VERSION = { venue: 'none', written_at: 1, first_seen_at: 1, delisted_at: null, raw: null };
const makeVersion = (symbol: string): ListingVersion =>
  ({ ...NO_VERSION, venue_symbol: symbol, record: { venue_symbol: symbol } }) as unknown as ListingVersion;

const OPERATIONS = [
  'rev',
  'fault',
  'window',
  'event',
  'minute',
  'version',
  'book',
  'forget',
  'connection',
  'core',
] as const;
type Operation = {
  readonly kind: (typeof OPERATIONS)[number];
  readonly symbol: string;
  readonly connId: string;
  readonly n: number;
};
const operations: fc.Arbitrary<Operation[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...OPERATIONS),
    symbol: fc.constantFrom(...SYMBOLS),
    connId: fc.constantFrom(...CONNECTIONS),
    n: fc.nat(50),
  }),
  { minLength: 20, maxLength: 120 },
);

const changeListing = (listing: ListingState, { kind, symbol, connId, n }: Operation): void => {
  const layer = listing.layers.get('mark') ?? createLayer();
  listing.layers.set('mark', layer);
  const events = listing.events.get('trade') ?? { seen: createSeenIds(), delivered: [], since: n };
  listing.events.set('trade', events);
  const candles: CandleState = listing.candles.trade ?? { minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} };
  listing.candles.trade = candles;
  if (kind === 'rev') layer.rev += n;
  if (kind === 'fault')
    layer.faults.push({ from: n, to: null, cause: n % 2 === 0 ? 'sequence_break' : 'crossed_book' });
  if (kind === 'window') layer.delivered.push(`${connId}${n}`);
  if (kind === 'event' && !hasSeenId(events.seen, `${n}`)) rememberId(events.seen, `${n}`, n);
  if (kind === 'minute') {
    candles.proved[n] = true;
    candles.newest[connId] = n;
    delete candles.proved[n - 1];
  }
  if (kind === 'version') {
    listing.before.push(listing.version);
    listing.version = { ...makeVersion(symbol), written_at: n };
  }
};

const changeBook = (store: Store, { symbol, connId, n }: Operation): void => {
  const key = toBookKey(symbol, connId);
  if (!store.state.books.has(key)) store.addBook(createBookState(symbol, connId));
  store.changeBook(key, (book) => {
    const levels = { bids: [[`${n}`, `${n % 4}`] as const], asks: [[`${n + 60}`, '1'] as const], sequence: `${n}` };
    (n % 7 === 0 ? applySnapshot : applyUpdate)(book.levels, levels);
    book.bucket = n;
  });
};

const apply = (store: Store, operation: Operation): void => {
  const { kind, symbol, connId, n } = operation;
  const key = toBookKey(symbol, connId);
  if (kind === 'book') return changeBook(store, operation);
  if (kind === 'forget') return store.state.books.has(key) ? store.deleteBook(key) : undefined;
  if (kind === 'core') return store.changeCore((core) => void core.unknown.add(`${n}`));
  if (kind === 'connection') {
    const span = { conn_id: connId, slot: 'market', from: n, to: null, cause: null };
    if (!store.state.connections.has(connId)) store.addConnection(createConnection(span, n));
    return store.changeConnection(connId, ({ unreadable }) => void unreadable.push(n));
  }
  if (!store.state.listings.has(symbol)) store.addListing(createListing(makeVersion(symbol)));
  store.changeListing(symbol, (listing) => changeListing(listing, operation));
};

/** All items as text, in the order of a checkpoint. */
const listTexts = ({ state }: Store): string[] => [
  formatCore(state),
  ...[...state.listings.values()].map(formatListing),
  ...[...state.books.values()].map(formatBook),
];

type Life = { readonly store: Store; readonly task: Task };
const live = (openStore: (state: TaskState) => Store, state = createState()): Life => {
  const store = openStore(state);
  return { store, task: new Task({ ...SPEC, openStore: () => store }) };
};

t.test('random changes, with a checkpoint cut and restored anywhere, give the same bytes', (t) => {
  let changed = 0;
  const isSame = fc.property(operations, fc.nat(100), fc.nat(3), (all, share, pace) => {
    const cut = Math.floor((all.length * share) / 100);
    const { store, task } = live(createStore);
    for (const operation of all.slice(0, cut)) apply(store, operation);
    const stood = listTexts(store);
    const entries: CheckpointEntry[] = [];
    const save = (entry: CheckpointEntry): void => void entries.push(entry);
    const round = beginRound(task, save);
    for (const operation of all.slice(cut)) {
      apply(store, operation);
      saveSome(round, { most: pace, deadline: Number.POSITIVE_INFINITY }, save);
    }
    saveSome(round, { most: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY }, save);
    save(makeMarker(round));
    const bodies = entries.flatMap(({ body }) => body ?? []);
    if (JSON.stringify(bodies) !== JSON.stringify(stood)) return false;
    if (JSON.stringify(listTexts(store)) !== JSON.stringify(stood)) changed += 1;
    const restorer = createRestorer();
    for (const entry of entries) restorer.add(JSON.parse(JSON.stringify(entry)) as CheckpointEntry);
    const state = restorer.state();
    if (state === null) return false;
    const next = live(createStore, state);
    for (const operation of all.slice(cut)) apply(next.store, operation);
    return JSON.stringify(listTexts(next.store)) === JSON.stringify(listTexts(store));
  });
  fc.assert(isSame, { numRuns: 300, seed: 22 });
  t.ok(changed > 200, `${changed} states had changed before they were saved`);
  t.end();
});

t.test('at run time a change around the store throws', (t) => {
  const records = busyLog().records.slice(0, 600);
  const { task, outputs } = runTask(SPEC, records);
  const plain = new Task(SPEC);
  t.same(
    JSON.stringify(outputs),
    JSON.stringify(records.map((record) => plain.process(record))),
    'frozen items change nothing',
  );
  const state = task.state as TaskState;
  const [listing] = [...state.listings.values()];
  const [book] = [...state.books.values()];
  const [connection] = [...state.connections.values()];
  const layer = listing?.layers.get('mark');
  if (!listing || !book || !connection || !layer) return t.fail('the log has one of each');
  const arounds: (() => void)[] = [
    () => listing.layers.clear(),
    () => void listing.before.push(listing.version),
    () => Object.assign(layer, { rev: 1 }),
    () => layer.windows.delete(0),
    () => void book.levels.bids.keys.push(1),
    () => Object.assign(connection, { lastSeq: 0 }),
    () => void connection.ended.pop(),
  ];
  for (const around of arounds) t.throws(around, TypeError, String(around));
  t.end();
});

t.test('what a change was given is of no use after it', (t) => {
  const store = openFrozenStore(createState());
  store.addListing(createListing(makeVersion('A')));
  const leaked = store.changeListing('A', (outer) => {
    store.changeListing('A', (inner) => t.equal(inner, outer, 'changes of one listing nest'));
    outer.before.push(outer.version);
    return outer;
  });
  t.throws(() => leaked.before.pop(), TypeError);
  t.equal(store.state.listings.get('A')?.before.length, 1);
  t.throws(() => store.changeListing('B', () => undefined), RangeError);
  t.end();
});

/** Never called: each line is a change around the store, and the compiler must refuse it. */
const refusedByTypes = ({ state, changeListing: change }: Store): void => {
  const take = (_: ListingState): void => undefined;
  const takeCandles = (_: CandleState): void => undefined;
  for (const listing of state.listings.values()) {
    // @ts-expect-error a listing handed out is no listing to change
    take(listing);
    // @ts-expect-error nor are its candles, which have no arrays and maps
    if (listing.candles.trade) takeCandles(listing.candles.trade);
    // @ts-expect-error its layers are handed out as a readonly map
    listing.layers.clear();
    // @ts-expect-error its members are readonly
    listing.version = makeVersion('A');
    change(listing.symbol, take);
  }
  for (const connection of state.connections.values()) {
    // @ts-expect-error so are a connection's
    connection.lastSeq = 1;
    // @ts-expect-error
    connection.ended.pop();
  }
  // @ts-expect-error so are a book's levels
  for (const book of state.books.values()) book.levels.bids.keys.push(1);
  // @ts-expect-error items are added by the store only
  state.listings.delete('A');
};
void refusedByTypes;
