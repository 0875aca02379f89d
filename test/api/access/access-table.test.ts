// Every endpoint with every kind of credential and a valid and an invalid body, on keys in a real PostgreSQL: exactly the results of E-01.
import type { Pool } from 'pg';
import t from 'tap';
import { openAccountStore } from '../../../api/access/account-store.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { makeKey } from '../../../api/access/keys.ts';
import type { ArchiveManifest } from '../../../api/contract/archive.ts';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { SERVICE_LIMITS } from '../../../api/contract/limits.ts';
import { PLAN_CODES, PLANS, type PlanCode } from '../../../api/contract/plans.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';
import { createKey, revokeKey } from '../../../infra/tools/key-admin.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { fillPath } from '../../support/documents/example-path.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

type Answer = { readonly status: number; readonly code: string | null };
type Errors = { readonly errors: readonly { readonly code: string }[] };

const newKey = async (pool: Pool, plan: PlanCode, expiresAt: Date | null = null): Promise<string> =>
  (await createKey(pool, { plan, name: 'table', accountId: 'acc_table', expiresAt }, 'test')).key;

/** A new key each time: no limit of a plan is met. */
const CREDENTIALS = {
  none: async () => ({}),
  unknown: async () => ({ authorization: `Bearer ${makeKey()}` }),
  'wrong checksum': async () => ({ authorization: `Bearer ${makeKey().slice(0, -1)}!` }),
  empty: async () => ({ authorization: '' }),
  expired: async (pool: Pool) => ({ authorization: `Bearer ${await newKey(pool, 'pro', new Date(1e12))}` }),
  revoked: async (pool: Pool) => {
    const { key, entry } = await createKey(
      pool,
      { plan: 'pro', name: 'table', accountId: 'acc_table', expiresAt: null },
      'test',
    );
    await revokeKey(pool, entry.key_id, 'test');
    return { authorization: `Bearer ${key}` };
  },
  'wrong scheme': async (pool: Pool) => ({ authorization: `Basic ${await newKey(pool, 'pro')}` }),
  'bad with payment': async () => ({ authorization: 'Bearer x', 'payment-signature': 'e30=' }),
  'in URL': async (pool: Pool) => ({ authorization: `Bearer ${await newKey(pool, 'pro')}` }),
} as const;
type Credential = keyof typeof CREDENTIALS | PlanCode;

/** A certainly valid request, where the example is not. */
const GOOD: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  account: {},
  instruments: {},
  stream: { where: 'venue = binance', layers: 'mark' },
};
const BAD = { nonsense: '1' };
/** A file of every name: what its price depends on is there. */
const ONE_FILE = { list: async () => [], find: async () => ({ tier: 'core' }) } as unknown as ArchiveManifest;

/** Permitted statuses under a valid key: without a store of history some are 503, some plans lack a layer. */
const ANSWERED = new Set([200, 302, 403, 404, 503]);

const expected = (operation: Endpoint, credential: Credential, isGood: boolean): Answer | 'answered' => {
  if (credential === 'in URL') return { status: 400, code: 'KEY_IN_URL' };
  if (credential === 'none' && operation.key === 'required') {
    return operation.price === null
      ? { status: 401, code: 'AUTH_REQUIRED' }
      : { status: 402, code: 'PAYMENT_REQUIRED' };
  }
  const isKnown = credential === 'none' || PLAN_CODES.some((plan) => plan === credential);
  if (!isKnown) return { status: 401, code: 'AUTH_INVALID' };
  return isGood ? 'answered' : { status: 400, code: 'DQL_JSON_SCHEMA' };
};

/** As text, the form in the URL of a GET. */
const makeUrl = (
  { method, path, example }: Endpoint,
  input: Readonly<Record<string, unknown>>,
  credential: Credential,
): string => {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const filled = fillPath(path, example.input);
  const asked = method === 'GET' ? Object.entries(input).filter(([name]) => !named.includes(name)) : [];
  const query = new URLSearchParams(asked.map(([k, v]): [string, string] => [k, String(v)]));
  if (credential === 'in URL') query.set('Api_Key', 'x');
  return query.size === 0 ? filled : `${filled}?${query}`;
};

