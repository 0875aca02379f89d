// Keys on their page and as JSON: made, shown once, limited, revoked, run; and the plan with its counters.
import fastify from 'fastify';
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { hashKey } from '../../../api/access/keys.ts';
import { PLANS } from '../../../api/contract/plans.ts';
import { ACCOUNT_URL, hiddenFields, readAccount, signUp, startSite } from '../../support/apps/site-fixture.ts';

const CREATED = `select count(*)::int as n from key_events e join api_keys k using (key_id)
  where e.action = 'created' and k.account_id = $1`;
const KEY = /sk_[0-9A-Za-z]{36}/;

const { browser, pool } = await startSite(t);

t.test('a key is made and shown once, works, is listed without its text and revoked', async (t) => {
  const one = browser();
  await signUp(one);
  const shown = await one.submit('/keys', { name: 'laptop', expires: '30' });
  const key = KEY.exec(shown.body)?.[0] ?? '';
  t.match(shown, { statusCode: 201, headers: { 'cache-control': 'no-store' }, body: /Copy your key now/ });
  t.match(shown.body, /curl -s http:\/\/api\.test\/v2\/snapshots/);
  t.match(shown.body, /claude mcp add --transport http perp http:\/\/localhost:8081\/mcp/);
  t.match(await openKeyStore(pool).find(key, Date.now()), { plan: { code: 'free' } });
  const list = await one.get('/keys');
  t.notMatch(list.body, key);
  t.match(list.body, /laptop/);
  const { items } = (await one.get('/api/keys')).json() as { items: { key_id: string; expires_at: string }[] };
  t.match(items, [
    { name: 'laptop', display: key.slice(0, 8), plan: 'free', state: 'live', kind: 'account', revoked_at: null },
  ]);
  t.ok(Date.parse(items[0]?.expires_at ?? '') > Date.now() + 29 * 86_400_000);
  t.equal((await one.submit('/keys', {}, `/keys/${items[0]?.key_id}/revoke`)).statusCode, 303);
  t.equal(await openKeyStore(pool).find(key, Date.now()), 'unknown');
});

t.test('a form that is sent twice makes one key; forms at once make no more than the plan has', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const page = (await one.get('/keys')).body;
  const twice = await Promise.all([0, 1].map(() => one.submitFrom(page, { name: 'twice', expires: '' }, '/keys')));
  t.same(twice.map(({ statusCode }) => statusCode).sort(), [200, 201]);
  const form = hiddenFields(page, '/keys');
  const many = await Promise.all(
    Array.from({ length: 5 }, (_, i) =>
      one.submitFrom(page, { ...form, form_id: `form-${i}`, name: `n${i}`, expires: '' }, '/keys'),
    ),
  );
  t.equal(many.filter(({ statusCode }) => statusCode === 201).length, 1, 'the free plan has two');
  t.match(
    many.find(({ statusCode }) => statusCode === 403),
    { body: /Your plan allows 2 keys/ },
  );
  const { rows } = await pool.query(CREATED, [await readAccount(pool, email)]);
  t.match(rows, [{ n: 2 }], 'no key without its line in the audit, and no line without its key');
});

