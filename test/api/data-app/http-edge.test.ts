// HTTP of the open answers: caching, HEAD, coding, callers of other origins, and the operational routes (N-13, N-14, OP-01).
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import t from 'tap';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { LISTED, listing, listingValues, market, NOW, testApp } from '../../support/apps/live-fixture.ts';
import { sendThenRead } from '../../support/services/send-then-read.ts';

t.test('an unchanged answer is 304 although its ages, and the instant in its cursor, moved (N-14)', async (t) => {
  const feed = market();
  let now = NOW;
  const { app } = await testApp(feed, { nowMicros: () => now });
  t.teardown(() => app.close());
  for (const url of ['/v2/instruments', '/v2/instruments?limit=1', '/v2/venues']) {
    now = NOW;
    const first = await app.inject(url);
    t.equal(first.headers['cache-control'], 'public, max-age=10');
    t.match(first.headers.etag, /^W\/"/);
    now = NOW + 1_000_000;
    const headers = { 'if-none-match': String(first.headers.etag) };
    const again = await app.inject({ url, headers });
    t.equal(again.statusCode, 304);
    t.equal(again.body, '');
  }
  const { etag } = (await app.inject('/v2/instruments')).headers;
  feed.list(
    listing('okx', listingValues({ venue_symbol: 'BTC-USDT-SWAP', tick_size: '9' }), { writtenAt: LISTED + 5 }),
  );
  t.equal((await app.inject({ url: '/v2/instruments', headers: { 'if-none-match': String(etag) } })).statusCode, 200);
});

t.test('cacheable answers vary by the key and by the encoding (N-14, RFC 9111)', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  for (const url of ['/v2/venues', '/v2/instruments?include_raw=true', '/v2/dql/catalogue']) {
    const plain = await app.inject({ url, headers: as('pro') });
    t.match(plain.headers['cache-control'], /^public/);
    t.equal(plain.headers.vary, 'authorization, accept-encoding', url);
    const packed = await app.inject({ url, headers: { ...as('pro'), 'accept-encoding': 'br' } });
    t.equal(packed.headers.vary, 'authorization, accept-encoding', url);
    const same = await app.inject({ url, headers: { ...as('pro'), 'if-none-match': String(plain.headers.etag) } });
    t.match(same, { statusCode: 304, headers: { vary: 'authorization, accept-encoding' } }, url);
  }
});

t.test('a coding that is refused is not sent, also where any other may be (RFC 9110 section 12.5.3)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  for (const [accepted, coding] of [
    ['gzip;q=0, *', 'br'],
    ['*, GZIP; q=0.0', 'br'],
    ['*;q=0.5, x-gzip;q=0, br;q=0', 'zstd'],
    ['gzip;q=0, br;q=0, zstd;q=0, *', undefined],
    ['gzip;q=0, *;q=0', undefined],
    ['gzip;q=0.5, *', 'gzip'],
  ] as const) {
    const { headers } = await app.inject({ url: '/v2/dql/catalogue', headers: { 'accept-encoding': accepted } });
    t.equal(headers['content-encoding'], coding, accepted);
  }
});

t.test('HEAD answers as GET without a body', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const [head, got] = [await app.inject({ method: 'HEAD', url: '/v2/venues' }), await app.inject('/v2/venues')];
  t.equal(head.body, '');
  t.equal(head.headers.etag, got.headers.etag);
  t.equal(head.headers['content-length'], String(Buffer.byteLength(got.body)));
});

t.test('HEAD names no other length than GET has with the same coding (RFC 9110)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  for (const url of ['/v2/venues', '/v2/dql/catalogue', '/openapi.json', '/v2/nothing']) {
    for (const coding of ['identity', 'gzip', 'zstd, br;q=0.5', '*']) {
      const headers = { 'accept-encoding': coding };
      const { headers: named } = await app.inject({ method: 'HEAD', url, headers });
      const { rawPayload } = await app.inject({ url, headers });
      const { 'content-length': length = coding === 'identity' ? 'none' : rawPayload.length } = named;
      t.equal(String(length), String(rawPayload.length), `${url} ${coding}`);
    }
  }
});

t.test('a 304 names no length, by HEAD either (RFC 9110 section 8.6)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  for (const url of ['/v2/venues', '/v2/dql/catalogue']) {
    const { etag } = (await app.inject(url)).headers;
    for (const method of ['GET', 'HEAD'] as const) {
      const kept = await app.inject({ method, url, headers: { 'if-none-match': String(etag) } });
      t.match(kept, { statusCode: 304, headers: { etag, 'content-length': undefined } }, `${method} ${url}`);
    }
  }
});

