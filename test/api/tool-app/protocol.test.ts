// The tool server as clients of either era find it: what it offers, what it refuses in which order, that every answer is JSON (T-01, T-06, T-07).
import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import t from 'tap';
import { printDqlPage, QUERIES } from '../../../api/tool-app/dql-page.ts';
import { printLayersPage } from '../../../api/tool-app/layers-page.ts';
import { PAGES_CHANGED } from '../../../api/tool-app/pages.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';
import { connectClient, ERAS, requestRaw, startToolService, TOOL_NAMES } from '../../support/apps/tool-fixture.ts';

/** Those of the interface; the operations of the others may follow. */
const NAMED = ['venues', 'instruments', 'snapshots', 'history', 'screen', 'candles', 'account'];
const PAGE_BYTES = 40_960;

const call = (id: number | string, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const callVenues = (id: number) => call(id, 'tools/call', { name: 'venues', arguments: {} });
const initialize = (protocolVersion: string) =>
  call(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } });
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modernHeaders = (method: string, name?: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

t.test('a stock client of either era finds the tools, the pages and the instructions', async (t) => {
  const service = await startToolService(t, market());
  for (const era of ERAS) {
    const client = await connectClient(t, service, { era });
    t.match(client.getInstructions(), /^Market data of perpetual futures.*next: do what it says/s, era);
    const { tools } = await client.listTools();
    t.same(
      tools.map(({ name }) => name),
      TOOL_NAMES,
    );
    for (const name of NAMED) t.ok(TOOL_NAMES.includes(name), name);
    const { resources } = await client.listResources();
    t.match(resources, [{ uri: 'docs://dql' }, { uri: 'docs://layers' }]);
    for (const { uri, size, mimeType } of resources) {
      const [page] = (await client.readResource({ uri })).contents;
      const text = page !== undefined && 'text' in page ? page.text : '';
      t.equal(Buffer.byteLength(text), size);
      t.ok(Number(size) <= PAGE_BYTES, `${uri} has ${size} bytes`);
      t.equal(mimeType, 'text/markdown');
    }
    await t.rejects(client.readResource({ uri: 'docs://none' }), { code: -32602 });
    await t.rejects(client.callTool({ name: 'buy', arguments: {} }), { code: -32602, message: /the tools are venues/ });
  }
});

t.test('every answer is JSON, whatever Accept is, in every revision', async (t) => {
  const { post } = await startToolService(t, market());
  const accepted = [undefined, 'application/json', 'text/event-stream', 'text/html', '*/*'];
  for (const accept of accepted) {
    const headers = accept === undefined ? {} : { accept };
    const answers = await Promise.all([
      ...['2025-03-26', '2025-06-18', '2025-11-25'].map((revision) => post(initialize(revision), headers)),
      post(callVenues(1), headers),
      post(call('d', 'server/discover', { _meta: ENVELOPE }), { ...headers, ...modernHeaders('server/discover') }),
      post(call('l', 'subscriptions/listen', { _meta: ENVELOPE }), {
        ...headers,
        ...modernHeaders('subscriptions/listen'),
      }),
    ]);
    for (const answer of answers) {
      t.match(answer.headers.get('content-type'), /^application\/json/, `Accept ${accept}`);
      t.ok(await answer.json());
    }
    t.same(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200, 404],
    );
  }
});

t.test('a revision is answered as requested, an unknown one with the newest', async (t) => {
  const { post } = await startToolService(t, market());
  const agreed = async (asked: string): Promise<unknown> =>
    ((await (await post(initialize(asked))).json()) as { result: { protocolVersion: string } }).result.protocolVersion;
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25']) t.equal(await agreed(revision), revision);
  t.equal(await agreed('2024-01-01'), '2025-11-25');
  const wrong = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' };
  const headers = { ...modernHeaders('server/discover'), 'mcp-protocol-version': '2027-01-01' };
  const refused = await post(call(1, 'server/discover', { _meta: wrong }), headers);
  t.match([refused.status, await refused.json()], [400, { error: { code: -32022 } }]);
  const mismatched = await post(call(1, 'tools/list', { _meta: ENVELOPE }), modernHeaders('tools/call'));
  t.match([mismatched.status, await mismatched.json()], [400, { error: { code: -32020 } }]);
});

