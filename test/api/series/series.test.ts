// Series over a real QuestDB: what is loaded, what `live` adds, which period is the newest, why an element is none (DQL-25 to DQL-29).
import t from 'tap';
import type { HistoryStore } from '../../../api/history/store.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { type Awaiting, openSeriesCache, SeriesCache } from '../../../api/series/cache.ts';
import { Column } from '../../../api/series/column.ts';
import { type ColumnSpec, isQuantitySpec } from '../../../api/series/column-spec.ts';
import { fillFromStore, type Target } from '../../../api/series/load.ts';
import { listDocumentedQueries } from '../../../infra/dev/tools/documented-queries.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { ListingVersion, Row } from '../../../schemas/topics.ts';
import {
  Feed,
  LISTED,
  listing,
  listingValues,
  markReading,
  micros,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';
import { type Bar, candle, HOUR, MINUTE, sampled, withCandles } from '../../support/screen/market.ts';

t.setTimeout(900_000);
const { history: store, write } = await openTestStore(t, await useEngines(t, ['questdb']));
/** Counts the queries of a store. */
const counting = () => {
  const seen = { begun: 0 };
  const counted: HistoryStore = {
    begin: () => {
      seen.begun++;
      return store.begin();
    },
    isReachable: store.isReachable,
  };
  return { seen, store: counted };
};

const NOON = micros('2026-01-15T12:00:00.000Z');
const BTC = { venue: 'binance', symbol: 'BTCUSDT' } as const;
const ETH = { venue: 'binance', symbol: 'ETHUSDT' } as const;

const hourly = (of: { venue: string; symbol: string }, open: Micros, bar: Bar | 'empty' | null): Row =>
  candle({ ...of, timeframe: '1h', length: HOUR, open }, bar);

/** Closes 101 to 110 of the ten hours before noon. */
const makeCloses = (of: { venue: string; symbol: string }, skip: readonly number[] = []): Row[] =>
  Array.from({ length: 10 }, (_, i): Row => {
    const close = String(101 + i);
    const bar = skip.includes(i)
      ? null
      : { open: '100', high: String(103 + i), low: String(100 + i), close, volume: '2' };
    return hourly(of, NOON - (10 - i) * HOUR, bar);
  });

const funding = (received: Micros, value: string, over = {}): Row =>
  sampled({ ...BTC, layer: 'funding' }, received, { values: { funding: value, funding_8h: value }, ...over });

await write([
  ...makeCloses(BTC),
  ...makeCloses(ETH, [4]),
  hourly(BTC, NOON - 20 * HOUR, 'empty'),
  // A correction that came too late to count (H-13).
  { ...hourly(BTC, NOON - 3 * HOUR, { open: '100', high: '999', low: '1', close: '999' }), flags: { late: true } },
  funding(NOON - 2 * HOUR - 30 * MINUTE, '0.0001'),
  funding(NOON - 2 * HOUR - 10 * MINUTE, '0.0002'),
  funding(NOON - 2 * HOUR, '0.0003'),
  funding(NOON - HOUR - 5 * MINUTE, '0.0009', { late: true }),
  funding(NOON - HOUR - 10 * MINUTE, '0.0004'),
  funding(NOON - 20 * MINUTE, '0.0005'),
]);

const newFeed = (btc: Partial<ListingVersion> = {}): Feed => {
  const feed = new Feed(['binance']);
  feed.venue('binance', withCandles('binance'));
  feed.list({ ...listing('binance', listingValues()), ...btc });
  feed.list(listing('binance', listingValues({ instrument: 'ETH-PERP', venue_symbol: 'ETHUSDT', base: 'ETH' })));
  for (const symbol of ['BTCUSDT', 'ETHUSDT']) {
    feed.read('binance', symbol, reading());
    feed.read('binance', symbol, markReading('105'));
  }
  feed.memory.applyHistoryWatermark('binance', 0, NOW);
  return feed;
};

type Shown = {
  value: unknown;
  unit: string;
  status: string;
  reason?: string;
  candle_end?: string;
  bars?: number;
  received_at: string | null;
  age_ms: number | null;
};
type Answer = {
  instruments: { instrument: string; result: string; venues: { symbol: string; values: Record<string, Shown> }[] }[];
  settled: boolean;
  items_sha256: string;
  errors?: { code: string }[];
};

const screener = async (feed: Feed, history: HistoryStore = store, nowMicros = () => NOW) => {
  const { app, as } = await testApp(feed, { history, nowMicros });
  t.teardown(() => app.close());
  return async (body: Readonly<Record<string, unknown>>): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', ...as('pro_plus') };
    const answer = await app.inject({ method: 'POST', url: '/v2/screen', headers, payload: JSON.stringify(body) });
    return answer.json<Answer>();
  };
};

