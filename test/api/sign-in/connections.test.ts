// Connections of an account: five at most, ended by whom and when, and the state left by a process that dies at any line (T-10).
import type { PoolClient } from 'pg';
import t, { type Test } from 'tap';
import { endAllConnections, endConnection, listConnections } from '../../../api/accounts/connections.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import { signIn } from '../../../processors/nightly/steps/sign-in.ts';
import { waitFor } from '../../support/wait.ts';
import {
  checkToken,
  computeChallenge,
  connect,
  exchangeCode,
  findFaults,
  isActive,
  newVerifier,
  openPage,
  press,
  readLocation,
  registered,
  renew,
  type SignInService,
  signUp,
  startSignIn,
  type Tokens,
} from './sign-in-fixture.ts';

const count = async ({ pool }: SignInService, what: string): Promise<number> =>
  Number((await pool.query(`select count(*) from ${what}`)).rows[0].count);

t.test('Deny creates nothing, and the client gets an error', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const client_id = await registered(service);
  const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
  const taken = await press(owner, page, { choice: 'deny' });
  t.match(Object.fromEntries(taken), { error: 'access_denied', iss: service.authUrl, state: 'st-1' });
  for (const what of ['connections', "api_keys where kind = 'connection'", 'oidc_items'])
    t.equal(await count(service, what), 0, what);
});

t.test('the sixth connection ends another one, or is not made', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const five = [];
  for (let i = 0; i < 5; i++) five.push(await connect(service, owner));
  const listed = await listConnections(service.pool, owner.accountId);
  t.equal(listed.length, 5);
  const client_id = await registered(service, { client_name: 'The sixth' });
  const code_verifier = newVerifier();
  const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(code_verifier) });
  t.match(page.html, /at most 5 connections/);
  const refused = await owner.browser.submit(page.html, page.url, { choice: 'allow' });
  t.equal(refused.status, 409);
  const again = await refused.text();
  t.match(again, /Choose which connection ends/);
  const stranger = await signUp(service, 'stranger');
  await connect(service, stranger);
  const [theirs] = await listConnections(service.pool, stranger.accountId);
  const foreign = await owner.browser.submit(again, page.url, {
    choice: 'allow',
    instead: theirs?.connection_id ?? '',
  });
  t.equal(foreign.status, 409, 'a connection of another account makes no room');
  const oldest = listed.at(-1)?.connection_id ?? '';
  const taken = await press(owner, { url: page.url, html: again }, { choice: 'allow', instead: oldest });
  const answer = await exchangeCode(service, { client_id, code: taken.get('code') ?? '', code_verifier });
  t.equal(answer.status, 200);
  t.notOk(await isActive(service, five[0]?.access_token ?? ''), 'the chosen one has ended');
  for (const { access_token } of five.slice(1)) t.ok(await isActive(service, access_token));
  t.equal((await listConnections(service.pool, owner.accountId)).length, 5);
  t.same(await findFaults(service.pool), []);
});

t.test('two pages of one account never pass the count together', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  for (let i = 0; i < 4; i++) await connect(service, owner);
  const pages = [];
  for (let i = 0; i < 3; i++) {
    const client_id = await registered(service);
    pages.push(await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) }));
  }
  const answers = await Promise.all(pages.map(({ html, url }) => owner.browser.submit(html, url, { choice: 'allow' })));
  t.same(answers.map(({ status }) => status).sort(), [303, 409, 409]);
});

t.test('a second press of Allow goes where the first one went', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const client_id = await registered(service);
  const { html, url } = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
  const presses = await Promise.all([1, 2].map(() => owner.browser.submit(html, url, { choice: 'allow' })));
  t.same(new Set(presses.map(readLocation)).size, 1);
  t.equal(await count(service, 'connections'), 1);
});

