// POST /v2/candles over a real QuestDB: items byte by byte, gaps, proved minutes, units, limits, seam with memory, settling (H-10 to H-13, H-16, N-10).
import { createHash } from 'node:crypto';
import t from 'tap';
import { type CandleRow, makeCandleRow, makeReadingRow } from '../../../processors/task/rows.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { Timeframe } from '../../../schemas/layers/candle.ts';
import type { CandleRecord, Digits, Micros, PriceType } from '../../../schemas/records.ts';
import type { Row } from '../../../schemas/topics.ts';
import { Feed, LISTED, listing, listingValues, markReading, NOW } from '../../support/apps/live-fixture.ts';
import { BTCUSD, collecting, ELEVEN, type PastAnswer, pastAsker, SECOND } from '../../support/apps/past-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore, storeAway } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history: store, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const MINUTE: Micros = 60 * SECOND;
const minute = (n: number): Micros => ELEVEN + n * MINUTE;

type Place = { symbol?: string; priceType?: PriceType };
type Figures = CandleRow['figures'];
const PRICES: Figures = { open: '60000.1', high: '60010', low: '59990.50', close: '60005', volume: '1.5' };
const FIGURES: Figures = { ...PRICES, turnover: '90000.25' };

const record = (openTime: Micros, figures: Figures, unit: 'base' | 'contracts' | null): CandleRecord['values'] => ({
  open_time: openTime,
  price_type: 'trade',
  timeframe: '1m',
  open: '0',
  high: '0',
  low: '0',
  close: '0',
  volume: null,
  volume_unit: unit,
  turnover: null,
  trades: null,
  closed: true,
  ...(figures as Record<string, Digits>),
});

const base: Omit<CandleRow, 'openTime' | 'closeTime'> = {
  timeframe: '1m',
  minute: null,
  figures: {},
  trades: null,
  gapCause: null,
  counted: { expected: 1, present: 0, noTrades: 0 },
};
let offsets = 100;
const row = (candle: CandleRow, { symbol = 'BTCUSDT', priceType = 'trade' }: Place): Row =>
  makeCandleRow({ venue: 'binance', symbol, priceType }, candle, offsets++);

type Present = Place & {
  figures?: Figures;
  trades?: number | null;
  late?: boolean;
  unit?: 'base' | 'contracts' | null;
};
const makePresent = (openTime: Micros, over: Present, length = MINUTE): CandleRow => {
  const { figures = FIGURES, trades = 7, late = false, unit = 'base' } = over;
  const closeTime = openTime + length;
  return {
    ...base,
    ...{ openTime, closeTime, figures, trades },
    minute: {
      values: record(openTime, figures, unit),
      venue_ts: null,
      received_at: closeTime + 204_000,
      recordedAt: closeTime + 205_000,
      connId: 'c1',
      srcOffset: offsets++,
      late,
      final: true,
    },
    counted: { expected: 1, present: 1, noTrades: 0 },
  };
};
const present = (openTime: Micros, over: Present = {}): Row => row(makePresent(openTime, over), over);
const empty = (openTime: Micros): Row =>
  row(
    {
      ...{ ...base, openTime, closeTime: openTime + MINUTE, figures: { volume: '0' } },
      counted: { expected: 1, present: 0, noTrades: 1 },
    },
    {},
  );
const gap = (openTime: Micros, cause: GapCause, over: Place = {}): Row =>
  row({ ...base, openTime, closeTime: openTime + MINUTE, gapCause: cause }, over);
const longer = (openTime: Micros, minutes: number, over: Partial<CandleRow>): Row =>
  row({ ...makePresent(openTime, {}, minutes * MINUTE), timeframe: `${minutes}m` as Timeframe, ...over }, {});

const markRow = (received: Micros, price: string, symbol: string): Row =>
  makeReadingRow(
    { venue: 'binance', symbol, layer: 'mark' },
    { from: received - 5 * SECOND, at: received + 5 * SECOND, srcOffset: offsets++, late: false },
    markReading(price, { venue_ts: received, received_at: received, recorded_at: received + 1_000 }),
  );