/** One expression at the listings of BTC-PERP and ETH-PERP. */
const shown = async (ask: Awaited<ReturnType<typeof screener>>, expression: string, clauses = ''): Promise<Shown[]> => {
  const { instruments, errors } = await ask({ query: `${clauses} select ${expression}` });
  if (errors !== undefined) throw new Error(`${expression}: ${JSON.stringify(errors)}`);
  return instruments.flatMap(({ venues }) => venues.flatMap(({ values }) => Object.values(values)));
};
const worth = ({ value, reason }: Shown): unknown => (value === null ? reason : value);

/** Two hundred seconds after noon: the candle of the last hour is sealed, and its watermark published. */
const LATER = NOON + 200_000_000;

t.test('functions read the stored candles up to the newest sealed one', async (t) => {
  const feed = newFeed();
  feed.watermark('binance', LATER - 1_000_000);
  feed.memory.applyHistoryWatermark('binance', 0, LATER);
  const ask = await screener(feed, store, () => LATER);
  const [btc, eth] = await shown(ask, 'sma(close, 3, 1h)');
  t.match(btc, {
    value: 109,
    unit: 'quote',
    layer: 'candles',
    venue_ts: null,
    status: 'present',
    timeframe: '1h',
    bars: 3,
    candle_end: formatInstant(NOON),
    received_at: formatInstant(NOON + 500_000),
    age_ms: 199_500,
  });
  t.equal(eth?.value, 109);
  t.same((await shown(ask, 'sma(close, 7, 1h)')).map(worth), [107, 'gap']);
  t.same((await shown(ask, 'gaps(10, 1h)')).map(worth), [0, 1]);
  t.same((await shown(ask, 'gaps(12, 1h)')).map(worth), [2, 3]);
  t.same((await shown(ask, 'gaps(200, 1h)')).map(worth), ['insufficient_history', 'insufficient_history']);
  t.same((await shown(ask, 'sma(close, 200, 1h)')).map(worth), ['gap', 'gap']);
  t.same((await shown(ask, 'prev(volume, 19, 1h)')).map(worth), ['gap', 'gap']);
  t.same((await shown(ask, 'close', 'timeframe 1h')).map(worth), [110, 110]);
  t.same((await shown(ask, 'crossover(close, 109.5, 1h)')).map(worth), [true, true]);
  t.same((await shown(ask, 'mark_volume', 'timeframe 1h')).map(worth), ['venue_capability', 'venue_capability']);
  t.same((await shown(ask, 'mark_close', 'timeframe 1h')).map(worth), ['gap', 'gap']);
});

t.test('the first period of a listing is the one whose window has its first sight (DQL-27, H-06)', async (t) => {
  for (const [firstSeen, third] of [
    [NOON - 2 * HOUR, 0.0003],
    [NOON - 2 * HOUR + 1, 'insufficient_history'],
  ] as const) {
    const feed = newFeed({ first_seen_at: firstSeen });
    feed.watermark('binance', LATER - 1_000_000);
    feed.memory.applyHistoryWatermark('binance', 0, LATER);
    const ask = await screener(feed, store, () => LATER);
    for (const moment of ['', ` as of ${formatInstant(LATER - 1)}`])
      for (const [ago, expected] of [
        [1, 0.0004],
        [2, third],
        [3, 'insufficient_history'],
      ] as const) {
        const [btc] = await shown(ask, `prev(funding, ${ago}, 1h)${moment}`);
        t.equal(btc && worth(btc), expected, `${ago} periods before noon${moment}, seen at ${firstSeen}`);
      }
  }
});

t.test('a count is a number in both formats, also as an aggregate and in its parts (N-06)', async (t) => {
  const feed = newFeed();
  feed.watermark('binance', LATER - 1_000_000);
  const ask = await screener(feed, store, () => LATER);
  const query = 'where base = BTC select gaps(10, 1h), max(venues, gaps(10, 1h)), sma(close, 1, 1h)';
  const { instruments } = await ask({ query, number_format: 'string' });
  const [
    {
      values,
      venues: [listing],
    } = { values: {}, venues: [] },
  ] = instruments as never as [{ values: Record<string, unknown>; venues: { values: Record<string, Shown> }[] }];
  t.match(values, { 'max(venues, gaps(10, 1h))': { value: 0, from: [{ value: 0 }] } });
  t.match(listing?.values, { 'gaps(10, 1h)': { value: 0 }, 'sma(close, 1, 1h)': { value: '110' } });
});

