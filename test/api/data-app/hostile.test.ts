// Requests that no client library makes, on every endpoint and over sockets of their own: never a 5xx, always the one shape of errors.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { InjectOptions } from 'fastify';
import t from 'tap';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';
import { CATALOGUE } from '../../../schemas/errors.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { sendAhead } from '../../support/services/send-ahead.ts';

const ENDPOINTS: readonly Endpoint[] = [...OPERATIONS, STREAM];
const deep = (open: string, close: string, n = 10_000): string => open.repeat(n) + close.repeat(n);

/** Bodies as bytes. */
const BODIES: Readonly<Record<string, string | Buffer>> = {
  nothing: '',
  spaces: ' \n\t',
  'a byte-order mark': '\ufeff{}',
  'UTF-16': Buffer.from('{"where": "venue = okx"}', 'utf16le'),
  'no UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'a lone surrogate': '{"where": "\\ud800", "query": "\\udfff"}',
  'a null byte': '{"where": "\\u0000", "query": "\\u0000", "cursor": "\\u0000"}',
  truncated: '{"where": "venue = ok',
  'two objects': '{}{}',
  'a comment': '{/* */}',
  'single quotes': "{'where': 1}",
  'no numbers': '{"limit": NaN, "depth": Infinity}',
  'an array': '[]',
  'an array of objects': '[{"where": "venue = okx"}]',
  'a string': '"venue = okx"',
  'a number': '1e999',
  null: 'null',
  'deep arrays': deep('[', ']'),
  'deep objects': deep('{"where":', '}', 6_000).replace('}', '1}'),
  'a deep query': `{"query_object": ${deep('{"type":"and","args":[', ']}', 1_500)}}`,
  'a deep text': `{"query": "${'('.repeat(8_000)}"}`,
  'a wide text': `{"query": "${'1+'.repeat(4_000)}1"}`,
  'huge numbers': '{"limit": 1e308, "depth": 99999999999999999999999, "query": 1e-400, "units": -0}',
  'exponent digits': `{"query_object": {"dql":"1","condition":{"type":"cmp","op":">","left":{"type":"number","value":1e400},"right":{"type":"number","value":1.${'1'.repeat(5_000)}}}}}`,
  'a number of ten thousand digits': `{"limit": ${'9'.repeat(10_000)}}`,
  'members twice': '{"where": "venue = okx", "where": {"venue": 1}, "limit": 1, "limit": "x"}',
  'names of the language': '{"__proto__": {"where": 1}, "constructor": 1, "toString": 1, "hasOwnProperty": 1}',
  'inside where': '{"where": {"__proto__": ["x"], "venue": [null], "base": {}, "symbol": [[]]}}',
  'inside freshness': '{"freshness": {"__proto__": "1s", "constructor": "1s", "mark": "999999999d", "": ""}}',
  'strange names': '{"": 1, "/": 1, "~": 1, "~1": 1, "a\\u0000b": 1, "é": 1}',
  'a long name': `{"${'x'.repeat(60_000)}": 1}`,
  'many members': `{${Array.from({ length: 6_000 }, (_, i) => `"m${i}":1`).join()}}`,
  instants:
    '{"from": "2026-02-30", "to": "9999999-01-01", "at": ["-1", ""], "as_of": "+275760-09-13T00:00:00Z", "timeframe": "1m"}',
  'far instants':
    '{"from": "2000-01-01", "to": "2100-01-01", "at": ["2099-12-31"], "timeframe": "1m", "interval": "10s"}',
  'a cursor': `{"cursor": "${Buffer.from('[9e15,"",{}]').toString('base64url')}", "query": "mark > 1", "from": "2026-01-01", "to": "2026-01-02"}`,
  durations:
    '{"timeframe": "999999999d", "interval": "0s", "freshness": "0000s", "from": "2026-01-01", "to": "2026-01-02"}',
};
const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'x',
];

