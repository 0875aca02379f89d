// Every address of the site, also one that is added later, as a page of another site would call it with the cookies of a signed-in user (AC-05).
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { ACCOUNT_URL, signUp, startSite } from '../../support/apps/site-fixture.ts';

type Route = { readonly method: string; readonly url: string; readonly isForeign: boolean };
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Called by programs and pages of any site: no session is read there. */
const FOREIGN = ['POST /oauth/register', 'POST /oauth/token', 'POST /oauth/revoke'];
/** What a browser sends with a form or a script of another page; a program sends neither. */
const ELSEWHERE = {
  'another site': { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' },
  'another site, in a browser without Sec-Fetch': { origin: 'https://evil.test' },
  'another site whose origin is hidden': { origin: 'null' },
  'another port of the host': { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-site' },
  'the site over another protocol': { origin: 'https://localhost:8082' },
  'a site whose name begins alike': { origin: `${ACCOUNT_URL}.evil.test` },
  'another site, without an origin': { 'sec-fetch-site': 'cross-site' },
};
/** Types that a browser sends to another site without asking it, and those that are read as JSON only by chance. */
const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=a',
  'text/json',
  'application/x-json',
];

const routes: Route[] = [];
const watch = (app: FastifyInstance): void => {
  app.addHook('onRoute', ({ method, url, config }) => {
    for (const one of [method].flat()) routes.push({ method: one, url, isForeign: config?.isForeign === true });
  });
};
const { browser } = await startSite(t, { watch, explorerKey: 'sk_of_visitors', chainUrl: 'http://127.0.0.1:1' });
const owner = browser();
const { email } = await signUp(owner);

const writes = routes.filter(({ method, isForeign }) => !SAFE.has(method) && !isForeign);
const ask = ({ method, url }: Route, headers: Readonly<Record<string, string>>, payload = '{}') =>
  owner.send({ method: method as 'POST', url: url.replaceAll(/:\w+/g, 'x'), headers, payload });
const isJson = ({ url }: Route): boolean => url.startsWith('/api/');

t.test('all writes but those of OAuth are of the site alone', async (t) => {
  t.ok(writes.length > 30, String(writes.length));
  const foreign = routes.filter(({ method, isForeign }) => !SAFE.has(method) && isForeign);
  t.strictSame(foreign.map(({ method, url }) => `${method} ${url}`).sort(), FOREIGN.sort());
});

t.test('no write is taken from a page of another site', async (t) => {
  for (const route of writes) {
    const type = { 'content-type': isJson(route) ? 'application/json' : (TYPES[1] ?? '') };
    for (const [from, headers] of Object.entries(ELSEWHERE)) {
      const { statusCode, body } = await ask(route, { ...type, ...headers });
      t.match({ statusCode, body }, { statusCode: 403, body: /another site/ }, `${route.method} ${route.url}: ${from}`);
    }
  }
});

t.test('no body that a form of another site can send is read as JSON', async (t) => {
  for (const route of writes.filter(isJson)) {
    for (const type of TYPES) {
      const { statusCode } = await ask(route, { 'content-type': type, origin: ACCOUNT_URL });
      t.equal(statusCode, 415, `${route.method} ${route.url}: ${type}`);
    }
  }
});

t.test('no form is taken without its token, in whatever type it is sent', async (t) => {
  for (const route of writes.filter((one) => !isJson(one))) {
    for (const [type, payload] of [
      [TYPES[1], 'confirm=a'],
      ['application/json', '{"confirm":"a"}'],
      [undefined, ''],
    ] as const) {
      const { statusCode, body } = await ask(
        route,
        { ...(type === undefined ? {} : { 'content-type': type }), origin: ACCOUNT_URL },
        payload,
      );
      t.match(
        { statusCode, body },
        { statusCode: 403, body: /form has expired/ },
        `${route.method} ${route.url}: ${type}`,
      );
    }
  }
});

t.test('no answer may be shown in a frame, and no cache keeps one for a signed-in user', async (t) => {
  for (const route of routes.filter(({ method }) => method === 'GET')) {
    const { headers, body } = await ask(route, {}, '');
    t.match(headers, { 'x-frame-options': 'DENY', 'content-security-policy': /frame-ancestors 'none'/ }, route.url);
    if (body.includes(email)) t.equal(headers['cache-control'], 'no-store', route.url);
  }
});