t.test(
  'the store says when candles were recorded: of prices the newest, of quantities all of them (DQL-26, N-07)',
  async (t) => {
    const reach = { first: NOON / HOUR - 9, last: NOON / HOUR };
    const [close, volume] = ['close', 'volume'].map((member): Target => {
      const spec: ColumnSpec = { kind: 'candles', priceType: 'trade', member, timeframe: '1h' };
      const column = new Column(reach.first, reach.last, { isQuantity: isQuantitySpec(spec), keepsLastRow: true });
      return { venue: BTC.venue, symbol: BTC.symbol, spec, column };
    }) as [Target, Target];
    for (const target of [close, volume]) {
      const fillings = fillFromStore(store.begin(), { spec: target.spec, targets: [target], reach });
      await Promise.all(fillings.map(({ done }) => done));
    }
    const [oldest, ...later] = Array.from({ length: 9 }, (_, i) => reach.last - 8 + i) as [number, ...number[]];
    const recordedAt = (period: number): Micros => period * HOUR + 600_000;
    t.same(
      later.map((period) => close.column.cameAt(period)),
      later.map(recordedAt),
    );
    t.equal(close.column.cameAt(oldest), Number.NEGATIVE_INFINITY, 'long ago');
    t.same(
      [...(volume.column.copyRecorded(reach.last, 10) ?? [])],
      Array.from({ length: 10 }, (_, i) => recordedAt(reach.first + i)),
    );
  },
);

t.test('a candle that may still come is not awaited: the period before it is the newest', async (t) => {
  const feed = newFeed();
  feed.watermark('binance', NOW - 190_000);
  const [btc] = await shown(await screener(feed), 'close', 'timeframe 1h');
  t.match(btc, { value: 110, candle_end: formatInstant(NOON) }, 'it is here already');
  const [minute] = await shown(await screener(feed), 'gaps(5, 1m)');
  t.match(minute, { value: 5, candle_end: formatInstant(NOON - 2 * MINUTE) });
});

t.test('a completed candle counts once it has come, in its last form (DQL-26, H-13)', async (t) => {
  const feed = newFeed();
  let now = NOON + HOUR + 5_000_000;
  feed.watermark('binance', now - 1_000_000);
  feed.memory.applyHistoryWatermark('binance', 0, now - 110_000_000);
  const ask = await screener(feed, store, () => now);
  const put = (kind: 'provisional' | 'sealed', close: string, receivedAfter: number): void => {
    const row = hourly(BTC, NOON, { close });
    const received_at = NOON + HOUR + receivedAfter;
    feed.entry('binance', { kind, symbol: 'BTCUSDT', row: { ...row, instants: { ...row.instants, received_at } } });
  };
  const close = async (): Promise<unknown> => {
    const found = await shown(ask, 'close', 'timeframe 1h');
    return found.map(({ value, candle_end }) => [value, candle_end]);
  };
  const eth = [110, formatInstant(NOON)];
  t.same(await close(), [[110, formatInstant(NOON)], eth]);
  put('provisional', '120', 900_000);
  t.same(await close(), [[120, formatInstant(NOON + HOUR)], eth]);
  put('provisional', '121', 800_000);
  t.same(await close(), [[121, formatInstant(NOON + HOUR)], eth], 'the last in the log, received earlier');
  const again = await screener(feed, store, () => now);
  t.same(
    (await shown(again, `close as of ${formatInstant(now)}`, 'timeframe 1h')).map(worth),
    [121, 'gap'],
    'as of an instant that is not settled',
  );
  put('sealed', '122', 700_000);
  now = NOON + HOUR + 101_000_000;
  feed.watermark('binance', now);
  t.match((await shown(ask, 'close', 'timeframe 1h'))[0], { value: 122, candle_end: formatInstant(NOON + HOUR) });
});

