// GET /v2/dql/catalogue and POST /v2/dql/parse over the real app: good, malformed, unauthorised, over limit, closed (V-06, Q-01, Q-02, E-01, N-14).
import { createHash } from 'node:crypto';
import t from 'tap';
import { ENDPOINT_LIMITS } from '../../../api/contract/endpoint-limits.ts';
import { makeLanguageEntries } from '../../../api/language/catalogue.ts';
import { LIMITS, TIMEFRAMES } from '../../../api/language/limits.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import { LANGUAGE_CHANGES } from '../../../api/operations/catalogue-version.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import { writeJson } from '../../../schemas/json.ts';
import {
  capability,
  Feed,
  LISTED,
  listing,
  listingValues,
  market,
  micros,
  NOW,
  testApp,
} from '../../support/apps/live-fixture.ts';

type Entry = { name: string; not_published_on: string[] } & Record<string, unknown>;
type Catalogue = {
  catalogue: string;
  fields: Entry[];
  sources: Entry[];
  functions: Record<string, unknown>[];
} & Record<string, unknown>;
type Parsed = {
  query: { string: string; json: unknown };
  atoms: { instrument: string[]; venue: string[] };
  errors: {
    code: string;
    path?: string;
    position?: { line: number; column: number; offset: number; length: number };
    hint?: string;
  }[];
};

const withApp = async <T>(
  feed: Feed,
  use: (app: Awaited<ReturnType<typeof testApp>>) => Promise<T>,
  nowMicros = () => NOW,
): Promise<T> => {
  const made = await testApp(feed, { nowMicros });
  try {
    return await use(made);
  } finally {
    await made.app.close();
  }
};