/** What was sent stands in quotes in it (E-05), so it begins with a quote, a capital or a figure. */
const SENTENCE = /^["A-Z\d].*\.$/s;

type Answer = { readonly statusCode: number; readonly body: string; readonly headers: Record<string, unknown> };
const isDocumented = ({ statusCode, body, headers }: Answer, isHead: boolean): boolean => {
  // Without a store of history a valid request gets a 503 here.
  if (statusCode < 400 || statusCode === 503) return true;
  if (statusCode >= 500) return false;
  if (body === '' && isHead) return true;
  const { errors } = JSON.parse(body) as { errors: { code: string; message: string }[] };
  const isError = ({ code, message }: (typeof errors)[number]) => code in CATALOGUE && SENTENCE.test(message);
  const isOfShape = errors.length > 0 && errors.length <= 20 && errors.every(isError);
  return isOfShape && String(headers['content-type']).startsWith('application/json') && 'x-service-receipt' in headers;
};

t.test('hostile bodies, types and parameters are refused in the shape of errors', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const counts = new Map<number, number>();
  const send = async (name: string, request: InjectOptions): Promise<void> => {
    const authorization = `Bearer ${table.add('pro_plus')}`;
    const answer = await app.inject({ ...request, headers: { authorization, ...request.headers } });
    counts.set(answer.statusCode, (counts.get(answer.statusCode) ?? 0) + 1);
    if (!isDocumented(answer, request.method === 'HEAD'))
      t.fail(`${name}: ${answer.statusCode} ${answer.body.slice(0, 200)}`);
  };
  for (const { method, path } of ENDPOINTS.filter((endpoint) => endpoint.method === 'POST')) {
    for (const [body, payload] of Object.entries(BODIES)) {
      for (const type of TYPES) {
        await send(`${path}, ${body}, ${type}`, { method, url: path, headers: { 'content-type': type }, payload });
      }
    }
  }
  const texts = [
    '',
    '%',
    '%00',
    '%ff',
    '%ed%a0%80',
    '%2e%2e%2f',
    'a%20b',
    '1e9',
    '-0',
    '9'.repeat(400),
    '[]',
    'true&',
    '%F0%9F%98%80',
  ];
  for (const { path, input } of ENDPOINTS.filter((endpoint) => endpoint.method === 'GET')) {
    const { properties = {} } = input as { readonly properties?: object };
    // Every one of them is wrong somewhere, so that no stream begins.
    for (const name of [...Object.keys(properties), '__proto__', 'a[b]', '']) {
      for (const value of texts) {
        await send(`${path} ${name}=${value}`, { url: `${path}?colour=&${name}=${value}&${name}=${value}` });
        await send(`${path} ${name}=${value}`, { url: `${path}?colour=1&${name}=${value}&=&&;` });
      }
    }
  }
  for (const { path } of ENDPOINTS) {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'HEAD', 'POST', 'GET'] as const) {
      const url = `${path}?colour=1`;
      await send(`${method} ${path}`, {
        method: method as 'GET',
        url,
        headers: { 'x-http-method-override': 'DELETE' },
      });
    }
    for (const tail of ['/', '//', '/..', '%2f', '%00', ';a=b', '/%2e%2e/venues', '?']) {
      if (tail === '?' && path === STREAM.path) continue;
      await send(`${path}${tail}`, { url: `${path}${tail}` });
    }
    for (const headers of [
      { accept: 'x'.repeat(8_000) },
      { accept: ';q=,,*/*;q=NaN' },
      { 'accept-encoding': 'br;q=0, *;q=0' },
      { 'if-none-match': '"'.repeat(4_000) },
      { 'last-event-id': '\u0000'.repeat(0) + 'x'.repeat(4_000) },
      { 'x-service-max-bytes': '4096, 4096' },
      { 'x-service-max-bytes': '١٢٣٤٥' },
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${'sk_'.repeat(2_000)}` },
      { 'payment-signature': 'e30=', authorization: '' },
      { 'x-payment': '{'.repeat(9_000) },
      { range: 'bytes=0-1' },
      { expect: 'nothing' },
    ]) {
      await send(`${path} ${JSON.stringify(headers).slice(0, 60)}`, {
        url: `${path}?colour=1`,
        headers: headers as Record<string, string>,
      });
    }
  }
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
  t.comment([...counts].map(([status, n]) => `${status}: ${n}`).join(', '));
  t.ok(all > 1_500, `${all} requests`);
  t.ok((counts.get(400) ?? 0) > 800, 'most of them are read');
});

t.test('faults show what was sent in whole characters, wherever it was sent', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  // Each character is two units of UTF-16 here, and begins at an odd one.
  const long = `a${'😀'.repeat(60)}`;
  const text = encodeURIComponent(long);
  const paths = ['/v2', '/v2/anchors', '/v2/receipts', '/v2/archive/okx:X/mark', '/v2/archive/okx:X', '/v2/archive'];
  const tails = ['', '', '', '', '/2026-01-15', '/mark/2026-01-15'];
  const requests: InjectOptions[] = paths.map((path, i) => ({ url: `${path}/${text}${tails[i]}` }));
  for (const { method, path: url, input } of ENDPOINTS) {
    const { properties = {} } = input as { readonly properties?: object };
    for (const name of [...Object.keys(properties), long]) {
      if (method === 'GET') requests.push({ url: `${url}?colour=1&${encodeURIComponent(name)}=${text}` });
      else
        for (const value of [long, [long], { [long]: long }])
          requests.push({ method, url, payload: { [name]: value } });
    }
  }
  const query_object = { dql: long, condition: { type: 'name', name: long } };
  requests.push({ method: 'POST', url: '/v2/screen', payload: { query_object } });
  let shown = 0;
  for (const request of requests) {
    const headers = { authorization: `Bearer ${table.add('pro')}` };
    const { statusCode, body } = await app.inject({ ...request, headers });
    // JSON writes half a character as an escape.
    if (/\ufffd|\\ud[89ab]/i.test(body)) t.fail(`${JSON.stringify(request)}: ${body}`);
    if (statusCode >= 400 && body.includes('😀…')) shown += 1;
  }
  t.ok(shown > 140, `${shown} faults of ${requests.length} requests show a part of it`);
});

t.test('a part of a path is judged by its endpoint, however long it is', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const readFaults = async (path: string): Promise<string[]> => {
    const headers = { authorization: `Bearer ${table.add('pro')}` };
    const answer = await app.inject({ url: path, headers });
    const { errors } = answer.json<{ errors: { code: string; path?: string }[] }>();
    return errors.map(({ code, path: at = '' }) => `${answer.statusCode} ${code} ${at}`);
  };
  const long = '1'.repeat(9_000);
  t.same(await readFaults(`/v2/anchors/${long}`), ['400 DQL_JSON_SCHEMA /day']);
  t.same(await readFaults(`/v2/receipts/${long}`), ['404 NOT_FOUND ']);
  const faulty = ['/day', '/layer', '/listing'].map((path) => `400 DQL_JSON_SCHEMA ${path}`);
  t.same(await readFaults(`/v2/archive/${long}/${long}/${long}`), faulty);
});

const RAW = {
  'two lengths': 'POST /v2/snapshots HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
  'length and chunks':
    'POST /v2/snapshots HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a negative length': 'POST /v2/snapshots HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
  'chunks that are none': 'POST /v2/dql/parse HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n',
  'no host': 'GET /v2/venues HTTP/1.1\r\nConnection: close\r\n\r\n',
  'a host with a space': 'GET /v2/venues HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
  'a host with a path': 'GET /v2/venues HTTP/1.1\r\nHost: a/c\r\nConnection: close\r\n\r\n',
  'a host of a user': 'GET /v2/venues HTTP/1.1\r\nHost: u@a\r\nConnection: close\r\n\r\n',
  'two hosts': 'GET /v2/venues HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
  'an absolute target': 'GET http://a/v2/venues HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'an asterisk': 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'an authority': 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  'two slashes': 'GET //v2/venues HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'a registry path of slashes': 'GET /registry//a:b/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'a registry body':
    'POST /registry/subjects/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1\r\nConnection: close\r\n\r\n{',
  'a registry target': 'GET /registry/\\\\[::1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'an unknown method': 'BREW /v2/venues HTTP/1.1\r\nHost: a\r\n\r\n',
  'a method in lower case': 'get /v2/venues HTTP/1.1\r\nHost: a\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/0.9': 'GET /v2/venues\r\n\r\n',
  'HTTP/1.0': 'GET /v2/venues HTTP/1.0\r\n\r\n',
  'a folded header': 'GET /v2/venues HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\nConnection: close\r\n\r\n',
  'a null in a header': 'GET /v2/venues HTTP/1.1\r\nHost: a\r\nX: \u0000\r\n\r\n',
  'an expectation': 'GET /v2/venues HTTP/1.1\r\nHost: a\r\nExpect: more\r\nConnection: close\r\n\r\n',
  'a body of a GET': 'GET /v2/venues HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{"a":',
  'an upgrade': 'GET /v2/venues HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n',
} as const;

const exchange = (port: number, sent: string): Promise<string> =>
  new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.end(Buffer.from(sent, 'latin1')));
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });

t.test('hostile HTTP is refused or answered, and the next request is served', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  for (const [name, sent] of Object.entries(RAW)) {
    const answer = await exchange(Number(port), sent);
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? 'closed';
    t.match(status, /^(?:[234]\d\d|closed)$/, `${name}: ${answer.slice(0, 120)}`);
    if (!status.startsWith('4') || !sent.includes(' /v2/')) continue;
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    t.match(head, /\r\nx-service-receipt: rcp_/i, `${name}: has a receipt`);
    t.match(JSON.parse(body), { errors: [{ code: String, message: String, hint: String }] }, name);
  }
  t.equal((await fetch(`http://127.0.0.1:${port}/v2/venues`)).status, 200);
});

t.test('a head names its host once, and one that expects more than is known is served', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const readStatus = async (name: keyof typeof RAW): Promise<string | undefined> =>
    (await exchange(Number(port), RAW[name])).split(' ')[1];
  t.equal(await readStatus('no host'), '400');
  t.equal(await readStatus('two hosts'), '400');
  for (const name of ['a host with a space', 'a host with a path', 'a host of a user'] as const)
    t.equal(await readStatus(name), '400', name);
  for (const host of ['', 'localhost:8080', '127.0.0.1', '[::1]:8080', 'API_1.example.com:', 'xn--e1afmkfd.example'])
    t.match(
      await exchange(Number(port), `GET /v2/venues HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      /^HTTP\/1\.1 200 /,
      host,
    );
  t.equal(await readStatus('HTTP/1.0'), '200');
  t.equal(await readStatus('an expectation'), '200');
});

t.test('a header of one value that is sent twice is a value that is none (E-01, RFC 9110 section 5.3)', async (t) => {
  const { app, table } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const [key, other] = [table.add('pro'), table.add('pro')];
  const send = async (lines: readonly string[]): Promise<string> => {
    const head = ['POST /v2/snapshots HTTP/1.1', 'Host: a', 'Content-Length: 2', 'Connection: close', ...lines];
    const answer = await exchange(Number(port), `${head.join('\r\n')}\r\n\r\n{}`);
    const { errors } = JSON.parse(answer.split('\r\n\r\n')[1] ?? '') as { errors?: { code: string }[] };
    return errors?.[0]?.code ?? answer.slice(9, 12);
  };
  const json = 'Content-Type: application/json';
  t.equal(await send([json, `Authorization: Bearer ${key}`]), '200');
  for (const second of [key, other, 'sk_none'])
    t.equal(await send([json, `Authorization: Bearer ${key}`, `authorization: Bearer ${second}`]), 'AUTH_INVALID');
  t.equal(await send([json, 'Content-Type: text/plain', `Authorization: Bearer ${key}`]), 'UNSUPPORTED_MEDIA_TYPE');
});

t.test('CONNECT is a method that no path has (E-01)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const answer = await exchange(Number(port), 'CONNECT /v2/venues HTTP/1.1\r\nHost: a\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 405 /);
  t.match(answer, /\r\nallow: GET, HEAD\r\n/);
  t.match(answer, /\r\nx-service-receipt: rcp_/);
  t.match(await exchange(Number(port), RAW['an authority']), /^HTTP\/1\.1 404 /);
});

t.test('paths that cannot be decoded count among the requests that a client sends ahead (D-910)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const asked = { port: Number(port), host: 'a', path: '/v2/%ff' };
  const answers = await sendAhead({ ...asked, count: 20 });
  t.equal(answers.split('HTTP/1.1 400 ').length - 1, 20);
  t.equal(await sendAhead({ ...asked, count: 102 }), '', 'more than a hundred end the connection');
});

t.test('what is no HTTP behind requests that wait ends the connection', { timeout: 20_000 }, async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const client = connect(Number(port), '127.0.0.1', () =>
    client.write(`${'GET /v2/venues HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3)}no HTTP\r\n\r\n`),
  );
  client.resume();
  const [socket] = await accepted;
  await once(socket, 'close');
  t.ok(socket.destroyed);
});