t.test(
  'a completed candle without trades is the newest one, and keeps no newer one from counting (DQL-26, H-12)',
  async (t) => {
    const feed = newFeed();
    const now = NOON + 3 * MINUTE + 5_000_000;
    feed.watermark('binance', now - 1_000_000);
    feed.memory.applyHistoryWatermark('binance', 0, now - 110_000_000);
    const ask = await screener(feed, store, () => now);
    const put = (minute: number, bar: Bar | 'empty'): void => {
      const row = candle({ ...BTC, timeframe: '1m', length: MINUTE, open: NOON + minute * MINUTE }, bar);
      feed.entry('binance', { kind: 'provisional', symbol: 'BTCUSDT', row });
    };
    const newest = async (source: string): Promise<unknown> => {
      const [found] = await shown(ask, source, 'timeframe 1m');
      return [found && worth(found), found?.candle_end];
    };
    put(0, { close: '120', volume: '3' });
    put(1, 'empty');
    t.same(await newest('close'), ['gap', formatInstant(NOON + 2 * MINUTE)], 'no older price in its place');
    t.same(await newest('volume'), [0, formatInstant(NOON + 2 * MINUTE)]);
    put(2, { close: '122', volume: '1' });
    t.same(await newest('close'), [122, formatInstant(NOON + 3 * MINUTE)]);
    t.same(await newest('gaps(3)'), [0, formatInstant(NOON + 3 * MINUTE)]);
  },
);

t.test('a field is read as the last reading of each period, late ones not at all', async (t) => {
  const feed = newFeed();
  const ask = await screener(feed);
  const at = async (k: number) => worth((await shown(ask, `prev(funding, ${k}, 1h)`))[0] as Shown);
  t.equal(worth((await shown(ask, 'sma(funding, 1, 1h)'))[0] as Shown), 0.0005);
  t.equal(await at(1), 0.0004);
  t.equal(await at(2), 0.0003, 'a reading at the boundary belongs to the period that ends there');
  t.equal(await at(3), 'gap');
  const [first] = await shown(ask, 'sma(funding, 2, 1h)');
  t.match(first, { layer: 'funding', unit: 'fraction', received_at: formatInstant(NOON - 20 * MINUTE) });
});

t.test('once warm, a live screen reads no database, and rows of live extend its columns', async (t) => {
  const { seen, store: counted } = counting();
  const feed = newFeed();
  let now = NOW;
  const ask = await screener(feed, counted, () => now);
  t.equal(worth((await shown(ask, 'sma(close, 3, 1h)'))[0] as Shown), 109);
  t.equal(seen.begun, 1);
  now = NOON + HOUR + 101_000_000;
  feed.entry('binance', { kind: 'sealed', symbol: 'BTCUSDT', row: hourly(BTC, NOON, { close: '120' }) });
  feed.entry('binance', { kind: 'sealed', symbol: 'ETHUSDT', row: hourly(ETH, NOON, null) });
  feed.watermark('binance', now - 100_000);
  t.same((await shown(ask, 'sma(close, 3, 1h)')).map(worth), [113, 'gap']);
  t.equal(seen.begun, 1);
  await shown(ask, 'sma(close, 3, 1h)', 'as of 2026-01-15T11:30Z');
  t.equal(seen.begun, 2, 'the past is read from the store');
  t.ok(openSeriesCache(feed.memory).bytes > 0);
});

const selectAll = (feed: Feed) =>
  findDirectory(feed.memory).listings.map((listing) => ({ listing, version: listing.versions[0] as never }));

/** Waits as a caller does that reads nothing. */
const finish = async (awaited: Awaiting | null): Promise<void> => {
  await awaited?.done.finally(awaited.release);
};

t.test('the cache keeps to its bytes: the columns used longest ago go first', async (t) => {
  const feed = newFeed();
  const listings = selectAll(feed);
  const spec = (member: string) => ({ kind: 'candles', priceType: 'trade', member, timeframe: '1h' }) as const;
  const cache = new SeriesCache(feed.memory, 20_000);
  const ensure = (member: string) =>
    cache.ensure(listings, [{ spec: spec(member), bars: 10 }], { at: NOW, begin: () => store.begin() });
  await finish(ensure('close'));
  t.equal(ensure('close'), null, 'nothing to wait for');
  for (const member of ['open', 'high', 'low', 'volume']) await finish(ensure(member));
  t.ok(cache.bytes <= 20_000, `${cache.bytes}`);
  t.not(ensure('close'), null);
  t.equal(ensure('volume'), null);
});

