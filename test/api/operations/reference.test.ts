// GET /v2/venues and GET /v2/instruments (V-01 to V-06).
import t from 'tap';
import { OPERATIONS } from '../../../api/operations/index.ts';
import {
  capability,
  Feed,
  LISTED,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';

type Answer = {
  as_of: string;
  catalogue: string;
  listings_as_of: string | null;
  capabilities_as_of: string | null;
  items: Record<string, unknown>[];
  page: { limit: number; returned: number; next_cursor: string | null };
  errors: { code: string; path?: string; hint?: string }[];
};

const get = async (feed: Feed, url: string, headers: Record<string, string> = {}) => {
  const { app } = await testApp(feed);
  const answer = await app.inject({ url, headers });
  await app.close();
  return {
    status: answer.statusCode,
    text: answer.body,
    headers: answer.headers,
    json: answer.body === '' ? null : answer.json<Answer>(),
  };
};

t.test('lists venues with their coverage, layers and state', async (t) => {
  const { text } = await get(market(), '/v2/venues');
  const layers = (off: Record<string, string>) =>
    JSON.stringify({
      book: 'on',
      book_bands: 'on',
      candles: 'off',
      funding: 'on',
      liquidation: 'off',
      mark: 'on',
      oi: 'on',
      stats: 'on',
      ticker: 'on',
      trades: 'off',
      ...off,
    });
  t.equal(
    text,
    '{"evaluated_at":"2026-01-15T12:00:00.500Z","items":[' +
      `{"venue":"binance","name":"Name of binance","kind":"order_book","listings":2,"listings_collected":2,"since":"2026-01-10T00:00:00.000Z","layers":${layers({})},"state":"live","state_since":"2026-01-10T00:00:00.000Z"},` +
      `{"venue":"okx","name":"Name of okx","kind":"order_book","listings":1,"listings_collected":1,"since":"2026-01-10T00:00:00.000Z","layers":${layers({ oi: 'off', stats: 'not_published' })},"state":"live","state_since":"2026-01-10T00:00:00.000Z"}]}`,
  );
});

t.test(
  'a venue is degraded while a slot is lost or the pipeline is behind, and down without a connection',
  async (t) => {
    const state = async (feed: Feed) => (await get(feed, '/v2/venues')).json?.items[0];
    const behind = market();
    behind.watermark('binance', NOW - 6_000_000);
    t.match(await state(behind), { state: 'degraded', state_since: '2026-01-15T11:59:59.500Z' });
    const lost = market();
    lost.entry('binance', {
      kind: 'connection',
      span: { conn_id: 'c2', slot: 'poll', from: LISTED, to: NOW - 9_000_000, cause: 'connection_lost' },
    });
    t.match(await state(lost), { state: 'degraded', state_since: '2026-01-15T11:59:51.500Z' });
    lost.entry('binance', {
      kind: 'connection',
      span: { conn_id: 'c1', slot: 'market', from: LISTED, to: NOW - 2_000_000, cause: 'connection_lost' },
    });
    t.match(await state(lost), { state: 'down', state_since: '2026-01-15T11:59:58.500Z' });
    lost.entry('binance', {
      kind: 'connection',
      span: { conn_id: 'c3', slot: 'market', from: NOW, to: null, cause: null },
    });
    lost.entry('binance', {
      kind: 'connection',
      span: { conn_id: 'c4', slot: 'poll', from: NOW, to: null, cause: null },
    });
    t.match(await state(lost), { state: 'live' });
  },
);

t.test('prints a listing in the order of the interface, its figures digit by digit', async (t) => {
  const feed = new Feed(['binance']);
  feed.entry('binance', {
    kind: 'capability',
    capability: capability('binance', {
      oi: { cadence_ms: 5_000, horizon_ms: 10_000, horizon_source: 'assumed' },
      stats: { policy: 'off' },
    }),
  });
  feed.watermark('binance', NOW);
  feed.list(listing('binance', listingValues({ tick_size: '0.10000000000000000001' })));
  feed.read('binance', 'BTCUSDT', reading());
  const { text, json } = await get(feed, '/v2/instruments');
  const item = json?.items[0] ?? {};
  t.same(Object.keys(item), [
    'instrument',
    'venue',
    'venue_symbol',
    'base',
    'quote',
    'base_venue_alias',
    'kind',
    'venue_kind',
    'pair',
    'post_only',
    'status',
    'contract_size',
    'multiplier',
    'tick_size',
    'lot_size',
    'min_qty',
    'min_notional',
    'price_decimals',
    'qty_decimals',
    'units',
    'quantity_unit',
    'oi_sides',
    'funding_interval',
    'funding_interval_source',
    'funding_normalisation',
    'rules_normalisation',
    'candles',
    'layers',
    'not_published',
    'bands',
    'listed_at',
    'first_seen_at',
    'delisted_at',
    'retention_from',
    'venue_ts',
    'received_at',
    'age_ms',
  ]);
  t.match(text, '"tick_size":0.10000000000000000001,');
  t.match(
    text,
    '"units":{"tick_size":"quote","lot_size":"base","min_qty":"base","min_notional":"quote","contract_size":"base"}',
  );
  t.same(item.funding_normalisation, { venue_field: 'r', transform: 'identity' });
  t.same(item.rules_normalisation, {
    tick_size: { venue_field: 'filters.PRICE_FILTER.tickSize', transform: 'string_to_number' },
  });
  t.same(item.candles, { base_timeframe: '1m', price_types: ['trade', 'mark', 'index'], timeframes: ['1m'] });
  const layers = item.layers as Record<string, unknown>;
  t.same(Object.keys(layers), [
    'book',
    'book_bands',
    'candles',
    'funding',
    'liquidation',
    'mark',
    'oi',
    'stats',
    'ticker',
    'trades',
  ]);
  t.same(layers.oi, {
    policy: 'on',
    cadence: '5s',
    history_cadence: '10s',
    horizon: '10s',
    horizon_source: 'assumed',
    anchor: null,
    freshness: '30s',
    retention_from: '2026-01-10T00:00:00.000Z',
  });
  t.same(layers.funding, {
    policy: 'on',
    cadence: 'live',
    history_cadence: '1m',
    horizon: null,
    horizon_source: 'connection',
    anchor: 'venue',
    freshness: '300s',
    retention_from: '2026-01-10T00:00:00.000Z',
  });
  const whileOff = { history_cadence: '1m', retention_from: '2026-01-10T00:00:00.000Z' };
  t.match(
    layers.stats,
    { policy: 'off', cadence: null, ...whileOff },
    'as history answers it: what was collected is kept',
  );
  const floors = Object.values(layers).map((layer) => (layer as typeof whileOff).retention_from);
  t.equal(item.retention_from, floors.sort()[0], 'the smallest of its layers (V-03)');
  t.match((await get(feed, '/v2/instruments?number_format=string')).text, '"tick_size":"0.10000000000000000001"');
  const past = (await get(feed, '/v2/instruments?as_of=2026-01-15T11:00Z')).json?.items[0]?.layers as typeof layers;
  t.match(past.funding, { horizon_source: 'connection', anchor: null }, 'a newest reading tells nothing of the past');
});

t.test(
  'include_raw gives the element of the version that is described, in the text the venue wrote (V-02)',
  async (t) => {
    const feed = new Feed(['binance']);
    const texts = [
      '{ "symbol": "BTCUSDT","status":"TRADING", "tickSize":0.10, "id": 12345678901234567890 }',
      '{"a":1e-7}',
    ];
    const day = 86_400_000_000;
    feed.entry('binance', { kind: 'capability', capability: capability('binance') });
    feed.watermark('binance', NOW);
    for (const [n, raw] of texts.entries())
      feed.list(listing('binance', listingValues({ price_decimals: n }), { writtenAt: LISTED + n * day, raw }));
    feed.list(listing('binance', listingValues({ venue_symbol: 'OLDUSDT' })));
    const { app, as } = await testApp(feed);
    t.teardown(() => app.close());
    const ask = async (query: string) =>
      (await app.inject({ url: `/v2/instruments${query}`, headers: as('standard') })).body;
    const findElements = (text: string) => [...text.matchAll(/"raw":(.*?\})\}/g)].map(([, element]) => element);
    t.same(findElements(await ask('?include_raw=true')), [texts[1]], 'a version that keeps none has no member');
    t.same(findElements(await ask('?include_raw=true&number_format=string')), [texts[1]], 'whatever our figures are');
    t.same(findElements(await ask('?include_raw=true&as_of=2026-01-10T12:00:00Z')), [texts[0]], 'that of then');
    for (const query of ['', '?include_raw=false']) t.notMatch(await ask(query), /"raw":/, query);
  },
);

