// POST /v2/liquidations over a real QuestDB: items byte by byte, values, pages over all listings, gaps, seam with memory, limits (H-15, H-16, N-10).
import { createHash } from 'node:crypto';
import t from 'tap';
import type { PlanCode } from '../../../api/contract/plans.ts';
import { makeEventGapRow, makeEventRow } from '../../../processors/task/rows.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { LiquidationRecord, Micros } from '../../../schemas/records.ts';
import { findItems, hashSettledItems } from '../../../schemas/settled-items.ts';
import type { LayerCapability, Row } from '../../../schemas/topics.ts';
import { Feed, LISTED, listing, listingValues, micros, NOW } from '../../support/apps/live-fixture.ts';
import { BTCUSD, collecting, ELEVEN, type PastAnswer, pastAsker, SECOND } from '../../support/apps/past-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore, storeAway } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history: store, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const at = (seconds: number): Micros => ELEVEN + seconds * SECOND;

type Event = Partial<LiquidationRecord['values']> & {
  received: Micros;
  id: string;
  venue?: string;
  symbol?: string;
  late?: boolean;
};
const event = ({ received, id, venue = 'binance', symbol = 'BTCUSDT', late = false, ...values }: Event): Row =>
  makeEventRow(
    'liquidations',
    { venue, symbol, id, connId: 'c1', recordedAt: received + 2_000, srcOffset: 1, late },
    {
      layer: 'liquidation',
      venue,
      venue_symbol: symbol,
      venue_ts: received - 80_000,
      received_at: received,
      values: {
        id,
        side: 'long',
        price: '63050.1',
        price_kind: 'bankruptcy',
        quantity: '0.512',
        quantity_unit: 'base',
        ...values,
      },
    },
  );
const gap = (from: Micros, to: Micros, cause: GapCause): Row =>
  makeEventGapRow('liquidations', { venue: 'binance', symbol: 'BTCUSDT' }, { from, at: to, cause, srcOffset: 9 });

await write([
  event({ received: at(1), id: '118273' }),
  event({ received: at(2), id: '9', side: 'short', price: '60000.123456789012345678', quantity: '2' }),
  event({ received: at(3), id: 'b' }),
  event({ received: at(3), id: 'a' }),
  event({ received: at(3), id: 'x', venue: 'okx', symbol: 'BTC-USDT-SWAP', quantity: '5', quantity_unit: 'contracts' }),
  event({ received: at(4), id: 'late', late: true }),
  event({ received: at(5), id: 'i', symbol: 'BTCUSD', quantity: '3', quantity_unit: 'contracts', price: '60000' }),
  event({ received: at(60), id: 'edge' }),
  gap(at(10), at(20), 'connection_lost'),
  gap(at(20), at(22.5), 'connection_lost'),
  gap(at(22.5), at(30), 'collector_down'),
  gap(at(58), at(70), 'no_update'),
]);

const SWAP = listingValues({ venue_symbol: 'BTC-USDT-SWAP', quantity_unit: 'contracts', contract_size: '0.01' });

const settledMarket = (over: Partial<LayerCapability> = {}, history = NOW - 190_000): Feed => {
  const feed = new Feed(['binance', 'okx']);
  for (const venue of ['binance', 'okx']) {
    feed.watermark(venue, LISTED);
    feed.venue(venue, collecting(venue, 'liquidation', over));
    feed.memory.applyHistoryWatermark(venue, 0, history);
  }
  feed.list(listing('binance', listingValues()));
  feed.list(listing('binance', BTCUSD));
  feed.list(listing('okx', SWAP));
  return feed;
};

type Item = {
  venue_symbol: string;
  completeness: string;
  rows: Record<string, unknown>[];
  gaps: { from: string; to: string; gap_cause: string }[];
};
type Answer = PastAnswer<Item> & { page: { limit: number; returned: number; next_cursor: string | null } };
const ask = pastAsker<Answer>('/v2/liquidations', { feed: settledMarket, history: store });

const MINUTE = { from: '2026-01-15T11:00Z', to: '2026-01-15T11:01Z' };
const BTC = { ...MINUTE, where: 'symbol = "BTCUSDT"' };
const listIds = ({ json }: { json: Answer }) => json.items.map(({ rows }) => rows.map(({ id }) => id));

