// Keys on a real PostgreSQL: operators' commands, revocation in every process at once, counters that processes share.
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Pool } from 'pg';
import t from 'tap';
import { openAccountStore } from '../../../api/access/account-store.ts';
import type { Limits } from '../../../api/access/held-permits.ts';
import { KEYS_CHANNEL, openKeyStore } from '../../../api/access/key-store.ts';
import { isKey } from '../../../api/access/keys.ts';
import { keepSettled, Meter } from '../../../api/access/meter.ts';
import { createSharedPermits } from '../../../api/access/permits.ts';
import { createSharedPlaces, PLACES_CHANNEL } from '../../../api/access/place-store.ts';
import { Places } from '../../../api/access/places.ts';
import { PLANS } from '../../../api/contract/plans.ts';
import { listenPostgres } from '../../../infra/runtime/postgres/listener.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { changePlan, createKey, revokeKey } from '../../../infra/tools/key-admin.ts';
import { runKeys } from '../../../infra/tools/keys.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import type { Teardown } from '../../support/engines/engines.ts';
import { freshDatabase } from '../../support/engines/fresh-database.ts';
import { waitFor } from '../../support/wait.ts';

const log = createLog('test', 'silent');
const TOOL = fileURLToPath(new URL('../../../infra/tools/keys.ts', import.meta.url));

const until = async (holds: () => boolean | Promise<boolean>, what: string): Promise<number> => {
  const begun = performance.now();
  await waitFor(what, holds);
  return performance.now() - begun;
};

const newKey = (pool: Pool, plan: 'free' | 'mini' | 'pro') =>
  createKey(pool, { plan, name: 'test', accountId: 'acc_test', expiresAt: null }, 'tester');

/** The parts of one API process: pool, key cache, listening connection, meter, app. */
const startNode = async (t: Teardown, url: string) => {
  const pool = openPostgres(url, { max: 2 });
  const keys = openKeyStore(pool);
  const places = new Places(createSharedPlaces(pool));
  const meter = new Meter(createSharedPermits(pool), places);
  const listener = listenPostgres({
    url,
    channels: { [KEYS_CHANNEL]: keys.forget, [PLACES_CHANNEL]: (name) => void places.giveBackIdle(name) },
    onListening: keys.forgetAll,
    log,
  });
  const stopSettling = keepSettled(meter, log);
  const accounts = openAccountStore(pool);
  const nowMicros = () => Date.now() * 1_000;
  const { app } = await testApp(market(), { keys, meter, accounts, nowMicros });
  t.teardown(async () => {
    await app.close();
    await stopSettling();
    await listener.stop();
    await pool.end();
  });
  await until(listener.isListening, 'listening');
  const get = (key: string, path = '/v2/venues') =>
    app.inject({ url: path, headers: { authorization: `Bearer ${key}` } });
  const status = async (key: string): Promise<number> => (await get(key)).statusCode;
  return { app, keys, listener, get, status };
};