await write([
  present(minute(0)),
  empty(minute(1)),
  gap(minute(2), 'collector_down'),
  present(minute(3), { figures: { ...PRICES, close: '60000.123456789012345678' }, trades: null }),
  present(minute(3), { figures: { ...PRICES, close: '1' }, late: true }),
  present(minute(0), { priceType: 'mark', figures: { ...PRICES, volume: null }, unit: null, trades: null }),
  longer(minute(0), 2, { counted: { expected: 2, present: 1, noTrades: 1 } }),
  longer(minute(2), 2, {
    figures: {},
    gapCause: 'collector_down',
    minute: null,
    trades: null,
    counted: { expected: 2, present: 1, noTrades: 0 },
  }),
  present(minute(0), { symbol: 'BTCUSD', figures: { ...PRICES, volume: '100' }, unit: 'contracts' }),
  present(minute(1), { symbol: 'BTCUSD', figures: { ...PRICES, volume: '100' }, unit: 'contracts' }),
  markRow(minute(1) - 5 * SECOND, '50000', 'BTCUSD'),
]);

/** Binance with a linear and an inverse listing, followed since they were listed, all of it in the store. */
const settledMarket = (history = NOW - 190_000): Feed => {
  const feed = new Feed(['binance']);
  feed.watermark('binance', LISTED);
  feed.venue('binance', collecting('binance', 'candles'));
  feed.list(listing('binance', listingValues()));
  feed.list(listing('binance', BTCUSD));
  feed.memory.applyHistoryWatermark('binance', 0, history);
  return feed;
};

type CandleAnswerRow = {
  open_time: string;
  status: string;
  gap_cause?: string;
  close: number | null;
  volume: number | null;
  base_candles: { expected: number; present: number; no_trades: number };
  [member: string]: unknown;
};
type Item = { venue_symbol: string; units: Record<string, string>; rows: CandleAnswerRow[]; retention_from: string };
type Answer = PastAnswer<Item>;
const ask = pastAsker<Answer>('/v2/candles', { feed: settledMarket, history: store });

const FOUR = {
  where: 'symbol = "BTCUSDT"',
  timeframe: '1m',
  from: '2026-01-15T11:00Z',
  to: '2026-01-15T11:04Z',
};
const readRows = ({ json }: { json: Answer }) => json.items[0]?.rows ?? [];

t.test('minutes as published, proved empty and missing, byte by byte', async (t) => {
  const answer = await ask(FOUR);
  t.equal(answer.status, 200, answer.text);
  const items =
    '[{"venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","quote":"USDT",' +
    '"units":{"close":"quote","high":"quote","low":"quote","open":"quote","trades":"count","turnover":"quote","volume":"base"},' +
    '"retention_from":"2026-01-10T00:00:00.000Z","rows":[' +
    '{"open_time":"2026-01-15T11:00:00.000Z","close_time":"2026-01-15T11:01:00.000Z","status":"present","received_at":"2026-01-15T11:01:00.204Z",' +
    '"open":60000.1,"high":60010,"low":59990.5,"close":60005,"volume":1.5,"turnover":90000.25,"trades":7,"base_candles":{"expected":1,"present":1,"no_trades":0}},' +
    '{"open_time":"2026-01-15T11:01:00.000Z","close_time":"2026-01-15T11:02:00.000Z","status":"present","received_at":null,' +
    '"open":null,"high":null,"low":null,"close":null,"volume":0,"base_candles":{"expected":1,"present":0,"no_trades":1},' +
    '"null_reasons":{"close":"no_value","high":"no_value","low":"no_value","open":"no_value"}},' +
    '{"open_time":"2026-01-15T11:02:00.000Z","close_time":"2026-01-15T11:03:00.000Z","status":"missing","reason":"gap","gap_cause":"collector_down","received_at":null,' +
    '"open":null,"high":null,"low":null,"close":null,"volume":null,"base_candles":{"expected":1,"present":0,"no_trades":0}},' +
    '{"open_time":"2026-01-15T11:03:00.000Z","close_time":"2026-01-15T11:04:00.000Z","status":"present","received_at":"2026-01-15T11:04:00.204Z",' +
    '"open":60000.1,"high":60010,"low":59990.5,"close":60000.123456789012345678,"volume":1.5,"base_candles":{"expected":1,"present":1,"no_trades":0}}' +
    ']}]';
  const sha = createHash('sha256').update(items).digest('hex');
  t.equal(
    answer.text,
    `{"evaluated_at":"2026-01-15T12:00:00.500Z","settled":true,"items_sha256":"${sha}","timeframe":"1m","price_type":"trade",` +
      '"from":"2026-01-15T11:00:00.000Z","to":"2026-01-15T11:04:00.000Z","units":"published",' +
      '"listings_as_of":"2026-01-10T00:00:00.000Z","capabilities_as_of":"2026-01-10T00:00:00.000Z",' +
      `"receipt_id":"${answer.headers['x-service-receipt']}","items":${items}}`,
  );
  t.equal(answer.headers.etag, `"${sha}"`);
  t.equal(answer.headers['cache-control'], 'private, max-age=86400, immutable');
  const known = await ask(FOUR, { headers: { 'if-none-match': `"${sha}"` } });
  t.same([known.status, known.text, known.headers.etag], [304, '', `"${sha}"`]);
  const strings = await ask({ ...FOUR, number_format: 'string' });
  t.match(strings.text, '"volume":"1.5","turnover":"90000.25","trades":7,"base_candles":{"expected":1');
  const without = await ask({ ...FOUR, include_gaps: false, closed_only: true });
  t.same(
    readRows(without).map(({ status }) => status),
    ['present', 'present', 'present'],
  );
});