const parse = (payload: unknown, headers: Record<string, string> = {}) =>
  withApp(market(), async ({ app }) => {
    const answer = await app.inject({
      method: 'POST',
      url: '/v2/dql/parse',
      headers: { 'content-type': 'application/json', ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    });
    return { status: answer.statusCode, text: answer.body, headers: answer.headers, json: answer.json<Parsed>() };
  });

const catalogue = (feed: Feed, headers: Record<string, string> = {}, now = NOW) =>
  withApp(
    feed,
    async ({ app }) => {
      const answer = await app.inject({ url: '/v2/dql/catalogue', headers });
      const json = answer.body === '' ? null : answer.json<Catalogue>();
      return { status: answer.statusCode, text: answer.body, headers: answer.headers, json };
    },
    () => now,
  );

t.test('parse answers the canonical pair, atoms, functions, timeframes and complexity without a key', async (t) => {
  const query = 'ANY(venues where crossover(ema(close,20), ema(close,50)) and basis<1bps) timeframe 60m where base=btc';
  const { status, text, headers } = await parse({ query, dql: '1', context: 'screen' });
  t.equal(status, 200);
  t.equal(headers['cache-control'], 'no-store');
  t.equal(
    text,
    '{"dql":"1","query":{"string":"any(venues where crossover(ema(close, 20), ema(close, 50)) and basis < 0.0001) timeframe 1h where base = BTC",' +
      '"json":{"dql":"1","condition":{"type":"any","where":{"type":"and","args":[{"type":"call","name":"crossover","args":[' +
      '{"type":"call","name":"ema","args":[{"type":"source","name":"close"},{"type":"number","value":20}]},' +
      '{"type":"call","name":"ema","args":[{"type":"source","name":"close"},{"type":"number","value":50}]}]},' +
      '{"type":"cmp","op":"<","left":{"type":"field","name":"basis"},"right":{"type":"number","value":0.0001}}]}},' +
      '"timeframe":"1h","where":{"base":["BTC"]}}},' +
      '"atoms":{"instrument":[],"venue":["basis","close"]},"functions":["crossover","ema"],"timeframes":["1h"],' +
      '"complexity":{"nodes":14,"bars":201,"cost":215}}',
  );
});

t.test('parse takes the object as query or as query_object, and answers the same', async (t) => {
  const object = (await parse({ query: 'any(venues where funding > 1bps)' })).json.query.json;
  const [asQuery, asObject] = [await parse({ query: object }), await parse({ query_object: object })];
  t.equal(asQuery.status, 200);
  t.equal(asQuery.text, asObject.text);
  t.equal(asQuery.json.query.string, 'any(venues where funding > 0.0001)');
});

t.test('parse answers every fault of a query, ordered, with place, nearest name and hint', async (t) => {
  const { status, json } = await parse({
    query: 'any(venues where fundin > 1bps and emaa(close, 20, 1h) > 1)\n where base = BTCC order by mark',
  });
  t.equal(status, 400);
  t.match(json.errors, [
    { code: 'DQL_UNKNOWN_FIELD', position: { line: 1, column: 18, offset: 17, length: 6 }, hint: /funding/ },
    { code: 'DQL_UNKNOWN_FUNCTION', position: { line: 1, column: 36, offset: 35, length: 4 }, hint: /ema/ },
    { code: 'DQL_UNKNOWN_ASSET', position: { line: 2, column: 15, offset: 74, length: 4 }, hint: /BTC/ },
    { code: 'DQL_SCOPE', position: { line: 2, column: 29, offset: 88, length: 4 } },
  ]);
  t.equal(json.errors.length, 4);
  const turned = await parse({ query: 'order by fundin where base = BTCC select emaa(close, 2, 1h) timeframe 7m' });
  t.same(
    turned.json.errors.map(({ code, position }) => [position?.offset, code]),
    [
      [9, 'DQL_UNKNOWN_FIELD'],
      [29, 'DQL_UNKNOWN_ASSET'],
      [41, 'DQL_UNKNOWN_FUNCTION'],
      [70, 'DQL_TIMEFRAME_UNSUPPORTED'],
    ],
    'by position, whatever order the clauses have (E-05)',
  );
  const many = await parse({ query: Array.from({ length: 21 }, (_, i) => `nope${i} > 1`).join(' or ') });
  t.equal(many.json.errors.length, 20);
});

t.test(
  'a list of its greatest length and an exponent of 400 are lawful, one more is not (DQL-34c, DQL-34d)',
  async (t) => {
    const field = { type: 'field', name: 'mark' };
    const one = { type: 'number', value: 1 };
    const count = (of: unknown, length: number) => Array.from({ length }, () => of);
    const isOne = (length: number) => ({ type: 'in', left: field, values: count(one, length) });
    const lists: readonly [number, (length: number) => Record<string, unknown>][] = [
      [LIMITS.in_list, (length) => ({ where: { venue: count('binance', length) } })],
      [LIMITS.in_list, (length) => ({ condition: { type: 'any', where: isOne(length) } })],
      [LIMITS.select, (length) => ({ select: count(field, length) })],
      [LIMITS.order_by, (length) => ({ order_by: count({ expr: { type: 'field', name: 'base' } }, length) })],
    ];
    for (const [most, make] of lists)
      for (const [length, status] of [
        [most, 200],
        [most + 1, 400],
      ] as const)
        t.equal((await parse({ query: { dql: '1', ...make(length) } })).status, status, JSON.stringify(make(length)));
    for (const [exponent, status] of [
      ['400', 200],
      ['-400', 200],
      ['401', 400],
      ['-401', 400],
    ] as const)
      t.equal((await parse({ query: `any(venues where mark > 1e${exponent})` })).status, status, exponent);
  },
);

t.test('parse refuses bodies of another shape and other versions of the language', async (t) => {
  const faults = async (payload: unknown) => {
    const { status, json } = await parse(payload);
    return [status, ...json.errors.map(({ code, path }) => `${code} ${path}`)];
  };
  t.same(await faults({}), [400, 'DQL_JSON_SCHEMA /query']);
  t.same(await faults({ query: 'instrument = BTC-PERP', query_object: { dql: '1' } }), [
    400,
    'DQL_JSON_SCHEMA /query_object',
  ]);
  t.same(await faults({ query: 1 }), [400, 'DQL_JSON_SCHEMA /query']);
  t.same(await faults({ query: 'base = BTC', contxt: 'screen' }), [400, 'DQL_JSON_SCHEMA /contxt']);
  t.same(await faults({ query: 'base = BTC', context: 'agent' }), [400, 'DQL_JSON_SCHEMA /context']);
  t.same(await faults({ query: 'base = BTC', dql: '2' }), [400, 'DQL_VERSION /dql']);
  t.same(await faults({ query: { dql: '2', condition: 1 } }), [400, 'DQL_VERSION /query/dql']);
  t.same(await faults({ query: {} }), [400, 'DQL_SYNTAX /query', 'DQL_JSON_SCHEMA /query/dql']);
  t.same(await faults('{'), [400, 'DQL_JSON_SCHEMA ']);
});

t.test('parse refuses a bad key, a body too large, a query too long, and a method that is none', async (t) => {
  const refused = await parse({ query: 'base = BTC' }, { authorization: 'Bearer sk_nobody' });
  t.match([refused.status, refused.json.errors[0]?.code], [401, 'AUTH_INVALID']);
  const large = await parse({ query: 'x'.repeat(70_000) });
  t.match([large.status, large.json.errors[0]?.code], [413, 'PAYLOAD_TOO_LARGE']);
  const long = await parse({ query: `base = BTC${' '.repeat(LIMITS.source_bytes)}` });
  t.match([long.status, long.json.errors], [400, [{ code: 'DQL_COMPLEXITY' }]]);
  t.notOk(long.json.errors[0]?.position);
  await withApp(market(), async ({ app }) => {
    const answer = await app.inject({ url: '/v2/dql/parse' });
    t.match([answer.statusCode, answer.headers.allow], [405, 'POST']);
  });
});

t.test('parse and catalogue wait until the state has been read', async (t) => {
  const unread = new Feed([]);
  Object.defineProperty(unread, 'memory', { value: new LiveMemory(['binance']) });
  await withApp(unread, async ({ app }) => {
    const asked = await app.inject({
      method: 'POST',
      url: '/v2/dql/parse',
      headers: { 'content-type': 'application/json' },
      payload: '{"query":"venues_listed > 1"}',
    });
    t.match([asked.statusCode, asked.headers['retry-after']], [503, '5']);
    t.equal((await app.inject('/v2/dql/catalogue')).statusCode, 503);
  });
});

t.test('the catalogue has its envelope in the documented order and its entries as V-06 shows them', async (t) => {
  const { status, json, headers } = await catalogue(market());
  t.equal(status, 200);
  t.equal(headers['cache-control'], 'public, max-age=60');
  t.same(Object.keys(json ?? {}), [
    ...['dql', 'catalogue', 'evaluated_at', 'fields', 'sources', 'functions', 'venues', 'currencies', 'assets'],
    ...['instruments', 'instruments_delisted', 'timeframes', 'bands', 'freshness_defaults', 'limits', 'settle_after'],
    ...['earliest_retained', 'units', 'number_formats'],
  ]);
  const text = JSON.stringify(json?.fields.find(({ name }) => name === 'funding'));
  t.equal(
    text,
    '{"name":"funding","type":"number","scope":"venue","layer":"funding","unit":"fraction","description":"Published rate for the next settlement, per interval.","sampleable":true,"additive":false,"not_published_on":[]}',
  );
  t.match(
    json?.sources.find(({ name }) => name === 'close'),
    { type: 'series', price_type: 'trade', unit: 'quote' },
  );
  t.equal(
    JSON.stringify(json?.functions.find(({ name }) => name === 'ema')),
    '{"name":"ema","signature":"ema(S, n [, timeframe])","type":"series","scope":"venue","layer":"candles","unit":"argument","description":"Exponential moving average over a fixed window of 4n.","bars":"bars(S) + 4n - 1","additive":false}',
  );
  t.match(json, {
    dql: '1',
    venues: ['binance', 'okx'],
    currencies: ['USDT'],
    assets: ['BTC', 'ETH'],
    instruments: ['BTC-PERP', 'ETH-PERP'],
    instruments_delisted: [],
    timeframes: [...TIMEFRAMES],
    bands: ['10bps', '25bps', '50bps', '100bps'],
    freshness_defaults: { funding: '300s', mark: '30s', stats: '120s' },
    limits: { source_bytes: 8192, bars_per_atom: 2000, endpoints: { history_listings: 100 } },
    settle_after: 120,
    earliest_retained: '2026-01-10T00:00:00.000Z',
    units: ['published', 'base', 'quote'],
    number_formats: ['json', 'string'],
  });
});

t.test('the catalogue names the venues on which a field or source does not exist', async (t) => {
  const feed = market();
  feed.venue('okx', capability('okx', { stats: { policy: 'not_published' }, oi: { policy: 'off' } }, LISTED + 1));
  const okx = listingValues({
    venue_symbol: 'BTC-USDT-SWAP',
    not_published: ['index', 'tick_size'],
    candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: ['1m'] },
  });
  feed.list(listing('okx', okx, { writtenAt: LISTED + 1 }));
  const { json } = await catalogue(feed);
  const on = (name: string) =>
    [...(json?.fields ?? []), ...(json?.sources ?? [])].find((e) => e.name === name)?.not_published_on;
  for (const name of ['index', 'basis', 'tick_size', 'change_24h', 'volume_24h', 'index_close', 'mark_open'])
    t.same(on(name), ['okx'], name);
  for (const name of ['mark', 'funding', 'oi', 'close', 'volume']) t.same(on(name), [], name);
  for (const name of ['mark_volume', 'index_volume']) t.same(on(name), ['binance', 'okx'], name);
});

