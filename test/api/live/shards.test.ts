// A connection that concerns two shards ends in the log of each on its own: what is known of a reading's connection is that of its listing's shard.
import t from 'tap';
import { deriveVenueState } from '../../../api/live/venue-state.ts';
import { RecentStates } from '../../../api/rules/recent-states.ts';
import type { Micros } from '../../../schemas/records.ts';
import { toShard } from '../../../schemas/shards.ts';
import type { BookLevels, Span } from '../../../schemas/topics.ts';
import {
  capability,
  Feed,
  LISTED,
  listing,
  listingValues,
  markReading,
  NOW,
  testApp,
} from '../../support/apps/live-fixture.ts';

const SECOND: Micros = 1_000_000;
const SHARDS = 2;
/** One listing of each shard. */
const SYMBOLS = ['BTCUSDT', 'ETHUSDT'];
const [FIRST = '', OTHER = ''] = SYMBOLS;
const LEVELS: BookLevels = {
  bids: [['99', '1']],
  asks: [['101', '1']],
  sequence: '1',
  collected_bids: 1,
  collected_asks: 1,
};
const BOOK_VALUES = { bid: '99', ask: '101', bid_size: '1', ask_size: '1', mid: '100', spread: '0.02' };
const SPAN: Span = { conn_id: 'c1', slot: 'market', from: LISTED, to: null, cause: null };

/** Marks and books of a connection that concerns both shards; both tasks have come close to now. */
const openMarket = (): Feed => {
  const feed = new Feed(['okx'], SHARDS);
  for (let partition = 0; partition < SHARDS; partition++) {
    feed.entry('okx', { kind: 'capability', capability: capability('okx') }, { partition });
    feed.entry('okx', { kind: 'connection', span: SPAN }, { partition });
    feed.entry('okx', { kind: 'watermark', watermark: NOW - 190_000 }, { partition });
  }
  for (const symbol of SYMBOLS) {
    const place = { partition: toShard(symbol, SHARDS) };
    const values = listingValues({ venue_symbol: symbol, base: symbol.slice(0, 3), instrument: `${symbol}-PERP` });
    feed.entry('okx', { kind: 'listing', symbol, listing: listing('okx', values) }, place);
    feed.entry('okx', { kind: 'reading', symbol, reading: markReading('100') }, place);
    feed.entry(
      'okx',
      { kind: 'reading', symbol, reading: markReading('100', { layer: 'book', values: BOOK_VALUES, book: LEVELS }) },
      place,
    );
  }
  return feed;
};

/** The log of one shard says that the connection ended. */
const lose = (feed: Feed, partition: number): void => {
  const span: Span = { ...SPAN, to: NOW - 100_000, cause: 'collector_down' };
  feed.entry('okx', { kind: 'connection', span }, { partition });
};

type Layers = {
  readonly venue_symbol: string;
  readonly layers: Readonly<Record<string, { readonly reason?: string }>>;
};
type Book = { readonly venue_symbol: string; readonly reason?: string };
type Screened = {
  readonly venues: readonly { readonly symbol: string; readonly values: { mark: { reason?: string } } }[];
};
type Status = { readonly venues: readonly { readonly layers: readonly { layer: string; present: number }[] }[] };

/** What each way of asking says of the two listings. */
const readReasons = async (feed: Feed) => {
  const { app, as } = await testApp(feed);
  const post = async <T>(url: string, body: Readonly<Record<string, unknown>>): Promise<T> => {
    const headers = { 'content-type': 'application/json', ...as('pro_plus') };
    return (await app.inject({ method: 'POST', url, headers, payload: JSON.stringify(body) })).json<T>();
  };
  const { items } = await post<{ items: Layers[] }>('/v2/snapshots', { layers: ['mark'] });
  const books = await post<{ items: Book[] }>('/v2/books', {});
  const query = 'count(venues where mark > 0) >= 0 select mark';
  const screened = await post<{ instruments: Screened[] }>('/v2/screen', { query });
  const status = (await app.inject({ url: '/status.json' })).json<Status>();
  await app.close();
  const name = (reasons: readonly (readonly [symbol: string, reason: string | undefined])[]) =>
    Object.fromEntries(reasons.map(([symbol, reason]) => [symbol, reason ?? 'present']));
  return {
    snapshots: name(items.map((item) => [item.venue_symbol, item.layers['mark']?.reason])),
    books: name(books.items.map((item) => [item.venue_symbol, item.reason])),
    screen: name(
      screened.instruments.flatMap(({ venues }) =>
        venues.map(({ symbol, values }) => [symbol, values.mark.reason] as const),
      ),
    ),
    present: status.venues[0]?.layers.find(({ layer }) => layer === 'mark')?.present,
  };
};