t.test('longer candles exist when every minute does; a gap has the number of minutes that did', async (t) => {
  const rows = readRows(await ask({ ...FOUR, timeframe: '2m' }));
  t.match(rows, [
    {
      status: 'present',
      open_time: '2026-01-15T11:00:00.000Z',
      base_candles: { expected: 2, present: 1, no_trades: 1 },
    },
    { status: 'missing', gap_cause: 'collector_down', close: null, base_candles: { expected: 2, present: 1 } },
  ]);
  const spelt = await ask({ ...FOUR, timeframe: '120s' });
  t.match(spelt.json, { timeframe: '2m' }, 'a timeframe may be spelt in another unit');
});

t.test('marks have no volume, and the answer of a venue without such candles shows it', async (t) => {
  const mark = await ask({ ...FOUR, price_type: 'mark', to: '2026-01-15T11:01Z' });
  t.match(readRows(mark), [{ status: 'present', volume: null, null_reasons: { volume: 'venue_capability' } }]);
  const feed = settledMarket();
  const values = listingValues({ candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: ['1m'] } });
  feed.list(listing('binance', values, { writtenAt: LISTED + 1 }));
  t.match(readRows(await ask({ ...FOUR, price_type: 'mark' }, { feed })), [
    { status: 'not_published', reason: 'venue_capability', close: null },
  ]);
  t.same(readRows(await ask({ ...FOUR, price_type: 'mark', include_gaps: false }, { feed })), []);
  const narrow = settledMarket();
  const listed = listing('binance', listingValues(), { writtenAt: LISTED + 1 });
  narrow.list({ ...listed, record: { ...listed.record, off: ['price_candles'] } });
  t.match(
    readRows(await ask({ ...FOUR, price_type: 'mark' }, { feed: narrow })),
    [{ status: 'off', reason: 'policy_off', close: null }],
    'the venue has them, its limits leave no room (V-03a)',
  );
  t.match(readRows(await ask(FOUR, { feed: narrow })), [{ status: 'present' }], 'those of trades are collected');
  narrow.list({ ...listed, written_at: LISTED + 2, record: { ...listed.record, off: ['candles', 'trades'] } });
  t.match(readRows(await ask(FOUR, { feed: narrow })), [{ status: 'off', reason: 'policy_off', close: null }]);
  const off = settledMarket();
  off.entry('binance', {
    kind: 'capability',
    capability: { ...collecting('binance', 'candles', { policy: 'off' }), written_at: minute(1) + 1 },
  });
  t.same(
    readRows(await ask(FOUR, { feed: off })).map(({ status }) => status),
    ['present', 'off', 'off', 'off'],
    'the policy is that of the period’s own end',
  );
  const [five] = readRows(await ask({ ...FOUR, timeframe: '5m', to: '2026-01-15T11:05Z' }, { feed: off }));
  t.match(
    five,
    { status: 'off', base_candles: { expected: 5, present: 2, no_trades: 1 } },
    'known minutes count (H-16c)',
  );
});

