// The order of checks of E-01: every endpoint with every credential and body, keys, limits, the challenge.
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { computeSecondsToMidnight } from '../../../api/access/held-permits.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { isKey, makeKey, shortenKey } from '../../../api/access/keys.ts';
import { Meter } from '../../../api/access/meter.ts';
import { spendQuota } from '../../../api/access/quotas.ts';
import { PLAN_CODES, PLANS } from '../../../api/contract/plans.ts';
import { CHALLENGES_PER_MINUTE, ChallengeMeter } from '../../../api/payments/challenge-meter.ts';
import { KeyTable, market, post, TERMS, testApp } from '../../support/apps/live-fixture.ts';

type Errors = { errors: { code: string; message: string; hint?: string; path?: string }[] };
const codes = (text: string): string[] => (JSON.parse(text) as Errors).errors.map((e) => e.code);

t.test('a key has 32 random characters and a checksum that catches any change', (t) => {
  const key = makeKey();
  t.match(key, /^sk_[0-9A-Za-z]{36}$/);
  t.ok(isKey(key));
  t.equal(shortenKey(key), key.slice(0, 8));
  for (let i = 3; i < key.length; i++) {
    const other = key[i] === 'a' ? 'b' : 'a';
    t.notOk(isKey(key.slice(0, i) + other + key.slice(i + 1)), `position ${i}`);
  }
  t.notOk(isKey(`${key}0`));
  t.end();
});

// Endpoint × credential → status and code. The 402 comes before the body is looked at.
const GOOD = 'good';
const TABLE: readonly (readonly [string, string, string | undefined, number, string | undefined])[] = [
  ['GET', '/v2/venues', undefined, 200, undefined],
  ['GET', '/v2/venues', GOOD, 200, undefined],
  ['GET', '/v2/venues', 'Bearer nonsense', 401, 'AUTH_INVALID'],
  ['GET', '/v2/instruments', undefined, 200, undefined],
  ['GET', '/v2/instruments', 'Basic abc', 401, 'AUTH_INVALID'],
  ['HEAD', '/v2/venues', undefined, 200, undefined],
  ['POST', '/v2/snapshots', undefined, 402, 'PAYMENT_REQUIRED'],
  ['POST', '/v2/snapshots', 'Bearer', 401, 'AUTH_INVALID'],
  ['POST', '/v2/snapshots', `Bearer ${makeKey()}`, 401, 'AUTH_INVALID'],
  ['POST', '/v2/snapshots', GOOD, 400, 'DQL_JSON_SCHEMA'],
  ['GET', '/v2/snapshots', undefined, 405, 'METHOD_NOT_ALLOWED'],
  ['DELETE', '/v2/venues', undefined, 405, 'METHOD_NOT_ALLOWED'],
  ['GET', '/v2/nothing', undefined, 404, 'NOT_FOUND'],
  ['GET', '/v2/nothing?key=x', undefined, 404, 'NOT_FOUND'],
  ['GET', '/v2/%zz', undefined, 400, 'DQL_JSON_SCHEMA'],
  ['GET', '/v2/venues?api_key=1', 'Bearer nonsense', 400, 'KEY_IN_URL'],
  ['POST', '/v2/snapshots?TOKEN=1', undefined, 400, 'KEY_IN_URL'],
  ['GET', '/v2/venues?x=1', undefined, 400, 'DQL_JSON_SCHEMA'],
  ['GET', '/%762/venues', undefined, 200, undefined],
  ['GET', '/v2/venu%65s?a=1?key=1', undefined, 400, 'DQL_JSON_SCHEMA'],
  ['GET', `/%762/venues?a=1?${makeKey()}`, undefined, 400, 'KEY_IN_URL'],
  ['POST', '/%76%32/snapshots?TOKEN=1', undefined, 400, 'KEY_IN_URL'],
  ['GET', '/%762/snapshots', undefined, 405, 'METHOD_NOT_ALLOWED'],
  ['GET', '/%762/nothing', undefined, 404, 'NOT_FOUND'],
  ['GET', '/%762/%zz', undefined, 400, 'DQL_JSON_SCHEMA'],
];