t.test('what a load has read before it fails is kept, and the next call reads the rest (E-07)', async (t) => {
  const feed = newFeed();
  const first_seen_at = NOON - 3_000 * HOUR;
  for (let i = 0; i < 98; i++) {
    const values = listingValues({ instrument: `B${i}-PERP`, venue_symbol: `B${i}USDT`, base: `B${i}` });
    feed.list({ ...listing('binance', values), first_seen_at });
  }
  const listings = selectAll(feed);
  t.equal(listings.length, 100);
  const cache = new SeriesCache(feed.memory);
  let statements = 0;
  /** A reader that is refused from a statement on, as at the end of its time. */
  const ensure = (answered: number) =>
    cache.ensure(
      listings,
      [{ spec: { kind: 'candles', priceType: 'trade', member: 'close', timeframe: '1h' }, bars: 2_000 }],
      {
        at: NOW,
        begin: () => {
          const reader = store.begin();
          const query = reader.query.bind(reader);
          reader.query = (asked) => {
            statements += 1;
            return statements > answered ? Promise.reject(new Error('too late')) : query(asked);
          };
          return reader;
        },
      },
    );
  await t.rejects(finish(ensure(2)), { message: 'too late' });
  t.equal(statements, 3);
  await finish(ensure(4));
  t.equal(statements, 4, 'the columns of the refused statement alone');
  t.equal(ensure(4), null, 'nothing to wait for');
});

t.test('a query whose series are not read in time says that the next one continues (SC-06)', async (t) => {
  const waiting: HistoryStore = {
    begin: () => Object.assign(store.begin(), { query: () => new Promise(() => undefined) }),
    isReachable: async () => true,
  };
  const { errors } = await (await screener(newFeed(), waiting))({ query: 'select sma(close, 3, 1h)' });
  t.match(errors, [{ code: 'DQL_LIMIT', message: /longer than 5 seconds/, hint: /^Repeat the query: / }]);
});

t.test('an answer as of an instant is the same bytes whenever it is requested', async (t) => {
  const query =
    'as of 2026-01-15T11:30Z timeframe 1h select close, sma(close, 2), funding, sma(funding, 1), status(mark)';
  const first = await (await screener(newFeed()))({ query });
  const feed = newFeed();
  feed.watermark('binance', LATER);
  const second = await (await screener(feed, store, () => LATER))({ query });
  t.equal(first.items_sha256, second.items_sha256);
  t.equal(second.settled, true);
  // Memory then holds rows of hours that are near the asked ones, or far after them.
  for (const hours of [1, 9, 63, 64, 65, 66, 70, 200, 500]) {
    const now = LATER + hours * HOUR;
    const later = newFeed();
    for (let hour = Math.max(0, hours - 12); hour < hours; hour++) {
      const bar = { close: '120' };
      later.entry('binance', { kind: 'sealed', symbol: 'BTCUSDT', row: hourly(BTC, NOON + hour * HOUR, bar) });
      later.entry('binance', { kind: 'sealed', symbol: 'ETHUSDT', row: hourly(ETH, NOON + hour * HOUR, bar) });
    }
    later.watermark('binance', now);
    const third = await (await screener(later, store, () => now))({ query });
    t.equal(third.items_sha256, first.items_sha256, `${hours} hours later`);
  }
  const [{ values } = { values: {} }] = first.instruments[0]?.venues ?? [];
  t.match(values, {
    close: { value: 109, candle_end: formatInstant(NOON - HOUR), age_ms: 1_799_500 },
    'sma(close, 2)': { value: 108.5 },
    funding: { value: null, status: 'stale', reason: 'freshness_bound', age_ms: 30 * 60_000 + 10 * 60_000 },
    'sma(funding, 1)': { value: 0.0004, candle_end: formatInstant(NOON - HOUR) },
    'status(mark)': { value: 'missing' },
  });
});

/** An expression at the listing of BTC-PERP, in the requested units. */
const btcIn = async (feed: Feed, units: string, expression: string): Promise<Shown> => {
  const ask = await screener(feed);
  const { instruments } = await ask({ query: `select ${expression} timeframe 1h where base = BTC`, units });
  return Object.values(instruments[0]?.venues[0]?.values ?? {})[0] as Shown;
};

t.test('quantities of series convert with the mark of each period’s own end (DQL-33h)', async (t) => {
  const mark = (received: Micros, price: string): Row =>
    sampled({ ...BTC, layer: 'mark' }, received, { values: { mark: price } });
  await write([
    mark(NOON - HOUR - 5_000_000, '50'),
    mark(NOON - 13_000_000, '60'),
    // Too old at the end of its period: there was no mark.
    mark(NOON - 2 * HOUR - 40_000_000, '70'),
  ]);
  const feed = newFeed();
  feed.list(listing('binance', listingValues({ multiplier: '0.5' }), { writtenAt: LISTED + 1 }));
  t.match(await btcIn(feed, 'published', 'rolling_sum(volume, 3)'), { value: 6, unit: 'base' });
  t.match(await btcIn(feed, 'base', 'rolling_sum(volume, 3)'), { value: 3, unit: 'base' });
  t.match(await btcIn(feed, 'quote', 'rolling_sum(volume, 2)'), { value: 220, unit: 'quote' });
  t.match(await btcIn(feed, 'quote', 'rolling_sum(volume, 3)'), { value: null, reason: 'unit_unknown' });
  t.match(await btcIn(feed, 'quote', 'sma(close, 2)'), { value: 109.5, unit: 'quote' });
});