t.test('volumes convert with the mark of the period’s end', async (t) => {
  const question = { ...FOUR, where: 'symbol = "BTCUSD"', to: '2026-01-15T11:02Z', units: 'base' };
  const answer = await ask(question);
  t.same(answer.json.items[0]?.units.volume, 'base');
  t.match(
    answer.text,
    '"volume":0.2,"trades":7,"base_candles":{"expected":1,"present":1,"no_trades":0},' +
      '"conversion":{"multiplier":1,"contract_size":100,"mark":50000,"mark_received_at":"2026-01-15T11:00:55.000Z"}}',
  );
  t.match(readRows(answer)[1], { status: 'present', volume: null, null_reasons: { volume: 'unit_unknown' } });
  const quote = await ask({ ...question, units: 'quote', number_format: 'string' });
  t.match(quote.text, '"volume":"10000"');
});

t.test('volumes convert from what their candles count in, whatever the listing does (N-07)', async (t) => {
  // As Deribit's BTC-PERPETUAL: amounts in USD, candles in base.
  const symbol = 'BTC-PERPETUAL';
  const rules = { venue_symbol: symbol, quantity_unit: 'quote', contract_size: '10', multiplier: '2' } as const;
  const feed = settledMarket();
  feed.list(listing('binance', { ...BTCUSD, ...rules }));
  await write([
    present(minute(0), { symbol }),
    present(minute(1), { symbol }),
    markRow(minute(1) - 5 * SECOND, '50000', symbol),
  ]);
  const asked = (units: string) =>
    ask({ ...FOUR, where: `symbol = "${symbol}"`, to: '2026-01-15T11:02Z', units }, { feed });
  const readVolumes = async (units: string) => {
    const answer = await asked(units);
    return [answer.json.items[0]?.units.volume, ...readRows(answer).map(({ volume }) => volume)];
  };
  t.same(await readVolumes('published'), ['base', 1.5, 1.5]);
  t.same(await readVolumes('base'), ['base', 3, 3]);
  t.same(await readVolumes('quote'), ['quote', 75_000, null]);
  t.match((await asked('base')).text, '"conversion":{"multiplier":2,"contract_size":10}}', 'without a mark');
  const [marked, unmarked] = readRows(await asked('quote'));
  const mark = { mark: 50_000, mark_received_at: '2026-01-15T11:00:55.000Z' };
  t.same(marked?.conversion, { multiplier: 2, contract_size: 10, ...mark });
  t.same(unmarked?.null_reasons, { volume: 'unit_unknown' });
});

t.test('minutes of different units have no volume together, from the store and from memory (N-08)', async (t) => {
  const symbol = 'MIXED';
  const rolled = (n: number): Row => {
    const differs = { ...makePresent(minute(n), { figures: PRICES }, 2 * MINUTE), unitsDiffer: true } as const;
    return row({ ...differs, timeframe: '2m' }, { symbol });
  };
  const feed = settledMarket();
  feed.list(listing('binance', listingValues({ venue_symbol: symbol })));
  await write([rolled(0)]);
  feed.entry('binance', { kind: 'sealed', symbol, row: rolled(2) });
  for (const units of ['published', 'base']) {
    const rows = readRows(await ask({ ...FOUR, where: `symbol = "${symbol}"`, timeframe: '2m', units }, { feed }));
    const unknown = { status: 'present', volume: null, null_reasons: { volume: 'unit_unknown' } };
    t.match(rows, [unknown, unknown], units);
    t.ok(rows.every(({ close }) => close !== null));
  }
});

