// POST /v2/snapshots: shapes byte by byte, units, statuses, selections, plans (H-01, L-04, L-07, N-07, S-01 to S-07).
import t from 'tap';
import {
  capability,
  Feed,
  listing,
  listingValues,
  market,
  markReading,
  micros,
  NOW,
  post,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';

const PLUS = 'pro_plus';
type Answer = {
  items: { venue: string; venue_symbol: string; layers: Record<string, Record<string, unknown>> }[];
  missing: unknown[];
  errors: { code: string; path?: string; hint?: string; message: string; position?: unknown }[];
  [member: string]: unknown;
};

const ask = async (feed: Feed, body: unknown, plan: 'free' | 'mini' | 'standard' | 'pro_plus' = PLUS) => {
  const { app, as } = await testApp(feed);
  const answer = await post(app, as(plan), body);
  await app.close();
  return { status: answer.statusCode, text: answer.body, json: answer.json<Answer>(), headers: answer.headers };
};

t.test('prints a present reading exactly as L-04 shows it', async (t) => {
  const { status, text, headers } = await ask(market(), {
    where: 'symbol = "BTCUSDT"',
    layers: ['funding'],
    include_raw: true,
  });
  t.equal(status, 200);
  const receipt = headers['x-service-receipt'];
  t.match(receipt, /^rcp_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.equal(
    text,
    `{"evaluated_at":"2026-01-15T12:00:00.500Z","served_at":"2026-01-15T12:00:00.310Z","receipt_id":"${receipt}","units":"published",` +
      '"freshness":{"funding":"300s"},"items":[{"venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","quote":"USDT","layers":{"funding":' +
      '{"status":"present","venue_ts":"2026-01-15T12:00:00.120Z","received_at":"2026-01-15T12:00:00.184512Z","age_ms":315,"venue_age_ms":380,' +
      '"valid_until":null,"horizon_source":"connection","anchor":"venue",' +
      '"values":{"funding":0.0000125,"funding_8h":0.0001,"funding_interval":3600000},' +
      '"units":{"funding":"fraction","funding_8h":"fraction","funding_interval":"ms"},' +
      '"instants":{"next_funding_at":"2026-01-15T13:00:00.000Z"},"raw":{"r":"0.00001250"}}}}],"missing":[]}',
  );
  t.equal(headers['cache-control'], 'no-store');
  t.equal(headers['content-type'], 'application/json; charset=utf-8');
});

t.test('number_format string quotes figures and nothing else', async (t) => {
  const feed = market();
  feed.read(
    'binance',
    'BTCUSDT',
    reading({
      layer: 'venue_depth',
      values: { mid: '60000.05', depth_bid_10bps: '1.5', levels_bid_10bps: '12' },
      null_reasons: { depth_ask_10bps: 'no_value' },
      instants: {},
      quantity_unit: 'base',
      raw: null,
    }),
  );
  const { text } = await ask(feed, { where: { symbol: 'BTCUSDT' }, layers: ['book_bands'], number_format: 'string' });
  t.match(text, '"age_ms":315,');
  t.match(text, '"values":{"depth_ask_10bps":null,"depth_bid_10bps":"1.5","levels_bid_10bps":12,"mid":"60000.05"}');
  t.match(
    text,
    '"null_reasons":{"depth_ask_10bps":"no_value"},"units":{"depth_ask_10bps":"base","depth_bid_10bps":"base","levels_bid_10bps":"count","mid":"quote"}',
  );
  t.match(text, '"freshness":{"venue_depth":"30s"}');
});

t.test('answers every layer of the plan with its status, in ascending order', async (t) => {
  const { json } = await ask(market(), { where: 'venue = okx' });
  const [item] = json.items;
  t.same(Object.keys(item?.layers ?? {}), ['book', 'funding', 'mark', 'oi', 'stats', 'ticker', 'venue_depth']);
  t.same(item?.layers.oi, {
    status: 'off',
    reason: 'policy_off',
    venue_ts: null,
    received_at: null,
    age_ms: null,
    venue_age_ms: null,
    valid_until: null,
    horizon_source: null,
    anchor: null,
    values: {},
    units: {},
  });
  t.match(item?.layers.stats, { status: 'not_published', reason: 'venue_capability', values: {} });
  t.match(item?.layers.book, { status: 'missing', reason: 'no_value', age_ms: null });
});

t.test(
  'what a listing does not publish is not published there, whatever its venue publishes for others (L-07)',
  async (t) => {
    const feed = market();
    const values = listingValues({ not_published: ['funding', 'min_notional'] });
    feed.list(listing('binance', values, { writtenAt: NOW - 1_000_000 }));
    const ofListing = (json: Answer, symbol: string) => json.items.find((item) => item.venue_symbol === symbol)?.layers;
    const { json } = await ask(feed, { where: 'venue = binance' });
    t.match(ofListing(json, 'BTCUSDT')?.funding, { status: 'not_published', reason: 'venue_capability', values: {} });
    t.match(ofListing(json, 'BTCUSDT')?.mark, { status: 'present' });
    t.match(ofListing(json, 'ETHUSDT')?.funding, { status: 'present' });
    const hidden = listingValues({ not_published: ['funding'] });
    const off = market();
    off.entry('binance', {
      kind: 'capability',
      capability: capability('binance', { funding: { policy: 'off' } }, NOW - 1_000_000),
    });
    off.list(listing('binance', hidden, { writtenAt: NOW - 1_000_000 }));
    const offAnswer = await ask(off, { where: 'venue = binance' });
    t.match(ofListing(offAnswer.json, 'BTCUSDT')?.funding, { status: 'off', reason: 'policy_off' }, 'off goes before');
  },
);

t.test('withholds what does not hold, and shows it only when requested', async (t) => {
  const lost = market();
  lost.entry('binance', {
    kind: 'connection',
    span: { conn_id: 'c1', slot: 'market', from: 0, to: NOW - 100_000, cause: 'connection_lost' },
  });
  lost.entry('binance', {
    kind: 'connection',
    span: {
      conn_id: 'c1',
      slot: 'market',
      from: micros('2026-01-10T00:00:00.000Z'),
      to: NOW - 100_000,
      cause: 'connection_lost',
    },
  });
  const where = 'symbol = "BTCUSDT"';
  const hidden = await ask(lost, { where, layers: ['funding'] });
  t.match(hidden.json.items[0]?.layers.funding, {
    status: 'stale',
    reason: 'connection_lost',
    valid_until: '2026-01-15T12:00:00.400Z',
    values: {},
    units: {},
  });
  t.notMatch(hidden.text, 'withheld');
  t.notMatch(hidden.text, '0.0000125');
  const shown = await ask(lost, { where, layers: ['funding'], allow_stale: true });
  t.match(
    shown.text,
    '"values":{},"units":{"funding":"fraction","funding_8h":"fraction","funding_interval":"ms"},"instants":{"next_funding_at":"2026-01-15T13:00:00.000Z"},"withheld":{"values":{"funding":0.0000125,"funding_8h":0.0001,"funding_interval":3600000}}}',
  );

  const behind = market();
  behind.watermark('binance', NOW - 5_000_001);
  t.match((await ask(behind, { where, layers: ['mark'] })).json.items[0]?.layers.mark, {
    status: 'stale',
    reason: 'state_lag',
  });
  behind.watermark('binance', NOW - 5_000_000);
  t.match((await ask(behind, { where, layers: ['mark'] })).json.items[0]?.layers.mark, { status: 'present' });

  const old = market();
  old.read('binance', 'BTCUSDT', markReading('1', { received_at: NOW - 30_001_000 }));
  t.match((await ask(old, { where, layers: ['mark'] })).json.items[0]?.layers.mark, {
    status: 'stale',
    reason: 'freshness_bound',
    age_ms: 30_001,
  });
  t.match((await ask(old, { where, layers: ['mark'], freshness: '1h' })).json.items[0]?.layers.mark, {
    status: 'present',
  });
  t.match((await ask(old, { where, layers: ['mark'], freshness: { mark: '31s' } })).json, {
    freshness: { mark: '31s' },
  });

  const invalid = market();
  invalid.read('binance', 'BTCUSDT', markReading('1', { valid: false, gap_cause: 'crossed_book', values: {} }));
  t.match((await ask(invalid, { where, layers: ['mark'], allow_stale: true })).json.items[0]?.layers.mark, {
    status: 'missing',
    reason: 'gap',
    gap_cause: 'crossed_book',
    values: {},
  });

  const passed = market();
  passed.read(
    'binance',
    'BTCUSDT',
    markReading('1', { horizon_source: 'documented', horizon_ms: 100, valid_until: NOW - 1 }),
  );
  t.match((await ask(passed, { where, layers: ['mark'] })).json.items[0]?.layers.mark, {
    status: 'stale',
    reason: 'horizon_passed',
  });
});

// base and quote of 3 published units, worked by hand from N-07; mark 60000.
const CONVERSIONS = [
  { name: 'linear base', values: {}, unit: 'base', base: 3, quote: 180000 },
  { name: 'linear contracts', values: { contract_size: '0.01' }, unit: 'contracts', base: 0.03, quote: 1800 },
  { name: 'linear with multiplier', values: { multiplier: '1000' }, unit: 'base', base: 3000, quote: 180000 },
  {
    name: 'inverse contracts',
    values: { venue_kind: 'inverse', contract_size: '100' },
    unit: 'contracts',
    base: 0.005,
    quote: 300,
  },
  { name: 'quote amounts', values: { venue_kind: 'inverse' }, unit: 'quote', base: 0.00005, quote: 3 },
  { name: 'quanto', values: { venue_kind: 'quanto' }, unit: 'contracts', base: null, quote: null },
  { name: 'unknown contract size', values: { contract_size: null }, unit: 'contracts', base: null, quote: null },
  { name: 'unknown multiplier', values: { multiplier: null }, unit: 'base', base: null, quote: null },
] as const;

t.test('converts quantities by N-07, and names what cannot be converted', async (t) => {
  for (const { name, values, unit, base, quote } of CONVERSIONS) {
    const feed = new Feed(['binance']);
    feed.venue('binance');
    feed.list(listing('binance', listingValues({ ...values, quantity_unit: unit })));
    feed.read('binance', 'BTCUSDT', markReading('60000'));
    feed.read('binance', 'BTCUSDT', reading({ layer: 'oi', values: { oi: '3' }, instants: {}, quantity_unit: unit }));
    for (const [mode, expected] of [
      ['base', base],
      ['quote', quote],
    ] as const) {
      const { json } = await ask(feed, { layers: ['oi'], units: mode });
      const oi = json.items[0]?.layers.oi as {
        values: { oi: unknown };
        units: { oi: string };
        status: string;
        null_reasons?: unknown;
      };
      t.equal(oi.values.oi, expected, `${name} in ${mode}`);
      t.equal(oi.units.oi, mode);
      t.equal(oi.status, 'present');
      t.same(oi.null_reasons, expected === null ? { oi: 'unit_unknown' } : undefined);
    }
    const published = await ask(feed, { layers: ['oi'] });
    t.match(published.json.items[0]?.layers.oi, { values: { oi: 3 }, units: { oi: unit } });
    t.notMatch(published.text, 'conversion');
  }
});

t.test('states the mark a figure was converted with, and needs it present', async (t) => {
  const feed = new Feed(['okx']);
  feed.venue('okx');
  feed.list(listing('okx', listingValues({ contract_size: '0.01', quantity_unit: 'contracts' })));
  feed.read('okx', 'BTCUSDT', reading({ layer: 'oi', values: { oi: '3' }, instants: {}, quantity_unit: 'contracts' }));
  const without = await ask(feed, { layers: ['oi'], units: 'quote' });
  t.match(
    without.text,
    '"null_reasons":{"oi":"unit_unknown"},"units":{"oi":"quote"},"conversion":{"multiplier":1,"contract_size":0.01}',
  );
  feed.read('okx', 'BTCUSDT', markReading('60000.5'));
  const within = await ask(feed, { layers: ['oi'], units: 'quote' });
  t.match(
    within.text,
    '"values":{"oi":1800.015},"units":{"oi":"quote"},"conversion":{"multiplier":1,"contract_size":0.01,"mark":60000.5,"mark_received_at":"2026-01-15T12:00:00.184512Z"}',
  );
});

t.test('converts a reading with the listing version in force when it was recorded (H-16k)', async (t) => {
  const feed = market();
  feed.read(
    'okx',
    'BTC-USDT-SWAP',
    reading({ layer: 'book', values: { bid_size: '5' }, instants: {}, quantity_unit: 'contracts' }),
  );
  const later = listingValues({ venue_symbol: 'BTC-USDT-SWAP', quantity_unit: 'contracts', contract_size: '1' });
  feed.list(listing('okx', later, { writtenAt: NOW - 1_000 }));
  const { json } = await ask(feed, { where: 'venue = okx', layers: ['book'], units: 'base' });
  t.match(json.items[0]?.layers.book, { values: { bid_size: 0.05 } });
});

t.test('answers the same whatever was requested before', async (t) => {
  const withInterest = (): Feed => {
    const feed = market();
    const interest = { layer: 'oi', values: { oi: '3' }, quantity_unit: 'base', raw: '{"oi":3}' } as const;
    feed.read('binance', 'BTCUSDT', reading(interest));
    return feed;
  };
  const shared = withInterest();
  const receipt = /"receipt_id":"[^"]*"/;
  const toText = async (feed: Feed, body: object): Promise<string> => (await ask(feed, body)).text.replace(receipt, '');
  const ways = (['published', 'base', 'quote'] as const).flatMap((units) =>
    (['json', 'string'] as const).flatMap((number_format) =>
      [false, true].flatMap((include_raw) =>
        [false, true].map((allow_stale) => ({ units, number_format, include_raw, allow_stale })),
      ),
    ),
  );
  for (const way of [...ways, ...ways.toReversed()]) {
    t.equal(await toText(shared, way), await toText(withInterest(), way), JSON.stringify(way));
  }
  // Callers of before receive a reading that is no longer valid, and a changed mark.
  shared.read('binance', 'BTCUSDT', markReading('70000'));
  const moved = await ask(shared, { layers: ['oi'], where: 'symbol = "BTCUSDT"', units: 'quote' });
  t.match(moved.json.items[0]?.layers.oi, { values: { oi: 210_000 }, conversion: { mark: 70_000 } });
  shared.entry('binance', {
    kind: 'connection',
    span: {
      conn_id: 'c1',
      slot: 'market',
      from: micros('2026-01-10T00:00:00.000Z'),
      to: NOW - 1,
      cause: 'connection_lost',
    },
  });
  const lost = await ask(shared, { layers: ['oi'], where: 'symbol = "BTCUSDT"', units: 'quote' });
  t.match(lost.json.items[0]?.layers.oi, { status: 'stale', reason: 'connection_lost', values: {} });
});

t.test("an absent quantity states its listing's unit (N-08)", async (t) => {
  const feed = market();
  const stats = { layer: 'stats', values: { turnover_24h: '7' }, null_reasons: { volume_24h: 'no_value' } } as const;
  feed.read('binance', 'BTCUSDT', reading({ ...stats, instants: {}, quantity_unit: null }));
  const where = 'symbol = "BTCUSDT"';
  for (const [units, quantity] of Object.entries({ published: 'base', base: 'base', quote: 'quote' })) {
    const { json } = await ask(feed, { where, layers: ['stats'], units });
    t.match(json.items[0]?.layers.stats, {
      values: { turnover_24h: 7, volume_24h: null },
      null_reasons: { volume_24h: 'no_value' },
      units: { turnover_24h: 'quote', volume_24h: quantity },
    });
  }
});

t.test('selects by both forms, in any letter case, and reports the pairs that do not exist', async (t) => {
  const where = 'venue in (BINANCE, okx) and instrument in ("btc-perp", ETH-PERP)';
  for (const form of [where, { venue: ['BINANCE', 'okx'], instrument: ['btc-perp', 'ETH-PERP'] }]) {
    const { json } = await ask(market(), { where: form, layers: ['mark'] });
    t.same(
      json.items.map((i) => [i.venue, i.venue_symbol]),
      [
        ['binance', 'BTCUSDT'],
        ['binance', 'ETHUSDT'],
        ['okx', 'BTC-USDT-SWAP'],
      ],
    );
    t.same(json.missing, [{ instrument: 'ETH-PERP', venue: 'okx' }]);
  }
  const symbols = await ask(market(), { where: { symbol: ['FOO', 'BTCUSDT'], venue: 'okx' }, layers: ['mark'] });
  t.same(symbols.json.items, []);
  t.same(symbols.json.missing, [
    { symbol: 'BTCUSDT', venue: 'okx' },
    { symbol: 'FOO', venue: 'okx' },
  ]);
  const alone = await ask(market(), { where: { symbol: 'FOO' }, layers: ['mark'] });
  t.same(alone.json.missing, [], 'no pair was named (S-05)');
  const delisted = market();
  delisted.list(listing('binance', listingValues(), { writtenAt: NOW - 10, delistedAt: NOW - 10 }));
  const gone = await ask(delisted, { where: 'venue = binance and instrument = BTC-PERP' });
  t.same(gone.json.missing, [{ instrument: 'BTC-PERP', venue: 'binance' }], 'known although delisted (S-04)');
});

const FAULTY_TEXTS: readonly (readonly [string, string, readonly [number, number]])[] = [
  ['', 'DQL_SYNTAX', [0, 0]],
  ['venue', 'DQL_SYNTAX', [5, 0]],
  ['venue = ', 'DQL_SYNTAX', [8, 0]],
  ['venue != okx', 'DQL_SYNTAX', [6, 2]],
  ['venue = okx or base = BTC', 'DQL_SYNTAX', [12, 2]],
  ['venue in (okx', 'DQL_SYNTAX', [13, 0]],
  ['venue in okx', 'DQL_SYNTAX', [9, 3]],
  ['symbol = BTCUSDT', 'DQL_SYNTAX', [9, 7]],
  ['symbol = "BTC', 'DQL_SYNTAX', [9, 4]],
  ['symbol = "\\q"', 'DQL_SYNTAX', [9, 4]],
  ['venue = kraken-futures', 'DQL_SYNTAX', [14, 1]],
  ['币 = okx', 'DQL_SYNTAX', [0, 1]],
  ['venue = okx and venue = binance', 'DQL_DUPLICATE_CLAUSE', [16, 5]],
  ['venu = okx', 'DQL_UNKNOWN_FIELD', [0, 4]],
  ['venue = okex', 'DQL_UNKNOWN_VENUE', [8, 4]],
  ['instrument = BTC', 'DQL_UNKNOWN_INSTRUMENT', [13, 3]],
  ['base = BTC-PERP', 'DQL_UNKNOWN_ASSET', [7, 8]],
  ['quote = EUR', 'DQL_UNKNOWN_CURRENCY', [8, 3]],
];

t.test('the fault of a text has its place', async (t) => {
  const { app, keys } = await testApp(market());
  t.teardown(() => app.close());
  const table = new Map(Object.entries(keys));
  for (const [i, [where, code, [offset, length]]] of FAULTY_TEXTS.entries()) {
    const plan = (['pro_plus', 'pro'] as const)[i % 2] ?? 'pro';
    const answer = await post(app, { authorization: `Bearer ${table.get(plan)}` }, { where });
    const [error] = answer.json<Answer>().errors;
    t.equal(answer.statusCode, 400, where);
    t.match(error, { code, position: { line: 1, column: offset + 1, offset, length } }, where);
  }
});

t.test('unknown names come all at once, with the nearest known ones', async (t) => {
  const { status, json } = await ask(market(), {
    where: 'venue in (bynance, okx) and base = BTC-PERP and\r\n  instrument = ETH',
  });
  t.equal(status, 400);
  t.match(json.errors, [
    {
      code: 'DQL_UNKNOWN_VENUE',
      position: { line: 1, offset: 10 },
      message: '"bynance" is not a venue: known are binance, okx (2 in all).',
      hint: 'Did you mean binance?',
    },
    { code: 'DQL_UNKNOWN_ASSET', position: { line: 1 }, hint: 'Write BTC.' },
    { code: 'DQL_UNKNOWN_INSTRUMENT', position: { line: 2, column: 16 }, hint: 'Write ETH-PERP.' },
  ]);
  const object = await ask(market(), { where: { venue: ['okx', 'bynance'] } });
  t.match(object.json.errors, [{ code: 'DQL_UNKNOWN_VENUE', path: '/where/venue/1' }]);
});

t.test('more than 32 codes are refused in each form by its own code (H-16i)', async (t) => {
  const codes = Array.from({ length: 33 }, (_, i) => `"S${i}"`);
  const text = await ask(market(), { where: `symbol in (${codes.join(', ')})` });
  t.match(text.json.errors, [{ code: 'DQL_COMPLEXITY', position: { line: 1 } }]);
  const object = await ask(market(), { where: { symbol: codes } });
  t.match(object.json.errors, [{ code: 'DQL_JSON_SCHEMA', path: '/where/symbol' }]);
});

const FAULTY_BODIES: readonly (readonly [unknown, readonly { code: string; path: string; hint?: string }[]])[] = [
  [
    { freshnes: '1s', layerz: [] },
    [
      { code: 'DQL_JSON_SCHEMA', path: '/freshnes', hint: 'Did you mean freshness?' },
      { code: 'DQL_JSON_SCHEMA', path: '/layerz', hint: 'Did you mean layers?' },
    ],
  ],
  [
    { units: 'bse', allow_stale: 'yes' },
    [
      { code: 'DQL_JSON_SCHEMA', path: '/allow_stale' },
      { code: 'DQL_JSON_SCHEMA', path: '/units', hint: 'Did you mean base?' },
    ],
  ],
  [{ layers: ['candles'] }, [{ code: 'DQL_JSON_SCHEMA', path: '/layers/0', hint: 'Use POST /v2/candles.' }]],
  [
    { layers: ['mark', 'trade', 'bok'] },
    [
      { code: 'DQL_JSON_SCHEMA', path: '/layers/1' },
      { code: 'DQL_JSON_SCHEMA', path: '/layers/2' },
    ],
  ],
  [{ layers: [] }, [{ code: 'DQL_JSON_SCHEMA', path: '/layers' }]],
  [{ where: 5 }, [{ code: 'DQL_JSON_SCHEMA', path: '/where' }]],
  [{ where: {} }, [{ code: 'DQL_JSON_SCHEMA', path: '/where' }]],
  [{ where: { venu: 'okx' } }, [{ code: 'DQL_JSON_SCHEMA', path: '/where/venu', hint: 'Did you mean venue?' }]],
  [{ where: { venue: [1] } }, [{ code: 'DQL_JSON_SCHEMA', path: '/where/venue/0' }]],
  [{ freshness: '1.5h' }, [{ code: 'DQL_JSON_SCHEMA', path: '/freshness' }]],
  [{ freshness: { mrk: '1s' } }, [{ code: 'DQL_JSON_SCHEMA', path: '/freshness/mrk', hint: 'Did you mean mark?' }]],
  [{ freshness: '0s' }, [{ code: 'DQL_LIMIT', path: '/freshness' }]],
  [{ freshness: { mark: '604801s' } }, [{ code: 'DQL_LIMIT', path: '/freshness/mark' }]],
  [[], [{ code: 'DQL_JSON_SCHEMA', path: '' }]],
  [null, [{ code: 'DQL_JSON_SCHEMA', path: '' }]],
];

t.test('every fault of a body is reported at once, with its path', async (t) => {
  const { app, keys } = await testApp(market());
  t.teardown(() => app.close());
  for (const [i, [body, errors]] of FAULTY_BODIES.entries()) {
    const key = i % 2 === 0 ? keys.pro : keys.pro_plus;
    const answer = await post(app, { authorization: `Bearer ${key}` }, body);
    t.equal(answer.statusCode, 400);
    t.match(answer.json<Answer>().errors, errors, JSON.stringify(body));
    t.equal(answer.json<Answer>().errors.length, errors.length, JSON.stringify(body));
  }
});

t.test('a narrowing plan names what it narrowed to, and refuses names outside', async (t) => {
  const feed = new Feed(['aster', 'binance', 'okx']);
  for (const venue of ['aster', 'binance', 'okx']) {
    feed.venue(venue);
    for (let i = 0; i < 12; i++) {
      const base = `A${String(i).padStart(2, '0')}`;
      feed.list(listing(venue, listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base })));
    }
  }
  const free = await ask(feed, {}, 'free');
  t.same(free.json.scope, { venues: ['aster', 'binance'], instruments: 10, plan: 'free' });
  t.equal(free.json.items.length, 20);
  t.notOk(free.json.items.some((i) => i.venue === 'okx'));
  t.same(
    Object.keys(free.json.items[0]?.layers ?? {}),
    ['book', 'funding', 'mark', 'oi', 'stats', 'ticker'],
    'no venue_depth in free',
  );
  const outside = await ask(
    feed,
    {
      where: { venue: ['okx', 'aster'], base: ['A11'], instrument: ['A10-PERP'] },
      layers: ['venue_depth'],
      include_raw: true,
    },
    'free',
  );
  t.equal(outside.status, 403);
  t.match(
    outside.json.errors.map((e) => [e.code, e.path]),
    [
      ['PLAN_LIMIT', '/include_raw'],
      ['PLAN_LIMIT', '/layers/0'],
      ['PLAN_LIMIT', '/where/base/0'],
      ['PLAN_LIMIT', '/where/instrument/0'],
      ['PLAN_VENUE_NOT_INCLUDED', '/where/venue/0'],
    ],
  );
  t.match(outside.json.errors[4]?.message, 'aster, binance');
  t.equal((await ask(feed, {}, 'pro_plus')).json.scope, undefined);
  feed.read('okx', 'A11USDT', reading({ layer: 'stats', values: { turnover_24h: '900' }, instants: {} }));
  feed.read('binance', 'A03USDT', reading({ layer: 'stats', values: { turnover_24h: '100' }, instants: {} }));
  const measured = await ask(feed, { where: 'base = A11' }, 'free');
  t.same(
    measured.json.scope,
    { venues: ['binance', 'okx'], instruments: 10, plan: 'free' },
    'the largest by turnover once it is measured',
  );
  t.same(
    measured.json.items.map((i) => i.venue),
    ['binance', 'okx'],
  );
});