t.test('a series counts in the unit of its rows, whatever the unit of its listing is (N-07, N-08)', async (t) => {
  // The candles in the store are in base, as those of Deribit's BTC-PERPETUAL, whose amounts are in USD.
  for (const rules of [
    { venue_kind: 'inverse', quantity_unit: 'quote', contract_size: '10', multiplier: '0.5' },
    { venue_kind: 'inverse', quantity_unit: 'contracts', contract_size: '10', multiplier: '0.5' },
    { venue_kind: 'linear', quantity_unit: 'contracts', contract_size: '10', multiplier: '0.5' },
  ] as const) {
    const feed = newFeed();
    feed.list(listing('binance', listingValues(rules), { writtenAt: LISTED + 1 }));
    const title = `${rules.venue_kind}, ${rules.quantity_unit}`;
    t.match(await btcIn(feed, 'published', 'rolling_sum(volume, 3)'), { value: 6, unit: 'base' }, title);
    // At the end of the oldest of the three there was no mark, and none is needed.
    t.match(await btcIn(feed, 'base', 'rolling_sum(volume, 3)'), { value: 3, unit: 'base' }, title);
    t.match(await btcIn(feed, 'quote', 'rolling_sum(volume, 2)'), { value: 220, unit: 'quote' }, title);
  }
});

t.test('each row of a series converts from its own unit, from the store and from memory (N-07)', async (t) => {
  const makeRows = (symbol: string): Row[] => {
    const of = { venue: 'binance', symbol };
    return [
      hourly(of, NOON - 2 * HOUR, { volume: '4', unit: 'contracts' }),
      hourly(of, NOON - HOUR, { volume: '4', unit: 'base' }),
      sampled({ ...of, layer: 'oi' }, NOON - 13_000_000, { values: { oi: '7' }, quantity_unit: 'contracts' }),
    ];
  };
  const feed = newFeed();
  const rules = { quantity_unit: 'quote', contract_size: '0.5', multiplier: '3' } as const;
  for (const base of ['SOL', 'XRP']) {
    const names = { instrument: `${base}-PERP`, base, venue_symbol: `${base}USDT` };
    feed.list(listing('binance', listingValues({ ...rules, ...names })));
  }
  await write(makeRows('SOLUSDT'));
  for (const row of makeRows('XRPUSDT')) feed.entry('binance', { kind: 'sealed', symbol: 'XRPUSDT', row });
  const ask = await screener(feed);
  for (const [units, expected] of [
    ['published', { 'sma(volume, 1)': { value: 4, unit: 'base' }, 'sma(oi, 1)': { value: 7, unit: 'contracts' } }],
    ['base', { 'rolling_sum(volume, 2)': { value: 18, unit: 'base' }, 'sma(oi, 1)': { value: 10.5, unit: 'base' } }],
  ] as const) {
    const query = `select ${Object.keys(expected).join(', ')} timeframe 1h where base in (SOL, XRP)`;
    const { instruments } = await ask({ query, units });
    t.match(
      instruments.map(({ venues }) => venues[0]?.values),
      [expected, expected],
      units,
    );
  }
});

t.test('a volume without one unit is unit_unknown, from the store and from memory (L-07, H-13)', async (t) => {
  const makeRows = (symbol: string): Row[] => [
    hourly({ venue: 'binance', symbol }, NOON - 3 * HOUR, { close: '8', volume: '4', unit: 'base' }),
    hourly({ venue: 'binance', symbol }, NOON - 2 * HOUR, { close: '9', unitsDiffer: true }),
    hourly({ venue: 'binance', symbol }, NOON - HOUR, { close: '10', volume: '5', unit: 'contracts' }),
  ];
  const feed = newFeed();
  for (const base of ['ADA', 'LTC']) {
    const names = { instrument: `${base}-PERP`, base, venue_symbol: `${base}USDT` };
    feed.list(listing('binance', listingValues({ quantity_unit: 'contracts', contract_size: '1', ...names })));
  }
  await write(makeRows('ADAUSDT'));
  for (const row of makeRows('LTCUSDT')) feed.entry('binance', { kind: 'sealed', symbol: 'LTCUSDT', row });
  const ask = await screener(feed);
  const unknown = { value: 'unit_unknown', status: 'missing' };
  for (const units of ['published', 'base']) {
    for (const [at, volume, close] of [
      ['', { value: 5, status: 'present' }, 10],
      [`as of ${formatInstant(NOON - HOUR)}`, { ...unknown, status: 'present' }, 9],
    ] as const) {
      const query = `select close, gaps(2), prev(volume, 1), volume timeframe 1h where base in (ADA, LTC) ${at}`;
      const { instruments } = await ask({ query, units });
      const found = instruments.map(({ venues }) =>
        Object.values(venues[0]?.values ?? {}).map((one) => ({ value: worth(one), status: one.status })),
      );
      const present = [close, 0].map((value) => ({ value, status: 'present' }));
      const expected = [...present, unknown, volume];
      t.same(found, [expected, expected], `${units} ${at}`);
    }
  }
});

