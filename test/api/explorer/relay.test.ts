// The relay of the explorer over a real PostgreSQL and a real API: the key it uses, what it forwards in both directions, and that no key is shown.
import type { IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync } from 'node:zlib';
import t from 'tap';
import { openAccountStore } from '../../../api/access/account-store.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { findKeyShapes, hashKey, makeKey } from '../../../api/access/keys.ts';
import { FORM_FIELD } from '../../../api/account-app/form-tokens.ts';
import { closeAccount } from '../../../api/accounts/close-account.ts';
import { beginSession, endOtherSessions } from '../../../api/accounts/sessions.ts';
import { toProblem } from '../../../api/explorer/directory.ts';
import { createExplorer } from '../../../api/explorer/explorer.ts';
import { RELAYED } from '../../../api/explorer/relayed-calls.ts';
import { WEB_MODULES } from '../../../api/web-modules.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { NotAnswered } from '../../../infra/runtime/network/fetch-json.ts';
import { market, markReading, testApp } from '../../support/apps/live-fixture.ts';
import { ACCOUNT_URL, type Browser, startSite } from '../../support/apps/site-fixture.ts';
import { until } from '../../support/services/pipeline.ts';
import { beginCall } from '../../support/services/slow-call.ts';
import { StreamClient } from '../../support/services/stream-client.ts';

const port = await findFreePort();
const apiPort = await findFreePort();
const origin = `http://localhost:${port}`;
const apiUrl = `http://127.0.0.1:${apiPort}`;
const OPEN_KEY_PLAN = 'pro';

const urls = { account: origin, auth: origin, base: apiUrl, api: apiUrl, mcp: null };
// Sessions are looked at with every part of a stream.
const modules = WEB_MODULES.map((module) =>
  module.name === 'explorer' ? createExplorer({ checkSessionMs: 0 }) : module,
);
const { app, pool, browser } = await startSite(t, { urls, modules });
const feed = market();
let moved = 0;
const data = await testApp(feed, { keys: openKeyStore(pool), accounts: openAccountStore(pool), baseUrl: apiUrl });
/** Every request as it reached the API. */
const seen: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
data.app.server.prependListener('request', ({ url = '', headers }) => seen.push({ url, headers }));
await data.app.listen({ host: '127.0.0.1', port: apiPort });
t.teardown(() => data.app.close());

/** Everything that browsers were ever answered. */
let answered = '';
const ask = async (one: Browser, path: string, payload?: unknown, headers: Record<string, string> = {}) => {
  const answer = await one.send({
    method: payload === undefined ? 'GET' : 'POST',
    url: `/api/explore${path}`,
    headers: {
      host: new URL(origin).host,
      ...(payload === undefined ? {} : { 'content-type': 'application/json', origin, 'sec-fetch-site': 'same-origin' }),
      ...headers,
    },
    ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
  });
  answered += JSON.stringify(answer.headers) + answer.body;
  return answer;
};
/** A browser of a new account, signed in. */
const member = async (name: string, site = { browser, pool }): Promise<{ one: Browser; account: string }> => {
  const account = `acc_${name}`;
  await site.pool.query('insert into accounts (account_id, email) values ($1, $2)', [account, `${name}@example.com`]);
  const one = site.browser();
  one.cookies.set('session', (await beginSession(site.pool, { accountId: account, agent: 'test' })).token);
  return { one, account };
};
const keyRows = async (account: string) =>
  (
    await pool.query<{ hash: Buffer; plan: string; kind: string; revoked_at: Date | null }>(
      'select hash, plan, kind, revoked_at from api_keys where account_id = $1 order by created_at',
      [account],
    )
  ).rows;
/** The key in the newest request to the API. */
const lastKey = (): string => (seen.at(-1)?.headers.authorization ?? '').replace('Bearer ', '');

const BODY = { where: 'base = BTC', layers: ['mark'] };