t.test('OPTIONS names the methods of an address, as a 405 does (RFC 9110 section 9.3.7)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  for (const [url, other] of [
    ['/v2/venues', 'DELETE'],
    ['/v2/snapshots', 'GET'],
    ['/v2/anchors/2026-01-01', 'PUT'],
  ] as const) {
    const { allow } = (await app.inject({ method: other, url })).headers;
    t.match(allow, /^[A-Z, ]+$/, url);
    const options = await app.inject({ method: 'OPTIONS', url });
    t.match(options, { statusCode: 204, headers: { allow } }, url);
  }
  t.equal((await app.inject({ method: 'OPTIONS', url: '/v2/none' })).headers.allow, undefined);
});

t.test('browsers are bound to TLS only by what is served over it (RFC 6797 section 7.2)', async (t) => {
  for (const [baseUrl, expected] of [
    ['https://api.test', /^max-age=\d+/],
    ['http://127.0.0.1:8080', undefined],
  ] as const) {
    const { app } = await testApp(market(), { baseUrl });
    const { headers } = await app.inject('/v2/venues');
    t.match(headers, { 'strict-transport-security': expected }, baseUrl);
    await app.close();
  }
});

t.test('compresses as requested', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const plain = (await app.inject('/v2/instruments')).body;
  for (const [encoding, decode] of [
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const answer = await app.inject({ url: '/v2/instruments', headers: { 'accept-encoding': encoding } });
    t.equal(answer.headers['content-encoding'], encoding);
    t.equal(decode(answer.rawPayload).toString(), plain);
  }
});

t.test('browsers of any origin may send requests and read the headers (N-13)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const preflight = await app.inject({
    method: 'OPTIONS',
    url: '/v2/snapshots',
    headers: {
      origin: 'https://a.test',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    },
  });
  t.equal(preflight.statusCode, 204);
  t.equal(preflight.headers['access-control-allow-origin'], '*');
  t.match(preflight.headers['access-control-allow-headers'], 'PAYMENT-SIGNATURE');
  t.equal(preflight.headers['access-control-allow-credentials'], undefined);
  const answer = await app.inject({ url: '/v2/nothing', headers: { origin: 'https://a.test' } });
  t.match(answer.headers['access-control-expose-headers'], 'X-Service-Receipt');
  t.equal(answer.headers['x-content-type-options'], 'nosniff');
  const unreadable = await app.inject({ url: '/v2/%zz', headers: { origin: 'https://a.test' } });
  t.equal(unreadable.statusCode, 400);
  t.equal(unreadable.headers['access-control-allow-origin'], '*');
});

t.test('a page that is too large is refused, or shorter where that is preferred (T-04, RFC 7240)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const whole = (await app.inject('/v2/instruments')).json<{ items: { venue_symbol: string }[] }>();
  const small = { 'x-service-max-bytes': '4096' };
  const refused = await app.inject({ url: '/v2/instruments', headers: { ...small, prefer: 'respond-async' } });
  t.match(refused, { statusCode: 400, headers: { 'preference-applied': undefined } });
  const shorter = await app.inject({
    url: '/v2/instruments',
    headers: { ...small, prefer: 'respond-async, shorter-page' },
  });
  t.match(shorter.headers, { 'preference-applied': 'shorter-page', 'cache-control': 'no-store', etag: undefined });
  const { items, page } = shorter.json<{ items: unknown[]; page: object }>();
  t.match(page, { limit: items.length, returned: items.length, next_cursor: String });
  t.same(items, whole.items.slice(0, items.length));
  const enough = await app.inject({ url: '/v2/instruments', headers: { prefer: 'shorter-page' } });
  t.match(enough.headers, { 'preference-applied': undefined, etag: String });
});

t.test(
  'an answer larger than X-Service-Max-Bytes is refused with a code that its endpoint lists (T-04, E-06)',
  async (t) => {
    const { app } = await testApp(market());
    t.teardown(() => app.close());
    const { paths } = (await app.inject('/openapi.json')).json();
    const headers = { 'x-service-max-bytes': '4096', 'content-type': 'application/json' };
    const query = `any(venues where ${Array.from({ length: 60 }, (_, i) => `mark > ${i}`).join(' and ')})`;
    const calls = [
      ['get', '/v2/dql/catalogue', undefined],
      ['get', '/v2/instruments', undefined],
      ['post', '/v2/dql/parse', { query }],
    ] as const;
    for (const [method, url, payload] of calls) {
      const item = paths[url][method];
      t.ok(
        item.parameters.some(
          (one: { name: string; in: string }) => one.in === 'header' && one.name === 'X-Service-Max-Bytes',
        ),
        `${url} has the header as a parameter`,
      );
      const refused = await app.inject({
        method: method === 'get' ? 'GET' : 'POST',
        url,
        headers,
        ...(payload && { payload }),
      });
      t.match(refused.json(), { errors: [{ code: 'DQL_LIMIT' }] }, url);
      t.match(item.responses[refused.statusCode].description, 'DQL_LIMIT', url);
    }
  },
);