t.test('every endpoint answers every credential by the order of checks', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  for (const [method, url, credential, status, code] of TABLE) {
    const headers =
      credential === undefined ? {} : credential === GOOD ? as('pro_plus') : { authorization: credential };
    const answer = await app.inject({ method: method as 'GET', url, headers });
    const name = `${method} ${url} ${credential ?? 'without credentials'}`;
    t.equal(answer.statusCode, status, name);
    if (code !== undefined) t.same(codes(answer.body), [code], name);
    t.match(answer.headers['x-service-receipt'], /^rcp_/, 'every /v2 answer has a receipt (N-12)');
    t.equal(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined);
    if (status === 405) t.ok(answer.headers.allow);
    if (status === 405)
      t.match(answer.json().errors, [{ message: `"${method}" is not a method of ` }], 'in quotes (E-05)');
    if (status >= 400) t.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  }
});

t.test('accepts the scheme in any letter case', async (t) => {
  const { app, keys } = await testApp(market());
  t.teardown(() => app.close());
  const answer = await app.inject({ url: '/v2/venues', headers: { authorization: `bEARER ${keys.free}` } });
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['ratelimit-policy'], '"second";q=2;w=1, "day";q=5000;w=86400');
  t.match(answer.headers.ratelimit, /^"day";r=4999;t=\d+$/);
});

t.test('a key seen in a URL is marked, and stays valid', async (t) => {
  const { app, keys, table, as } = await testApp(market());
  t.teardown(() => app.close());
  const answer = await app.inject(`/v2/instruments?where=${keys.pro}`);
  t.same(codes(answer.body), ['KEY_IN_URL']);
  t.notMatch(answer.body, keys.pro);
  t.same(table.compromised, [table.row(keys.pro)?.key_id]);
  t.equal((await app.inject({ url: '/v2/venues', headers: as('pro') })).statusCode, 200);
});

t.test('every real key of a URL is marked, whatever else refuses it first (E-02)', async (t) => {
  const { app, keys, table } = await testApp(market());
  t.teardown(() => app.close());
  const findId = (key: string) => table.row(key)?.key_id;
  const named = await app.inject(`/v2/venues?auth=bearer&token=${keys.pro}`);
  t.equal(named.statusCode, 400);
  t.same(codes(named.body), ['KEY_IN_URL']);
  t.same(table.compromised, [findId(keys.pro)], 'although "auth" precedes it');
  const two = await app.inject(`/v2/venues?x=${keys.free}&where=${keys.mini}`);
  t.equal(two.statusCode, 400);
  t.same(codes(two.body), ['KEY_IN_URL']);
  const marked = [keys.pro, keys.free, keys.mini].map(findId);
  t.same(table.compromised, marked);
});

t.test('a URL of hundreds of keys is one statement, whoever made them up (E-02)', async (t) => {
  const { app, keys, table } = await testApp(market());
  t.teardown(() => app.close());
  const sent = [...Array.from({ length: 300 }, makeKey), keys.pro, keys.free, keys.pro];
  const answer = await app.inject(`/v2/venues?${sent.join('&')}`);
  t.same([answer.statusCode, ...codes(answer.body)], [400, 'KEY_IN_URL']);
  t.equal(table.marks, 1);
  t.same(table.compromised.toSorted(), [keys.free, keys.pro].map((key) => table.row(key)?.key_id).toSorted());
});

t.test('a key that is sent without a name is in the URL like any other (E-02)', async (t) => {
  for (const write of [
    (key: string) => `?${key}`,
    (key: string) => `?x=1&${key}=`,
    (key: string) => `?Bearer+${key}`,
  ]) {
    const { app, keys, table } = await testApp(market());
    const answer = await app.inject(`/v2/venues${write(keys.pro)}`);
    t.same([answer.statusCode, ...codes(answer.body)], [400, 'KEY_IN_URL'], write('key'));
    t.notMatch(answer.body, keys.pro);
    t.same(table.compromised, [table.row(keys.pro)?.key_id], write('key'));
    await app.close();
  }
});