t.test('what was received by a connection is lost with its life in the shard of the listing', async (t) => {
  for (const [partition, lost, held] of [
    [toShard(FIRST, SHARDS), FIRST, OTHER],
    [toShard(OTHER, SHARDS), OTHER, FIRST],
  ] as const) {
    const feed = openMarket();
    lose(feed, partition);
    const reasons = { [lost]: 'connection_lost', [held]: 'present' };
    t.same(await readReasons(feed), { snapshots: reasons, books: reasons, screen: reasons, present: 1 });
  }
});

t.test('a shard that lags does not take back the end that another has reported', async (t) => {
  const feed = openMarket();
  lose(feed, toShard(FIRST, SHARDS));
  feed.entry('okx', { kind: 'connection', span: SPAN }, { partition: toShard(OTHER, SHARDS) });
  const { snapshots } = await readReasons(feed);
  t.same(snapshots, { [FIRST]: 'connection_lost', [OTHER]: 'present' });
});

t.test('rules know an end from when the shard of the listing has recorded it', async (t) => {
  const feed = openMarket();
  const states = new RecentStates(feed.memory);
  const [early, late] = [NOW - 2 * SECOND, NOW];
  const span: Span = { ...SPAN, to: NOW - 3 * SECOND, cause: 'venue_down' };
  for (const [symbol, recorded_at] of [
    [FIRST, early],
    [OTHER, late],
  ] as const)
    feed.entry('okx', { kind: 'connection', span, recorded_at }, { partition: toShard(symbol, SHARDS) });
  const reading = markReading('100', { received_at: NOW - 4 * SECOND });
  const lostAt = (venueSymbol: string, at: Micros) => states.lostAt({ venue: 'okx', venueSymbol }, reading, at);
  t.equal(lostAt(FIRST, early), span.to);
  t.equal(lostAt(OTHER, early), null);
  t.equal(lostAt(OTHER, late), span.to);
});

t.test('rules evaluate no instant whose replaced readings were not kept, whichever task lags', async (t) => {
  const feed = openMarket();
  const states = new RecentStates(feed.memory);
  states.keep('nothing');
  const partition = toShard(FIRST, SHARDS);
  const read = (mark: string, recorded_at: Micros): void => {
    const reading = markReading(mark, { recorded_at, received_at: recorded_at - 1_000 });
    feed.entry('okx', { kind: 'reading', symbol: FIRST, reading, recorded_at }, { partition });
  };
  for (let second = 1; second <= 4; second++) read(String(second), NOW + second * SECOND);
  feed.entry('okx', { kind: 'watermark', watermark: NOW + 4 * SECOND - 1_000 }, { partition });
  states.keep('states');
  t.ok(states.from > NOW + 3 * SECOND, `from ${states.from - NOW} µs on`);
});

t.test('a venue is degraded while a slot is lost in one of its shards, and down in none', async (t) => {
  const feed = openMarket();
  const venue = feed.memory.venue('okx');
  if (venue === undefined) throw new Error('not served');
  const derive = () => deriveVenueState(feed.memory, venue, NOW).state;
  t.equal(derive(), 'live');
  lose(feed, 0);
  t.equal(derive(), 'degraded');
  lose(feed, 1);
  t.equal(derive(), 'down');
});