t.test('without a session nothing is passed on, and from another site nothing either', async (t) => {
  const before = seen.length;
  const nobody = browser();
  for (const { method, path } of RELAYED) {
    const url = path.replaceAll(/:\w+/g, 'x');
    const { statusCode, body } = await ask(nobody, url, method === 'POST' ? BODY : undefined);
    t.match([statusCode, JSON.parse(body)], [401, { errors: [{ code: 'AUTH_REQUIRED' }] }], url);
  }
  const { one } = await member('elsewhere');
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' },
    { origin: 'http://evil.test' },
  ])
    for (const payload of [undefined, BODY])
      t.equal((await ask(one, payload === undefined ? '/venues' : '/snapshots', payload, headers)).statusCode, 403);
  t.equal(seen.length, before, 'the API received no request');
});

t.test('a signed-in visitor calls with a key of the account, which has its plan and ends with it', async (t) => {
  const { one, account } = await member('owner');
  const { one: stranger, account: other } = await member('stranger');
  const { statusCode, body } = await ask(one, '/snapshots', BODY);
  t.equal(statusCode, 200);
  t.ok(JSON.parse(body).items.length > 0);
  const own = lastKey();
  t.match(await keyRows(account), [{ hash: hashKey(own), plan: 'free', kind: 'connection', revoked_at: null }]);
  await ask(one, '/snapshots', BODY);
  t.equal(lastKey(), own, 'the same key again');
  await ask(stranger, '/snapshots', BODY);
  t.match(await keyRows(other), [{ hash: hashKey(lastKey()) }]);
  t.not(lastKey(), own, 'another account has another key');
  t.notMatch((await one.get('/api/keys')).body, /explorer/, 'the list of keys does not name it');

  await pool.query("update accounts set plan = 'standard' where account_id = $1", [account]);
  await ask(one, '/snapshots', BODY);
  t.match(await keyRows(account), [{ hash: hashKey(own), plan: 'standard' }], 'the plan follows the account');

  await pool.query('update api_keys set revoked_at = now() where hash = $1', [hashKey(own)]);
  t.equal((await ask(one, '/snapshots', BODY)).statusCode, 200, 'a revoked one is replaced');
  t.not(lastKey(), own);
  t.match(await keyRows(account), [{ revoked_at: Date }, { plan: 'standard', revoked_at: null }]);
  await closeAccount(pool, account);
  t.equal((await ask(one, '/snapshots', BODY)).statusCode, 401);
  t.ok(
    (await keyRows(account)).every(({ revoked_at: at }) => at !== null),
    'no key outlives its account',
  );
});

t.test('ten first calls at once make one key', async (t) => {
  const { one, account } = await member('hasty');
  await Promise.all(Array.from({ length: 10 }, () => ask(one, '/anchors/proof')));
  t.equal((await keyRows(account)).length, 1);
});

t.test('pages that are loaded at once, or one after the other, ask once a minute what a key may see', async (t) => {
  let nowMs = Date.now();
  const here = await startSite(t, { urls, modules, pool, nowMs: () => nowMs });
  const { one, account } = await member('reloading', { browser: here.browser, pool });
  const load = (path: string) => one.send({ method: 'GET', url: path, headers: { host: new URL(origin).host } });
  const countAsked = (): number => seen.filter(({ url }) => url === '/v2/account').length;
  const before = countAsked();
  const pages = await Promise.all(
    Array.from({ length: 20 }, (_, i) => load(i % 2 === 0 ? '/explore' : '/explore/BTC-PERP')),
  );
  for (let i = 0; i < 4; i++) pages.push(await load('/explore'));
  t.same([...new Set(pages.map(({ statusCode }) => statusCode))], [200]);
  t.equal(countAsked(), before + 1);

  const { one: other } = await member('beside', { browser: here.browser, pool });
  const seenBy = (who: Browser) =>
    who.send({ method: 'GET', url: '/explore', headers: { host: new URL(origin).host } });
  t.equal((await seenBy(other)).statusCode, 200);
  t.equal(countAsked(), before + 2, 'each account is asked about by its own key');

  nowMs += 59_000;
  await load('/explore');
  t.equal(countAsked(), before + 2);
  nowMs += 1_000;
  t.equal((await load('/explore')).statusCode, 200);
  const askedAgain = countAsked();
  t.ok(askedAgain > before + 2, 'after a minute it is asked again');
  nowMs -= 3_600_000;
  t.equal((await load('/explore')).statusCode, 200);
  t.ok(countAsked() > askedAgain, 'what was read an hour from now may be of any age');

  await pool.query("update accounts set plan = 'standard' where account_id = $1", [account]);
  t.match((await load('/explore')).statusCode, 200, 'another plan is another scope');
  t.ok(countAsked() > askedAgain + 1);
});