t.test('every endpoint × credential × body answers as E-01 orders it', async (t) => {
  const pool = await freshPool(t);
  const { app } = await testApp(market(), {
    keys: openKeyStore(pool),
    accounts: openAccountStore(pool),
    manifest: ONE_FILE,
  });
  t.teardown(() => app.close());
  const makeHeaders = async (credential: Credential): Promise<Record<string, string>> =>
    credential in CREDENTIALS
      ? CREDENTIALS[credential as keyof typeof CREDENTIALS](pool)
      : { authorization: `Bearer ${await newKey(pool, credential as PlanCode)}` };
  const all = [...Object.keys(CREDENTIALS), ...PLAN_CODES] as readonly Credential[];
  let rows = 0;
  for (const operation of [...OPERATIONS, STREAM]) {
    for (const credential of all) {
      for (const isGood of [true, false]) {
        const input = isGood ? (GOOD[operation.name] ?? operation.example.input) : BAD;
        // A stream does not end; HEAD takes the same steps and is answered.
        const method = operation.class === 'stream' && isGood ? 'HEAD' : operation.method;
        const answer = await app.inject({
          method,
          url: makeUrl(operation, input, credential),
          headers: await makeHeaders(credential),
          ...(operation.method === 'POST' ? { payload: input } : {}),
        });
        const name = `${operation.method} ${operation.path}, ${credential}, ${isGood ? 'good' : 'bad'} body`;
        const want = expected(operation, credential, isGood);
        rows += 1;
        if (want === 'answered') {
          t.ok(ANSWERED.has(answer.statusCode), `${name}: ${answer.statusCode} ${answer.body.slice(0, 300)}`);
          continue;
        }
        const code = method === 'HEAD' ? want.code : ((answer.json() as Errors).errors[0]?.code ?? null);
        t.same({ status: answer.statusCode, code }, want, name);
        t.match(answer.headers, { 'cache-control': 'no-store', 'x-service-receipt': /^rcp_/ }, name);
        t.equal(answer.headers['www-authenticate'], want.status === 401 ? 'Bearer' : undefined, name);
        t.equal(
          'ratelimit' in answer.headers,
          PLAN_CODES.some((plan) => plan === credential),
          `${name}: RateLimit`,
        );
      }
    }
  }
  t.equal(rows, (OPERATIONS.length + 1) * all.length * 2);
});

type Sent = {
  method?: 'PUT';
  url?: string;
  key?: string;
  type?: string;
  payload?: string;
  headers?: Record<string, string>;
};

t.test('of two faults the earlier step answers, whichever two they are', async (t) => {
  const pool = await freshPool(t);
  const { app } = await testApp(market(), { keys: openKeyStore(pool) });
  t.teardown(() => app.close());
  const call = async (over: Sent): Promise<string> => {
    const answer = await app.inject({
      method: over.method ?? 'POST',
      url: over.url ?? '/v2/snapshots',
      headers: {
        'content-type': over.type ?? 'application/json',
        ...(over.key === undefined ? {} : { authorization: `Bearer ${over.key}` }),
        ...over.headers,
      },
      payload: over.payload ?? '{}',
    });
    const codes = ((answer.json() as Partial<Errors>).errors ?? []).map(({ code }) => code);
    const { allow } = answer.headers;
    const outcome = codes.length === 0 ? 'answered' : codes.join(' ');
    return `${answer.statusCode} ${outcome}${allow === undefined ? '' : ` (Allow: ${allow})`}`;
  };
  const free = () => newKey(pool, 'free');
  const large = `"${'x'.repeat(65_536)}"`;
  t.equal(await call({ url: '/v2/nothing?key=1', key: 'x' }), '404 NOT_FOUND', '1 before 2');
  const notVenues = '405 METHOD_NOT_ALLOWED (Allow: GET, HEAD)';
  t.equal(await call({ url: '/v2/venues?key=1', key: 'x' }), notVenues, '1 before 2');
  const unread: readonly Sent[] = [{ payload: large }, { type: 'json' }];
  for (const sent of unread) {
    const wrongMethod = { ...sent, method: 'PUT', url: '/v2/candles' } as const;
    t.equal(await call({ ...sent, url: '/v2/nothing' }), '404 NOT_FOUND', '1 before 5');
    t.equal(await call(wrongMethod), '405 METHOD_NOT_ALLOWED (Allow: POST)', '1 before 5');
  }
  t.equal(await call({ url: '/v2/snapshots?key=1', key: 'x' }), '400 KEY_IN_URL', '2 before 3');
  t.equal(await call({ key: 'x', headers: { 'payment-signature': 'e30=' } }), '401 AUTH_INVALID', 'the key decides');
  t.equal(await call({ key: 'x', payload: large, type: 'text/plain' }), '401 AUTH_INVALID', '3 before 5');
  t.equal(await call({ payload: large, type: 'text/plain' }), '402 PAYMENT_REQUIRED', '3 before 5');
  const spent = await free();
  for (let i = 0; i < PLANS.free.limits.burst; i++) await call({ key: spent });
  t.equal(await call({ key: spent, payload: large }), '429 RATE_LIMITED', 'limits of the key before size');
  t.equal(await call({ key: await free(), payload: large, type: 'text/plain' }), '413 PAYLOAD_TOO_LARGE');
  t.equal(await call({ key: await free(), payload: large, type: 'json' }), '413 PAYLOAD_TOO_LARGE', 'size before type');
  t.equal(await call({ key: await free(), payload: '{', type: 'text/plain' }), '415 UNSUPPORTED_MEDIA_TYPE');
  t.equal(await call({ key: await free(), payload: '{', type: 'json' }), '415 UNSUPPORTED_MEDIA_TYPE');
  const wrong = { where: 'venue = nowhere', layers: ['nothing'] };
  const together = '400 DQL_UNKNOWN_VENUE DQL_JSON_SCHEMA';
  t.equal(await call({ key: await free(), payload: JSON.stringify(wrong) }), together, '6 and 7 are one list');
  const unknown = { where: 'venue = nowhere', layers: ['liquidation', 'venue_depth'].slice(1) };
  t.equal(await call({ key: await free(), payload: JSON.stringify(unknown) }), '400 DQL_UNKNOWN_VENUE', '7 before 8');
  const beyond = { layers: ['venue_depth'], include_raw: true, freshness: { mark: '0s' } };
  const inOrder = '400 DQL_LIMIT PLAN_LIMIT PLAN_LIMIT';
  t.equal(await call({ key: await free(), payload: JSON.stringify(beyond) }), inOrder, '8, all of it by path (E-05)');
});

