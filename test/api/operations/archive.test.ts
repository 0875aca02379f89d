// The archive list and file over a real PostgreSQL and folder store: members and values, plans, order of checks, counters, prices (AR-01 to AR-05).
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openManifest } from '../../../api/archive/manifest.ts';
import { openFileLinks, readLinkSecret } from '../../../api/files/links.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { addArchivedSet, type SetOf } from '../../support/days/archived-sets.ts';
import { useEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['postgres']);
const pool = openPostgres(await engines.database(), { max: 4 });
await migrate(pool);
const folder = mkdtempSync(join(tmpdir(), 'archive-api-'));
const store = openFolderStore(folder);
const secret = await readLinkSecret(pool);
const { app, as } = await testApp(market(), {
  files: openFileLinks(store, async () => secret, 'http://api.test'),
  manifest: openManifest(pool),
});
t.teardown(async () => {
  await app.close();
  await pool.end();
  rmSync(folder, { recursive: true, force: true });
});

const archived = (set?: SetOf): Promise<void> => addArchivedSet(pool, store, set);
await archived();
await archived({ day: '2026-01-13', layer: 'funding' });
await archived({ day: '2026-01-02' });
await archived({ layer: 'trades' });
await archived({ symbol: 'ETHUSDT', tier: 'top100', instrument: 'ETH-PERP' });
await archived({ venue: 'okx', symbol: 'BTC-USDT-SWAP', tier: 'other' });

const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  app.inject({ method, url, headers });
const FILE = '/v2/archive/binance%3ABTCUSDT/mark/2026-01-14';
const listFaults = (answer: { json: () => { errors: { code: string; path?: string }[] } }): string[] =>
  answer.json().errors.map(({ code, path }) => `${code} ${path ?? ''}`.trim());

t.test('a selection of no listing has no files', async (t) => {
  const where = encodeURIComponent('instrument = ETH-PERP and venue = okx');
  const answer = await get(`/v2/archive?where=${where}`, as('pro_plus'));
  t.match(answer, { statusCode: 200, body: /"items":\[\]/ });
});

t.test('every process signs with the same key', async (t) => {
  t.same(await readLinkSecret(pool), secret);
});

t.test('the list: order, members and values', async (t) => {
  const answer = await get('/v2/archive?limit=1', as('pro_plus'));
  t.equal(answer.statusCode, 200, answer.body);
  const { sha256, ...item } = answer.json().items[0];
  t.match(sha256, /^[0-9a-f]{64}$/);
  t.equal(
    JSON.stringify(item),
    '{"listing":"binance:BTCUSDT","venue":"binance","venue_symbol":"BTCUSDT","instrument":"BTC-PERP","layer":"funding","day":"2026-01-13",' +
      '"tier":"core","price_usdc":"0.10","format":"parquet","rows":3,"bytes":107,"schema_version":1,' +
      '"written_at":"2026-01-15T06:00:12.345Z","final":false,"anchored":false,"included":true}',
  );
  t.same(Object.keys(answer.json()), ['evaluated_at', 'receipt_id', 'items', 'page']);
  t.equal(answer.json().receipt_id, answer.headers['x-service-receipt']);
  t.equal((await get('/v2/archive')).statusCode, 401);
});