t.test('rows in the order of receipt with their values, and the gaps between them, byte by byte', async (t) => {
  const answer = await ask(BTC);
  t.equal(answer.status, 200, answer.text);
  const stamps = (second: number): string =>
    `"venue_ts":"2026-01-15T11:00:0${second - 1}.920Z","received_at":"2026-01-15T11:00:0${second}.000Z"`;
  const items =
    '[{"venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","quote":"USDT",' +
    '"completeness":"sampled","retention_from":"2026-01-10T00:00:00.000Z","units":{"price":"quote","quantity":"base","value":"quote"},"rows":[' +
    `{${stamps(1)},"side":"long","price":63050.1,"price_kind":"bankruptcy","quantity":0.512,"value":32281.6512,"id":"118273"},` +
    `{${stamps(2)},"side":"short","price":60000.123456789012345678,"price_kind":"bankruptcy","quantity":2,"value":120000.246913578024691356,"id":"9"},` +
    `{${stamps(3)},"side":"long","price":63050.1,"price_kind":"bankruptcy","quantity":0.512,"value":32281.6512,"id":"a"},` +
    `{${stamps(3)},"side":"long","price":63050.1,"price_kind":"bankruptcy","quantity":0.512,"value":32281.6512,"id":"b"}],` +
    '"gaps":[{"from":"2026-01-15T11:00:10.000Z","to":"2026-01-15T11:00:22.500Z","gap_cause":"connection_lost"},' +
    '{"from":"2026-01-15T11:00:22.500Z","to":"2026-01-15T11:00:30.000Z","gap_cause":"collector_down"},' +
    '{"from":"2026-01-15T11:00:58.000Z","to":"2026-01-15T11:01:00.000Z","gap_cause":"no_update"}]}]';
  const sha = createHash('sha256').update(items).digest('hex');
  t.equal(
    answer.text,
    `{"evaluated_at":"2026-01-15T12:00:00.500Z","settled":true,"items_sha256":"${sha}",` +
      '"from":"2026-01-15T11:00:00.000Z","to":"2026-01-15T11:01:00.000Z","units":"published",' +
      '"listings_as_of":"2026-01-10T00:00:00.000Z","capabilities_as_of":"2026-01-10T00:00:00.000Z",' +
      `"receipt_id":"${answer.headers['x-service-receipt']}","items":${items},"page":{"limit":500,"returned":4,"next_cursor":null}}`,
  );
  t.equal(answer.headers.etag, `"${sha}"`);
  t.same(listIds(await ask({ ...BTC, side: 'short' })), [['9']]);
  t.same(
    listIds(await ask({ ...BTC, from: '2026-01-15T11:01Z', to: '2026-01-15T11:02Z' })),
    [['edge']],
    'a window begins at its first instant and ends before its last',
  );
});

t.test(
  'a settled answer is compared with that of another day without what retention moves (N-10, OP-03)',
  async (t) => {
    const askOn = (day: string) => ask(BTC, { nowMicros: () => micros(`${day}T12:00:00.000Z`) });
    const [first, next] = [await askOn('2026-04-11'), await askOn('2026-04-12')];
    t.match(
      [first.json, next.json],
      [
        { settled: true, items: [{ retention_from: '2026-01-11T00:00:00.000Z' }] },
        { settled: true, items: [{ retention_from: '2026-01-12T00:00:00.000Z' }] },
      ],
    );
    t.not(first.json.items_sha256, next.json.items_sha256);
    const [items, later] = [findItems(first.text) ?? '', findItems(next.text) ?? ''];
    t.equal(createHash('sha256').update(items).digest('hex'), first.json.items_sha256, 'the bytes that were sent');
    t.equal(hashSettledItems(items), hashSettledItems(later));
    t.not(hashSettledItems(items), hashSettledItems(later.replace('63050.1', '63050.2')));
  },
);

t.test('quantities and values convert with the liquidation’s own price', async (t) => {
  const base = await ask({ ...MINUTE, units: 'base' });
  const [inverse, , swap] = base.json.items;
  t.match(inverse?.rows, [{ quantity: 0.005, value: 300, conversion: { multiplier: 1, contract_size: 100 } }]);
  t.match(swap?.rows, [{ quantity: 0.05, value: 3152.505, conversion: { contract_size: 0.01 } }]);
  const quote = await ask({ ...MINUTE, units: 'quote', number_format: 'string' });
  t.match(quote.text, '"quantity":"300","value":"300","id":"i","conversion":{"multiplier":"1","contract_size":"100"}');
  const unknown = settledMarket();
  unknown.list(listing('okx', { ...SWAP, contract_size: null }, { writtenAt: LISTED + 1 }));
  const rows = (await ask({ ...MINUTE, where: 'venue = okx', units: 'base' }, { feed: unknown })).text;
  t.match(rows, '"quantity":null,"value":null,"id":"x"');
  t.match(rows, '"null_reasons":{"quantity":"unit_unknown","value":"unit_unknown"}}');
});

