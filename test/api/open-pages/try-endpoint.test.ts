// "Try it" below each endpoint of the documentation, over a real PostgreSQL and a stand-in of the API: whose key each call is made with.
import fastify from 'fastify';
import t from 'tap';
import { makeKey } from '../../../api/access/keys.ts';
import { fillPath, isForVisitors, RELAYED } from '../../../api/explorer/relayed-calls.ts';
import { ENDPOINTS, toEndpointSlug } from '../../../api/open-pages/endpoint-pages.ts';
import { ACCOUNT_URL, type Browser, signUp, startSite } from '../../support/apps/site-fixture.ts';

const api = fastify();
const asked: { readonly url: string; readonly authorization: string | undefined }[] = [];
const ANCHORED = '2026-02-03';
api.get('/status.json', () => ({ venues: [], anchored: { day: ANCHORED, status: 'confirmed' } }));
api.all('*', (request, reply) => {
  asked.push({ url: request.url, authorization: request.headers.authorization });
  return reply.type('application/json').send('{}');
});
const apiUrl = await api.listen({ port: 0, host: '127.0.0.1' });
t.teardown(() => api.close());

const explorerKey = makeKey();
const urls = { account: ACCOUNT_URL, auth: ACCOUNT_URL, base: apiUrl, api: apiUrl, mcp: null };
const { browser, site } = await startSite(t, { urls, explorerKey });
const host = new URL(ACCOUNT_URL).host;
const RUN = ENDPOINTS.filter((endpoint) => endpoint.class !== 'stream');
/** What an account has of its own: its key, plan and counters; the states and evaluations of its rules. */
const OWN = ['agent_state', 'account'];

/** Sends the form of an endpoint with its right token, whether or not the page shows the form. */
const run = async (one: Browser, endpoint: (typeof RUN)[number], fields: Record<string, string>) => {
  const url = `/docs/${toEndpointSlug(endpoint)}/try`;
  // A browser that has no form yet is given its id by this page.
  await one.get('/sign-in', { headers: { host } });
  const cookies = Object.fromEntries(one.cookies);
  const session = cookies['session'] === undefined ? null : await site.sessions.find(cookies['session']);
  const reply = { setCookie: () => undefined } as never;
  const token = site.forms.make({ cookies, session } as never, reply, url);
  return one.send({
    method: 'POST',
    url,
    headers: { host, origin: ACCOUNT_URL, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ _form: token, ...fields }).toString(),
  });
};

const fieldsOf = ({ method, path, example }: (typeof RUN)[number]): Record<string, string> =>
  method === 'POST'
    ? { body: JSON.stringify(example.input) }
    : Object.fromEntries([
        ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [`p_${name}`, 'x']),
        ...Object.entries(example.input).map(([name, value]) => [`p_${name}`, String(value)]),
      ]);

t.test(
  'a visitor runs each endpoint without a key or as the explorer does, and none that shows an account',
  async (t) => {
    const lent = new Set<string>();
    for (const endpoint of RUN) {
      const one = browser();
      asked.length = 0;
      const page = await run(one, endpoint, fieldsOf(endpoint));
      t.equal(page.statusCode, 200, endpoint.name);
      if (OWN.includes(endpoint.name)) {
        t.same(asked, [], `${endpoint.name} reads no account`);
        t.match(page.body, /<a href="\/sign-in\?next=[^"]*">Sign in<\/a>/, endpoint.name);
        continue;
      }
      const [{ authorization } = { authorization: 'none' }] = asked;
      t.equal(asked.length, 1, endpoint.name);
      t.equal(authorization, endpoint.key === 'open' ? undefined : `Bearer ${explorerKey}`, endpoint.name);
      if (authorization !== undefined) lent.add(`${endpoint.method} ${endpoint.path}`);
    }
    t.same(
      [...lent].sort(),
      RELAYED.filter(({ needsKey, path }) => needsKey && path !== '/stream')
        .map(({ method, path }) => `${method} /v2${path.replaceAll(/:(\w+)/g, '{$1}')}`)
        .sort(),
      'the key is lent for the calls of the explorer alone',
    );
    t.same(
      ENDPOINTS.filter((endpoint) => !isForVisitors(endpoint)).map(({ name }) => name),
      OWN,
    );
  },
);

t.test('an account runs all of them with its own key', async (t) => {
  const one = browser();
  await signUp(one);
  for (const endpoint of RUN) {
    asked.length = 0;
    await run(one, endpoint, fieldsOf(endpoint));
    t.equal(asked.length, 1, endpoint.name);
    t.not(asked[0]?.authorization, `Bearer ${explorerKey}`, endpoint.name);
    t.equal(asked[0]?.authorization === undefined, endpoint.key === 'open', endpoint.name);
  }
});

t.test('no part of a path leads to another endpoint', async (t) => {
  const file = RUN.find(({ name }) => name === 'archive_file');
  if (file === undefined) return t.fail('there is no archive_file');
  asked.length = 0;
  for (const [listing, layer, day] of [
    ['.', '..', 'account'],
    ['..', 'agent', 'state'],
    ['..', '..', 'metrics'],
    ['binance:BTCUSDT', '', '2026-01-01'],
  ] as const) {
    const page = await run(browser(), file, { p_listing: listing, p_layer: layer, p_day: day });
    t.match(page.body, 'A part of the path is empty, or leads to another endpoint', `${listing}/${layer}/${day}`);
  }
  t.same(asked, []);
  await run(browser(), file, { p_listing: 'a/../..', p_layer: '%2e%2e', p_day: 'x?y#z' });
  t.match(asked, [{ url: '/v2/archive/a%2F..%2F../%252e%252e/x%3Fy%23z' }]);
  t.equal(fillPath('/anchors/:day', { day: '..' }), null);
});

t.test('a form is filled with what this service has: the newest anchored day, and no payment of another', async (t) => {
  const readFilled = async (name: string, field: string): Promise<string | undefined> => {
    const endpoint = RUN.find((one) => one.name === name);
    if (endpoint === undefined) return undefined;
    const { body } = await browser().get(`/docs/${toEndpointSlug(endpoint)}`, { headers: { host } });
    const [input] = new RegExp(`<input[^>]* id="try-${field}"[^>]*>`).exec(body) ?? [];
    return input === undefined ? undefined : (/ value="([^"]*)"/.exec(input)?.[1] ?? '');
  };
  t.equal(await readFilled('archive_file', 'day'), ANCHORED);
  t.equal(await readFilled('anchor_day', 'day'), ANCHORED);
  t.equal(await readFilled('anchor_proof', 'at'), `${ANCHORED}T23:59:59.000Z`);
  t.equal(await readFilled('receipt', 'receipt_id'), '');
});