t.test(
  'a source without a function has the published digits, also where a double does not give them back (N-05)',
  async (t) => {
    const LONG = { close: '110.12345678901234567', volume: '2.00000000000000000001' };
    const feed = newFeed();
    const ask = await screener(feed, store, () => LATER);
    feed.watermark('binance', LATER);
    t.same((await shown(ask, 'close', 'timeframe 1h')).map(worth), [110, 110]);
    await write([hourly(BTC, NOON, LONG)]);
    for (const symbol of ['BTCUSDT', 'ETHUSDT']) {
      feed.entry('binance', { kind: 'sealed', symbol, row: hourly({ venue: 'binance', symbol }, NOON, LONG) });
    }
    const toDigits = async (expression: string, over: Readonly<Record<string, unknown>>, at = '') => {
      const query = `select ${expression} timeframe 1h where base = BTC ${at}`;
      const { instruments, errors } = await (await screener(feed, store, () => NOON + HOUR + 200_000_000))({
        query,
        number_format: 'string',
        ...over,
      });
      if (errors !== undefined) throw new Error(`${query}: ${JSON.stringify(errors)}`);
      return Object.values(instruments[0]?.venues[0]?.values ?? {})[0]?.value;
    };
    feed.watermark('binance', NOON + HOUR + 200_000_000);
    feed.memory.applyHistoryWatermark('binance', 0, NOON + HOUR + 200_000_000);
    const past = `as of ${formatInstant(NOON + HOUR)}`;
    for (const at of ['', past]) {
      t.equal(await toDigits('close', {}, at), LONG.close);
      t.equal(await toDigits('volume', {}, at), LONG.volume);
      t.equal(await toDigits('volume', { units: 'base' }, at), LONG.volume, 'converted from the digits');
      t.equal(await toDigits('sma(close, 1)', {}, at), '110.12345678901235', 'what is computed is a double');
    }
  },
);

t.test(
  'every element of a series converts from its digits, from the store and from memory (N-05, DQL-33h)',
  async (t) => {
    const LONG = '735864129.091224929158';
    const makeRows = (symbol: string): Row[] => [
      hourly({ venue: 'binance', symbol }, NOON - 3 * HOUR, { close: '8', volume: LONG }),
      hourly({ venue: 'binance', symbol }, NOON - 2 * HOUR, { close: '9', volume: '0' }),
      hourly({ venue: 'binance', symbol }, NOON - HOUR, { close: '10', volume: '0' }),
    ];
    const feed = newFeed();
    for (const base of ['DOT', 'UNI']) {
      const names = { instrument: `${base}-PERP`, base, venue_symbol: `${base}USDT` };
      feed.list(listing('binance', listingValues({ multiplier: '0.001', ...names })));
    }
    await write(makeRows('DOTUSDT'));
    for (const row of makeRows('UNIUSDT')) feed.entry('binance', { kind: 'sealed', symbol: 'UNIUSDT', row });
    const ask = await screener(feed);
    const expressions = ['prev(volume, 2)', 'rolling_sum(volume, 3)'];
    const query = `select ${expressions.join(', ')} timeframe 1h where base in (DOT, UNI)`;
    // The nearest double to 735864.129091224929158; from the double of the volume it would be 735864.1290912249.
    const converted = expressions.map(() => 735864.129091225);
    for (const at of ['', ` as of ${formatInstant(NOON)}`]) {
      const { instruments } = await ask({ query: query + at, units: 'base' });
      const found = instruments.map(({ venues }) => Object.values(venues[0]?.values ?? {}).map(worth));
      t.same(found, [converted, converted], at);
    }
  },
);