t.test('the catalogue is the same until its content changes, and then its version and tag change', async (t) => {
  const feed = market();
  const first = await catalogue(feed);
  t.equal(first.json?.catalogue, '2026-01-10');
  const same = await catalogue(feed, { 'if-none-match': String(first.headers.etag) }, NOW + 5_000_000);
  t.equal(same.status, 304);
  feed.list(
    listing('okx', listingValues({ instrument: 'SOL-PERP', base: 'SOL', venue_symbol: 'SOL-SWAP' }), {
      writtenAt: NOW,
    }),
  );
  const more = await catalogue(feed, { 'if-none-match': String(first.headers.etag) });
  t.match([more.status, more.json?.catalogue], [200, '2026-01-15']);
  // Delisted at its own instant, which nothing was written at.
  const at = NOW + 3_600_000_000;
  feed.list(
    listing('okx', listingValues({ instrument: 'SOL-PERP', base: 'SOL', venue_symbol: 'SOL-SWAP' }), {
      writtenAt: NOW + 1,
      delistedAt: at,
    }),
  );
  const before = await catalogue(feed, {}, at - 1);
  const after = await catalogue(feed, {}, at);
  t.notSame(after.json?.catalogue, before.json?.catalogue);
  t.match([before.json?.instruments_delisted, after.json?.instruments_delisted], [[], ['SOL-PERP']]);
  for (const [changedAt] of LANGUAGE_CHANGES) {
    const then = await catalogue(feed, {}, micros(changedAt));
    t.equal(then.json?.catalogue?.slice(0, 10), changedAt.slice(0, 10));
  }
});

