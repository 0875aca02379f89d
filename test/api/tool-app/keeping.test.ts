// What may be kept of the tool server says so itself: its documents of sign-in, and nothing else (N-14).
import t from 'tap';
import { market } from '../../support/apps/live-fixture.ts';
import { requestRaw, startToolService } from '../../support/apps/tool-fixture.ts';
import { sendAhead } from '../../support/services/send-ahead.ts';

t.test('an answer of the tool server that says nothing of its keeping may not be kept (N-14)', async (t) => {
  const { mcpUrl, as } = await startToolService(t, market());
  const { origin } = new URL(mcpUrl);
  const page = { origin: 'http://localhost:5000', 'access-control-request-method': 'POST' };
  const json = { 'content-type': 'application/json' };
  const asked: readonly (readonly [path: string, init: RequestInit])[] = [
    ['/none', {}],
    ['/%zz', {}],
    ['/none', { method: 'POST', body: '{}' }],
    ['/mcp', {}],
    ['/mcp', { method: 'OPTIONS', headers: page }],
    ['/mcp', { method: 'POST', headers: json, body: '{}' }],
    ['/mcp?key=1', { method: 'POST', headers: json, body: '{}' }],
    ['/mcp', { method: 'POST', headers: { ...json, ...as('pro') }, body: '{' }],
    ['/mcp', { method: 'POST', headers: { ...json, ...as('pro') }, body: '{}' }],
    ['/mcp', { method: 'POST', headers: { ...json, ...as('pro') }, body: ' '.repeat(400_000) }],
  ];
  for (const [path, init] of asked) {
    const answer = await fetch(`${origin}${path}`, init);
    await answer.arrayBuffer();
    t.equal(answer.headers.get('cache-control'), 'no-store', `${init.method ?? 'GET'} ${path}: ${answer.status}`);
  }
  const document = await fetch(`${origin}/.well-known/oauth-protected-resource`);
  t.equal(document.headers.get('cache-control'), 'public, max-age=3600');
  await document.arrayBuffer();
});

t.test('a path that cannot be decoded is one that nothing is at, after Host and Origin (T-07)', async (t) => {
  const { mcpUrl } = await startToolService(t, market());
  const { port, host } = new URL(mcpUrl);
  const ask = (asked: { readonly host: string; readonly headers?: Record<string, string> }) =>
    requestRaw({ port: Number(port), path: '/mcp/%zz', method: 'GET', body: '', ...asked });
  const none = await ask({ host });
  t.equal(none.status, 404);
  t.match(JSON.parse(none.text), { errors: [{ code: 'NOT_FOUND' }] });
  t.equal((await ask({ host: 'evil.test' })).status, 403);
  t.equal((await ask({ host, headers: { origin: 'http://evil.test' } })).status, 403);
});

t.test('paths that cannot be decoded count among the requests that a client sends ahead (D-910)', async (t) => {
  const { mcpUrl } = await startToolService(t, market());
  const { port, host } = new URL(mcpUrl);
  const asked = { port: Number(port), host, path: '/mcp/%zz' };
  const answers = await sendAhead({ ...asked, count: 20 });
  t.equal(answers.split('HTTP/1.1 404 ').length - 1, 20);
  t.equal(await sendAhead({ ...asked, count: 102 }), '', 'more than a hundred end the connection');
});

t.test('where nothing is, no body is read: clients look for a token endpoint there (T-07)', async (t) => {
  const { mcpUrl } = await startToolService(t, market());
  for (const [path, type, body] of [
    ['/token', 'application/x-www-form-urlencoded', 'grant_type=refresh_token'],
    ['/nothing', 'application/json', '{'],
    ['/nothing', 'application/json', 'x'.repeat(400_000)],
  ] as const) {
    const answer = await fetch(new URL(path, mcpUrl), { method: 'POST', headers: { 'content-type': type }, body });
    t.equal(answer.status, 404, `${path} ${type} ${body.length}`);
    t.match(await answer.json(), { errors: [{ code: 'NOT_FOUND' }] });
  }
});
