// The frame of every page: its headers, its scripts and styles, what is refused before a page sees it.
import t from 'tap';
import { toSafeNext } from '../../../api/account-app/guards.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { signUp, startSite } from '../../support/apps/site-fixture.ts';
import { requestRaw } from '../../support/apps/tool-fixture.ts';
import { startSilentPostgres } from '../../support/engines/silent-postgres.ts';

t.test('every answer has the headers that keep it from frames, other origins and inline script', async (t) => {
  const { browser } = await startSite(t);
  const { get } = browser();
  for (const path of ['/', '/nothing-here', '/healthz', '/api/nothing', '/%zz', '/api/%zz']) {
    const { headers } = await get(path);
    const csp = String(headers['content-security-policy']);
    t.match(csp, /default-src 'none'/, path);
    t.match(csp, /frame-ancestors 'none'/, path);
    t.notMatch(csp, /unsafe-inline|unsafe-eval/, path);
    t.match(
      headers,
      { 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin', 'x-frame-options': 'DENY' },
      path,
    );
  }
  t.match(await get('/nothing-here'), { statusCode: 404, headers: { 'content-type': /html/ } });
  t.match(await get('/%zz'), { statusCode: 404, headers: { 'cache-control': 'no-store', 'content-type': /plain/ } });
  for (const path of ['/api/nothing', '/api/%zz'])
    t.match((await get(path)).json(), { errors: [{ code: 'NOT_FOUND' }] }, path);
});

t.test('scripts and styles are named by their content and kept; no page has an inline one', async (t) => {
  const { browser } = await startSite(t);
  const { get } = browser();
  const { body } = await get('/');
  t.notMatch(body, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/);
  const assets = [...body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  t.ok(assets.length >= 3, assets.join(' '));
  for (const path of assets)
    t.match(await get(path), { statusCode: 200, headers: { 'cache-control': /max-age=31536000, immutable/ } }, path);
  t.equal((await get('/assets/site-000000000000.js')).statusCode, 404);
});

t.test('CONNECT is answered as every other method that nothing has', async (t) => {
  const { app } = await startSite(t);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const asked = { port: Number(port), path: '/keys', host: 'localhost:8082', method: 'CONNECT', body: '' };
  t.match(await requestRaw(asked), { status: 404, headers: { 'x-content-type-options': 'nosniff' } });
});

t.test('the way on after the sign-in is a path of this site', (t) => {
  for (const next of [
    '//evil.test',
    '/\\evil.test',
    'https://evil.test',
    'keys',
    '',
    undefined,
    ['/a'],
    '/a\r\nb',
    '/\t/evil.test',
    '/a\\b',
  ])
    t.equal(toSafeNext(next), '/keys', JSON.stringify(next));
  for (const next of ['/', '/connect/abc?x=1', '/plan#today']) t.equal(toSafeNext(next), next);
  t.end();
});

t.test('what needs the database is 503 while it is silent, and the rest is served', async (t) => {
  const { browser } = await startSite(t);
  const member = browser();
  await signUp(member, { email: 'away@example.com' });
  const { url, cut } = await startSilentPostgres(t);
  const pool = openPostgres(url, { max: 2, answerMs: 50 });
  const { app } = await startSite(t, { pool });
  const cookie = [...member.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const away = { statusCode: 503, headers: { 'retry-after': '5' } };
  t.match(await app.inject({ url: '/keys', headers: { cookie } }), { ...away, body: /does not respond/ });
  const asked = await app.inject({ url: '/api/keys', headers: { cookie } });
  t.match(asked, away);
  t.match(asked.json(), { errors: [{ code: 'UNAVAILABLE' }] });
  t.equal((await app.inject('/')).statusCode, 200);
  cut();
  await pool.end();
});