t.test('what is over but not sealed is answered from memory, and no one else’s row takes its place', async (t) => {
  const feed = settledMarket(minute(4) + 105 * SECOND);
  const put = (kind: 'sealed' | 'provisional', one: Row): void =>
    feed.entry('binance', { kind, symbol: 'BTCUSDT', row: one });
  put('sealed', present(minute(3), { figures: { ...PRICES, close: '60000.123456789012345678' }, trades: null }));
  put('provisional', present(minute(4), { figures: { ...PRICES, close: '5' } }));
  put('sealed', present(minute(4), { figures: { ...PRICES, close: '6' } }));
  put('provisional', present(minute(5), { figures: { ...PRICES, close: '7' } }));
  put('sealed', present(minute(5), { figures: { ...PRICES, close: '8' }, late: true }));
  put('provisional', present(minute(5), { figures: { ...PRICES, close: '9' }, priceType: 'index' }));
  feed.watermark('binance', minute(7) + 2 * SECOND);
  const answer = await ask({ ...FOUR, to: '2026-01-15T13:00Z' }, { feed, nowMicros: () => minute(7) + 2 * SECOND });
  t.equal(answer.status, 200, answer.text);
  t.same(
    readRows(answer).map((one) => [one.open_time.slice(11, 16), one.gap_cause ?? one.close]),
    [
      ['11:00', 60005],
      ['11:01', null],
      ['11:02', 'collector_down'],
      ['11:03', 60000.12345678901],
      ['11:04', 6],
      ['11:05', 7],
      ['11:06', 'unknown'],
    ],
  );
  t.match(answer.json, { to: '2026-01-15T11:07:00.000Z', settled: false }, 'a later end is cut at the last candle');
  t.equal(answer.headers['cache-control'], 'no-store');
});

t.test('a longer candle that is over and not sealed counts the minutes that are known of it', async (t) => {
  const feed = settledMarket(minute(4) + 105 * SECOND);
  feed.entry('binance', { kind: 'provisional', symbol: 'BTCUSDT', row: present(minute(4)) });
  feed.watermark('binance', minute(5) + 40 * SECOND);
  const answer = await ask(
    { ...FOUR, timeframe: '5m', to: '2026-01-15T11:05Z' },
    { feed, nowMicros: () => minute(5) + 40 * SECOND },
  );
  t.match(readRows(answer), [
    { open_time: '2026-01-15T11:00:00.000Z', close: null, base_candles: { expected: 5, present: 3, no_trades: 1 } },
  ]);
  t.match(answer.json, { settled: false });
});

t.test('bounds are moved in to boundaries', async (t) => {
  const moved = await ask({ ...FOUR, from: '2026-01-15T11:00:01Z', to: '2026-01-15T11:02:59Z' });
  t.match(moved.json, { from: '2026-01-15T11:01:00.000Z', to: '2026-01-15T11:02:00.000Z' });
  const none = await ask({ ...FOUR, from: '2026-01-15T11:00:01Z', to: '2026-01-15T11:00:02Z' });
  t.same([none.status, readRows(none)], [200, []]);
});

t.test('periods before retention and after a listing’s end have their status', async (t) => {
  const early = await ask({ ...FOUR, from: '2026-01-09T23:58Z', to: '2026-01-10T00:01Z' });
  t.same(
    readRows(early).map(({ reason, gap_cause }) => [reason, gap_cause]),
    [
      ['not_retained', undefined],
      ['not_retained', undefined],
      ['gap', 'unknown'],
    ],
  );
  const gone = settledMarket();
  gone.list(listing('binance', listingValues(), { writtenAt: minute(1), delistedAt: minute(3) + 1 }));
  const rows = readRows(await ask({ ...FOUR, to: '2026-01-15T11:06Z' }, { feed: gone }));
  t.same(
    rows.map(({ gap_cause }) => gap_cause),
    [undefined, undefined, 'collector_down', undefined, 'not_listed', 'not_listed'],
  );
  t.match(
    readRows(await ask({ ...FOUR, timeframe: '5m', to: '2026-01-15T11:05Z' }, { feed: gone })),
    [{ gap_cause: 'not_listed', base_candles: { expected: 5, present: 2, no_trades: 1 } }],
    'minutes that were there are counted',
  );
  gone.list(listing('binance', listingValues(), { writtenAt: minute(5) + 1 }));
  t.same(
    readRows(await ask({ ...FOUR, to: '2026-01-15T11:08Z' }, { feed: gone })).map(({ gap_cause }) => gap_cause),
    [undefined, undefined, 'collector_down', undefined, 'not_listed', 'not_listed', 'unknown', 'unknown'],
    'listed again: the minutes between belong to no listing (H-07)',
  );
  for (const [end, first] of [
    [minute(4) - 1, 4],
    [minute(4), 4],
    [minute(4) + 1, 5],
  ] as const) {
    const ended = settledMarket();
    ended.list(listing('binance', listingValues(), { writtenAt: minute(1), delistedAt: end }));
    const causes = readRows(await ask({ ...FOUR, to: '2026-01-15T11:07Z' }, { feed: ended })).map((r) => r.gap_cause);
    t.equal(causes.indexOf('not_listed'), first, 'a listing that ends on the minute has no minute after it');
  }
});