t.test('pages follow one another to the end; a cursor belongs to its request', async (t) => {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const { items, page } = (await get(`/v2/archive?limit=2${more}`, as('pro_plus'))).json();
    seen.push(...items.map((i: { listing: string; layer: string; day: string }) => `${i.listing} ${i.layer} ${i.day}`));
    cursor = page.next_cursor;
  } while (cursor !== null);
  t.same(seen, [
    'binance:BTCUSDT funding 2026-01-13',
    'binance:BTCUSDT mark 2026-01-02',
    'binance:BTCUSDT mark 2026-01-14',
    'binance:BTCUSDT trades 2026-01-14',
    'binance:ETHUSDT mark 2026-01-14',
    'okx:BTC-USDT-SWAP mark 2026-01-14',
  ]);
  const { page } = (await get('/v2/archive?limit=1', as('pro'))).json();
  for (const other of ['layer=mark', 'from=2026-01-01', 'where=base%3DBTC']) {
    const answer = await get(`/v2/archive?${other}&cursor=${page.next_cursor}`, as('pro_plus'));
    t.same(listFaults(answer), ['DQL_JSON_SCHEMA /cursor'], other);
  }
  const [digest, ...place] = JSON.parse(Buffer.from(page.next_cursor, 'base64url').toString()) as string[];
  for (const forged of [
    [digest, '\0', ...place.slice(1)],
    [digest, place[0], 'a\0', ...place.slice(2)],
    [digest],
    {},
  ]) {
    const text = Buffer.from(JSON.stringify(forged)).toString('base64url');
    t.same(listFaults(await get(`/v2/archive?cursor=${text}`, as('pro_plus'))), ['DQL_JSON_SCHEMA /cursor'], text);
  }
  for (const [query = '', ...faults] of [
    ['layer=x&from=2026-01-14&to=2026-01-13', 'DQL_JSON_SCHEMA /from', 'DQL_JSON_SCHEMA /layer'],
    ['cursor=x&layer=x', 'DQL_JSON_SCHEMA /cursor', 'DQL_JSON_SCHEMA /layer'],
    ['cursor=x&from=2026-01-14&to=2026-01-13', 'DQL_JSON_SCHEMA /cursor', 'DQL_JSON_SCHEMA /from'],
    [`cursor=${page.next_cursor}&layer=x`, 'DQL_JSON_SCHEMA /layer'],
  ]) {
    t.same(listFaults(await get(`/v2/archive?${query}`, as('pro_plus'))), faults, query);
  }
  const count = async (query: string): Promise<number> =>
    (await get(`/v2/archive?${query}`, as('pro_plus'))).json().page.returned;
  t.equal((await get('/v2/archive?limit=1001', as('pro'))).json().page.limit, 1_000, 'H-16g');
  t.equal(await count('where=base%3DETH'), 1);
  t.equal(await count('where=venue%3Dokx'), 1);
  t.equal(await count('layer=trade'), 1);
  t.equal(await count('from=2026-01-13&to=2026-01-13'), 1);
  for (const [query, fault] of [
    ['layer=book', 'DQL_JSON_SCHEMA /layer'],
    ['from=2026-1-1', 'DQL_JSON_SCHEMA /from'],
    ['from=2026-01-14&to=2026-01-13', 'DQL_JSON_SCHEMA /from'],
    ['limit=0', 'DQL_JSON_SCHEMA /limit'],
  ] as const)
    t.same(listFaults(await get(`/v2/archive?${query}`, as('pro_plus'))), [fault], query);
});

t.test('a file is a 302 to a link that gives its very bytes, in each format', async (t) => {
  for (const format of ['parquet', 'csv', 'jsonl']) {
    const answer = await get(`${FILE}?format=${format}`, as('pro_plus'));
    t.equal(answer.statusCode, 302, answer.body);
    const body = answer.json();
    t.same(Object.keys(body), ['url', 'expires_at', 'sha256', 'bytes', 'rows', 'schema_version', 'receipt_id']);
    t.equal(answer.headers.location, body.url);
    t.equal(body.expires_at, '2026-01-15T12:15:00.000Z');
    const file = await get(body.url.slice('http://api.test'.length));
    t.equal(file.statusCode, 200);
    t.equal(createHash('sha256').update(file.rawPayload).digest('hex'), body.sha256);
    t.equal(file.rawPayload.length, body.bytes);
  }
});