t.test('the challenge offers the call, then the plans, in header and body alike (P-01)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const answer = await app.inject({
    method: 'POST',
    url: '/v2/snapshots',
    payload: 'not json',
    headers: { 'content-type': 'text/plain' },
  });
  t.equal(answer.statusCode, 402);
  const body = answer.json<
    Record<string, unknown> & { accepts: { amount: string; extra: Record<string, string> }[] }
  >();
  t.same(Object.keys(body), ['x402Version', 'error', 'resource', 'accepts', 'errors', 'extensions']);
  t.same(JSON.parse(Buffer.from(String(answer.headers['payment-required']), 'base64').toString()), body);
  t.same(body.accepts[0], {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: '5000',
    asset: TERMS.asset,
    payTo: TERMS.payTo,
    maxTimeoutSeconds: 60,
    extra: { name: 'USD Coin', version: '2', kind: 'call', class: 'snapshots' },
  });
  t.same(
    body.accepts.slice(1).map((a) => [a.extra.plan, a.amount]),
    [
      ['mini', '9000000'],
      ['standard', '29000000'],
      ['pro', '99000000'],
      ['pro_plus', '249000000'],
    ],
  );
  t.same(body.errors, [
    {
      code: 'PAYMENT_REQUIRED',
      message: 'This call costs 0.005 USDC.',
      hint: 'Send a key, or sign accepts[0] and retry with PAYMENT-SIGNATURE.',
    },
  ]);
  t.match(body.resource, { url: 'http://api.test/v2/snapshots', mimeType: 'application/json' });
  const paid = await app.inject({ method: 'POST', url: '/v2/snapshots', headers: { 'payment-signature': 'e30=' } });
  t.equal(paid.statusCode, 503, 'no payment is taken while none can be verified');
});

t.test('without a receiver nothing is offered', async (t) => {
  const { app } = await testApp(market(), { terms: { ...TERMS, payTo: null } });
  t.teardown(() => app.close());
  const answer = await app.inject({ method: 'POST', url: '/v2/snapshots' });
  t.match(answer.json(), { accepts: [], errors: [{ hint: 'Send a key.' }] });
});

t.test('the seconds to midnight are whole, and at least 1 (AC-03)', async (t) => {
  const dayMs = 86_400_000;
  for (const [ms, seconds] of [
    [0, 86_400],
    [1, 86_400],
    [1_000, 86_399],
    [dayMs - 1_001, 2],
    [dayMs - 1_000, 1],
    [dayMs - 1, 1],
    [dayMs, 86_400],
  ] as const)
    t.equal(computeSecondsToMidnight(ms), seconds, `after ${ms} ms`);
});

t.test('challenges are limited by source address, IPv6 by its /64 (P-05)', async (t) => {
  const meter = new ChallengeMeter();
  for (let i = 0; i < CHALLENGES_PER_MINUTE; i++) t.equal(meter.admit(`2001:db8::${i.toString(16)}`, 0), null);
  for (const [ms, seconds] of [
    [0, 60],
    [1, 60],
    [15_000, 45],
    [59_000, 1],
    [59_001, 1],
    [59_999, 1],
  ] as const)
    t.equal(meter.admit('2001:db8:0:0:ffff::1', ms), seconds, `after ${ms} ms`);
  t.equal(meter.admit('2001:db8:0:1::1', 0), null, 'another /64');
  t.equal(meter.admit('2001:db8::1', 60_000), null, 'the next minute');
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  let last = await app.inject({ method: 'POST', url: '/v2/snapshots' });
  // The minute may turn meanwhile: then the next one's share is used up too.
  for (let i = 0; i < 2 * CHALLENGES_PER_MINUTE && last.statusCode === 402; i++)
    last = await app.inject({ method: 'POST', url: '/v2/snapshots' });
  t.equal(last.statusCode, 429);
  t.equal(last.headers['x-service-limit'], 'x402_challenges_per_minute');
  t.match(last.headers['retry-after'], /^\d+$/);
});

t.test(
  'behind a trusted proxy each client has challenges of its own, and no other peer names an address (P-05)',
  async (t) => {
    const { app } = await testApp(market(), { trustedProxies: ['192.0.2.1'] });
    t.teardown(() => app.close());
    const ask = (remoteAddress: string, forwarded: string) =>
      app.inject({
        method: 'POST',
        url: '/v2/snapshots',
        remoteAddress,
        headers: { 'x-forwarded-for': `203.0.113.9, ${forwarded}` },
      });
    /** Sends requests until the share of a minute is used up, which may turn meanwhile. */
    const useUp = async (remoteAddress: string, toBody: (n: number) => string): Promise<number> => {
      let last = await ask(remoteAddress, toBody(0));
      for (let n = 1; n < 2 * CHALLENGES_PER_MINUTE && last.statusCode === 402; n++)
        last = await ask(remoteAddress, toBody(n));
      return last.statusCode;
    };
    t.equal(await useUp('192.0.2.1', () => '198.51.100.7'), 429);
    t.equal((await ask('192.0.2.1', '198.51.100.8')).statusCode, 402, 'another client');
    t.equal(await useUp('192.0.2.2', (n) => `198.51.100.${n}`), 429, 'a header of an untrusted client is ignored');
  },
);