t.test('describes the past by the versions of then', async (t) => {
  const feed = market();
  const day = 86_400_000_000;
  feed.list(listing('binance', listingValues({ tick_size: '0.5' }), { writtenAt: LISTED + day }));
  feed.list(
    listing('binance', listingValues({ tick_size: '0.5', status: 'delisted' }), {
      writtenAt: LISTED + 2 * day,
      delistedAt: LISTED + 2 * day,
    }),
  );
  const first = await get(feed, '/v2/instruments?where=symbol%20=%20%22BTCUSDT%22&as_of=2026-01-10T12:00:00Z');
  t.match(first.json, {
    as_of: '2026-01-10T12:00:00.000Z',
    catalogue: '2026-01-10',
    listings_as_of: '2026-01-10T00:00:00.000Z',
    capabilities_as_of: '2026-01-10T00:00:00.000Z',
    items: [{ tick_size: 0.1, delisted_at: null }],
  });
  const second = await get(feed, '/v2/instruments?where=symbol%20=%20%22BTCUSDT%22&as_of=2026-01-11T12:00%2B02:00');
  t.match(second.json, {
    as_of: '2026-01-11T10:00:00.000Z',
    catalogue: '2026-01-11',
    items: [{ tick_size: 0.5, delisted_at: null }],
  });
  t.same((await get(feed, '/v2/instruments?where=symbol%20=%20%22BTCUSDT%22')).json?.items, [], 'delisted before now');
  t.match((await get(feed, '/v2/instruments')).json, { listings_as_of: null, capabilities_as_of: null });
  for (const asOf of ['2026-01-09', '2026-01-16']) {
    const { status, json } = await get(feed, `/v2/instruments?as_of=${asOf}`);
    t.equal(status, 400);
    const message = new RegExp(`^"${asOf}T00:00:00.000Z" is outside `);
    t.match(
      json?.errors,
      [{ code: 'DQL_AS_OF_RANGE', message, path: '/as_of' }],
      'the offending text in quotes (E-05)',
    );
  }
  const step7 = await get(feed, '/v2/instruments?where=venue=kraken&as_of=2026-01-16');
  t.equal(step7.status, 400);
  t.match(step7.json?.errors, [{ code: 'DQL_UNKNOWN_VENUE' }, { code: 'DQL_AS_OF_RANGE', path: '/as_of' }]);
  t.match((await get(feed, '/v2/instruments?as_of=yesterday&limit=0')).json?.errors, [
    { code: 'DQL_JSON_SCHEMA', path: '/as_of' },
    { code: 'DQL_JSON_SCHEMA', path: '/limit' },
  ]);
  t.match((await get(feed, '/v2/instruments?as_of=yesterday&cursor=e30')).json?.errors, [
    { path: '/as_of' },
    { path: '/cursor' },
  ]);
});