t.test('a venue is matched without regard to letter case, a symbol by its bytes (S-03)', async (t) => {
  const { sha256 } = (await get(FILE, as('pro_plus'))).json();
  const upper = await get(FILE.replace('binance', 'BINANCE'), as('pro_plus'));
  t.equal(upper.statusCode, 302, upper.body);
  t.equal(upper.json().sha256, sha256);
  t.equal((await get(FILE.replace('binance', 'Binance'))).statusCode, 402);
  t.equal((await get(FILE.replace('BTCUSDT', 'btcusdt'), as('pro_plus'))).statusCode, 404);
});

t.test('faults of form, what is not there, what the plan has not, in this order', async (t) => {
  for (const [path, status, faults] of [
    ['/v2/archive/BTC/book/2026-01-32?format=xml', 400, ['/day', '/format', '/layer', '/listing']],
    ['/v2/archive/none%3ABTCUSDT/mark/2026-01-14', 404, []],
    ['/v2/archive/binance%3ANONE/mark/2026-01-14', 404, []],
    ['/v2/archive/binance%3ABTC%00USDT/mark/2026-01-14', 404, []],
    ['/v2/archive/%00%3ABTCUSDT/mark/2026-01-14', 404, []],
    ['/v2/archive/binance%3ABTCUSDT/mark/2026-01-12', 404, []],
  ] as const) {
    const answer = await get(path, as('pro_plus'));
    t.equal(answer.statusCode, status, answer.body);
    t.same(listFaults(answer), status === 404 ? ['NOT_FOUND'] : faults.map((name) => `DQL_JSON_SCHEMA ${name}`), path);
  }
  t.same(listFaults(await get('/v2/archive/binance%3ABTCUSDT/trades/2026-01-02', as('free'))), [
    'PLAN_LIMIT /day',
    'PLAN_LIMIT /layer',
  ]);
  const wrong = await get(FILE, as('pro_plus'), 'POST');
  t.equal(wrong.statusCode, 405);
  t.equal(wrong.headers.allow, 'GET, HEAD');
});

t.test('without a key: 404 for what is no file, else the price of its tier, or a key', async (t) => {
  for (const path of [
    ...['/v2/archive/binance%3ABTCUSDT/mark/2026-01-12', '/v2/archive/x/y/z', `${FILE}?format=xml`],
    '/v2/archive/binance%3A%00/mark/2026-01-14',
  ])
    t.equal((await get(path)).statusCode, 404, path);
  const core = await get(FILE);
  t.equal(core.statusCode, 402);
  t.equal(core.json().accepts[0].amount, '100000');
  t.equal(core.json().resource.url, `http://api.test${FILE}`);
  t.equal((await get('/v2/archive/binance%3AETHUSDT/mark/2026-01-14')).json().accepts[0].amount, '50000');
  t.equal((await get('/v2/archive/okx%3ABTC-USDT-SWAP/mark/2026-01-14')).statusCode, 401);
});

t.test('each 302 counts a file, HEAD too; 403 and 404 come before the limit', async (t) => {
  const { app: fresh, as: asKey } = await testApp(market(), {
    files: openFileLinks(store, async () => secret, 'http://api.test'),
    manifest: openManifest(pool),
  });
  const key = asKey('mini');
  const ask = async (url: string, method: 'GET' | 'HEAD' = 'GET') => {
    for (;;) {
      const answer = await fresh.inject({ method, url, headers: key });
      if (answer.headers['x-service-limit'] !== 'requests_per_second') return answer;
    }
  };
  for (let at = 0; at < 20; at++) t.equal((await ask(FILE, at % 2 === 0 ? 'HEAD' : 'GET')).statusCode, 302);
  const over = await ask(FILE);
  t.equal(over.statusCode, 429);
  t.equal(over.headers['x-service-limit'], 'archive_files_per_day');
  t.ok(Number(over.headers['retry-after']) > 0);
  t.equal((await ask('/v2/archive/binance%3ABTCUSDT/trades/2026-01-14')).statusCode, 403);
  t.equal((await ask('/v2/archive/binance%3ABTCUSDT/mark/2026-01-12')).statusCode, 404);
  t.equal((await ask('/v2/archive')).statusCode, 200);
  await fresh.close();
});