t.test('a body with a Content-Encoding is refused, whatever it holds; identity is none (E-01 step 5)', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  const send = (encoding: string, payload: Buffer) =>
    app.inject({
      ...{ method: 'POST', url: '/v2/snapshots', payload },
      headers: { ...as('pro_plus'), 'content-type': 'application/json', 'content-encoding': encoding },
    });
  const plain = Buffer.from('{"layers": ["mark"]}');
  for (const encoding of ['gzip', 'GZIP', 'deflate', 'br', 'zstd', 'gzip, br', 'identity, gzip', 'nothing']) {
    for (const payload of [plain, gzipSync(plain)]) {
      const answer = await send(encoding, payload);
      t.equal(answer.statusCode, 415, encoding);
      t.match(answer.json(), {
        errors: [{ code: 'UNSUPPORTED_MEDIA_TYPE', hint: 'Send it without Content-Encoding.' }],
      });
      // RFC 9110 section 15.5.16.
      t.match(answer.headers, { accept: undefined, 'accept-encoding': 'identity' }, encoding);
    }
  }
  for (const encoding of ['identity', 'Identity', '']) t.equal((await send(encoding, plain)).statusCode, 200, encoding);
});

t.test('size is checked before media type, and both before shape', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  const send = (payload: string | Buffer, type?: string) =>
    app.inject({
      method: 'POST',
      url: '/v2/snapshots',
      payload,
      headers: { ...as('pro_plus'), ...(type ? { 'content-type': type } : {}) },
    });
  const large = await send(`"${'x'.repeat(65_536)}"`, 'text/plain');
  t.equal(large.statusCode, 413);
  t.same(codes(large.body), ['PAYLOAD_TOO_LARGE']);
  const form = await send('{}', 'application/x-www-form-urlencoded');
  t.equal(form.statusCode, 415);
  t.same(codes(form.body), ['UNSUPPORTED_MEDIA_TYPE']);
  t.match(form.headers, { accept: 'application/json', 'accept-encoding': undefined });
  for (const type of ['json', 'application/']) {
    const malformed = await send('{}', type);
    t.equal(malformed.statusCode, 415, type);
    t.same(codes(malformed.body), ['UNSUPPORTED_MEDIA_TYPE'], type);
  }
  t.equal((await send('{}', 'application/json; charset=latin1')).statusCode, 415);
  t.equal((await send('{}', 'application/json; charset=utf-8, application/json')).statusCode, 415);
  t.equal((await send('{}', 'application/json; version=1; charset=utf-16')).statusCode, 415);
  for (const type of [
    'application/json;charset=UTF-8',
    'application/json;',
    'application/json; version=1; charset="utf-8"',
  ]) {
    t.equal((await send('{}', type)).statusCode, 200, type);
  }
  for (const payload of ['{', '', '{}{}', Buffer.from([0x22, 0xff, 0x22])]) {
    const answer = await send(payload, 'application/json');
    t.equal(answer.statusCode, 400);
    t.same(codes(answer.body), ['DQL_JSON_SCHEMA']);
  }
  const both = await app.inject({
    method: 'POST',
    url: '/v2/snapshots?units=base',
    payload: '{}',
    headers: { ...as('pro_plus'), 'content-type': 'application/json' },
  });
  t.same(codes(both.body), ['DQL_JSON_SCHEMA']);
});

/** Faults of one step as code and path, in the order of E-05, whose first one decides the status. */
const COLLECTED = [
  {
    step: '6: a member unknown and one of a wrong value',
    plan: 'pro_plus',
    url: '/v2/snapshots',
    payload: { layers: ['bok'], freshnes: '1s' },
    errors: ['DQL_JSON_SCHEMA /freshnes', 'DQL_JSON_SCHEMA /layers/0'],
  },
  {
    step: '6: the URL and the body (N-13)',
    plan: 'pro_plus',
    url: '/v2/snapshots?units=base&x=1',
    payload: { wher: '' },
    errors: ['DQL_JSON_SCHEMA /units', 'DQL_JSON_SCHEMA /wher', 'DQL_JSON_SCHEMA /x'],
  },
  {
    step: '7: the period and the selection',
    plan: 'pro_plus',
    url: '/v2/candles',
    payload: { where: { venue: 'nowhere' }, timeframe: '7m', from: '2026-01-15T11:00:00Z', to: '2026-01-15T12:00:00Z' },
    errors: ['DQL_TIMEFRAME_UNSUPPORTED /timeframe', 'DQL_UNKNOWN_VENUE /where/venue'],
  },
  {
    step: '8: a limit and the plan',
    plan: 'free',
    url: '/v2/snapshots',
    payload: { layers: ['venue_depth'], freshness: '0s' },
    errors: ['DQL_LIMIT /freshness', 'PLAN_LIMIT /layers/0'],
  },
] as const;