t.test('a batch of the revision that has them is served, each message alone', async (t) => {
  const { post, app } = await startToolService(t, market());
  let calls = 0;
  app.server.prependListener('request', () => calls++);
  const countCalls = (): number => calls;
  const before = calls;
  const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const twenty = await post(Array.from({ length: 20 }, (_, id) => call(id, 'ping')));
  t.same(
    ((await twenty.json()) as { id: number }[]).map(({ id }) => id),
    Array.from({ length: 20 }, (_, id) => id),
  );
  const one = await post([callVenues(7)]);
  t.match(await one.json(), [{ id: 7, result: { structuredContent: { items: [{}, {}] } } }]);
  const mixed = await post([note, call(1, 'nothing/known'), call(1, 'ping'), 5]);
  t.match(await mixed.json(), [{ id: 1, error: { code: -32601 } }, { id: 1, result: {} }, { error: { code: -32600 } }]);
  const nested = await post([
    [callVenues(2)],
    [],
    call(3, 'ping'),
    Array.from({ length: 50 }, (_, id) => callVenues(id)),
    [[]],
  ]);
  const refusal = { jsonrpc: '2.0', id: null, error: { code: -32600 } };
  t.equal(nested.status, 200);
  t.match(await nested.json(), [refusal, refusal, { id: 3, result: {} }, refusal, refusal]);
  t.equal(countCalls(), before + 1, 'what is in a batch of a batch is not called');
  const notes = await post([note, note]);
  t.same([notes.status, await notes.text()], [202, '']);
  const refused: [unknown, Record<string, string>?][] = [
    [[]],
    [Array.from({ length: 21 }, (_, id) => call(id, 'ping'))],
    [[initialize('2025-03-26')]],
    [[call(1, 'ping')], { 'mcp-protocol-version': '2025-06-18' }],
  ];
  for (const [body, headers] of refused) {
    const answer = await post(body, headers);
    t.match([answer.status, await answer.json()], [400, { id: null, error: { code: -32600 } }]);
  }
});

t.test('a whole number is one in every spelling: of an id, of a progress token, of an argument', async (t) => {
  const { post } = await startToolService(t, market());
  const spell = (id: string, name: string, rest: string): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}",${rest}}}`;
  const cases: [string, object][] = [
    [spell('1.0', 'venues', '"arguments":{}'), { id: 1, result: { structuredContent: {} } }],
    [spell('2e0', 'venues', '"_meta":{"progressToken":3.0},"arguments":{}'), { id: 2, result: {} }],
    [spell('3', 'instruments', '"arguments":{"limit":1.0}'), { result: { structuredContent: { page: { limit: 1 } } } }],
    [spell('4', 'instruments', '"arguments":{"limit":1e0}'), { result: { structuredContent: { page: { limit: 1 } } } }],
    [spell('5', 'instruments', '"arguments":{"limit":1.5}'), { result: { isError: true } }],
  ];
  for (const [body, wanted] of cases) {
    const answer = await post(body);
    t.match([answer.status, await answer.json()], [200, wanted], body);
  }
});

t.test('what is no message is refused in the words of the protocol', async (t) => {
  const { post } = await startToolService(t, market());
  const cases: [string, number, number][] = [
    ['{"jsonrpc"', 400, -32700],
    ['', 400, -32700],
    ['null', 400, -32600],
    ['{"id": 1}', 400, -32600],
    [JSON.stringify(call(1, 'x'.repeat(2_000_000))), 413, -32600],
  ];
  for (const [body, status, code] of cases) {
    const answer = await post(body);
    t.match([answer.status, await answer.json()], [status, { error: { code } }], body.slice(0, 20));
  }
  for (const type of ['text/plain', 'application/json, application/json', ';']) {
    const answer = await post(call(1, 'ping'), { 'content-type': type });
    const message = /Content-Type must be application\/json/;
    t.match([answer.status, await answer.json()], [415, { id: null, error: { message } }], type);
  }
});