t.test(
  'a candle that holds the first sight of its listing is not retained, as its minutes before are (H-16f)',
  async (t) => {
    const symbol = 'NEWUSDT';
    const feed = settledMarket();
    feed.list({
      ...listing('binance', listingValues({ venue_symbol: symbol })),
      first_seen_at: minute(1) + 7 * SECOND,
    });
    const half = (cause: GapCause) => ({ symbol, figures: {}, minute: null, gapCause: cause });
    const rolled = (n: number, cause: GapCause): Row =>
      row({ ...base, openTime: minute(n), closeTime: minute(n + 2), timeframe: '2m', ...half(cause) }, { symbol });
    await write([present(minute(1), { symbol }), rolled(0, 'not_listed'), rolled(2, 'collector_down')]);
    const answered = async (timeframe: string) =>
      readRows(await ask({ ...FOUR, where: `symbol = "${symbol}"`, timeframe }, { feed })).map(
        ({ status, reason, gap_cause }) => [status, reason, gap_cause],
      );
    const notRetained = ['missing', 'not_retained', undefined];
    t.same((await answered('1m')).slice(0, 2), [notRetained, ['present', undefined, undefined]]);
    t.same(await answered('2m'), [notRetained, ['missing', 'gap', 'collector_down']]);
  },
);

t.test(
  'a period before the first sight of a listing has no minutes, one that holds it has those that were published',
  async (t) => {
    const symbol = 'EARLYUSDT';
    const feed = settledMarket(minute(4) + 105 * SECOND);
    const seenAt = minute(1) + 7 * SECOND;
    const values = listingValues({ venue_symbol: symbol });
    feed.list({ ...listing('binance', values, { writtenAt: seenAt }), first_seen_at: seenAt });
    feed.watermark('binance', minute(5) + 40 * SECOND);
    await write([present(minute(0), { symbol }), present(minute(1), { symbol })]);
    const listCounts = async (timeframe: string) =>
      readRows(
        await ask(
          { ...FOUR, where: `symbol = "${symbol}"`, timeframe, to: '2026-01-15T11:05Z' },
          { feed, nowMicros: () => minute(5) + 40 * SECOND },
        ),
      ).map(({ status, base_candles }) => [status, base_candles.present]);
    t.same((await listCounts('1m')).slice(0, 2), [
      ['missing', 0],
      ['present', 1],
    ]);
    t.same(await listCounts('5m'), [['missing', 2]], 'not sealed yet (H-16c)');
  },
);

t.test('settles when two minutes have passed and the store shows everything that counts', async (t) => {
  const settledAt = async (history: Micros, now: Micros): Promise<boolean | undefined> => {
    const feed = settledMarket(history);
    feed.watermark('binance', history);
    return (await ask(FOUR, { feed, nowMicros: () => now })).json.settled;
  };
  const end = minute(4);
  t.equal(await settledAt(end + 100_001_000, end + 120_000_000), true);
  t.equal(await settledAt(end + 100_000_999, end + 180_000_000), false);
  t.equal(await settledAt(end + 110_000_000, end + 119_999_999), false);
});

t.test('an answer that is cut at the last completed candle grows, so it is not settled', async (t) => {
  const feed = settledMarket(minute(8));
  feed.watermark('binance', minute(8));
  const until = async (to: string) =>
    ask({ ...FOUR, timeframe: '5m', to }, { feed, nowMicros: () => minute(8) + SECOND });
  const cut = await until('2026-01-15T11:10Z');
  t.match(cut.json, { to: '2026-01-15T11:05:00.000Z', settled: false });
  t.equal(cut.headers['cache-control'], 'no-store');
  const whole = await until('2026-01-15T11:09Z');
  t.match(whole.json, { to: '2026-01-15T11:05:00.000Z', settled: true }, 'its last whole candle is over');
  t.equal(whole.json.items_sha256, cut.json.items_sha256);
});