t.test('a step of 6 to 8 that fails reports all faults in one list (E-01, E-05)', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  for (const { step, plan, url, payload, errors } of COLLECTED) {
    const answer = await app.inject({ method: 'POST', url, payload, headers: as(plan) });
    const codesFound = answer.json<Errors>().errors.map(({ code, path }) => `${code} ${path}`);
    t.equal(answer.statusCode, 400, step);
    t.same(codesFound, errors, step);
  }
});

t.test('the bucket of a key empties and fills by its plan', async (t) => {
  const meter = new Meter();
  const { limits } = PLANS.free;
  const asked = async (nowMs: number) => {
    const refusal = await meter.admit('k', limits, nowMs);
    if (refusal === null) meter.finish('k', 'reference', 200);
    return refusal;
  };
  for (let i = 0; i < limits.burst; i++) t.equal(await asked(1_000), null);
  t.same(await asked(1_000), { limit: 'requests_per_second', figure: 2, retryAfterS: 1 });
  t.equal(await asked(1_500), null, 'half a second is one request at two a second');
  t.same((await asked(1_500))?.limit, 'requests_per_second');
  t.equal(await asked(600_000), null);
});

t.test('a refusal ends with its time, also where the clock of the process steps back', async (t) => {
  let level = 0;
  const meter = new Meter({
    exchange: async (asks) => asks.map(() => ({ permits: level, tokens: level, granted: 1 })),
    report: async ({ asks }) => asks.map(() => ({ permits: 0, tokens: level, granted: 1 })),
  });
  const { limits } = PLANS.free;
  const now = 20_000 * 86_400_000 + 40_000_000;
  t.match(await meter.admit('k', limits, now), { limit: 'requests_per_second', retryAfterS: 1 });
  t.match(await meter.admit('k', limits, now + 1), { limit: 'requests_per_second', retryAfterS: 1 }, 'without a query');
  level = 1;
  t.equal(await meter.admit('k', limits, now - 3_600_000), null, 'an hour back');
});

t.test('counts the day and what is in flight (AC-03)', async (t) => {
  const meter = new Meter();
  const limits = { ...PLANS.free.limits, requests_per_day: 3 };
  await meter.admit('k', limits, 0);
  await meter.admit('k', limits, 0);
  t.match(await meter.admit('k', limits, 0), { limit: 'concurrent_requests', figure: 2 });
  t.equal(meter.inFlight('k'), 2);
  meter.finish('k', 'reference', 500);
  meter.finish('k', 'reference', 304);
  t.equal(meter.inFlight('k'), 0);
  t.match(meter.headers('k', limits, 0).state, '"day";r=3;', 'neither 5xx nor 304 counts');
  for (const second of [1, 2, 3]) {
    t.equal(await meter.admit('k', limits, second * 1_000), null);
    t.match(meter.headers('k', limits, second * 1_000).state, `"day";r=${3 - second};`);
    meter.finish('k', 'reference', 400);
  }
  t.match(await meter.admit('k', limits, 5_000_000), { limit: 'requests_per_day', retryAfterS: 81_400 });
  t.equal(await meter.admit('k', limits, 86_400_000), null, 'a new UTC day');
});

t.test('what was admitted before midnight and ends after it gives the new day nothing back (AC-03)', async (t) => {
  const meter = new Meter();
  const limits = { ...PLANS.pro.limits, requests_per_day: 3 };
  const midnight = 86_400_000;
  for (const _ of [1, 2, 3]) t.equal(await meter.admit('k', limits, midnight - 1), null);
  for (const _ of [1, 2, 3]) t.equal(await meter.admit('k', limits, midnight), null, 'a new day');
  t.match(await meter.admit('k', limits, midnight), { limit: 'requests_per_day' });
  meter.finish('k', 'reference', 500);
  meter.finish('k', 'reference', 304);
  meter.places.free('k');
  meter.putBack('k');
  t.match(meter.headers('k', limits, midnight).state, '"day";r=0;', 'also after one that was refused');
  meter.finish('k', 'reference', 503);
  t.match(meter.headers('k', limits, midnight).state, '"day";r=1;', 'what the day admitted itself comes back');
  const later = midnight + 60_000;
  t.equal(await meter.admit('k', limits, later), null);
  t.match(await meter.admit('k', limits, later), { limit: 'requests_per_day' });
});