t.test('pages cover all listings together, and hold each row and gap once', async (t) => {
  const whole = await ask(MINUTE);
  t.same(listIds(whole), [['i'], ['118273', '9', 'a', 'b'], ['x']]);
  for (const limit of [1, 2, 3, 5]) {
    const pages: Answer[] = [];
    for (let cursor: string | null | undefined; cursor !== null; cursor = pages.at(-1)?.page.next_cursor ?? null) {
      const page = await ask({ ...MINUTE, limit, ...(cursor === undefined ? {} : { cursor }) });
      t.equal(page.status, 200, page.text);
      t.equal(page.json.page.returned, listIds(page).flat().length);
      pages.push(page.json);
    }
    t.equal(pages.length, Math.ceil(6 / limit));
    const joined = whole.json.items.map((_, i) => pages.flatMap(({ items }) => items[i]?.rows ?? []));
    t.same(
      joined,
      whole.json.items.map(({ rows }) => rows),
      `rows of pages of ${limit}`,
    );
    const gaps = pages.flatMap(({ items }) => items.flatMap((item) => item.gaps));
    t.same(
      gaps,
      whole.json.items.flatMap((item) => item.gaps),
      `gaps of pages of ${limit}`,
    );
  }
  t.match((await ask({ ...MINUTE, limit: 9_999 })).json.page, { limit: 5_000 });
});

t.test('a cursor belongs to its request, and keeps its end', async (t) => {
  const first = await ask({ ...BTC, limit: 1, to: '2026-01-15T13:00Z' });
  t.match(first.json, { to: '2026-01-15T12:00:00.500Z', settled: false });
  const cursor = first.json.page.next_cursor;
  const later = await ask({ ...BTC, to: '2026-01-15T13:00Z', cursor }, { nowMicros: () => NOW + 90 * SECOND });
  t.match(later.json, { to: '2026-01-15T12:00:00.500Z' });
  for (const wrong of [
    { ...BTC, cursor },
    { ...MINUTE, to: '2026-01-15T13:00Z', cursor },
    { ...BTC, cursor: 'e30' },
  ]) {
    t.match((await ask(wrong)).json.errors, [{ code: 'DQL_JSON_SCHEMA', path: '/cursor' }]);
  }
});

t.test('a cursor changed by hand to lie outside its window is invalid (H-15)', async (t) => {
  const first = await ask({ ...BTC, limit: 1 });
  const parts = JSON.parse(Buffer.from(first.json.page.next_cursor ?? '', 'base64url').toString()) as unknown[];
  t.equal(parts[2], at(1));
  const moved = (receivedAt: Micros) => {
    const cursor = Buffer.from(JSON.stringify(parts.with(2, receivedAt))).toString('base64url');
    return ask({ ...BTC, limit: 1, cursor });
  };
  for (const outside of [0, ELEVEN - 1, at(60), at(61)]) {
    const { status, json } = await moved(outside);
    t.equal(status, 400, String(outside));
    t.match(json.errors, [{ code: 'DQL_JSON_SCHEMA', path: '/cursor' }]);
  }
  t.same(listIds(await moved(ELEVEN)), [['118273']]);
  t.same(listIds(await moved(at(60) - 1)), [[]]);
});

t.test('what memory holds and the store does not show yet is part of the answer, once', async (t) => {
  const feed = settledMarket({}, at(50));
  const put = (row: Row): void => feed.entry('binance', { kind: 'event', symbol: 'BTCUSDT', row });
  put(event({ received: at(1), id: '118273' }));
  put(event({ received: at(3), id: 'c' }));
  put(event({ received: at(3), id: 'd' }));
  put(event({ received: at(4), id: 'e', late: true }));
  feed.watermark('binance', at(80));
  const answer = await ask(BTC, { feed, nowMicros: () => at(80) });
  t.same(listIds(answer), [['118273', '9', 'a', 'b', 'c', 'd']]);
  t.equal(answer.json.settled, false);
});