t.test('parameters that are none are refused with the member in a sentence, in either era', async (t) => {
  const { post } = await startToolService(t, market());
  const cases: [string, object | undefined, RegExp][] = [
    ['resources/read', {}, /^"params\.uri" is not valid: expected string, received undefined\.$/],
    ['resources/read', undefined, /^"params" is not valid: expected object/],
    ['resources/read', { uri: 5 }, /^"params\.uri" is not valid: expected string, received number\.$/],
    ['initialize', undefined, /^"params" is not valid/],
    ['initialize', {}, /^"params\.protocolVersion" is not valid/],
    ['initialize', { protocolVersion: '2025-06-18', capabilities: { roots: 5 }, clientInfo: {} }, /^"params\./],
    ['tools/list', { cursor: 5 }, /^"params\.cursor" is not valid/],
    ['resources/list', { cursor: {} }, /^"params\.cursor" is not valid/],
    ...['tools/list', 'resources/list', 'resources/templates/list'].map((method): [string, object, RegExp] => [
      method,
      { cursor: 'abc' },
      /^The list has one page/,
    ]),
    ['tools/call', {}, /^"params\.name" is not valid/],
    [
      'tools/call',
      { name: 'venues', arguments: [] },
      /^"params\.arguments" is not valid: expected object, received array\.$/,
    ],
    ['tools/call', { name: '[{"path":[]}]' }, /^There is no tool "\[\{/],
  ];
  for (const [method, params, message] of cases) {
    const answers = [await post({ jsonrpc: '2.0', id: 'a', method, ...(params === undefined ? {} : { params }) })];
    const name = Object.values(params ?? {}).find((value) => typeof value === 'string');
    if (method !== 'initialize' && params !== undefined)
      answers.push(await post(call('a', method, { _meta: ENVELOPE, ...params }), modernHeaders(method, name)));
    for (const answer of answers)
      t.match(await answer.json(), { jsonrpc: '2.0', id: 'a', error: { code: -32602, message } }, method);
  }
});

t.test('refuses in the order Host and Origin, method, key in the URL, credentials, body', async (t) => {
  const { mcpUrl, as, table, keys } = await startToolService(t, market());
  const { port } = new URL(mcpUrl);
  const key = keys.pro;
  const ask = (over: RequestInit & { query?: string; host?: string | null } = {}) => {
    const { query = '', host = `localhost:${port}`, headers, ...init } = over;
    return requestRaw({
      port: Number(port),
      path: `/mcp${query}`,
      host,
      method: init.method ?? 'POST',
      headers: headers as Record<string, string>,
      body: 'no JSON',
    });
  };
  const foreign = await ask({ host: 'evil.test', method: 'GET', query: `?key=${key}` });
  t.equal(foreign.status, 403);
  const nowhere = await ask({ host: null });
  t.match([nowhere.status, JSON.parse(nowhere.text || '{}')], [403, { error: { code: -32_000, message: /Host/ } }]);
  for (const host of ['Tools.Test:8443', 'tools.test:8443']) t.equal((await ask({ host })).status, 401, host);
  t.equal((await ask({ headers: { origin: 'http://evil.test' } })).status, 403);
  t.equal((await ask({ headers: { origin: 'null' } })).status, 403);
  for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS', 'HEAD', 'CONNECT', 'FOO', 'PLAY']) {
    const wrong = await ask({ method, query: `?key=${key}` });
    t.match([wrong.status, wrong.headers.allow], [405, 'POST'], method);
  }
  t.same(table.compromised, []);
  const inUrl = await ask({ query: `?token=${key}` });
  t.match([inUrl.status, JSON.parse(inUrl.text)], [400, { errors: [{ code: 'KEY_IN_URL' }] }]);
  t.equal(table.compromised.length, 1);
  const metadata =
    'resource_metadata="http://localhost:8082/.well-known/oauth-protected-resource", scope="market:read"';
  const without = await ask();
  t.match([without.status, without.headers['www-authenticate']], [401, `Bearer ${metadata}`]);
  t.match(without.text, /^[^\n]+\n$/);
  for (const authorization of [
    'Basic x',
    `Bearer ${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`,
    'Bearer sk_x',
    `Bearer ${'x'.repeat(40)}`,
  ]) {
    const bad = await ask({ headers: { authorization } });
    t.match([bad.status, bad.headers['www-authenticate']], [401, `Bearer ${metadata}, error="invalid_token"`]);
  }
  t.equal((await ask({ headers: { ...as('pro'), 'content-type': 'application/json' } })).status, 400);
  table.isAway = true;
  const unchecked = await ask({ headers: as('mini') });
  t.match([unchecked.status, unchecked.headers['retry-after'], unchecked.text], [503, '5', /^[^\n]+\n$/]);
});

t.test('what never becomes a request is refused as an error of the protocol (T-07)', async (t) => {
  const { mcpUrl } = await startToolService(t, market());
  const { port, host } = new URL(mcpUrl);
  const ask = (path: string, headers: OutgoingHttpHeaders = {}) =>
    requestRaw({ port: Number(port), path, host, method: 'FOO', headers, body: '' });
  t.equal((await ask('/none')).status, 404);
  const large = await ask('/mcp', { 'x-large': 'x'.repeat(20_000) });
  t.match([large.status, large.headers.allow], [405, 'POST'], 'its method is read before the rest of its head');
  const tooLarge = await requestRaw({
    ...{ port: Number(port), path: '/mcp', host, method: 'POST', body: '' },
    headers: { 'x-large': 'x'.repeat(20_000) },
  });
  const error = { code: -32_600, message: 'The headers are larger than 16 KiB.' };
  t.same([tooLarge.status, JSON.parse(tooLarge.text)], [431, { jsonrpc: '2.0', id: null, error }]);
  t.match(tooLarge.headers, { 'content-type': 'application/json', 'cache-control': 'no-store' });
});

t.test('two keys are no key, whichever of them stands first (T-07)', async (t) => {
  const { mcpUrl, keys } = await startToolService(t, market());
  const port = Number(new URL(mcpUrl).port);
  const key = `Bearer ${keys.pro}`;
  const send = (authorization: string | string[]) =>
    requestRaw({
      ...{ port, path: '/mcp', host: `localhost:${port}`, method: 'POST', body: JSON.stringify(call(1, 'ping')) },
      headers: { 'content-type': 'application/json', authorization } as OutgoingHttpHeaders,
    });
  t.equal((await send(key)).status, 200);
  for (const second of [key, 'Bearer sk_x']) {
    const { status, headers } = await send([key, second]);
    t.match([status, headers['www-authenticate']], [401, /error="invalid_token"$/], second);
  }
});

t.test('every spelling of the address is refused as the address itself is', async (t) => {
  const { mcpUrl, keys, as, table } = await startToolService(t, market());
  const { port, host, origin } = new URL(mcpUrl);
  const key = keys.pro;
  const list = JSON.stringify(call(1, 'tools/list'));
  const ask = (path: string, over: { method?: string; headers?: Record<string, string> } = {}) => {
    const { method = 'POST', headers = {} } = over;
    const body = method === 'POST' ? list : '';
    return requestRaw({
      port: Number(port),
      ...{ host, path, method, body },
      headers: { 'content-type': 'application/json', ...headers },
    });
  };
  const spellings = [
    '/mcp',
    '/%6dcp',
    '/%6Dc%70',
    '/mcp#x',
    '/mcp?',
    '/m%63p#',
    `${origin}/mcp`,
    'HTTP://any.test/%6dcp',
  ];
  for (const path of spellings) {
    t.equal((await ask(path)).status, 401, `${path} without credentials`);
    t.equal((await ask(path, { headers: as('pro') })).status, 200, path);
    for (const method of ['GET', 'PUT', 'OPTIONS']) {
      const wrong = await ask(path, { method });
      t.match([wrong.status, wrong.headers.allow], [405, 'POST'], `${method} ${path}`);
    }
  }
  for (const path of ['/mcp?a=b?', '/mcp?a=b#', '/%6dcp?a=', '/mcp#', '/mcp#a=', '/mcp#a?b=', `${origin}/mcp?x=`]) {
    const before = table.compromised.length;
    const refused = await ask(`${path}${path.endsWith('=') ? '' : 'x='}${key}`, { headers: as('mini') });
    t.match([refused.status, JSON.parse(refused.text)], [400, { errors: [{ code: 'KEY_IN_URL' }] }], path);
    t.equal(table.compromised.length, before + 1, path);
  }
  for (const path of ['/mcp/', '//mcp', '/MCP', '/mcp%2F', '/mcp;x', '/%2Fmcp', '/mcp%3Fx'])
    t.equal((await ask(path, { headers: as('pro') })).status, 404, `${path} is no address of it`);
});

t.test('pages of allowed origins may call and read why they are refused', async (t) => {
  const { mcpUrl, post } = await startToolService(t, market());
  for (const origin of ['http://site.test', new URL(mcpUrl).origin, 'http://127.0.0.1:5173', 'http://[::1]:1']) {
    const preflight = await fetch(mcpUrl, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });
    t.equal(preflight.status, 204, origin);
    t.equal(preflight.headers.get('access-control-allow-origin'), origin);
    const allowed = preflight.headers.get('access-control-allow-headers') ?? '';
    t.match(allowed, /authorization.*content-type.*accept.*mcp-protocol-version.*mcp-method.*mcp-name/i);
    const refused = await post(callVenues(1), { origin, authorization: 'Bearer none' });
    t.equal(refused.status, 401);
    t.equal(refused.headers.get('access-control-allow-origin'), origin);
    t.match(refused.headers.get('access-control-expose-headers'), /www-authenticate/i);
    t.equal((await post(callVenues(1), { origin })).status, 200);
  }
});