t.test('a page waits when the second of its key was spent elsewhere', async (t) => {
  const { one } = await member('elsewhere-spent');
  await ask(one, '/snapshots', BODY);
  const headers = { authorization: `Bearer ${lastKey()}` };
  t.equal((await data.app.inject({ url: '/v2/account', headers })).statusCode, 200);
  t.equal(
    (await one.send({ method: 'GET', url: '/explore', headers: { host: new URL(origin).host } })).statusCode,
    200,
  );
});

t.test('a page that cannot be shown states why, and no cause that is none', (t) => {
  t.match(toProblem(new NotAnswered('x', 429)), { status: 429, text: /once a second/ });
  t.match(toProblem(new NotAnswered('x', 401)), { status: 503, text: /unexpected response/ });
  t.match(toProblem(new TypeError('fetch failed')), { status: 503, text: /does not respond/ });
  t.end();
});

t.test('open calls are made without a key', async (t) => {
  const { one, account } = await member('reader');
  t.equal((await ask(one, '/dql/parse', { query: 'any(venues where mark > 0)' })).statusCode, 200);
  t.equal((await ask(one, '/dql/catalogue')).statusCode, 200);
  t.same([seen.at(-1)?.headers.authorization, await keyRows(account)], [undefined, []]);
});

t.test('the bytes of an answer are those of the API, refusals included', async (t) => {
  const { one } = await member('bytes');
  const key = data.as('free');
  for (const [path, payload] of [
    ['/dql/parse', { query: 'any(venues where funding_8h >> 1)' }],
    ['/snapshots', { where: 'base = ' }],
    ['/dql/parse', { query: 'any(venues where funding_8h > 0.5bps)' }],
  ] as const) {
    const direct = await data.app.inject({
      method: 'POST',
      url: `/v2${path}`,
      payload,
      headers: path === '/snapshots' ? key : {},
    });
    const relayed = await ask(one, path, payload);
    if (path === '/snapshots') t.equal(relayed.statusCode, 400, 'the key of the table is not that of the account');
    else t.same([relayed.statusCode, relayed.body], [direct.statusCode, direct.body], path);
    t.equal(relayed.headers['content-type'], 'application/json; charset=utf-8');
  }
});

t.test('named headers alone go either way', async (t) => {
  const { one } = await member('headers');
  const { headers } = await ask(one, '/snapshots', BODY, {
    ...{ authorization: 'Bearer sk_another', 'x-payment': 'x', 'payment-signature': 'x', 'x-forwarded-for': '1.2.3.4' },
    ...{ 'x-forwarded-host': 'evil.test', referer: `${origin}/explore/query`, 'last-event-id': 'abc' },
  });
  const names = Object.keys(seen.at(-1)?.headers ?? {}).filter((name) => name !== 'accept-encoding');
  t.same(
    names.sort(),
    ['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host', 'last-event-id'].filter(
      (name) => names.includes(name),
    ),
  );
  t.match(seen.at(-1)?.headers, { authorization: /^Bearer sk_[0-9A-Za-z]{36}$/, 'last-event-id': 'abc' });
  for (const name of Object.keys(headers)) t.notMatch(name, /^(access-control-|www-authenticate|set-cookie|payment-)/);
  t.match(headers, { 'cache-control': 'no-store', 'x-service-receipt': /./, ratelimit: /./ });
});