t.test('operators create, list, change and revoke keys by command, and every change is published', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const run = (...args: string[]): Promise<string> => runKeys(args, { DATABASE_URL: url });
  const json = async <T>(...args: string[]): Promise<T> => JSON.parse(await run(...args, '--json', '--by', 'ann')) as T;
  type Entry = { key: string; key_id: string; plan: string; state: string; expires_at: string | null };

  const made = await json<Entry>('create', '--plan', 'mini', '--name', 'desk', '--expires', '30d');
  t.ok(isKey(made.key));
  t.match(made, { plan: 'mini', state: 'live', name: 'desk', account_id: 'acc_operator' });
  t.ok(Math.abs(Date.parse(made.expires_at ?? '') - Date.now() - 30 * 86_400_000) < 60_000);
  t.match(await openKeyStore(pool).find(made.key, Date.now()), { keyId: made.key_id, plan: { code: 'mini' } });

  t.match(await json('plan', made.key_id, 'pro'), { plan: 'pro' });
  t.match(await json('plan', made.key_id, 'pro'), { plan: 'pro' }, 'the same plan again is no change');
  t.match(await run('list'), new RegExp(`^${made.key_id}  ${made.key.slice(0, 8)}  pro +live +acc_operator  desk`));
  t.match(await json('revoke', made.key_id), { state: 'revoked' });
  t.match(await json('revoke', made.key_id), { state: 'revoked' }, 'revoking twice is no fault');
  t.equal(await openKeyStore(pool).find(made.key, Date.now()), 'unknown');
  t.notMatch(await run('list'), made.key, 'a key is shown once');

  await t.rejects(run('plan', made.key_id, 'free'), /is revoked/);
  await t.rejects(run('revoke', 'key_none'), { message: 'there is no key "key_none"; `list` shows them' });
  await t.rejects(run('create', '--plan', 'gold', '--name', 'x'), /"gold" is not a plan/);
  await t.rejects(run('create', '--plan', 'free', '--name', 'x', '--expires', 'soon'), /"soon" is neither/);
  await t.rejects(run('create', '--plan', 'free', '--name', 'x', '--expires', '2020-01-01T00:00:00Z'), /in the future/);
  for (const expires of ['999999999d', '100000d', '876000h'])
    await t.rejects(run('create', '--plan', 'free', '--name', 'x', '--expires', expires), /is after 2100/, expires);
  await t.rejects(run('list', '--colour'), /usage: npm run keys/);
  const asProcess = (...args: string[]) =>
    promisify(execFile)(process.execPath, [TOOL, ...args], { env: { ...process.env, DATABASE_URL: url } });
  t.match((await asProcess('list')).stdout, made.key_id);
  await t.rejects(asProcess('delete'), { code: 1, stderr: /^usage: npm run keys/ } as unknown as Error);

  const { rows } = await pool.query('select key_id, action, actor, details from key_events order by event_id');
  const about = { key_id: made.key_id, actor: 'ann' };
  t.match(rows, [
    { ...about, action: 'created', details: { plan: 'mini', name: 'desk' } },
    { ...about, action: 'plan_changed', details: { from: 'mini', to: 'pro' } },
    { ...about, action: 'revoked' },
  ]);
  t.equal(rows.length, 3);
  await t.rejects(pool.query('delete from key_events'), { message: 'rows of key_events are only ever added' });
});

t.test('a revocation or a change of plan acts in every process within a second', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const [one, two] = await Promise.all([startNode(t, url), startNode(t, url)]);
  const { key, entry } = await newKey(pool, 'mini');
  t.same([await one.status(key), await two.status(key)], [200, 200]);
  await changePlan(pool, { keyId: entry.key_id, plan: 'pro' }, 'tester');
  const changed = await until(async () => {
    const policies = await Promise.all([one.get(key), two.get(key)]);
    return policies.every((answer) => String(answer.headers['ratelimit-policy']).startsWith('"second";q=25;'));
  }, 'the plan is known');
  t.ok(changed < 1_000, `${changed} ms`);
  await revokeKey(pool, entry.key_id, 'tester');
  const revoked = await until(
    async () => (await one.status(key)) === 401 && (await two.status(key)) === 401,
    'the key is refused',
  );
  t.ok(revoked < 1_000, `${revoked} ms`);
});

t.test('a key that was refused before it existed is good as soon as it does', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const node = await startNode(t, url);
  const { key, entry } = await newKey(pool, 'pro');
  await revokeKey(pool, entry.key_id, 'tester');
  await until(async () => (await node.status(key)) === 401, 'refused');
  await pool.query('update api_keys set revoked_at = null');
  await until(async () => (await node.status(key)) === 200, 'accepted');
  t.pass('a refusal is forgotten by the same notice');
});