t.test('an account that makes and revokes keys without end fills neither the database nor the list', async (t) => {
  const one = browser();
  const accountId = await readAccount(pool, (await signUp(one)).email);
  const make = () =>
    one.send({ method: 'POST', url: '/api/keys', headers: { origin: ACCOUNT_URL }, payload: { name: 'again' } });
  await pool.query(
    `insert into api_keys (key_id, account_id, hash, display, name, plan, revoked_at)
    select 'key_' || $1 || n, $1, sha256(convert_to($1 || n, 'utf8')), 'sk_12345', 'old', 'free', now() from generate_series(1, 499) n`,
    [accountId],
  );
  t.equal((await make()).statusCode, 201, 'the 500th of 24 hours');
  t.match(await make(), { statusCode: 403, body: /PLAN_LIMIT.*at most 500 keys in 24 hours/ });
  t.match(await one.submit('/keys', { name: 'again', expires: '' }), {
    statusCode: 403,
    body: /at most 500 keys in 24 hours/,
  });
  const move = (interval: string) =>
    pool.query("update api_keys set created_at = now() + $2::interval where account_id = $1 and name = 'old'", [
      accountId,
      interval,
    ]);
  await move('40 days');
  const made = await make();
  t.equal(made.statusCode, 201, 'the clock of the database was set back since (D-1172)');
  await pool.query('update api_keys set revoked_at = now() where key_id = $1', [made.json().key_id]);
  await move('-25 hours');
  t.equal((await make()).statusCode, 201, 'a day later');
  const { items } = (await one.get('/api/keys')).json() as { items: { state: string }[] };
  t.equal(items.length, 500);
  t.same([items[0]?.state, items[1]?.state, items[2]?.state], ['live', 'live', 'revoked'], 'live ones are all there');
});

t.test('the JSON refuses what is no key, writes of other sites, and keys of others', async (t) => {
  const one = browser();
  await signUp(one);
  const post = (payload: object, headers: Record<string, string> = { origin: ACCOUNT_URL }) =>
    one.send({ method: 'POST', url: '/api/keys', headers, payload });
  for (const body of [
    {},
    { name: '' },
    { name: 7 },
    { name: 'x'.repeat(61) },
    { name: 'a', expires_at: 'soon' },
    { name: 'a', expires_at: '2001-01-01T00:00:00Z' },
    { name: 'a', expires_at: '2030-02-30T00:00:00Z' },
    { name: 'a', expires_at: '2030-02-29T00:00:00Z' },
    { name: 'a', expires_at: '2030-01-01T24:00:00Z' },
    { name: 'a', expires_at: '2030-01-01T00:00:00+24:00' },
    { name: 'a', expires_at: '2030-13-01' },
    { name: 'a', expires_at: 1_900_000_000 },
    { name: 'a', expires: '2098-01-01T00:00:00Z' },
    { name: 'a', '': 1 },
  ])
    t.match((await post(body)).json(), { errors: [{ code: 'BAD_REQUEST' }] }, JSON.stringify(body));
  t.equal((await post({ name: 'a' }, { origin: 'http://evil.test' })).statusCode, 403);
  t.equal((await post({ name: 'a' }, { 'sec-fetch-site': 'same-site' })).statusCode, 403);
  const made = await post({ name: 'a', expires_at: '2098-01-01T00:00:00Z' });
  t.match(made, { statusCode: 201 });
  t.match(made.json(), { key: KEY, key_id: /^key_[0-9A-HJKMNP-TV-Z]{26}$/, expires_at: '2098-01-01T00:00:00.000Z' });
  const { key_id } = made.json() as { key_id: string };
  const other = browser();
  await signUp(other);
  const remove = (who: typeof one) =>
    who.send({ method: 'DELETE', url: `/api/keys/${key_id}`, headers: { origin: ACCOUNT_URL } });
  t.match(await remove(other), { statusCode: 404 });
  t.match((await remove(other)).json(), { errors: [{ code: 'NOT_FOUND' }] });
  t.equal((await remove(one)).statusCode, 204);
});