t.test('a path leads to the call that it names and to no other', async (t) => {
  const { one } = await member('paths');
  const before = seen.length;
  for (const path of [
    ...[
      '/account',
      '/receipts/x',
      '/agent/state',
      '/../metrics',
      '/archive/../../metrics',
      '/archive/%2e%2e/%2e%2e/metrics',
    ],
    ...['/archive/..%2f..%2faccount/mark/x/y', '/anchors/..', '/anchors/%2e', '/snapshots'],
  ])
    t.equal((await ask(one, path)).statusCode, 404, path);
  t.equal(seen.length, before, 'the API received no request');
  await ask(one, '/archive/binance%3ABTCUSDT/mark/2026-01-01%3Fx=1%2f..?format=csv');
  t.equal(seen.at(-1)?.url, '/v2/archive/binance:BTCUSDT/mark/2026-01-01%3Fx%3D1%2F..?format=csv');
});

t.test('an open explorer lends its key to visitors, at its own address alone', async (t) => {
  const openPort = await findFreePort();
  const openOrigin = `http://localhost:${openPort}`;
  const { rows } = await pool.query<{ account_id: string }>(
    "insert into accounts (account_id, plan) values ('acc_open', 'pro') returning account_id",
  );
  const explorerKey = makeKey();
  await pool.query(
    "insert into api_keys (key_id, account_id, hash, display, name, plan) values ('key_open', $1, $2, 'sk_', 'open', $3)",
    [rows[0]?.account_id, hashKey(explorerKey), OPEN_KEY_PLAN],
  );
  const open = await startSite(t, { urls: { ...urls, account: openOrigin, auth: openOrigin }, explorerKey });
  const nobody = open.browser();
  const host = new URL(openOrigin).host;
  const headers = { host, origin: openOrigin };
  t.equal((await ask(nobody, '/snapshots', BODY, headers)).statusCode, 200);
  t.equal(lastKey(), explorerKey);
  t.equal(
    (await ask(nobody, '/snapshots', BODY, { ...headers, host: 'evil.test' })).statusCode,
    401,
    'another name of this address',
  );
  t.equal((await ask(nobody, '/snapshots', BODY, { ...headers, origin: 'http://evil.test' })).statusCode, 403);
  const asked = seen.length;
  for (const query of ['rules=true', 'rules=false', 'where=base%20%3D%20BTC&%72ules=true', 'rules'])
    t.equal(
      (await ask(nobody, `/stream?${query}`, undefined, { host })).statusCode,
      401,
      `rules of the account: ${query}`,
    );
  t.equal(seen.length, asked, 'nothing of the account that lends its key is read');
  answered += (await nobody.send({ method: 'GET', url: '/explore/query', headers: { host } })).body;
});