t.test('a press of Allow whose session ends before it is done makes no connection (D-512)', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const client_id = await registered(service);
  const { html, url } = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
  const ending = await service.pool.connect();
  await ending.query('begin');
  await ending.query('select 1 from accounts where account_id = $1 for update', [owner.accountId]);
  await ending.query('update account_sessions set ended_at = now() where account_id = $1', [owner.accountId]);
  const pressed = owner.browser.submit(html, url, { choice: 'allow' });
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  while ((await service.pool.query(waiting)).rows.length === 0);
  await ending.query('commit');
  ending.release();
  t.equal(readLocation(await pressed), '/sign-in');
  t.equal(await count(service, 'connections'), 0);
});

t.test('the page is for the browser that was sent to it', async (t) => {
  const service = await startSignIn(t);
  const [owner, other] = [await signUp(service), await signUp(service, 'other')];
  const client_id = await registered(service);
  const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
  t.equal((await other.browser.fetch(page.url)).status, 404);
  const own = await openPage(service, other, { client_id, code_challenge: computeChallenge(newVerifier()) });
  t.equal(
    (await other.browser.submit(own.html.replaceAll(own.url, page.url), page.url, { choice: 'allow' })).status,
    403,
  );
  t.equal((await owner.browser.submit(page.html, page.url, { choice: 'perhaps' })).status, 400);
  t.equal(await count(service, 'connections'), 0);
});

t.test('the same client again takes the place of its connection', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const first = await connect(service, owner);
  const second = await connect(service, owner, { clientId: first.clientId });
  t.notOk(await isActive(service, first.access_token));
  t.ok(await isActive(service, second.access_token));
  t.match((await service.pool.query('select end_reason from connections order by created_at')).rows, [
    { end_reason: 'replaced' },
    { end_reason: null },
  ]);
});

t.test('End and a closed account end tokens and keys, of their own account only', async (t) => {
  const service = await startSignIn(t);
  const [owner, other] = [await signUp(service), await signUp(service, 'other')];
  const [first, second, theirs] = [
    await connect(service, owner),
    await connect(service, owner),
    await connect(service, other),
  ];
  const [newest] = await listConnections(service.pool, owner.accountId);
  t.match(newest, { client_name: 'Desk agent', redirect_uri: 'http://127.0.0.1:33418/callback', plan: 'free' });
  const id = newest?.connection_id ?? '';
  t.equal(await endConnection(service.pool, other.accountId, id), false);
  t.ok(await isActive(service, second.access_token));
  t.equal(await endConnection(service.pool, owner.accountId, id), true);
  t.equal(await endConnection(service.pool, owner.accountId, id), false);
  t.notOk(await isActive(service, second.access_token));
  t.equal((await renew(service, second)).status, 400);
  await endAllConnections(service.pool, owner.accountId);
  t.notOk(await isActive(service, first.access_token));
  t.ok(await isActive(service, theirs.access_token));
  t.same(await findFaults(service.pool), []);
  await service.pool.query('update accounts set closed_at = now() where account_id = $1', [other.accountId]);
  t.notOk(await isActive(service, theirs.access_token), 'a closed account is enough');
  t.equal((await renew(service, theirs)).status, 400);
});

t.test('the plan is the best of the account and its live keys, read at each renewal', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const granted = await connect(service, owner);
  const bought = { plan: 'standard', name: 'bought', accountId: owner.accountId, expiresAt: null } as const;
  const { entry } = await createKey(service.pool, bought, 'test');
  t.match(await checkToken(service, granted.access_token), { plan: 'free' });
  const second = (await (await renew(service, granted)).json()) as Tokens;
  t.match(await checkToken(service, second.access_token), { plan: 'standard' });
  await service.pool.query('update api_keys set revoked_at = now() where key_id = $1', [entry.key_id]);
  const third = (await (await renew(service, { ...granted, ...second })).json()) as Tokens;
  t.match(await checkToken(service, third.access_token), { plan: 'free' });
  t.match((await service.pool.query("select details from key_events where action = 'plan_changed'")).rows, [
    { details: { from: 'free', to: 'standard' } },
    { details: { from: 'standard', to: 'free' } },
  ]);
});

t.test('when a connection was last used is noted', async (t) => {
  const service = await startSignIn(t);
  const { access_token } = await connect(service, await signUp(service));
  await isActive(service, access_token);
  const at = await waitFor('the use is noted', async () => {
    const { rows } = await service.pool.query<{ last_used_at: Date | null }>('select last_used_at from connections');
    return rows[0]?.last_used_at;
  });
  t.ok(Math.abs(at.getTime() - service.clock.nowMs()) < 60_000);
});