t.test('every limit that a 429 names is of the closed set, and a bad key is refused in any disguise', async (t) => {
  const pool = await freshPool(t);
  const { app } = await testApp(market(), { keys: openKeyStore(pool) });
  t.teardown(() => app.close());
  const key = await newKey(pool, 'free');
  const good = [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}`];
  const bad = [
    key,
    `Bearer${key}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}x`,
    `Token ${key}`,
    `Bearer ${key.toLowerCase()}`,
  ];
  for (const authorization of good) {
    t.equal((await app.inject({ url: '/v2/venues', headers: { authorization } })).statusCode, 200, 'good');
  }
  for (const authorization of bad) {
    t.equal((await app.inject({ url: '/v2/venues', headers: { authorization } })).statusCode, 401, 'bad');
  }
  const seen = new Set<string>();
  for (let i = 0; i < 4; i++) {
    const answer = await app.inject({ url: '/v2/venues', headers: { authorization: `Bearer ${key}` } });
    if (answer.statusCode === 429) seen.add(String(answer.headers['x-service-limit']));
  }
  t.ok([...seen].every((limit) => SERVICE_LIMITS.some((known) => known === limit)));
  t.equal(seen.size, 1);
});

t.test('a key in a URL is marked and audited once, whatever else is wrong, and stays valid (E-02)', async (t) => {
  const pool = await freshPool(t);
  const { app } = await testApp(market(), { keys: openKeyStore(pool) });
  t.teardown(() => app.close());
  const key = await newKey(pool, 'pro');
  for (const url of [`/v2/venues?x=${key}`, `/v2/venues?where=venue%3D${key}x`, `/v2/snapshots?TOKEN=${key}`]) {
    const method = url.startsWith('/v2/snapshots') ? 'POST' : 'GET';
    const answer = await app.inject({ method, url });
    t.match(answer.json(), { errors: [{ code: 'KEY_IN_URL' }] });
    t.notMatch(answer.body, key);
  }
  const marks = async () => (await pool.query("select 1 from key_events where action = 'compromised'")).rows.length;
  while ((await marks()) === 0) await pool.query('select pg_sleep(0.01)');
  await pool.query('select pg_sleep(0.05)');
  t.equal(await marks(), 1);
  const { rows } = await pool.query('select compromised_at, revoked_at from api_keys');
  t.match(rows, [{ compromised_at: Date, revoked_at: null }]);
  t.equal((await app.inject({ url: '/v2/venues', headers: { authorization: `Bearer ${key}` } })).statusCode, 200);
});

t.test('URLs that share some of their keys are marked at once, and no key is left out (E-02)', async (t) => {
  const pool = await freshPool(t, 12);
  const keys: string[] = [];
  for (let i = 0; i < 120; i++) {
    const asked = { plan: 'pro', name: 'table', accountId: `acc_${i % 40}`, expiresAt: null } as const;
    keys.push((await createKey(pool, asked, 'test')).key);
  }
  const { markCompromised } = openKeyStore(pool);
  const urls = Array.from({ length: 10 }, (_, url) => keys.filter((_key, i) => (i * 7 + url) % 10 < 6));
  for (let round = 0; round < 20; round++) {
    await pool.query('update api_keys set compromised_at = null');
    await Promise.all(urls.map(markCompromised));
  }
  const { rows } = await pool.query(
    "select count(*)::int as marks from key_events where action = 'compromised' group by key_id",
  );
  t.same(
    rows.map(({ marks }) => marks),
    keys.map(() => 20),
  );
});
