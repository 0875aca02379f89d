// Mutated forms and bodies: the site answers every request, and never with an internal error (300; more by FORMS).
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { buildInternalApp } from '../../../api/account-app/build-account-app.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { ACCOUNT_URL, type Browser, hiddenFields, signUp, startSite } from '../../support/apps/site-fixture.ts';
import { sendAhead } from '../../support/services/send-ahead.ts';
import { sendThenRead } from '../../support/services/send-then-read.ts';

const COUNT = Number(process.env['FORMS'] ?? 300);
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

const VALUES = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '%',
    '%00',
    '\ud800',
    '𝔘',
    'x'.repeat(5_000),
    '-1',
    '1e999',
    'null',
    'true',
    '[]',
    '{}',
    '{"a":1}',
  ],
  ...[
    "' or 1=1 --",
    '<script>alert(1)</script>',
    '../../etc/passwd',
    '//evil.test',
    '\r\nSet-Cookie: a=b',
    'sk_x',
    '0x',
    `0x${'f'.repeat(64)}`,
  ],
  ...[
    `0x${'1'.repeat(40)}`,
    '9999-99-99',
    '2030-01-01T00:00:00Z',
    'a@b.cd',
    '__proto__',
    'constructor',
    '\u202e',
    'ſ'.repeat(300),
  ],
];
const NAMES = [
  ...[
    'email',
    'password',
    'next',
    'code',
    'name',
    'expires',
    'form_id',
    'key',
    'current',
    'confirm',
    'transaction',
    'payer',
    'issuedAt',
  ],
  ...['signature', 'mail-to', '__proto__', 'constructor', '_form', '', 'a[b]', 'response'],
  ...['query', 'interval', 'units', 'freshness', 'shared', 'do', 'url'],
];
const PAGES: readonly (readonly [page: string, action: string])[] = [
  ['/sign-up', '/sign-up'],
  ['/sign-in', '/sign-in'],
  ['/recover', '/recover'],
  ['/recover', '/recover/mail'],
  ['/keys', '/keys'],
  ['/plan/link', '/plan/link/sign'],
  ['/prove', '/prove'],
  ['/security', '/security/password'],
  ['/security', '/security/close'],
  ['/security', '/security/codes'],
  ['/rules', '/rules'],
  ['/rules', '/rules/webhooks'],
];
const OF_MEMBERS = ['/keys', '/plan/link', '/prove', '/security', '/rules'];
const IDS = ['key_x', '%00', 'a%2fb', '..', '%F0%9F%98%80', 'x'.repeat(300), '%E0%A4%A', "'"];
const JSON_WRITES = [
  '/api/keys',
  '/api/passkeys',
  '/api/passkeys/options',
  '/api/passkeys/prove',
  '/api/passkeys/sign-in',
  '/api/passkeys/sign-in/options',
  '/api/rules',
  '/api/rules/check',
];
const BODIES: readonly unknown[] = [
  null,
  0,
  '',
  [],
  {},
  { response: null },
  { response: [] },
  { name: {} },
  { response: { id: 'a', response: {} } },
  { response: { id: 'a\0', response: { clientDataJSON: 'e30' } } },
  { name: 'a', expires_at: {} },
  { name: '\ud800', query: 'any(venues where mark > 1)', interval: '30s' },
  { name: 'a', query: 'any(venues where mark > 1) where symbol = "\udfff"', interval: '30s' },
  { name: 'a\0', query: 'any(venues where mark > 1)', interval: '30s' },
  { name: 'a', query: '\0', interval: '30s', freshness: { mark: '\0', ['__proto__']: '5s' } },
  { name: 'a', query: ['any'], units: {}, interval: [], freshness: [], enabled: 'on', shared: null },
  {
    response: { id: 'a', response: { clientDataJSON: Buffer.from('{"challenge":"a\\u0000"}').toString('base64url') } },
  },
];