t.test('serves the documents of sign-in to anyone', async (t) => {
  const { mcpUrl } = await startToolService(t, market());
  const { origin } = new URL(mcpUrl);
  const read = async (path: string) =>
    (await fetch(`${origin}${path}`, { headers: { origin: 'https://any.test' } })).json();
  for (const path of ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server']) {
    const preflight = await fetch(`${origin}/.well-known/${path}`, {
      method: 'OPTIONS',
      headers: {
        ...{ origin: 'https://any.test', 'access-control-request-method': 'GET' },
        'access-control-request-headers': 'mcp-protocol-version',
      },
    });
    t.match([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, 'https://any.test'], path);
    t.match(preflight.headers.get('access-control-allow-headers'), /mcp-protocol-version/i);
  }
  const resource = await read('/.well-known/oauth-protected-resource');
  t.same(resource, await read('/.well-known/oauth-protected-resource/mcp'));
  t.match(resource, {
    resource: mcpUrl,
    authorization_servers: ['http://localhost:8082'],
    scopes_supported: ['market:read'],
    bearer_methods_supported: ['header'],
  });
  t.match(await read('/.well-known/oauth-authorization-server'), {
    issuer: 'http://localhost:8082',
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    scopes_supported: ['market:read', 'offline_access'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  const keysOnly = await startToolService(t, market(), { authUrl: null });
  const own = new URL(keysOnly.mcpUrl).origin;
  const unsigned = await fetch(keysOnly.mcpUrl, { method: 'POST' });
  const document = `${own}/.well-known/oauth-protected-resource`;
  t.match(unsigned.headers.get('www-authenticate'), `resource_metadata="${document}"`);
  t.notOk('authorization_servers' in ((await (await fetch(document)).json()) as object));
});

t.test('the page of the language has exactly ten queries, and each runs', async (t) => {
  const service = await startToolService(t, market(), { nowMicros: () => NOW });
  const client = await connectClient(t, service, { era: 'legacy' });
  const [page] = (await client.readResource({ uri: 'docs://dql' })).contents;
  const text = page !== undefined && 'text' in page ? page.text : '';
  const queries = [...text.matchAll(/^```dql\n(.*?)\n```$/gms)].map(([, query]) => query ?? '');
  t.same(
    queries,
    QUERIES.map(([, query]) => query),
  );
  t.equal(queries.length, 10);
  const read = [
    ['"-" expr | "(" expr ")"', 'any(venues where -(bid - ask) / mid < 1bps)'],
    [
      '"in (" literal',
      'any(venues where mark in (1, -2bps) or funding_interval in (8h) or status(oi) in (stale, off))',
    ],
    ['crossover( ... )', 'any(venues where crossover(close, open)) timeframe 1h'],
  ] as const;
  for (const [production] of read) t.match(text, production);
  for (const query of [...queries, ...read.map(([, query]) => query)]) {
    const answer = await service.app.inject({
      method: 'POST',
      url: '/v2/dql/parse',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify({ query }),
    });
    t.equal(answer.statusCode, 200, `${query} ${answer.body.slice(0, 200)}`);
  }
});

t.test('the instant of the last change of the pages belongs to their text as it is', async (t) => {
  const found = createHash('sha256').update(printDqlPage()).update(printLayersPage()).digest('hex').slice(0, 16);
  const of = { at: '2026-11-29T16:30:00Z', pages: 'f69a099003c8c6e1' };
  if (found !== of.pages || PAGES_CHANGED !== of.at) {
    t.fail(`found pages ${found}, changed ${PAGES_CHANGED}; set both, because clients keep a page by it (T-06)`);
  }
  t.pass('looked at');
});