t.test('the version of a past instant is the same whatever is heard of its listings afterwards (N-10)', async (t) => {
  const feed = market();
  const { app } = await testApp(feed, { nowMicros: () => NOW + 7_200_000_000 });
  t.teardown(() => app.close());
  const asOf = new URLSearchParams({ as_of: formatInstant(NOW + 60_000_000) });
  const read = async () => (await app.inject(`/v2/instruments?${asOf}`)).json<{ catalogue: string }>().catalogue;
  const first = await read();
  const change = (afterS: number, delistedAt: number | null) => {
    const written = { writtenAt: NOW + afterS * 1_000_000, delistedAt };
    feed.list(
      listing('binance', listingValues({ instrument: 'ETH-PERP', venue_symbol: 'ETHUSDT', base: 'ETH' }), written),
    );
  };
  change(90, NOW + 30_000_000);
  t.equal(await read(), first, 'an end that was heard of later');
  change(30, NOW + 50_000_000);
  const ended = await read();
  t.not(ended, first, 'an end that was announced before');
  change(120, null);
  t.equal(await read(), ended, 'listed again later');
});

t.test('the last change of the language has the digest of its tables as they are', async (t) => {
  const tables = writeJson({
    ...makeLanguageEntries({ ofField: () => [], ofSource: () => [] }),
    limits: { ...LIMITS, endpoints: ENDPOINT_LIMITS },
    timeframes: TIMEFRAMES,
  });
  const found = createHash('sha256').update(tables).digest('hex').slice(0, 16);
  const minute = new Date().toISOString().slice(0, 16);
  t.equal(
    LANGUAGE_CHANGES.at(-1)?.[1],
    found,
    `add ['${minute}:00Z', '${found}'] to LANGUAGE_CHANGES of api/operations/catalogue-version.ts, because clients cache the catalogue by its version (V-06)`,
  );
  const instants = LANGUAGE_CHANGES.map(([at]) => micros(at));
  t.same(
    instants,
    [...new Set(instants)].sort((a, b) => a - b),
    'each later than the one before',
  );
});