t.test(
  'quantities of series convert by the version that held when the row was recorded (design section 5)',
  async (t) => {
    const feed = newFeed();
    // The candle that closed an hour before noon was received before the version was written, and recorded after it.
    const writtenAt = NOON - HOUR + 550_000;
    feed.list(listing('binance', listingValues({ multiplier: '0.5' }), { writtenAt }));
    feed.watermark('binance', LATER);
    const ask = await screener(feed, store, () => LATER);
    const { instruments } = await ask({
      query: 'select sma(volume, 1), prev(volume, 1), prev(volume, 2) timeframe 1h where base = BTC',
      units: 'base',
    });
    const values = instruments[0]?.venues[0]?.values ?? {};
    t.same(
      ['sma(volume, 1)', 'prev(volume, 1)', 'prev(volume, 2)'].map((key) => values[key]?.value),
      [1, 1, 2],
    );
  },
);

t.test('a frozen market gives the same answer live and as of that instant (F-05)', async (t) => {
  const feed = newFeed();
  const place = (symbol: string) => ({ venue: 'binance', symbol });
  for (const symbol of ['BTCUSDT', 'ETHUSDT']) {
    for (const [layer, values] of [
      ['mark', { mark: '61000.5', index: '61000', basis: '0.0000082' }],
      ['funding', { funding: '0.0003', funding_8h: '0.0003', funding_interval: '28800000' }],
      ['venue_depth', { mid: '61000', depth_bid_10bps: '5', levels_bid_10bps: '7' }],
    ] as const) {
      const row = sampled({ ...place(symbol), layer }, NOON - 500_000, { values });
      feed.entry('binance', { kind: 'provisional', symbol, row });
      const stamps = { venue_ts: NOON - 600_000, received_at: NOON - 500_000, recorded_at: NOON - 499_000 };
      feed.read('binance', symbol, reading({ layer, instants: {}, raw: null, values, rev: 2, ...stamps }));
    }
  }
  const select =
    'select mark, funding_8h, basis, depth_bid(10bps), oi, age(mark), status(last), sma(close, 3), atr(2), sma(mark, 1), gaps(9), venues_answered, max(venues, mark) timeframe 1h';
  const instant = NOW - 100_000;
  const ask = await screener(feed, store, () => instant);
  const live = await ask({ query: `any(venues where mark > 0) ${select}` });
  const past = await ask({ query: `any(venues where mark > 0) ${select} as of ${formatInstant(instant)}` });
  t.equal(live.instruments.length, 2);
  t.same(live.instruments, past.instruments);
});

t.test('every documented question is answered with something', async (t) => {
  const queries = listDocumentedQueries();
  t.equal(queries.length, 10);
  const feed = newFeed();
  const marks = Array.from({ length: 6 }, (_, i) => String(100 + i));
  await write(
    marks.map((price, i) =>
      sampled({ ...ETH, layer: 'mark' }, NOON - i * MINUTE - 20_000_000, { values: { mark: price } }),
    ),
  );
  const stamps = { instants: { next_funding_at: NOON + HOUR }, raw: null, quantity_unit: 'base', rev: 2 };
  for (const [layer, values] of [
    ['funding', { funding: '0.0003', funding_8h: '0.0003', funding_interval: '28800000' }],
    ['book', { bid: '99', ask: '99.1', mid: '99.05', spread: '0.001' }],
    ['venue_depth', { mid: '99', depth_bid_value_100bps: '5', depth_ask_value_100bps: '7' }],
    ['stats', { volume_24h: '10', turnover_24h: '1000' }],
    ['oi', { oi: '7' }],
  ] as const) {
    feed.read('binance', 'ETHUSDT', reading({ layer, values, ...stamps }));
  }
  const ask = await screener(feed);
  for (const query of queries) {
    const { instruments, errors } = await ask({ query });
    t.ok((instruments?.length ?? 0) > 0, `${query} ${JSON.stringify(errors)}`);
  }
});

t.test('before the first stored period there is no history, and a venue without candles has none', async (t) => {
  const feed = newFeed();
  feed.entry('binance', {
    kind: 'capability',
    capability: { ...withCandles('binance'), written_at: LISTED + 1, layers: {} },
  });
  const ask = await screener(feed);
  t.same((await shown(ask, 'sma(close, 3, 1h)')).map(worth), ['policy_off', 'policy_off']);
  t.same((await shown(ask, 'gaps(3, 1h)')).map(worth), ['policy_off', 'policy_off'], 'which are no gaps (D-241)');
  const early = await shown(await screener(newFeed()), 'sma(close, 3, 1h)', 'as of 2026-01-10T01:30Z');
  t.same(early.map(worth), ['gap', 'gap']);
});