t.test('the answer declares how much a venue publishes, and what cannot be known', async (t) => {
  t.match((await ask(BTC, { feed: settledMarket({ completeness: 'full' }) })).json.items, [{ completeness: 'full' }]);
  const none = (await ask({ ...BTC, from: '2026-01-15T11:05Z', to: '2026-01-15T11:06Z' })).json.items[0];
  t.same([none?.rows, none?.gaps], [[], []], 'none were published');
  for (const policy of ['off', 'not_published'] as const) {
    const feed = settledMarket({ policy });
    const quiet = (await ask({ ...BTC, from: '2026-01-15T11:05Z', to: '2026-01-15T11:06Z' }, { feed })).json.items[0];
    t.match(quiet, { completeness: 'none', rows: [], gaps: [] });
  }
  const early = (await ask({ ...BTC, from: '2026-01-09T23:59Z', to: '2026-01-10T00:01Z' })).json.items[0];
  t.same(early?.gaps, [
    { from: '2026-01-09T23:59:00.000Z', to: '2026-01-10T00:00:00.000Z', gap_cause: 'not_retained' },
  ]);
  const gone = settledMarket();
  gone.list(listing('binance', listingValues(), { writtenAt: at(20), delistedAt: at(25) }));
  t.same((await ask(BTC, { feed: gone })).json.items[0]?.gaps.slice(1), [
    { from: '2026-01-15T11:00:22.500Z', to: '2026-01-15T11:00:25.000Z', gap_cause: 'collector_down' },
    { from: '2026-01-15T11:00:25.000Z', to: '2026-01-15T11:01:00.000Z', gap_cause: 'not_listed' },
  ]);
  gone.list(listing('binance', listingValues(), { writtenAt: at(40) }));
  t.same(
    (await ask(BTC, { feed: gone })).json.items[0]?.gaps.slice(1),
    [
      { from: '2026-01-15T11:00:22.500Z', to: '2026-01-15T11:00:25.000Z', gap_cause: 'collector_down' },
      { from: '2026-01-15T11:00:25.000Z', to: '2026-01-15T11:00:40.000Z', gap_cause: 'not_listed' },
      { from: '2026-01-15T11:00:58.000Z', to: '2026-01-15T11:01:00.000Z', gap_cause: 'no_update' },
    ],
    'listed again: the stretch between has one gap alone (H-07, H-15)',
  );
});

t.test(
  'stretches without collection are gaps with the reason of their policy alone, wherever the window ends (H-15, L-07)',
  async (t) => {
    const turn = (written_at: Micros, policy: LayerCapability['policy']) => ({
      capability: { ...collecting('binance', 'liquidation', { policy }), written_at },
    });
    const feed = settledMarket();
    const turns = [
      [at(5), 'off'],
      [at(8), 'on'],
      [at(12), 'off'],
      [at(14), 'on'],
      [at(40), 'not_published'],
    ] as const;
    for (const [when, policy] of turns) feed.entry('binance', { kind: 'capability', ...turn(when, policy) });
    const gaps = [
      ['11:00:05.000', '11:00:08.000', 'policy_off'],
      ['11:00:10.000', '11:00:12.000', 'connection_lost'],
      ['11:00:12.000', '11:00:14.000', 'policy_off'],
      ['11:00:14.000', '11:00:22.500', 'connection_lost'],
      ['11:00:22.500', '11:00:30.000', 'collector_down'],
      ['11:00:40.000', '11:01:00.000', 'venue_capability'],
    ];
    const within = (from: string, to: string) =>
      gaps.flatMap(([begins = '', ends = '', cause]) => {
        const [first, last] = [begins > from ? begins : from, ends < to ? ends : to];
        return first < last ? [{ from: `2026-01-15T${first}Z`, to: `2026-01-15T${last}Z`, gap_cause: cause }] : [];
      });
    for (const [from, to, completeness] of [
      ['11:00:00.000', '11:01:00.000', 'sampled'],
      ['11:00:00.000', '11:00:04.000', 'sampled'],
      ['11:00:04.000', '11:00:06.000', 'sampled'],
      ['11:00:06.000', '11:00:09.000', 'sampled'],
      ['11:00:39.000', '11:00:50.000', 'sampled'],
    ] as const) {
      const { json } = await ask({ ...BTC, from: `2026-01-15T${from}Z`, to: `2026-01-15T${to}Z` }, { feed });
      t.equal(json.items[0]?.completeness, completeness, `${from} to ${to}`);
      t.same(json.items[0]?.gaps, within(from, to), `${from} to ${to}`);
    }
    for (const [from, to] of [
      ['11:00:06Z', '11:00:07Z'],
      ['11:00:41Z', '11:00:59Z'],
    ]) {
      const { json } = await ask({ ...BTC, from: `2026-01-15T${from}`, to: `2026-01-15T${to}` }, { feed });
      t.match(json.items[0], { completeness: 'none', rows: [], gaps: [] }, 'never collected in the window');
    }
  },
);