t.test('a key seen in a URL is marked on the page, and its owner gets a letter, once', async (t) => {
  const one = browser();
  await signUp(one);
  const key = KEY.exec((await one.submit('/keys', { name: 'leaked', expires: '' })).body)?.[0] ?? '';
  const store = openKeyStore(pool);
  await store.markCompromised([key]);
  await store.markCompromised([key]);
  t.match((await one.get('/keys')).body, /“leaked” was sent in a URL/);
  const letters = async () => (await pool.query('select subject, body from mail_outbox order by mail_id')).rows;
  t.match(await letters(), [{ subject: /seen in a URL/, body: /"leaked".* It still works\.\n\nMake another one/s }]);
  const { rows } = await pool.query('select key_id from api_keys where hash = $1', [hashKey(key)]);
  await one.submit('/keys', {}, `/keys/${rows[0].key_id}/revoke`);
  for (const [name, ending, state] of [
    ['ended', 'revoked_at = now()', /It is revoked and no longer works/],
    ['past', "expires_at = now() - interval '1 second'", /It has expired and no longer works/],
  ] as const) {
    const gone = KEY.exec((await one.submit('/keys', { name, expires: '' })).body)?.[0] ?? '';
    await pool.query(`update api_keys set ${ending} where hash = $1`, [hashKey(gone)]);
    await store.markCompromised([gone]);
    const { body } = (await letters()).at(-1);
    t.match(body, state);
    t.match(body, `"${name}"`);
    t.notMatch(body, /still works|revoke this one/, `${name} does not`);
    t.notMatch((await one.get('/keys')).body, `“${name}” was sent in a URL`, 'the page asks for nothing');
  }
});

t.test(
  'the first call runs against the API with the key, and shows its digits; only with a key of the account',
  async (t) => {
    const api = fastify();
    const asked: unknown[] = [];
    api.post('/v2/snapshots', (request, reply) => {
      asked.push([request.headers.authorization, request.body]);
      return reply.type('application/json').send('{"items":[{"mark":97000.10000000000000001,"x":"<b>"}]}');
    });
    const apiUrl = await api.listen({ port: 0, host: '127.0.0.1' });
    t.teardown(() => api.close());
    const { browser } = await startSite(t, {
      urls: { account: ACCOUNT_URL, auth: ACCOUNT_URL, base: 'http://api.test', api: apiUrl, mcp: null },
    });
    const one = browser();
    await signUp(one);
    const page = await one.submit('/keys', { name: 'first', expires: '' });
    const key = KEY.exec(page.body)?.[0] ?? '';
    const ran = await one.submitFrom(page.body, {}, '/keys/run');
    t.match(ran, { statusCode: 200, body: /97000\.10000000000000001/ });
    t.match(ran.body, /&lt;b>/, 'what the API answers is text');
    t.match(asked, [[`Bearer ${key}`, { where: 'base = BTC' }]]);
    const other = browser();
    await signUp(other);
    const form = await other.submit('/keys', { name: 'mine', expires: '' });
    t.match(await other.submitFrom(form.body, { key }, '/keys/run'), { statusCode: 404 });
    t.equal(asked.length, 1);
    await api.close();
    t.match(await one.submitFrom(page.body, {}, '/keys/run'), {
      statusCode: 200,
      body: /does not respond at the moment/,
    });
  },
);

t.test('the plan is the best of the account and its live keys, with the counters of GET /v2/account', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const account = await readAccount(pool, email);
  const key = KEY.exec((await one.submit('/keys', { name: 'counted', expires: '' })).body)?.[0] ?? '';
  const { rows } = await pool.query('select key_id from api_keys where hash = $1', [hashKey(key)]);
  await pool.query("insert into key_usage values ($1, (now() at time zone 'utc')::date, 'screen', 1234)", [
    rows[0]?.key_id,
  ]);
  const plan = await one.get('/plan');
  t.match(plan.body, /<h1>Plan Free<\/h1>/);
  for (const layer of PLANS.pro_plus.layers.filter((name) => !PLANS.free.layers.includes(name)))
    t.match(plan.body, new RegExp(`Layer ${layer}</th>`), 'what a larger plan sells is on its page');
  t.match(plan.body, /1,234 of 5,000/);
  t.match(plan.body, /screen 1,234/);
  await pool.query(
    `insert into api_keys (key_id, account_id, hash, display, name, plan, kind, expires_at)
     values ('key_bought', $1, sha256('x'), 'sk_xxxxx', 'bought', 'standard', 'purchased', now() + interval '1 day')`,
    [account],
  );
  t.match((await one.get('/plan')).body, /<h1>Plan Standard<\/h1>/);
  await pool.query("update api_keys set expires_at = now() where key_id = 'key_bought'");
  t.match((await one.get('/plan')).body, /<h1>Plan Free<\/h1>/);
});