t.test('contains from when each layer is kept: its first sight, or the floor of its kind (V-03)', async (t) => {
  const on = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: null } as const;
  const readings = capability('binance');
  const all = { ...readings, layers: { ...readings.layers, candles: on, liquidation: on, trades: on } };
  const keptFrom = async (daysSeen: number) => {
    const feed = new Feed(['binance']);
    feed.venue('binance', all);
    feed.list({ ...listing('binance', listingValues()), first_seen_at: NOW - daysSeen * 86_400_000_000 });
    const item = (await get(feed, '/v2/instruments')).json?.items[0] ?? {};
    const { mark, candles, trades, liquidation } = item.layers as Record<string, { retention_from: string }>;
    return {
      listing: item.retention_from,
      mark: mark?.retention_from,
      candles: candles?.retention_from,
      trades: trades?.retention_from,
      liquidation: liquidation?.retention_from,
    };
  };
  const events = '2025-10-17T00:00:00.000Z';
  const firstSeen = '2025-10-07T12:00:00.500Z';
  t.same(
    await keptFrom(100),
    { listing: firstSeen, mark: firstSeen, candles: firstSeen, trades: events, liquidation: events },
    'events are kept 90 days',
  );
  const floor = '2024-12-11T00:00:00.000Z';
  t.same(
    await keptFrom(500),
    { listing: floor, mark: floor, candles: floor, trades: events, liquidation: events },
    'readings and candles are kept 400 days',
  );
});

t.test('the catalogue version counts the changes of its day', async (t) => {
  const feed = market();
  t.equal((await get(feed, '/v2/instruments')).json?.catalogue, '2026-01-10');
  feed.list(listing('binance', listingValues(), { writtenAt: LISTED + 1 }));
  t.equal((await get(feed, '/v2/instruments')).json?.catalogue, '2026-01-10.2');
});