t.test('five seconds without a message of the venue begin a gap until the next one (H-15, H-16k)', async (t) => {
  const askUpTo = async (receivedUpTo: Micros) => {
    const feed = settledMarket({}, receivedUpTo);
    feed.watermark('binance', receivedUpTo);
    feed.watermark('okx', at(600));
    const window = { from: '2026-01-15T11:05Z', to: '2026-01-15T11:06Z' };
    const { json } = await ask(window, { feed, nowMicros: () => at(600) });
    return [json.settled, ...json.items.map(({ gaps }) => gaps)];
  };
  const since = (second: string) => [
    { from: `2026-01-15T11:05:${second}Z`, to: '2026-01-15T11:06:00.000Z', gap_cause: 'unknown' },
  ];
  t.same(await askUpTo(at(290)), [false, since('00.000'), since('00.000'), []], 'nothing of the window');
  t.same(await askUpTo(at(350)), [false, since('50.000'), since('50.000'), []], 'each venue for itself');
  t.same(await askUpTo(at(355) - 1), [false, since('54.999999'), since('54.999999'), []]);
  t.same(await askUpTo(at(355)), [false, [], [], []], 'as far behind as any venue may be');
  t.same(await askUpTo(at(361)), [false, [], [], []]);
  t.same(await askUpTo(at(470)), [true, [], [], []]);
});

t.test('settles when the store shows every event and every gap that counts', async (t) => {
  const settledAt = async (to: string, history: Micros, now: Micros): Promise<boolean | undefined> => {
    const feed = settledMarket({}, history);
    for (const venue of ['binance', 'okx']) feed.watermark(venue, history);
    return (await ask({ ...BTC, to }, { feed, nowMicros: () => now })).json.settled;
  };
  t.equal(await settledAt('2026-01-15T11:01Z', at(60) + 100_001_000, at(180)), true);
  t.equal(await settledAt('2026-01-15T11:01Z', at(60) + 100_000_999, at(240)), false);
  t.equal(
    await settledAt('2026-01-15T11:00:55Z', at(60) + 100_000_999, at(240)),
    false,
    'a gap is sealed by its window',
  );
});

t.test('rows as lines with the envelope in headers', async (t) => {
  const lines = await ask(MINUTE, { headers: { accept: 'application/x-ndjson' } });
  t.match(lines.headers, { 'x-service-settled': 'true', 'x-service-units': 'published' });
  const { json, headers } = await ask(MINUTE);
  const repeated = json.items.flatMap(({ rows, gaps: _, ...listing }) => rows.map((row) => ({ ...listing, ...row })));
  t.equal(repeated.length, 6);
  t.same(
    lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    repeated,
    'every member of the listing is repeated, its completeness and units too',
  );
  const gaps = json.items.reduce((sum, item) => sum + item.gaps.length, 0);
  t.ok(gaps > 0, 'a line is an event: gaps are none');
  t.equal(lines.headers['x-service-gaps'], String(gaps), 'but no table hides that there are some');
  t.notOk('x-service-gaps' in headers);
});

t.test('faulty requests are refused with their faults, and a plan must have the layer', async (t) => {
  const faults = async (body: unknown, plan: PlanCode | null = 'pro_plus') => {
    const { status, json } = await ask(body, { plan });
    return [status, ...json.errors.map(({ code, path }) => `${code} ${path}`)];
  };
  t.same(await faults({}), [400, 'DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /to']);
  t.same(await faults({ ...BTC, from: MINUTE.to, to: MINUTE.from }), [400, 'DQL_JSON_SCHEMA /to']);
  t.same(await faults({ ...BTC, side: 'sell', limit: 0 }), [400, 'DQL_JSON_SCHEMA /limit', 'DQL_JSON_SCHEMA /side']);
  t.same(await faults({ ...BTC, where: 'base = NONE' }), [400, 'DQL_UNKNOWN_ASSET undefined']);
  t.same(await faults(BTC, null), [401, 'AUTH_REQUIRED undefined'], 'it cannot be bought');
  t.same(await faults(BTC, 'mini'), [403, 'PLAN_LIMIT undefined']);
  t.equal((await ask(BTC, { plan: 'standard' })).status, 200);
});

t.test('answers 503 while the store is away', async (t) => {
  const away = await ask(BTC, { history: storeAway(t) });
  t.same([away.status, away.json.errors[0]?.code], [503, 'UNAVAILABLE']);
});