t.test('an answer that says nothing of its keeping may not be kept (N-14)', async (t) => {
  const { app } = await testApp(market(), { accountUrl: 'https://account.test' });
  t.teardown(() => app.close());
  const paths = ['/healthz', '/readyz', '/llms.txt', '/changelog', '/registry/subjects', '/registry/none', '/none'];
  const headers = { origin: 'https://a.test', 'access-control-request-method': 'POST' };
  const preflight = await app.inject({ method: 'OPTIONS', url: '/v2/snapshots', headers });
  t.match(preflight, { statusCode: 204, headers: { 'cache-control': 'no-store' } });
  for (const path of paths) t.equal((await app.inject(path)).headers['cache-control'], 'no-store', path);
  for (const path of ['/openapi.json', '/status.json', '/changelog.json', '/v2/venues'])
    t.match((await app.inject(path)).headers['cache-control'], /^public, max-age=/, path);
});

t.test('reports whether it is alive, whether it is ready, and its version', async (t) => {
  const { app, registry } = await testApp(market());
  t.teardown(() => app.close());
  t.equal((await app.inject('/healthz')).statusCode, 200);
  t.same((await app.inject('/readyz')).json(), { status: 'ready', simulated: true, problems: [] });
  const openapi = (await app.inject('/openapi.json')).json<{ openapi: string; paths: Record<string, unknown> }>();
  t.equal(openapi.openapi, '3.1.0');
  for (const { path } of OPERATIONS) t.ok(path in openapi.paths, path);
  t.equal((await app.inject('/healthz?key=1')).statusCode, 200, 'operational routes take no credentials');
  for (const path of ['/registry', '/registry/', '/registry/subjects'])
    t.equal((await app.inject(path)).statusCode, 200, path);
  t.same((await app.inject('/registry/subjects?subjectPrefix=md.mark')).json(), ['md.mark-value']);
  const asked = await app.inject({
    method: 'POST',
    url: '/registry/compatibility/subjects/md.mark-value/versions/latest?verbose=true',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    payload: '{"schema": "\\"string\\""}',
  });
  t.match([asked.statusCode, asked.json()], [200, { is_compatible: false, messages: [/\S/] }]);
  t.match(await registry.metrics(), /perp_api_requests_total\{route="\/readyz",status="200"\} 1/);
  t.match(await registry.metrics(), /perp_api_live_lag_seconds\{venue="okx"\} 0.19/);
});

t.test('is not ready while stored history does not answer (OP-01), and serves what needs none', async (t) => {
  const { app } = await testApp(market(), { isHistoryReachable: async () => false });
  t.teardown(() => app.close());
  const answer = await app.inject('/readyz');
  t.equal(answer.statusCode, 503);
  t.same(answer.json(), { status: 'not_ready', simulated: true, problems: ['The store of history does not respond.'] });
  t.equal((await app.inject('/v2/instruments')).statusCode, 200);
});

t.test('before the state has been read it answers 503, but lives', async (t) => {
  const feed = market();
  feed.memory.expectPartitions('okx', [0, 1]);
  const { app } = await testApp(feed);
  t.teardown(() => app.close());
  const answer = await app.inject('/v2/instruments');
  t.equal(answer.statusCode, 503);
  t.ok(answer.headers['retry-after']);
  t.equal((await app.inject('/v2/instruments?x=1')).statusCode, 400, 'shape comes before evaluation');
  t.equal((await app.inject('/readyz')).statusCode, 503);
  t.equal((await app.inject('/healthz')).statusCode, 200);
});

t.test(
  'a client that sends all of a body that is too large before it reads is answered, and goes on (N-13)',
  async (t) => {
    const { app, as } = await testApp(market());
    t.teardown(() => app.close());
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const key = `Authorization: ${as('pro').authorization}`;
    const head = ['POST /v2/snapshots HTTP/1.1', 'Host: a', key, 'Content-Type: application/json'];
    const answers = await sendThenRead({ port: Number(port), head, mebibytes: 24, next: '/v2/venues' });
    t.match(answers, /^HTTP\/1\.1 413 .*"PAYLOAD_TOO_LARGE".*HTTP\/1\.1 200 /s);
  },
);