t.test('a limited request names the limit and when to retry', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  const answers = [];
  for (let i = 0; i < 6; i++) answers.push(await app.inject({ url: '/v2/venues', headers: as('free') }));
  const limited = answers.at(-1);
  t.equal(limited?.statusCode, 429);
  t.equal(limited?.headers['x-service-limit'], 'requests_per_second');
  t.equal(limited?.headers['retry-after'], '1');
  t.same(codes(limited?.body ?? ''), ['RATE_LIMITED']);
});

t.test('keys are looked up once, forgotten in time, and survive a store that is away', async (t) => {
  const table = new KeyTable();
  const key = table.add('mini');
  const store = openKeyStore(table as unknown as Parameters<typeof openKeyStore>[0]);
  const plan = async (nowMs: number) => {
    const found = await store.find(key, nowMs);
    return typeof found === 'string' ? found : found.plan.code;
  };
  t.equal(await plan(0), 'mini');
  t.equal(await plan(29_000), 'mini');
  t.equal(table.lookups, 1);
  table.isAway = true;
  t.equal(await plan(40_000), 'mini', 'a store that is away leaves known keys good');
  t.equal(await store.find(makeKey(), 0), 'unreachable');
  t.equal(await plan(301_000), 'unreachable');
  table.isAway = false;
  for (const row of table.rows) row.revoked = true;
  t.equal(await plan(60_000), 'unknown', 'revocation acts within a minute (E-03)');
});

t.test('a store that is away answers 503 to an unknown key', async (t) => {
  const { app, table, as } = await testApp(market());
  t.teardown(() => app.close());
  table.isAway = true;
  const answer = await post(app, as('pro'), {});
  t.equal(answer.statusCode, 503);
  t.equal(answer.headers['retry-after'], '5');
  t.equal((await app.inject('/v2/venues')).statusCode, 200, 'open endpoints need no keys');
  t.equal((await app.inject('/readyz')).statusCode, 503);
});

t.test('include_raw belongs to the plans from Standard', async (t) => {
  const { app, as } = await testApp(market());
  t.teardown(() => app.close());
  for (const plan of PLAN_CODES) {
    const status = PLANS[plan].raw ? 200 : 403;
    t.equal(
      (await app.inject({ url: '/v2/instruments?include_raw=true', headers: as(plan) })).statusCode,
      status,
      plan,
    );
    t.equal((await post(app, as(plan), { include_raw: true, layers: ['mark'] })).statusCode, status, plan);
  }
  t.equal((await app.inject('/v2/instruments?include_raw=true')).statusCode, 403);
});

t.test(
  'a used-up quota of the day is a 429 that names it, and what needs no evaluation is still answered',
  async (t) => {
    const meter = new Meter();
    const { app, keys, table } = await testApp(market(), { meter });
    t.teardown(() => app.close());
    const headers = { authorization: `Bearer ${keys.free}` };
    const keyId = table.row(keys.free)?.key_id ?? '';
    const { dql_per_day: count } = PLANS.free.limits;
    await spendQuota(meter, { keyId, plan: PLANS.free }, { quota: 'dql', count, nowMs: Date.now() });
    const screen = (query: string) => app.inject({ method: 'POST', url: '/v2/screen', headers, payload: { query } });
    const refused = await screen('any(venues where mark > 1)');
    t.equal(refused.statusCode, 429);
    t.match(refused.headers, { 'x-service-limit': 'dql_per_day', 'retry-after': /^[1-9]\d*$/ });
    t.same(refused.json(), {
      errors: [
        {
          code: 'RATE_LIMITED',
          message: 'The plan Free allows 500 DQL evaluations a day.',
          hint: `Wait ${String(refused.headers['retry-after'])} seconds.`,
        },
      ],
    });
    t.same(codes((await screen('any(venues where')).body), ['DQL_SYNTAX'], 'a wrong query costs none');
    t.equal((await app.inject({ url: '/v2/venues', headers })).statusCode, 200);
  },
);

t.test('browsers may read every header that answers as rows put their envelope in (N-13, N-15)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { headers } = await app.inject({ url: '/v2/venues', headers: { origin: 'https://a.test' } });
  const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(/, */);
  for (const name of ['evaluated-at', 'settled', 'items-sha256', 'mode', 'interval', 'scope', 'receipt', 'limit']) {
    t.ok(exposed.includes(`x-service-${name}`), name);
  }
});