t.test('the nightly step ends what has expired and forgets it', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const client_id = await registered(service);
  const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
  await press(owner, page, { choice: 'allow' });
  const kept = await connect(service, owner);
  const context = { database: service.pool, nowMs: service.clock.nowMs } as Parameters<typeof signIn.run>[1];
  service.clock.pass(61_000);
  t.match(await signIn.run('2026-11-23', context), /^1 connections ended/);
  t.match((await service.pool.query('select end_reason from connections order by created_at')).rows, [
    { end_reason: 'expired' },
    { end_reason: null },
  ]);
  t.ok(await isActive(service, kept.access_token));
  t.same(await findFaults(service.pool), []);
  service.clock.pass(179 * 86_400_000);
  await signIn.run('2027-05-20', context);
  t.same([await count(service, 'oidc_items'), await count(service, 'oidc_clients')], [0, 2]);
  service.clock.pass(2 * 86_400_000);
  await signIn.run('2027-05-22', context);
  t.equal(await count(service, 'oidc_clients'), 0, 'a client unused for 180 days');
});

/** Ends every connection of the pool to the database when the n-th statement is sent, like a killed process; then allows new ones. */
const cutAt = (t: Test, { pool }: SignInService, statement: number): { readonly isCut: () => boolean } => {
  let [sent, cut] = [0, false];
  const connectOnce = pool.connect;
  type Connect = (callback?: unknown) => Promise<PoolClient>;
  const connect: Connect = connectOnce.bind(pool) as Connect;
  const patched: Connect = async (callback) => {
    // A single statement is applied whole or not at all.
    if (callback !== undefined) return connect(callback);
    const client = await connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.query = (async (...args: unknown[]) => {
      sent += 1;
      if (sent === statement) cut = true;
      // Nothing of a dead process reaches the database any more.
      if (cut && sent >= statement) {
        if (args[0] !== 'rollback') await query('rollback');
        throw new Error('the process has died');
      }
      return query(...args);
    }) as typeof client.query;
    const release = client.release.bind(client);
    client.release = (error) => {
      client.query = query as typeof client.query;
      release(error);
    };
    return client;
  };
  pool.connect = patched as typeof pool.connect;
  t.teardown(() => {
    pool.connect = connectOnce;
  });
  return { isCut: () => cut };
};

t.test('a death at any statement of consent or renewal leaves nothing half', async (t) => {
  const service = await startSignIn(t);
  const { pool } = service;
  const owner = await signUp(service);
  const client_id = await registered(service);
  const restore = pool.connect;
  for (let statement = 1; ; statement++) {
    const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
    const before = await count(service, 'connections where ended_at is null');
    const { isCut } = cutAt(t, service, statement);
    const answer = await owner.browser.submit(page.html, page.url, { choice: 'allow' });
    pool.connect = restore;
    t.same(await findFaults(pool), [], `Allow, statement ${statement}`);
    if (!isCut()) {
      t.ok(statement > 5, `${statement - 1} statements`);
      t.equal(answer.status, 303);
      break;
    }
    t.equal(answer.status, 500);
    t.equal(await count(service, 'connections where ended_at is null'), before);
  }
  let held = await connect(service, owner);
  for (let statement = 1; ; statement++) {
    const { isCut } = cutAt(t, service, statement);
    const answer = await renew(service, held);
    pool.connect = restore;
    t.same(await findFaults(pool), [], `renewal, statement ${statement}`);
    if (!isCut()) {
      t.ok(statement > 5, `${statement - 1} statements`);
      t.equal(answer.status, 200);
      break;
    }
    t.ok(answer.status >= 500, `statement ${statement}: ${answer.status}`);
    const again = await renew(service, held);
    t.equal(again.status, 200, `the token is good after a death at statement ${statement}`);
    held = { ...held, ...((await again.json()) as Tokens) };
    t.ok(await isActive(service, held.access_token));
  }
});