t.test('a listing that the plan leaves out is not missing, one that does not exist is (S-05, S-07)', async (t) => {
  const feed = new Feed(['binance']);
  feed.venue('binance');
  for (let i = 0; i < 12; i++) {
    const base = `A${String(i).padStart(2, '0')}`;
    feed.list(listing('binance', listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base })));
  }
  const outside = await ask(feed, { where: { venue: 'binance', symbol: 'A11USDT' } }, 'free');
  t.equal(outside.status, 200);
  t.same(outside.json.scope, { venues: ['binance'], instruments: 10, plan: 'free' });
  t.same(outside.json.items, []);
  t.same(outside.json.missing, []);
  const both = await ask(feed, { where: { venue: 'binance', symbol: ['A11USDT', 'FOO'] } }, 'free');
  t.same(both.json.items, []);
  t.same(both.json.missing, [{ symbol: 'FOO', venue: 'binance' }]);
});

t.test('too many listings are refused with figure, limit and hint', async (t) => {
  const feed = new Feed(['binance']);
  feed.venue('binance');
  for (let i = 0; i < 501; i++)
    feed.list(listing('binance', listingValues({ venue_symbol: `S${i}`, instrument: `S${i}-PERP`, base: `S${i}` })));
  const { status, json } = await ask(feed, { layers: ['mark'] });
  t.equal(status, 400);
  t.match(json.errors, [
    { code: 'DQL_LIMIT', message: 'The selection has 501 listings, the limit is 500.', hint: /Narrow/ },
  ]);
});

t.test('a caller may lower the size of an answer', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  const answer = await post(app, { ...as('pro_plus'), 'x-service-max-bytes': '4096' }, {});
  t.equal(answer.statusCode, 400);
  t.match(answer.json<Answer>().errors, [{ code: 'DQL_LIMIT', hint: 'Narrow where or layers.' }]);
});

t.test('served_at is the oldest watermark of the requested venues', async (t) => {
  const feed = market();
  feed.watermark('okx', NOW - 700_000);
  t.equal((await ask(feed, { where: 'venue = okx' })).json.served_at, '2026-01-15T11:59:59.800Z');
  t.equal((await ask(feed, {})).json.served_at, '2026-01-15T11:59:59.800Z');
  t.equal((await ask(feed, { where: 'venue = binance' })).json.served_at, '2026-01-15T12:00:00.310Z');
  const silent = new Feed(['binance']);
  silent.entry('binance', { kind: 'capability', capability: capability('binance') });
  const { status, headers, json } = await ask(silent, {});
  t.equal(status, 503);
  t.equal(headers['retry-after'], '5');
  t.match(json.errors, [{ code: 'UNAVAILABLE' }]);
});