t.test('rows as lines with the envelope in headers', async (t) => {
  const lines = await ask(FOUR, { headers: { accept: 'application/x-ndjson' } });
  const { json } = await ask(FOUR);
  t.same(
    lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    json.items.flatMap(({ rows, ...listing }) => rows.map((row) => ({ ...listing, ...row }))),
    'every member of the listing is repeated, its units too',
  );
  t.match(lines.headers, { 'x-service-timeframe': '1m', 'x-service-price-type': 'trade', 'x-service-settled': 'true' });
  const csv = await ask(FOUR, { headers: { accept: 'text/csv' } });
  const [columns = ''] = csv.text.split('\r\n');
  t.match(columns, 'quote,retention_from,open_time,');
  t.match(columns, 'units.close,units.high,units.low,units.open,units.trades,units.turnover,units.volume');
  t.match(columns, 'base_candles.expected,base_candles.present,base_candles.no_trades');
});

t.test('faulty requests are refused with their faults', async (t) => {
  const faults = async (body: unknown) => {
    const { status, json } = await ask(body);
    return [status, ...json.errors.map(({ code, path }) => `${code} ${path}`)];
  };
  t.same(await faults({}), [400, 'DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /timeframe', 'DQL_JSON_SCHEMA /to']);
  t.same(await faults({ ...FOUR, timeframe: '7m' }), [400, 'DQL_TIMEFRAME_UNSUPPORTED /timeframe']);
  t.same(await faults({ ...FOUR, timeframe: 'hour' }), [400, 'DQL_JSON_SCHEMA /timeframe']);
  t.same(await faults({ ...FOUR, trade: true }), [400, 'DQL_JSON_SCHEMA /trade']);
  t.same(await faults({ ...FOUR, price_type: 'last' }), [400, 'DQL_JSON_SCHEMA /price_type']);
  t.same(await faults({ ...FOUR, from: FOUR.to, to: FOUR.from }), [400, 'DQL_JSON_SCHEMA /to']);
  t.same(await faults({ ...FOUR, from: 'yesterday' }), [400, 'DQL_JSON_SCHEMA /from']);
  t.same(await faults({ ...FOUR, where: 'venue = kraken' }), [400, 'DQL_UNKNOWN_VENUE undefined']);
  const many = await ask({ ...FOUR, from: '2026-01-12', to: '2026-01-15' });
  t.match(many.json.errors, [
    {
      code: 'DQL_LIMIT',
      message: 'A listing would have 4320 candles, the limit is 1500.',
      hint: 'The largest window that fits is 90000s: send to 2026-01-13T01:00:00.000Z.',
      path: '/to',
    },
  ]);
  t.equal((await ask({}, { plan: null })).status, 402);
  const old = await ask({ ...FOUR, where: 'base = BTC', from: '2026-01-08T11:00Z' }, { plan: 'free' });
  t.match(old.json.errors, [{ code: 'PLAN_LIMIT', path: '/from' }]);
  t.match((await ask(FOUR, { plan: 'free' })).json.scope, { plan: 'free' });
});

t.test('answers 503 while the store is away, and while neither it nor memory holds a minute', async (t) => {
  const away = await ask(FOUR, { history: storeAway(t) });
  t.same([away.status, away.json.errors[0]?.code], [503, 'UNAVAILABLE']);
  const behind = new Feed(['binance']);
  behind.venue('binance', collecting('binance', 'candles'));
  behind.list(listing('binance', listingValues()));
  behind.memory.applyHistoryWatermark('binance', 0, NOW - 2_000 * SECOND);
  const hole = { ...FOUR, from: '2026-01-15T11:30Z', to: '2026-01-15T11:40Z' };
  t.equal((await ask(hole, { feed: behind })).status, 503);
  t.equal((await ask(FOUR, { feed: behind })).status, 200);
});