t.test('a lost listening connection returns, and until then no entry outlives half a minute', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const { keys, listener, status } = await startNode(t, url);
  // Notices to this process stop without an error, as when a line breaks.
  await pool.query('alter table api_keys disable trigger api_keys_changed');
  const { key, entry } = await newKey(pool, 'mini');
  const at = Date.now();
  t.match(await keys.find(key, at), { keyId: entry.key_id });
  await revokeKey(pool, entry.key_id, 'tester');
  t.match(await keys.find(key, at + 29_999), { keyId: entry.key_id });
  t.equal(await keys.find(key, at + 30_000), 'unknown', 'E-03 allows 60 s');

  const other = await newKey(pool, 'mini');
  t.equal(await status(other.key), 200);
  await revokeKey(pool, other.entry.key_id, 'tester');
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'perp-listener' and datname = current_database()`,
  );
  t.equal(rowCount, 1);
  await until(async () => (await status(other.key)) === 401, 'what was missed is read again');
  t.ok(listener.isListening());
});

const limits: Limits = {
  requests_per_second: 8,
  burst: 16,
  requests_per_day: 1_000,
  concurrent_requests: 100,
};

t.test('processes share the bucket of a key: together they admit what the plan allows, and not one more', async (t) => {
  const { pool } = await freshDatabase(t);
  const meters = Array.from({ length: 3 }, () => new Meter(createSharedPermits(pool)));
  const begun = performance.now();
  let admitted = 0;
  const ask = async (i: number): Promise<void> => {
    const meter = meters[i % 3] ?? new Meter();
    if ((await meter.admit('k', limits, Date.now())) !== null) return;
    admitted += 1;
    meter.finish('k', 'snapshots', 200);
  };
  for (let i = 0; i < 24; i++) await ask(i);
  t.ok(admitted >= limits.burst, `a burst over three processes: ${admitted}`);
  let asked = 24;
  while (performance.now() - begun < 1_500) await Promise.all([ask(asked++), ask(asked++), pause(2)]);
  const most = limits.burst + ((performance.now() - begun) / 1_000) * limits.requests_per_second;
  t.ok(admitted <= most, `${admitted} admitted, at most ${most}`);
  t.ok(admitted >= most - 6, `${admitted} admitted of ${most}: what one holds the others get back`);

  await Promise.all(meters.map((meter) => meter.settle(Date.now(), { idleMs: 0 })));
  const { rows } = await pool.query('select class, used::int from key_usage');
  t.same(rows, [{ class: 'snapshots', used: admitted }], 'every counted request is counted once');
  const { rows: day } = await pool.query('select granted::int from key_meters');
  t.same(day, [{ granted: admitted }], 'and nothing is held any more');
});

t.test('processes share the day, give back what did not count, and a killed one costs a quarter second', async (t) => {
  const { pool } = await freshDatabase(t);
  const wide = { ...limits, requests_per_second: 40, burst: 80, requests_per_day: 30 };
  const [one, two] = [new Meter(createSharedPermits(pool)), new Meter(createSharedPermits(pool))];
  const now = Date.now();
  const spend = async (meter: Meter, times: number, status = 200): Promise<number> => {
    let admitted = 0;
    for (let i = 0; i < times; i++) {
      if ((await meter.admit('k', wide, now)) !== null) continue;
      admitted += 1;
      meter.finish('k', 'history', status);
    }
    return admitted;
  };
  t.equal(await spend(one, 5), 5);
  t.equal(await spend(one, 5, 503), 5);
  t.match(one.headers('k', wide, now).state, '"day";r=25;', 'what failed is not counted');
  await one.settle(now, { idleMs: 0 });
  t.equal(await spend(two, 10), 10);
  t.match(two.headers('k', wide, now).state, '"day";r=15;', 'the other process knows what the first one used');
  // `two` ended without releasing its permits: at most ten are lost (a quarter second).
  const left = await spend(one, 30);
  t.ok(left >= 5 && left <= 15, `${left} of 15`);
  t.match(await one.admit('k', wide, now), { limit: 'requests_per_day', figure: 30 });
  // Of yesterday now: the day is PostgreSQL's, whatever the clock of a process has (D-1110).
  await pool.query('update key_meters set day = day - 1');
  const next = new Meter(createSharedPermits(pool));
  t.equal(await next.admit('k', wide, now), null, 'a new day for everyone');
});

t.test('without its store a process meters alone, and reports its counts when the store is back', async (t) => {
  const { pool } = await freshDatabase(t);
  let isAway = true;
  const permits = createSharedPermits({
    query: ((...args: Parameters<Pool['query']>) =>
      isAway ? Promise.reject(new Error('connection refused')) : pool.query(...args)) as Pool['query'],
  });
  const meter = new Meter(permits);
  const now = Date.now();
  for (let i = 0; i < limits.burst; i++) {
    t.equal(await meter.admit('k', limits, now), null);
    meter.finish('k', 'candles', 200);
  }
  t.match(await meter.admit('k', limits, now), { limit: 'requests_per_second' });
  await t.rejects(meter.settle(now, { idleMs: 0 }));
  isAway = false;
  await meter.settle(now, { idleMs: 0 });
  t.same((await pool.query('select class, used::int from key_usage')).rows, [{ class: 'candles', used: 16 }]);
  t.same((await pool.query('select granted::int from key_meters')).rows, [{ granted: 16 }]);
});

t.test('a store that is slow delays a request a second at most, and no count is reported twice', async (t) => {
  const { pool } = await freshDatabase(t);
  const meter = new Meter(createSharedPermits(pool));
  const spend = async (): Promise<void> => {
    t.equal(await meter.admit('k', limits, Date.now()), null);
    meter.finish('k', 'books', 200);
  };
  for (let i = 0; i < 4; i++) await spend();
  await meter.settle(Date.now(), { idleMs: 0 });
  const blocker = await pool.connect();
  t.teardown(() => blocker.release());
  await blocker.query('begin');
  await blocker.query('select 1 from key_meters for update');
  const begun = performance.now();
  await spend();
  t.ok(performance.now() - begun < 3_000, 'metered alone');
  const settled = meter.settle(Date.now(), { idleMs: 0 });
  await spend();
  const settledAgain = meter.settle(Date.now(), { idleMs: 0 });
  await blocker.query('commit');
  await Promise.all([settled, settledAgain]);
  t.same((await pool.query('select class, used::int from key_usage')).rows, [{ class: 'books', used: 6 }]);
});

t.test('many keys at once over several processes: no statement a request, and the sums agree', async (t) => {
  const { pool } = await freshDatabase(t);
  let statements = 0;
  const counting = {
    query: ((...args: Parameters<Pool['query']>) => {
      statements += 1;
      return pool.query(...args);
    }) as Pool['query'],
  };
  const plan = PLANS.pro_plus.limits;
  const alone = new Meter(createSharedPermits(counting));
  for (let i = 0; i < plan.burst; i++) {
    t.equal(await alone.admit('alone', plan, Date.now()), null);
    alone.finish('alone', 'snapshots', 200);
  }
  t.ok(statements <= plan.burst / 4, `${statements} statements for ${plan.burst} requests`);

  const meters = Array.from({ length: 3 }, () => new Meter(createSharedPermits(pool)));
  const admitted = new Map<string, number>();
  const ask = async (i: number): Promise<void> => {
    const [meter, key] = [meters[i % 3] ?? alone, `key-${i % 5}`];
    if ((await meter.admit(key, limits, Date.now())) !== null) return;
    admitted.set(key, (admitted.get(key) ?? 0) + 1);
    meter.finish(key, i % 2 === 0 ? 'snapshots' : 'history', 200);
  };
  const settleAll = () => Promise.all(meters.map((meter) => meter.settle(Date.now(), { idleMs: 0 })));
  for (let round = 0; round < 5; round++) {
    await Promise.all([...Array.from({ length: 40 }, (_, i) => ask(i)), settleAll()]);
  }
  await settleAll();
  const { rows } = await pool.query<{ key_id: string; used: number; granted: number }>(
    `select key_id, sum(used)::int as used, granted::int from key_usage join key_meters using (key_id)
     where key_id <> 'alone' group by key_id, granted order by key_id`,
  );
  t.same(
    rows,
    [...admitted].sort().map(([key_id, count]) => ({ key_id, used: count, granted: count })),
  );
});

t.test('two nodes answer one key with one set of counters, and name the limit (AC-03)', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const nodes = await Promise.all([startNode(t, url), startNode(t, url)]);
  const { key } = await newKey(pool, 'free');
  const begun = performance.now();
  const answers = [];
  for (let i = 0; i < 10; i++) answers.push(await nodes[i % 2]?.get(key));
  const seconds = (performance.now() - begun) / 1_000;
  const good = answers.filter((answer) => answer?.statusCode === 200).length;
  const { burst, requests_per_second: rate } = PLANS.free.limits;
  t.ok(good >= burst && good <= burst + seconds * rate, `${good} in ${seconds} s`);
  t.match(answers[0]?.headers, { 'ratelimit-policy': '"second";q=2;w=1, "day";q=5000;w=86400' });
  t.match(answers[3]?.headers.ratelimit, /^"day";r=4996;t=\d+$/, 'the fourth, whichever process answered the others');
  const refused = answers.find((answer) => answer?.statusCode === 429);
  t.match(refused?.headers, { 'x-service-limit': 'requests_per_second', 'retry-after': '1' });
  const used = async (): Promise<number> =>
    Number((await pool.query('select sum(used) as sum from key_usage')).rows[0]?.sum ?? 0);
  await until(async () => (await used()) === good, 'counted in the store');
  t.equal(await used(), good);
});

t.test('the account answer contains what the key may do and what it has used today (AC-01)', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const [one, two] = await Promise.all([startNode(t, url), startNode(t, url)]);
  const { key, entry } = await newKey(pool, 'free');
  for (const node of [one, one, two]) t.equal(await node.status(key), 200);
  const snapshots = await two.app.inject({
    method: 'POST',
    url: '/v2/snapshots',
    headers: { authorization: `Bearer ${key}` },
    payload: {},
  });
  t.equal(snapshots.statusCode, 200);
  const counted = async () => (await pool.query('select sum(used)::int as sum from key_usage')).rows[0]?.sum === 4;
  await until(counted, 'both processes have reported');

  const begun = Date.now();
  const answer = await one.get(key, '/v2/account');
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['cache-control'], 'no-store');
  t.match(answer.headers['ratelimit-policy'], '"second";q=2;w=1, "day";q=5000;w=86400');
  t.match(answer.headers.ratelimit, '"day";r=4996;', 'an account call is not a request');
  const body = answer.json<{ evaluated_at: string; today: { day: string } }>();
  const at = Date.parse(body.evaluated_at);
  const { free } = PLANS;
  const created = entry.created_at.toISOString();
  t.same(body, {
    evaluated_at: body.evaluated_at,
    key: { key_id: entry.key_id, name: 'test', created_at: created, expires_at: null, kind: 'account' },
    plan: { code: 'free', name: 'Free', since: created, expires_at: null },
    venues: ['binance', 'okx'],
    instruments: ['BTC-PERP', 'ETH-PERP'],
    layers: free.layers,
    history_from: new Date(at - 7 * 86_400_000).toISOString(),
    limits: free.limits,
    today: {
      day: body.evaluated_at.slice(0, 10),
      resets_at: new Date((Math.floor(at / 86_400_000) + 1) * 86_400_000).toISOString(),
      requests: {
        used: 4,
        limit: 5000,
        remaining: 4996,
        by_class: {
          snapshots: 1,
          history: 0,
          candles: 0,
          screen: 0,
          books: 0,
          liquidations: 0,
          reference: 3,
          agent_state: 0,
          stream: 0,
          archive: 0,
        },
      },
      dql: { used: 0, limit: 500 },
      agent_evaluations: { used: 0, limit: 20 },
      archive_files: { used: 0, limit: 5 },
    },
    now: { streams: 0, requests_in_flight: 0 },
  });
  const again = await two.get(key, '/v2/account');
  if (Date.now() - begun < 1_000) {
    t.equal(again.statusCode, 429, 'one a second, in either process');
    t.match(again.headers, { 'x-service-limit': 'requests_per_second', 'retry-after': '1' });
    t.match(again.headers.ratelimit, '"day";r=4996;');
  }
  t.equal((await one.app.inject('/v2/account')).statusCode, 401);
  t.match((await one.app.inject('/v2/account')).json(), { errors: [{ code: 'AUTH_REQUIRED' }] });
});

t.test('a wide plan narrows nothing, and a bought key ends with its plan', async (t) => {
  const { url, pool } = await freshDatabase(t);
  const node = await startNode(t, url);
  const expiresAt = new Date('2099-01-01T00:00:00Z');
  const { key, entry } = await createKey(
    pool,
    { plan: 'pro_plus', name: 'bought', accountId: 'acc_test', expiresAt },
    'tester',
  );
  await pool.query("update api_keys set kind = 'purchased' where key_id = $1", [entry.key_id]);
  const until2099 = '2099-01-01T00:00:00.000Z';
  t.match((await node.get(key, '/v2/account')).json(), {
    key: { kind: 'purchased', expires_at: until2099 },
    plan: { code: 'pro_plus', expires_at: until2099 },
    venues: ['binance', 'okx'],
    instruments: null,
    history_from: null,
  });
  const bad = await node.get((await newKey(pool, 'mini')).key, '/v2/account?x=1');
  t.equal(bad.statusCode, 400);
});