t.test('a page is packed for who is not signed in; beside a form token no page is', async (t) => {
  const urlsHere = { ...urls, account: ACCOUNT_URL, auth: ACCOUNT_URL };
  // A page names the instant at which it was made.
  const open = await startSite(t, { urls: urlsHere, explorerKey: makeKey(), nowMs: () => 1_800_000_000_000 });
  const nobody = open.browser();
  const get = (one: Browser, url: string, encoding: string) =>
    one.send({ method: 'GET', url, headers: { host: new URL(ACCOUNT_URL).host, 'accept-encoding': encoding } });
  const plain = await get(nobody, '/explore/query', 'gzip');
  const packed = await get(nobody, '/explore/query', 'gzip, deflate, br, zstd');
  t.equal(plain.headers['content-encoding'], undefined);
  t.match(packed, { statusCode: 200, headers: { 'content-encoding': 'br', vary: 'accept-encoding' } });
  t.match(packed.headers, { 'content-type': /html/, 'content-security-policy': /default-src 'none'/ });
  t.equal(brotliDecompressSync(packed.rawPayload).toString(), plain.body);
  t.ok(packed.rawPayload.length < plain.rawPayload.length / 2, `${packed.rawPayload.length} bytes`);
  t.notMatch(plain.body, FORM_FIELD);

  const form = await get(nobody, '/sign-in', 'br');
  t.match(form.body, FORM_FIELD);
  t.equal(form.headers['content-encoding'], undefined);
  const { one } = await member('packed', open);
  const own = await get(one, '/explore/query', 'br');
  t.match(own.body, FORM_FIELD, 'the sign-out');
  t.equal(own.headers['content-encoding'], undefined);
});

t.test(
  'the stream is passed on as it comes, resumes, and frees its place when the browser or the session goes',
  async (t) => {
    await app.listen({ host: '127.0.0.1', port });
    const { one, account } = await member('stream');
    const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const open = (headers: Record<string, string> = {}): Promise<StreamClient> =>
      StreamClient.open(`${origin}/api/explore/stream?where=base%20%3D%20BTC&layers=mark`, { cookie, ...headers });
    const first = await open();
    t.match(first.headers.get('content-type'), /text\/event-stream/);
    await first.until((events) => events.some(({ event }) => event === 'ready'));
    const full = await open();
    t.equal(full.status, 429, 'the free plan has one stream');
    await first.close();
    const second = await until('the place is free', 60_000, async () => {
      const client = await open({ 'last-event-id': first.lastId });
      if (client.status === 200) return client;
      await client.close();
      return null;
    });
    t.equal(seen.at(-1)?.headers['last-event-id'], first.lastId);
    await second.until((events) => events.some(({ event }) => event === 'hello'));
    answered += first.text + second.text + full.text;
    await endOtherSessions(pool, account, null);
    await until('the stream of an ended session ends', 60_000, async () => {
      feed.read('binance', 'BTCUSDT', markReading(String(60_001 + ++moved)));
      return second.isEnded ? true : null;
    });
  },
);

t.test('an API that is away is a 503 with the time to wait', async (t) => {
  const { app: lonely } = await startSite(t, {
    urls: { ...urls, api: `http://127.0.0.1:${await findFreePort()}` },
    pool,
  });
  const { one } = await member('away');
  const { statusCode, headers, body } = await lonely.inject({
    url: '/api/explore/dql/catalogue',
    cookies: Object.fromEntries(one.cookies),
  });
  t.match(
    [statusCode, headers, JSON.parse(body)],
    [503, { 'retry-after': '5' }, { errors: [{ code: 'UNAVAILABLE' }] }],
  );
});

t.test('no answer to a browser contains a key', (t) => {
  t.ok(answered.length > 10_000);
  t.same(findKeyShapes(answered), []);
  t.end();
});

t.test('when the process ends a call in flight is answered, and no stream is waited for', async (t) => {
  const { one } = await member('ending');
  const cookie = [...one.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const open = () => StreamClient.open(`${origin}/api/explore/stream?where=base%20%3D%20BTC&layers=mark`, { cookie });
  const stream = await open();
  await stream.until((events) => events.some(({ event }) => event === 'ready'));
  const headers = { cookie, origin, 'sec-fetch-site': 'same-origin' };
  const finish = await beginCall(app, { path: '/api/explore/snapshots', headers, body: JSON.stringify(BODY) });
  const began = performance.now();
  const closed = app.close();
  await stream.ended();
  t.equal((await open()).status, 503, 'a page that opens its stream again comes back later');
  t.equal(await finish(), 200);
  await closed;
  t.ok(performance.now() - began < 4_000);
});
