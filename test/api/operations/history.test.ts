// POST /v2/snapshots/history over a real QuestDB: every mode byte by byte, seam with memory, units, limits, settling (H-02 to H-09, H-16, N-10, N-11).
import { createHash } from 'node:crypto';
import t from 'tap';
import { createHistoryStore } from '../../../api/history/store.ts';
import { makeGapRow, makeReadingRow, makeSpanRow, type RowSpan } from '../../../processors/task/rows.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Reading, Row } from '../../../schemas/topics.ts';
import {
  capability,
  Feed,
  LISTED,
  listing,
  listingValues,
  market,
  micros,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { ELEVEN, type PastAnswer, pastAsker, SECOND } from '../../support/apps/past-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore, storeAway } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history: store, reader, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const at = (seconds: number): Micros => ELEVEN + seconds * SECOND;
const BTC = { venue: 'binance', symbol: 'BTCUSDT' } as const;

let offsets = 100;
const makeSpan = (layer: ReadingLayer, end: Micros, late = false): RowSpan => ({
  from: end - LAYERS[layer].windowMs * 1_000,
  at: end,
  srcOffset: offsets++,
  late,
});

/** A reading of `layer` received at `received`, in the columns a task gives it. */
const stored = (
  layer: ReadingLayer,
  received: Micros,
  values: Record<string, string>,
  over: Partial<Reading> = {},
): Reading =>
  reading({
    layer,
    venue_ts: received - 100_000,
    received_at: received,
    recorded_at: received + 1_000,
    values,
    instants: {},
    raw: null,
    ...over,
  });
const computeWindow = (layer: ReadingLayer, received: Micros): Micros => {
  const length = LAYERS[layer].windowMs * 1_000;
  return Math.ceil(received / length) * length;
};
const makeRow = (one: Reading, { late = false, symbol = BTC.symbol }: { late?: boolean; symbol?: string } = {}): Row =>
  makeReadingRow(
    { venue: BTC.venue, symbol, layer: one.layer },
    makeSpan(one.layer, computeWindow(one.layer, one.received_at), late),
    one,
  );
const mark = (received: Micros, price: string, over: Partial<Reading> = {}): Reading =>
  stored('mark', received, { mark: price, index: '60000', basis: '0' }, over);
const gap = (layer: ReadingLayer, from: Micros, end: Micros, cause: GapCause): Row =>
  makeGapRow({ ...BTC, layer }, { from, at: end, srcOffset: offsets++, late: false }, cause);

await write([
  makeRow(mark(at(9.5), '60000.1')),
  gap('mark', at(10), at(40), 'no_update'),
  makeRow(
    mark(at(49), '60000.123456789012345678', {
      null_reasons: { index: 'no_value' },
      values: { mark: '60000.123456789012345678' },
    }),
  ),
  makeRow(mark(at(48), '1', { recorded_at: at(800) }), { late: true }),
  makeRow(mark(at(57), '60002', { conn_id: 'c2' })),
  makeSpanRow(
    { venue: 'binance', task: 'binance/0', srcOffset: 7, recordedAt: at(58.5) },
    { conn_id: 'c2', slot: 'market', from: at(30), to: at(58), cause: 'connection_lost' },
  ),
  // Midnight: the window that ends there belongs to the day before.
  makeRow(mark(micros('2026-01-15T00:00:00.000Z'), '59000')),
  makeRow(mark(micros('2026-01-15T00:00:00.000Z') + 1, '59001')),
  // A book that crossed in its window.
  makeRow(stored('book', at(5), {}, { valid: false, gap_cause: 'crossed_book', quantity_unit: 'base' })),
  makeRow(stored('oi', at(9), { oi: '12.5' }, { quantity_unit: 'contracts' }), { symbol: 'BTCUSD' }),
  makeRow(stored('mark', at(8), { mark: '50000', index: '50000', basis: '0' }), { symbol: 'BTCUSD' }),
]);

/** The market of the live tests with everything applied up to a moment ago, also in the store. */
const settledMarket = (): Feed => {
  const feed = market();
  for (const venue of ['binance', 'okx']) feed.memory.applyHistoryWatermark(venue, 0, NOW - 190_000);
  return feed;
};

/** One listing, followed since it was listed: nothing between the store and memory is missing. */
const longFollowed = (): Feed => {
  const feed = new Feed(['binance']);
  feed.watermark('binance', LISTED);
  feed.venue('binance');
  feed.list(listing('binance', listingValues()));
  return feed;
};

type LayerAnswer = {
  units: Record<string, string>;
  retention_from: string;
  rows: Record<string, unknown>[];
  history_cadence: string;
};
type Answer = PastAnswer<{ venue_symbol: string; layers: Record<string, LayerAnswer> }>;

const ask = pastAsker<Answer>('/v2/snapshots/history', { feed: settledMarket, history: store });

const MINUTE = { where: 'symbol = "BTCUSDT"', layers: ['mark'], from: '2026-01-15T11:00Z', to: '2026-01-15T11:01Z' };
const readRows = ({ json }: { json: Answer }, layer = 'mark') => json.items[0]?.layers[layer]?.rows ?? [];
const itemsText = (text: string): string => text.slice(text.indexOf('"items":[') + 8, -1);

const NOTHING =
  '"venue_ts":null,"received_at":null,"age_ms":null,"venue_age_ms":null,"valid_until":null,"horizon_source":null,"anchor":null,"values":{}';
const gapText = (end: string, cause: string): string =>
  `{"at":"2026-01-15T11:00:${end}.000Z","status":"missing","reason":"gap","gap_cause":"${cause}",${NOTHING}}`;
const HELD = '"valid_until":null,"horizon_source":"connection","anchor":"venue"';

t.test('interval: one row a period, its last reading or why there is none, byte by byte', async (t) => {
  const answer = await ask({ ...MINUTE, interval: '10s' });
  t.equal(answer.status, 200, answer.text);
  const items =
    '[{"venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","quote":"USDT","layers":{"mark":{' +
    '"units":{"basis":"fraction","index":"quote","mark":"quote"},"retention_from":"2026-01-10T00:00:00.000Z","rows":[' +
    `{"at":"2026-01-15T11:00:10.000Z","status":"present","venue_ts":"2026-01-15T11:00:09.400Z","received_at":"2026-01-15T11:00:09.500Z","age_ms":500,"venue_age_ms":600,${HELD},` +
    '"values":{"basis":0,"index":60000,"mark":60000.1}},' +
    `${gapText('20', 'no_update')},${gapText('30', 'no_update')},${gapText('40', 'no_update')},` +
    `{"at":"2026-01-15T11:00:50.000Z","status":"present","venue_ts":"2026-01-15T11:00:48.900Z","received_at":"2026-01-15T11:00:49.000Z","age_ms":1000,"venue_age_ms":1100,${HELD},` +
    '"values":{"index":null,"mark":60000.123456789012345678},"null_reasons":{"index":"no_value"}},' +
    '{"at":"2026-01-15T11:01:00.000Z","status":"stale","reason":"connection_lost","venue_ts":"2026-01-15T11:00:56.900Z","received_at":"2026-01-15T11:00:57.000Z","age_ms":3000,"venue_age_ms":3100,' +
    '"valid_until":"2026-01-15T11:00:58.000Z","horizon_source":"connection","anchor":"venue","values":{}}' +
    '],"history_cadence":"10s"}}}]';
  const sha = createHash('sha256').update(items).digest('hex');
  t.equal(
    answer.text,
    `{"evaluated_at":"2026-01-15T12:00:00.500Z","settled":true,"items_sha256":"${sha}","mode":"interval","interval":"10s",` +
      '"from":"2026-01-15T11:00:00.000Z","to":"2026-01-15T11:01:00.000Z","units":"published","freshness":{"mark":"30s"},' +
      '"listings_as_of":"2026-01-10T00:00:00.000Z","capabilities_as_of":"2026-01-10T00:00:00.000Z",' +
      `"receipt_id":"${answer.headers['x-service-receipt']}","items":${items}}`,
  );
  t.equal(answer.headers.etag, `"${sha}"`);
  t.equal(answer.headers['cache-control'], 'private, max-age=86400, immutable');
});

t.test('longer periods answer with their last reading, judged at their own end', async (t) => {
  const rows = readRows(await ask({ ...MINUTE, interval: '30s', allow_stale: true }));
  t.equal(rows.length, 2);
  t.match(rows[0], { at: '2026-01-15T11:00:30.000Z', status: 'present', age_ms: 20_500, values: { mark: 60000.1 } });
  t.match(rows[1], { status: 'stale', reason: 'connection_lost', values: {}, withheld: { values: { mark: 60002 } } });
  const wide = { ...MINUTE, from: '2026-01-15T10:59Z', to: '2026-01-15T11:02Z', interval: '1m' };
  t.same(
    readRows(await ask(wide)).map(({ status, gap_cause }) => [status, gap_cause]),
    [
      ['missing', 'unknown'],
      ['stale', undefined],
      ['missing', 'unknown'],
    ],
  );
  const cause = {
    ...MINUTE,
    from: '2026-01-15T11:00:10Z',
    to: '2026-01-15T11:00:40Z',
    interval: '10s',
    include_gaps: false,
  };
  t.same(readRows(await ask(cause)), [], 'gaps are left out when they are not wanted');
});

t.test('at: the newest reading at each instant; nothing is judged by another moment', async (t) => {
  const instants = [
    '2026-01-15T11:00:09.999999Z',
    '2026-01-15T11:00:10Z',
    '2026-01-15T11:00:39Z',
    '2026-01-15T11:00:40Z',
  ];
  const rows = readRows(await ask({ where: MINUTE.where, layers: ['mark'], at: instants }));
  t.match(
    rows[0],
    { at: '2026-01-15T11:00:09.999999Z', status: 'stale', reason: 'freshness_bound', values: {} },
    'its window had not ended',
  );
  t.match(rows[1], { status: 'present', age_ms: 500, values: { mark: 60000.1 } });
  t.match(rows[2], { status: 'present', age_ms: 29_500 }, 'gap rows are passed over');
  t.match(rows[3], { status: 'stale', reason: 'freshness_bound', age_ms: 30_500 });

  const wider = await ask({
    where: MINUTE.where,
    layers: ['mark'],
    as_of: '2026-01-15T11:00:45Z',
    freshness: { mark: '1h' },
  });
  t.match(wider.json, { mode: 'at', freshness: { mark: '3600s' } });
  t.notOk(Object.hasOwn(wider.json, 'from'));
  t.match(readRows(wider)[0], { status: 'present', age_ms: 35_500 });

  const crossed = await ask({ where: MINUTE.where, layers: ['book'], as_of: '2026-01-15T11:00:12Z' });
  t.match(readRows(crossed, 'book')[0], {
    status: 'missing',
    reason: 'gap',
    gap_cause: 'crossed_book',
    age_ms: 7_000,
    values: {},
  });
  const never = await ask({ where: MINUTE.where, layers: ['ticker'], as_of: '2026-01-15T11:00:12Z' });
  t.match(readRows(never, 'ticker')[0], { status: 'missing', reason: 'no_value' });
});

t.test('raw: every stored row by its receipt, late ones marked, windows without one as gaps', async (t) => {
  const answer = await ask({ ...MINUTE, raw: true });
  t.same(
    readRows(answer).map((row) => [String(row.at).slice(17, -1), row.status, row.gap_cause, row.late, row.age_ms]),
    [
      ['00.000', 'missing', 'unknown', undefined, null],
      ['09.500', 'present', undefined, undefined, 0],
      ['20.000', 'missing', 'no_update', undefined, null],
      ['30.000', 'missing', 'no_update', undefined, null],
      ['40.000', 'missing', 'no_update', undefined, null],
      ['48.000', 'present', undefined, true, 0],
      ['49.000', 'present', undefined, undefined, 0],
      ['57.000', 'present', undefined, undefined, 0],
    ],
  );
  t.match(answer.text, '"values":{"basis":0,"index":60000,"mark":1},"late":true}');
  t.equal(answer.json.settled, true);
  t.equal(answer.headers['cache-control'], 'no-store', 'a late row may still come');
  const halves = await Promise.all(
    [
      ['2026-01-15T11:00Z', '2026-01-15T11:00:49Z'],
      ['2026-01-15T11:00:49Z', '2026-01-15T11:01Z'],
    ].map(([from, to]) => ask({ ...MINUTE, from, to, raw: true, include_gaps: false })),
  );
  t.same(
    halves.flatMap((half) => readRows(half)),
    readRows(answer).filter(({ status }) => status !== 'missing'),
    'adjoining windows lose and repeat nothing',
  );
});

t.test('a reading at midnight belongs to the window that ends there', async (t) => {
  const answer = await ask({ ...MINUTE, from: '2026-01-14T23:59:50Z', to: '2026-01-15T00:00:10Z', interval: '10s' });
  t.same(
    readRows(answer).map((row) => [row.at, (row.values as Record<string, number>).mark]),
    [
      ['2026-01-15T00:00:00.000Z', 59000],
      ['2026-01-15T00:00:10.000Z', 59001],
    ],
  );
  const raw = { ...MINUTE, from: '2026-01-15T00:00Z', to: '2026-01-15T00:00:10Z', raw: true, include_gaps: false };
  t.match(
    readRows(await ask(raw)),
    [{ values: { mark: 59000 } }, { values: { mark: 59001 } }],
    'raw begins with what was received at its first instant, in the window before',
  );
});

t.test('rows in memory and in the store are one answer, and a row in both counts once', async (t) => {
  const feed = longFollowed();
  feed.memory.applyHistoryWatermark('binance', 0, at(125));
  const put = (kind: 'sealed' | 'provisional', row: Row): void =>
    feed.entry('binance', { kind, symbol: 'BTCUSDT', row });
  put('sealed', makeRow(mark(at(57), '60002', { conn_id: 'c2' })));
  put('provisional', makeRow(mark(at(69), '60003')));
  put('sealed', makeRow(mark(at(69), '60004')));
  put(
    'provisional',
    makeGapRow({ ...BTC, layer: 'mark' }, { from: at(70), at: at(80), srcOffset: -1, late: false }, 'unknown'),
  );
  put('provisional', makeRow(mark(at(88), '60005')));
  put('sealed', makeRow(mark(at(68), '2', { recorded_at: at(900) }), { late: true }));
  feed.watermark('binance', at(200));
  const answer = await ask(
    { ...MINUTE, from: '2026-01-15T11:00:50Z', to: '2026-01-15T11:01:40Z', interval: '10s' },
    { feed, nowMicros: () => at(201) },
  );
  t.equal(answer.status, 200, answer.text);
  t.same(
    readRows(answer).map((row) => [row.status, row.gap_cause, (row.values as Record<string, number>).mark]),
    [
      ['stale', undefined, undefined],
      ['present', undefined, 60004],
      ['missing', 'unknown', undefined],
      ['present', undefined, 60005],
      ['missing', 'unknown', undefined],
    ],
  );
  t.equal(answer.json.settled, false);
  t.equal(answer.headers['cache-control'], 'no-store');
});

t.test('settles when two minutes have passed and the store shows everything that counts', async (t) => {
  const question = { ...MINUTE, interval: '10s' };
  const [once, again] = [
    await ask(question),
    await ask({ ...question, include_synthetic: true }, { plan: 'standard' }),
  ];
  t.equal(once.json.items_sha256, again.json.items_sha256);
  t.equal(itemsText(once.text), itemsText(again.text));
  t.equal(createHash('sha256').update(itemsText(once.text)).digest('hex'), once.json.items_sha256);
  const settledAt = async (history: Micros, now: Micros): Promise<boolean | undefined> => {
    const feed = longFollowed();
    feed.memory.applyHistoryWatermark('binance', 0, history);
    feed.watermark('binance', history);
    return (await ask(question, { feed, nowMicros: () => now })).json.settled;
  };
  const end = at(60);
  t.equal(await settledAt(end + 100_001_000, end + 120_000_000), true);
  t.equal(await settledAt(end + 100_000_999, end + 180_000_000), false);
  t.equal(await settledAt(end + 110_000_000, end + 119_999_999), false);
});

t.test('an answer that is cut at now grows, so it is not settled', async (t) => {
  const feed = longFollowed();
  feed.memory.applyHistoryWatermark('binance', 0, at(180));
  feed.watermark('binance', at(180));
  const until = async (to: string) =>
    ask({ ...MINUTE, from: '2026-01-15T10:00Z', to, interval: '1h' }, { feed, nowMicros: () => at(181) });
  const cut = await until('2026-01-15T12:00Z');
  t.match(cut.json, { to: '2026-01-15T11:00:00.000Z', settled: false });
  t.equal(cut.headers['cache-control'], 'no-store');
  const whole = await until('2026-01-15T11:59Z');
  t.match(whole.json, { to: '2026-01-15T11:00:00.000Z', settled: true }, 'its last whole hour is over');
  t.equal(whole.json.items_sha256, cut.json.items_sha256);
});

t.test('quantities convert with the mark of their own instant and the rules of their own time', async (t) => {
  const feed = new Feed(['binance', 'okx']);
  feed.venue('binance');
  feed.venue('okx');
  const inverse = listingValues({
    venue_symbol: 'BTCUSD',
    venue_kind: 'inverse',
    quantity_unit: 'contracts',
    contract_size: '100',
  });
  feed.list(listing('binance', inverse));
  // A later rule, not in force when the reading was recorded.
  feed.list(listing('binance', { ...inverse, contract_size: '7' }, { writtenAt: at(30) }));
  for (const venue of ['binance', 'okx']) feed.memory.applyHistoryWatermark(venue, 0, NOW - 190_000);
  const question = {
    where: 'symbol = "BTCUSD"',
    layers: ['oi'],
    interval: '10s',
    from: '2026-01-15T11:00Z',
    to: '2026-01-15T11:00:10Z',
  };
  const base = await ask({ ...question, units: 'base' }, { feed });
  t.match(
    base.text,
    '"values":{"oi":0.025},"conversion":{"multiplier":1,"contract_size":100,"mark":50000,"mark_received_at":"2026-01-15T11:00:08.000Z"}}',
  );
  t.same(base.json.items[0]?.layers.oi?.units, { oi: 'base' });
  t.match(
    (await ask({ ...question, units: 'quote', number_format: 'string' }, { feed })).text,
    '"values":{"oi":"1250"}',
  );
  const unknown = await ask({ ...question, units: 'base', freshness: { mark: '1s' } }, { feed });
  t.match(
    unknown.text,
    '"values":{"oi":null},"conversion":{"multiplier":1,"contract_size":100},"null_reasons":{"oi":"unit_unknown"}}',
  );
});

t.test('before retention, outside a life, off and not published: each has its status', async (t) => {
  const early = await ask({ ...MINUTE, from: '2026-01-09T23:59:40Z', to: '2026-01-10T00:00:10Z', interval: '10s' });
  t.same(
    readRows(early).map(({ at: instant, reason }) => [instant, reason]),
    [
      ['2026-01-09T23:59:50.000Z', 'not_retained'],
      ['2026-01-10T00:00:00.000Z', 'gap'],
      ['2026-01-10T00:00:10.000Z', 'gap'],
    ],
  );
  const gone = settledMarket();
  gone.list(listing('binance', listingValues(), { writtenAt: at(20), delistedAt: at(55) }));
  t.same(
    readRows(await ask({ ...MINUTE, to: '2026-01-15T11:01:20Z', interval: '10s' }, { feed: gone })).map(
      (row) => row.gap_cause,
    ),
    [undefined, 'no_update', 'no_update', 'no_update', undefined, undefined, 'not_listed', 'not_listed'],
  );
  t.match(
    readRows(await ask({ where: MINUTE.where, layers: ['mark'], as_of: '2026-01-15T11:01:05Z' }, { feed: gone })),
    [],
  );
  // Still gone by another version, then listed again (H-07).
  gone.list(listing('binance', listingValues({ status: 'closed' }), { writtenAt: at(58), delistedAt: at(55) }));
  gone.list(listing('binance', listingValues(), { writtenAt: at(75) }));
  t.same(
    readRows(
      await ask(
        { ...MINUTE, from: '2026-01-15T11:00:50Z', to: '2026-01-15T11:01:20Z', interval: '10s' },
        { feed: gone },
      ),
    ).map((row) => row.gap_cause),
    [undefined, 'not_listed', 'unknown'],
  );
  const off = await ask({
    where: 'venue = okx',
    layers: ['oi', 'stats'],
    interval: '1m',
    from: MINUTE.from,
    to: MINUTE.to,
  });
  t.match(readRows(off, 'oi'), [{ status: 'off', reason: 'policy_off', values: {} }]);
  t.match(readRows(off, 'stats'), [{ status: 'not_published', reason: 'venue_capability' }]);
  const changed = settledMarket();
  changed.entry('binance', {
    kind: 'capability',
    capability: capability('binance', { mark: { policy: 'off' } }, at(15)),
  });
  t.same(
    readRows(await ask({ ...MINUTE, interval: '10s' }, { feed: changed })).map(({ status }) => status),
    ['present', 'off', 'off', 'off', 'off', 'off'],
    'the policy is that of the row’s own instant',
  );
});

t.test('after off and on again there is no value until the next reading, at any past instant (F-04)', async (t) => {
  const feed = settledMarket();
  for (const [policy, second] of [
    ['off', 12],
    ['on', 15],
  ] as const)
    feed.entry('binance', { kind: 'capability', capability: capability('binance', { mark: { policy } }, at(second)) });
  const wide = { where: MINUTE.where, layers: ['mark'], freshness: '1h', allow_stale: true };
  const instants = [10, 13, 20, 50].map((second) => `2026-01-15T11:00:${second}Z`);
  const states = (answer: { json: Answer }) => readRows(answer).map(({ status, reason }) => [status, reason]);
  t.same(states(await ask({ ...wide, at: instants }, { feed })), [
    ['present', undefined],
    ['off', 'policy_off'],
    ['missing', 'no_value'],
    ['present', undefined],
  ]);
  t.same(
    states(await ask({ ...wide, interval: '30s', from: MINUTE.from, to: MINUTE.to }, { feed })),
    [
      ['missing', 'no_value'],
      ['stale', 'connection_lost'],
    ],
    'nor at the end of a period that the layer was off in after its last reading',
  );
  const raw = await ask({ ...wide, raw: true, from: MINUTE.from, to: '2026-01-15T11:00:10Z' }, { feed });
  t.same(states(raw).at(-1), ['present', undefined], 'what was received stays what was received');
  const { app, as } = await testApp(feed, { history: store });
  t.teardown(() => app.close());
  for (const [second, status] of [
    [10, 'present'],
    [20, 'missing'],
    [50, 'present'],
  ] as const) {
    const query = `as of 2026-01-15T11:00:${second}Z where venue = binance and symbol = "BTCUSDT" select status(mark)`;
    const headers = { 'content-type': 'application/json', ...as('pro_plus') };
    const payload = JSON.stringify({ query, freshness: '1h' });
    const answer = await app.inject({ method: 'POST', url: '/v2/screen', headers, payload });
    t.match(answer.json().instruments[0]?.venues[0]?.values, { 'status(mark)': { value: status } }, `${second}`);
  }
});

t.test('bounds are moved in to boundaries and cut at now', async (t) => {
  const moved = await ask({ ...MINUTE, from: '2026-01-15T11:00:01Z', to: '2026-01-15T11:00:39Z', interval: '10s' });
  t.match(moved.json, { from: '2026-01-15T11:00:10.000Z', to: '2026-01-15T11:00:30.000Z' });
  t.equal(readRows(moved).length, 2);
  const cut = await ask({ ...MINUTE, from: '2026-01-15T11:59Z', to: '2026-01-15T13:00Z', interval: '10s' });
  t.match(cut.json, { to: '2026-01-15T12:00:00.000Z', settled: false });
});

t.test('rows as lines: the same rows and hash, the envelope in headers, errors still JSON', async (t) => {
  const question = { ...MINUTE, interval: '10s' };
  const json = await ask(question);
  const lines = await ask(question, { headers: { accept: 'application/x-ndjson' } });
  t.equal(lines.headers['content-type'], 'application/x-ndjson; charset=utf-8');
  const rows = lines.text.trimEnd().split('\n');
  t.equal(rows.length, 6);
  t.equal(
    rows[4],
    '{"venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","quote":"USDT","layer":"mark",' +
      '"units":{"basis":"fraction","index":"quote","mark":"quote"},"retention_from":"2026-01-10T00:00:00.000Z","history_cadence":"10s",' +
      `"at":"2026-01-15T11:00:50.000Z","status":"present","venue_ts":"2026-01-15T11:00:48.900Z","received_at":"2026-01-15T11:00:49.000Z","age_ms":1000,"venue_age_ms":1100,${HELD},` +
      '"values":{"index":null,"mark":60000.123456789012345678},"null_reasons":{"index":"no_value"}}',
    'digits are not rounded on the way',
  );
  t.match(lines.headers, {
    'x-service-items-sha256': json.json.items_sha256,
    'x-service-settled': 'true',
    'x-service-interval': '10s',
    'x-service-from': '2026-01-15T11:00:00.000Z',
    'x-service-freshness': '{"mark":"30s"}',
    'cache-control': 'private, max-age=86400, immutable',
    etag: `"${json.json.items_sha256}.ndjson"`,
    vary: /accept/,
  });
  const table = await ask(
    { ...question, number_format: 'string' },
    { headers: { accept: 'text/csv;q=0.9, text/html' } },
  );
  const [header, first, second] = table.text.split('\r\n');
  t.equal(
    header,
    'venue,venue_symbol,instrument,quote,layer,retention_from,history_cadence,at,status,venue_ts,received_at,age_ms,venue_age_ms,valid_until,horizon_source,anchor,' +
      'units.basis,units.index,units.mark,values.basis,values.index,values.mark,reason,gap_cause,null_reasons.index',
  );
  t.equal(
    first,
    'binance,BTCUSDT,BTC-PERP,USDT,mark,2026-01-10T00:00:00.000Z,10s,2026-01-15T11:00:10.000Z,present,2026-01-15T11:00:09.400Z,2026-01-15T11:00:09.500Z,500,600,,connection,venue,fraction,quote,quote,0,60000,60000.1,,,',
  );
  t.equal(
    second,
    'binance,BTCUSDT,BTC-PERP,USDT,mark,2026-01-10T00:00:00.000Z,10s,2026-01-15T11:00:20.000Z,missing,,,,,,,,fraction,quote,quote,,,,gap,no_update,',
  );
  const wrong = await ask({}, { headers: { accept: 'text/csv' } });
  t.equal(wrong.status, 400);
  t.match(wrong.headers['content-type'], 'application/json');
  t.equal((await ask(question, { headers: { accept: 'text/csv;q=0.5, application/json' } })).text.slice(0, 2), '{"');
});

t.test('faulty requests are refused with all faults at once', async (t) => {
  const faults = async (body: unknown) => {
    const { status, json } = await ask(body);
    return [status, ...json.errors.map(({ code, path }) => `${code} ${path}`)];
  };
  const none = [400, 'DQL_JSON_SCHEMA '];
  t.same(await faults({}), none);
  t.same(await faults({ interval: '10s', raw: true, from: MINUTE.from, to: MINUTE.to }), none);
  t.same(
    await faults({ interval: '7m', at: ['2026-01-15'] }),
    [...none, 'DQL_JSON_SCHEMA /interval'],
    'two modes, one spoilt',
  );
  t.same(await faults({ at: '2026-01-15', as_of: '2026-01-15' }), [...none, 'DQL_JSON_SCHEMA /at']);
  t.same(await faults({ raw: 'no', at: ['2026-01-15'] }), [400, 'DQL_JSON_SCHEMA /raw'], 'it may have meant false');
  t.same(await faults({ raw: 'yes' }), [400, 'DQL_JSON_SCHEMA /raw']);
  t.same(await faults({ interval: '10s' }), [400, 'DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /to']);
  t.same(
    await faults({ interval: '7m' }),
    [400, 'DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /interval', 'DQL_JSON_SCHEMA /to'],
    'a faulty interval needs its window too',
  );
  t.same(
    await faults({ at: '2026-01-15', from: MINUTE.from }),
    [400, 'DQL_JSON_SCHEMA /at', 'DQL_JSON_SCHEMA /from'],
    'a faulty list of instants has no window either',
  );
  t.same(await faults({ as_of: 5, to: MINUTE.to }), [400, 'DQL_JSON_SCHEMA /as_of', 'DQL_JSON_SCHEMA /to']);
  t.same(await faults({ interval: '7m', from: MINUTE.from, to: MINUTE.to }), [400, 'DQL_JSON_SCHEMA /interval']);
  t.same(await faults({ interval: '10s', from: MINUTE.to, to: MINUTE.from }), [400, 'DQL_JSON_SCHEMA /to']);
  t.same(await faults({ at: ['2026-01-15', '2026-01-14'], from: '2026' }), [
    400,
    'DQL_JSON_SCHEMA /at/1',
    'DQL_JSON_SCHEMA /from',
    'DQL_JSON_SCHEMA /from',
  ]);
  t.same(await faults({ as_of: '2026-01-16' }), [400, 'DQL_AS_OF_RANGE /as_of']);
  t.same(await faults({ ...MINUTE, interval: '10s', layers: ['candles'] }), [400, 'DQL_JSON_SCHEMA /layers/0']);
  t.same(await faults({ ...MINUTE, interval: '30s', layers: ['mark', 'funding'] }), [400, 'DQL_LIMIT /interval']);
  t.same(await faults({ as_of: '2026-01-15', where: 'venue = kraken' }), [400, 'DQL_UNKNOWN_VENUE undefined']);
});

t.test('past a limit the hint contains how far one answer reaches', async (t) => {
  const day = { ...MINUTE, from: '2026-01-14', to: '2026-01-15' };
  const rows = await ask({ ...day, interval: '10s' });
  t.match(rows.json.errors, [
    {
      code: 'DQL_LIMIT',
      message: 'A listing and layer would have 8640 rows, the limit is 2000.',
      hint: 'The largest window that fits is 20000s: send to 2026-01-14T05:33:20.000Z.',
    },
  ]);
  const raw = await ask({ where: 'venue = binance', from: '2026-01-10', to: '2026-01-15', raw: true });
  t.match(raw.json.errors[0], { code: 'DQL_LIMIT', path: '/to' });
  const reach = /reaches to (\S+) /.exec(raw.json.errors[0]?.hint ?? '')?.[1];
  const fits = await ask({ where: 'venue = binance', from: '2026-01-10', to: reach, raw: true });
  t.equal(fits.status, 200, fits.text.slice(0, 300));
});

t.test(
  'past the limit of bytes the hint contains a window that fits: whole periods, for raw rows up to an instant (H-08)',
  async (t) => {
    const where = 'venue = binance';
    for (const [body, window] of [
      [{ raw: true, from: '2026-01-15T11:00Z', to: '2026-01-15T12:00Z' }, /reaches to about (\S+) \(/],
      [{ interval: '1m', from: '2026-01-15T11:10Z', to: '2026-01-15T11:50Z' }, /send to (\S+),/],
    ] as const) {
      const call = { ...body, where };
      const whole = (await ask(call)).text.length;
      for (const most of [Math.floor(whole * 0.7), Math.floor(whole / 2), Math.floor(whole / 5)]) {
        const headers = { 'x-service-max-bytes': String(most) };
        const refused = await ask(call, { headers });
        t.match(refused.json.errors, [{ code: 'DQL_LIMIT' }], `${most} of ${whole}`);
        const hint = refused.json.errors[0]?.hint ?? '';
        const to = window.exec(hint)?.[1];
        t.ok(to !== undefined, hint);
        const again = await ask({ ...call, to }, { headers });
        t.equal(again.status, 200, hint);
        t.ok(again.json.items.length > 0 && again.text.includes('"at"'), 'and has rows');
      }
    }
  },
);

t.test('a call needs a key, and a plan that reaches what is requested', async (t) => {
  t.equal((await ask({}, { plan: null })).status, 402);
  const old = await ask(
    { ...MINUTE, from: '2026-01-08T11:00Z', to: '2026-01-08T11:01Z', interval: '10s', where: 'base = BTC' },
    { plan: 'free' },
  );
  t.equal(old.status, 403);
  t.match(old.json.errors, [
    { code: 'PLAN_LIMIT', message: 'The plan Free reaches back to 2026-01-08T12:00:00.500Z.', path: '/from' },
  ]);
  t.same(
    (await ask({ ...MINUTE, raw: true }, { plan: 'mini' })).json.errors.map(({ code, path }) => [code, path]),
    [['PLAN_LIMIT', '/raw']],
  );
  const free = await ask({ ...MINUTE, interval: '1m', layers: ['mark'] }, { plan: 'free' });
  t.same(free.json.scope, { venues: ['binance', 'okx'], instruments: 2, plan: 'free' });
});

t.test('answers 503 while the store is away, and while neither it nor memory holds a window', async (t) => {
  const away = await ask({ ...MINUTE, interval: '10s' }, { history: storeAway(t) });
  t.equal(away.status, 503);
  t.match(away.json.errors, [{ code: 'UNAVAILABLE' }]);
  t.equal(
    (await ask({ ...MINUTE, interval: '10s' }, { history: createHistoryStore(reader, 'nonesuch.') })).status,
    503,
  );

  const behind = market();
  behind.memory.applyHistoryWatermark('binance', 0, NOW - 2_000 * SECOND);
  const hole = { ...MINUTE, interval: '10s', from: '2026-01-15T11:30Z', to: '2026-01-15T11:40Z' };
  t.equal((await ask(hole, { feed: behind })).status, 503);
  t.equal(
    (await ask({ ...MINUTE, interval: '10s' }, { feed: behind })).status,
    200,
    'what the store shows is answered',
  );
});