t.test(`${COUNT} mutated requests`, async (t) => {
  t.comment(`SEED=${SEED}`);
  const pick = createRandom(SEED).below;
  const one = <T>(list: readonly T[]): T => list[pick(list.length)] as T;
  const port = await findFreePort();
  const api = `http://127.0.0.1:${port}`;
  const urls = { account: ACCOUNT_URL, auth: ACCOUNT_URL, base: api, api, mcp: null };
  const { browser, pool } = await startSite(t, { urls });
  // Rules are checked against the catalogue, and evaluated on the market.
  const { app: data } = await testApp(market(), { keys: openKeyStore(pool) });
  t.teardown(() => data.close());
  await data.listen({ host: '127.0.0.1', port });
  let member = browser();
  await signUp(member);
  const pages = new Map<string, string>();
  const readPage = async (who: Browser, path: string): Promise<string> => {
    const held = pages.get(path) ?? (await who.get(path, { remoteAddress: '10.0.0.1' })).body;
    pages.set(path, held);
    return held;
  };
  let guest = browser();
  const faults: string[] = [];
  for (let n = 0; n < COUNT; n++) {
    // Each from an address of its own, so that limits of rate do not hide what the forms would do.
    const remoteAddress = `10.${1 + pick(250)}.${pick(250)}.${pick(250)}`;
    const kind = pick(6);
    const isForm = kind < 4;
    const [page, action] = one(PAGES);
    if (guest.cookies.has('session')) {
      guest = browser();
      pages.clear();
    }
    const who = OF_MEMBERS.includes(page) ? member : guest;
    const fields = new URLSearchParams(isForm ? hiddenFields(await readPage(who, page), action) : {});
    for (let i = pick(6); i > 0; i--) fields.append(one(NAMES), one(VALUES));
    if (pick(5) === 0) fields.delete('_form');
    const url = isForm
      ? action
      : kind === 4
        ? one(JSON_WRITES)
        : one([
            '/keys/ID/revoke',
            '/security/sessions/ID/end',
            '/security/passkeys/ID/remove',
            '/connections/ID/end',
            '/sign-in?next=ID',
            '/api/keys/ID',
            '/api/rules/ID',
            '/rules/ID',
            '/rules/ID/remove',
            '/rules/webhooks/ID/enable',
            '/rules/webhooks/ID/remove',
          ]).replace('ID', one(IDS));
    const answer = await (isForm ? who : member).send({
      method: kind === 5 ? one(['GET', 'POST', 'DELETE', 'PUT'] as const) : 'POST',
      url,
      remoteAddress,
      headers: { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' },
      payload: isForm ? fields.toString() : pick(4) === 0 ? one(VALUES) : JSON.stringify(one(BODIES)),
    });
    // Busy is an answer; a failure is not.
    if (answer.statusCode >= 500 && answer.statusCode !== 503) faults.push(`${answer.statusCode} ${url} ${fields}`);
    if (/<script>alert/i.test(answer.body)) faults.push(`unescaped ${url} ${fields}`);
    // A changed password or a closed account begins again.
    if (member.cookies.get('session') === undefined || answer.cookies.length > 0) {
      pages.clear();
      if ((await member.get('/keys')).statusCode !== 200) {
        member = browser();
        await signUp(member);
      }
    }
  }
  t.same(faults, []);
});

t.test('a client that sends all of a form that is too large before it reads is answered, and goes on', async (t) => {
  const { app } = await startSite(t);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const head = ['POST /sign-in HTTP/1.1', 'Host: a', 'Content-Type: application/x-www-form-urlencoded'];
  const answers = await sendThenRead({ port: Number(port), head, mebibytes: 24, next: '/sign-in' });
  t.match(answers, /^HTTP\/1\.1 413 .*HTTP\/1\.1 200 /s);
});

t.test('paths that cannot be decoded count among the requests that a client sends ahead (D-910)', async (t) => {
  const { app } = await startSite(t);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const asked = { port: Number(port), host: 'a', path: '/%zz' };
  const answers = await sendAhead({ ...asked, count: 20 });
  t.equal(answers.split('HTTP/1.1 404 ').length - 1, 20);
  t.equal(await sendAhead({ ...asked, count: 102 }), '', 'more than a hundred end the connection');
});

t.test('a client that leaves writes no line into the log', async (t) => {
  const lines: string[] = [];
  const { app } = await startSite(t, { log: pino({}, { write: (line) => void lines.push(line) }) });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const leave = async (sent: string): Promise<void> => {
    const client = connect(Number(port), '127.0.0.1', () => client.write(sent));
    client.on('error', () => undefined);
    const [{ socket }] = (await once(app.server, 'request')) as [IncomingMessage];
    client.resetAndDestroy();
    // Not `once`, which rejects when the connection was reset.
    await new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    await nextTurn();
  };
  const head = 'POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n';
  await leave(`${head}Content-Length: 9\r\n\r\nemail`);
  await leave(
    `${head.replace('/sign-in', '/oauth/token')}Content-Length: 38\r\n\r\ngrant_type=authorization_code&code=1234`,
  );
  // A connection that was reset, but whose end is still to be read, has no address.
  app.server.prependOnceListener('request', ({ socket }) => {
    Object.defineProperty(socket, 'remoteAddress', { get: () => undefined });
  });
  await leave('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.same(
    lines.filter((line) => !line.includes('Server listening')),
    [],
  );
});

t.test('the private listener refuses a path that cannot be decoded as every other without its secret', async (t) => {
  const { site } = await startSite(t);
  const app = await buildInternalApp({ modules: [], log: site.log }, { site, secret: Buffer.alloc(32) });
  t.teardown(() => app.close());
  for (const url of ['/%zz', '/nothing']) t.equal((await app.inject({ url })).statusCode, 401, url);
});