t.test('pages hold every listing once, at one instant', async (t) => {
  const feed = market();
  const seen: unknown[] = [];
  let cursor: string | null = '';
  let asOf: string | undefined;
  while (cursor !== null) {
    const { json } = await get(feed, `/v2/instruments?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
    t.equal(json?.page.limit, 1);
    asOf ??= json?.as_of;
    t.equal(json?.as_of, asOf);
    seen.push(...(json?.items ?? []).map((i) => `${i.venue}/${i.venue_symbol}`));
    cursor = json?.page.next_cursor ?? null;
  }
  t.same(seen, ['binance/BTCUSDT', 'binance/ETHUSDT', 'okx/BTC-USDT-SWAP']);
  t.equal((await get(feed, '/v2/instruments?limit=9999999')).json?.page.limit, 5000);
});

t.test('a whole number of a URL may have any length, as one of a body may', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  const asked: string[] = [];
  for (const { method, path, input, example } of OPERATIONS) {
    const { properties = {} } = input as { readonly properties?: Readonly<Record<string, { readonly type?: string }>> };
    const names = Object.keys(properties).filter((name) => method === 'GET' && properties[name]?.type === 'integer');
    for (const name of names) {
      for (const digits of [16, 20, 400]) {
        const query = new URLSearchParams({ ...(example.input as Record<string, string>), [name]: '9'.repeat(digits) });
        const answer = await app.inject({ url: `${path}?${query}`, headers: as('pro_plus') });
        const faults = (answer.json<Answer>().errors ?? []).filter((error) => error.path === `/${name}`);
        t.same(faults, [], `${name} of ${path} with ${digits} digits`);
        asked.push(`${path} ${name}`);
      }
    }
  }
  t.same(new Set(asked), new Set(['/v2/instruments limit', '/v2/archive limit', '/v2/anchors/proof seq']));
  const { page } = (await app.inject(`/v2/instruments?limit=${'9'.repeat(400)}`)).json<Answer>();
  t.equal(page.limit, 5000);
});

t.test('a cursor belongs to its selection and instant: the pages of one list are of one question', async (t) => {
  const feed = market();
  const readCursor = async (query: string): Promise<string> =>
    (await get(feed, `/v2/instruments?limit=1&${query}`)).json?.page.next_cursor ?? '';
  const all = await readCursor('');
  const past = await readCursor('as_of=2026-01-11');
  for (const other of [
    `where=base=ETH&cursor=${all}`,
    `as_of=2026-01-11&cursor=${all}`,
    `as_of=2026-01-12&cursor=${past}`,
    `cursor=${past}`,
  ]) {
    const { status, json } = await get(feed, `/v2/instruments?${other}`);
    t.equal(status, 400, other);
    t.match(json?.errors, [{ code: 'DQL_JSON_SCHEMA', path: '/cursor' }]);
  }
  const next = await get(feed, `/v2/instruments?limit=5&units=base&as_of=2026-01-11&cursor=${past}`);
  t.match(next.json, { as_of: '2026-01-11T00:00:00.000Z', page: { limit: 5, returned: 2, next_cursor: null } });
});

t.test('rules that are quantities follow the requested units', async (t) => {
  const feed = market();
  const swap = {
    venue_symbol: 'BTC-USDT-SWAP',
    quantity_unit: 'contracts',
    contract_size: '0.01',
    lot_size: '1',
    min_qty: null,
  } as const;
  const units = { ...listingValues().units, lot_size: 'contracts', min_qty: 'contracts' };
  feed.list(listing('okx', listingValues({ ...swap, units }), { writtenAt: LISTED + 1 }));
  const base = await get(feed, '/v2/instruments?where=venue=okx&units=base');
  t.match(base.json?.items[0], { lot_size: 0.01, min_qty: null, units: { lot_size: 'base', tick_size: 'quote' } });
  const quote = await get(feed, '/v2/instruments?where=venue=okx&units=quote');
  t.match(quote.json?.items[0], { lot_size: 600, units: { lot_size: 'quote' } });
});

type Rules = {
  readonly venue_kind: 'linear' | 'inverse' | 'quanto';
  readonly unit: 'base' | 'contracts' | 'quote';
  readonly multiplier: string | null;
  readonly contract_size: string | null;
  readonly hasMark: boolean;
};
const everyRule = (): Rules[] =>
  (['linear', 'inverse', 'quanto'] as const).flatMap((venue_kind) =>
    (['base', 'contracts', 'quote'] as const).flatMap((unit) =>
      ['10', null].flatMap((multiplier) =>
        ['0.5', null].flatMap((contract_size) =>
          [true, false].map((hasMark) => ({ venue_kind, unit, multiplier, contract_size, hasMark })),
        ),
      ),
    ),
  );

t.test(
  'a rule that cannot be converted states its reason, one that a mark converts states the mark (N-07)',
  async (t) => {
    const feed = new Feed(['binance']);
    feed.venue('binance');
    const all = everyRule();
    for (const [i, { hasMark, unit, ...rules }] of all.entries()) {
      const venue_symbol = `S${String(i).padStart(2, '0')}`;
      const units = { ...listingValues().units, lot_size: unit, min_qty: unit };
      const sizes = { lot_size: '3', min_qty: i % 2 === 0 ? null : '6' };
      feed.list(listing('binance', listingValues({ venue_symbol, ...rules, ...sizes, units, quantity_unit: unit })));
      if (hasMark) feed.read('binance', venue_symbol, markReading('2000'));
    }
    for (const asked of ['units=published', 'units=base', 'units=quote', 'units=base&as_of=2026-01-15T11:00:00Z']) {
      const { json } = await get(feed, `/v2/instruments?${asked}`);
      for (const [i, item] of (json?.items ?? []).entries()) {
        const { lot_size, min_qty, conversion, null_reasons } = item as Record<
          string,
          { mark?: number } | number | null
        >;
        const name = `${asked} ${JSON.stringify(all[i])} ${JSON.stringify({ lot_size, min_qty, conversion, null_reasons })}`;
        const isConverted = !asked.includes('published');
        const isKnown = lot_size !== null;
        t.equal(min_qty === null, i % 2 === 0 || !isKnown, name);
        const reasons = { lot_size: 'unit_unknown', ...(i % 2 === 0 ? {} : { min_qty: 'unit_unknown' }) };
        t.same(null_reasons, isKnown ? undefined : reasons, name);
        t.equal(conversion !== undefined, isConverted, name);
        if (!isConverted) continue;
        // The same figure follows from what is stated.
        const stated = conversion as unknown as { multiplier: number; contract_size: number; mark?: number };
        t.same(Object.keys(stated).slice(0, 2), ['multiplier', 'contract_size'], name);
        const { unit, venue_kind, hasMark } = all[i] as Rules;
        const countsQuote = unit === 'quote' || (unit === 'contracts' && venue_kind === 'inverse');
        const isByMark = venue_kind !== 'quanto' && asked.includes('base') === countsQuote;
        t.equal('mark' in stated, isByMark && hasMark && !asked.includes('as_of'), name);
        if (!isKnown) continue;
        const amount = 3 * (unit === 'contracts' ? stated.contract_size : 1);
        const price = stated.mark ?? Number.NaN;
        const inBase = countsQuote ? (amount / price) * stated.multiplier : amount * stated.multiplier;
        const inQuote = countsQuote ? amount : amount * price;
        t.equal(lot_size, asked.includes('base') ? inBase : inQuote, name);
      }
    }
  },
);

t.test(
  'a layer of which the venue sends only some events is sampled; others are as they are collected (V-03, H-15)',
  async (t) => {
    const readPolicy = async (over: object): Promise<unknown> => {
      const feed = market();
      const version = capability('binance', {}, LISTED + 1);
      const liquidation = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: null, ...over } as const;
      feed.entry('binance', {
        kind: 'capability',
        capability: { ...version, layers: { ...version.layers, liquidation } },
      });
      const { app } = await testApp(feed);
      t.teardown(() => app.close());
      const answer = await app.inject({ url: '/v2/instruments?where=symbol%20%3D%20%22BTCUSDT%22' });
      const [item] = answer.json<{ items: { layers: Record<string, { policy: string }> }[] }>().items;
      t.equal(item?.layers.ticker?.policy, 'on');
      return item?.layers.liquidation?.policy;
    };
    t.equal(await readPolicy({ completeness: 'sampled' }), 'sampled');
    t.equal(await readPolicy({ completeness: 'full' }), 'on');
    t.equal(await readPolicy({ completeness: 'sampled', policy: 'off' }), 'off');
    t.equal(await readPolicy({ completeness: 'sampled', policy: 'not_published' }), 'not_published');
  },
);

t.test('a venue that nothing was read of yet has no instant that readings begin at (V-01)', async (t) => {
  const feed = new Feed(['binance']);
  feed.venue('binance');
  const { app } = await testApp(feed);
  t.teardown(() => app.close());
  const since = async (): Promise<unknown> =>
    (await app.inject({ url: '/v2/venues' })).json<{ items: { since: string | null }[] }>().items[0]?.since;
  feed.list(listing('binance', listingValues()));
  t.equal(await since(), null);
  feed.read('binance', 'BTCUSDT', reading());
  t.equal(await since(), '2026-01-10T00:00:00.000Z');
});
