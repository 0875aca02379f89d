// kill -9 of the web process while it connects and renews: no partial state is left, and a client that repeats continues. SIGN_IN_KILLS=20 for more.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import { createAccount } from '../../../api/accounts/accounts.ts';
import { beginSession } from '../../../api/accounts/sessions.ts';
import { hashToken } from '../../../api/accounts/token-hash.ts';
import { findProgram } from '../../../infra/dev/build/entries.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { hiddenFields } from '../../support/apps/site-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { waitFor } from '../../support/wait.ts';
import {
  computeChallenge,
  connect,
  FetchBrowser,
  findFaults,
  type Granted,
  MCP_URL,
  newVerifier,
  openPage,
  registered,
  renew,
  type SignInService,
  type Tokens,
} from './sign-in-fixture.ts';

const KILLS = Number(process.env['SIGN_IN_KILLS'] ?? 2);
const SEED = Number(process.env['SIGN_IN_SEED'] ?? Date.now() % 1_000_000);
const WEB = findProgram('api/web.ts');

const startWeb = async (t: Test, url: string, [port, internal]: readonly [number, number]): Promise<ChildProcess> => {
  const env = {
    ...process.env,
    DATABASE_URL: url,
    ACCOUNT_PORT: String(port),
    INTERNAL_PORT: String(internal),
    METRICS_PORT: '0',
    MCP_URL,
  };
  const child = spawn(process.execPath, [WEB], { env, stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await waitFor('the process listens', () =>
    fetch(`http://localhost:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return child;
};

/** The process dies at some moment of what is under way, and what it began is over. */
const killAmid = async (web: ChildProcess, pool: Pool, ms: number): Promise<void> => {
  const killed = once(web, 'close');
  setTimeout(() => web.kill('SIGKILL'), ms);
  await killed;
  await waitFor('the database has noticed', async () => {
    const { rows } = await pool.query(
      "select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
    );
    return rows.length === 0;
  });
};

const isConsumed = async (pool: Pool, token: string): Promise<boolean> => {
  const { rows } = await pool.query('select 1 from oidc_items where id_hash = $1 and consumed_at is not null', [
    hashToken(token),
  ]);
  return rows.length > 0;
};

t.test('a killed process leaves no key without a connection and no connection half renewed', async (t) => {
  t.comment(`SIGN_IN_SEED=${SEED}`);
  const next = createRandom(SEED).next;
  const url = await (await useEngines(t, ['postgres'])).database();
  const pool = openPostgres(url, { max: 2 });
  t.teardown(() => pool.end());
  const ports = [await findFreePort(), await findFreePort()] as const;
  let web = await startWeb(t, url, ports);
  const authUrl = `http://localhost:${ports[0]}`;
  const service = { pool, authUrl, mcpUrl: MCP_URL } as SignInService;
  const accountId = (await createAccount(pool, { email: 'killed@example.org', passwordHash: null })) as string;
  const { token } = await beginSession(pool, { accountId, agent: 'test' });
  const owner = { accountId, browser: new FetchBrowser(authUrl), token };
  owner.browser.set('session', token);
  let held: Granted = await connect(service, owner);

  for (let kill = 0; kill < KILLS; kill++) {
    const client_id = await registered(service);
    const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(newVerifier()) });
    // Some requests under way, and the process dies at some moment of them.
    const allowed = owner.browser.submit(page.html, page.url, { choice: 'allow' }).catch(() => null);
    const renewed = renew(service, held).then(
      (answer) => answer.json() as Promise<Tokens>,
      () => null,
    );
    await killAmid(web, pool, next() * 40);
    const renewal = await renewed.catch(() => null);
    await allowed;
    t.same(await findFaults(pool), [], `kill ${kill}`);
    web = await startWeb(t, url, ports);
    if (renewal !== null) held = { ...held, ...renewal };
    // A client without a response repeats: an unused token is valid; for a used one the response is repeated, for ten seconds.
    const isUsed = await isConsumed(pool, held.refresh_token);
    const answer = await renew(service, held);
    if (!isUsed || answer.status === 200) t.equal(answer.status, 200, `kill ${kill}: the connection continues`);
    else held = await connect(service, owner);
    if (answer.status !== 200) continue;
    held = { ...held, ...((await answer.json()) as Tokens) };
  }
});

const PASSWORD = 'orbit lantern quarry';

/** Invariant of every account: it is whole, or closed with everything, or absent. */
const HALVES = `
  select 'account ' || a.account_id || ' is half made' as fault from accounts a where a.closed_at is null and (
    a.email is null or a.password_hash is null
    or (select count(*) from recovery_codes c where c.account_id = a.account_id and c.kind = 'kept') <> 10
    or (select count(*) from account_events e where e.account_id = a.account_id and e.action = 'signed_up') <> 1
    or not exists (select 1 from account_sessions s where s.account_id = a.account_id and s.ended_at is null))
  union all
  select 'account ' || a.account_id || ' is half closed' from accounts a where a.closed_at is not null and (
    a.email is not null or a.password_hash is not null
    or exists (select 1 from api_keys k where k.account_id = a.account_id and k.revoked_at is null)
    or exists (select 1 from account_sessions s where s.account_id = a.account_id and s.ended_at is null)
    or exists (select 1 from recovery_codes c where c.account_id = a.account_id)
    or exists (select 1 from rules r where r.account_id = a.account_id)
    or (select count(*) from account_events e where e.account_id = a.account_id and e.action = 'closed') <> 1)
  union all
  select 'account ' || a.account_id || ' lost something and is open' from accounts a where a.closed_at is null and exists (
    select 1 from account_events e where e.account_id = a.account_id and e.action = 'closed')
  union all
  select 'key ' || k.key_id || ' without its line in the audit' from api_keys k
    where (select count(*) from key_events e where e.key_id = k.key_id and e.action = 'created') <> 1`;

type Member = { readonly email: string; readonly browser: FetchBrowser };

const signUp = async (authUrl: string, email: string): Promise<Member | null> => {
  const browser = new FetchBrowser(authUrl);
  const page = await (await browser.fetch('/sign-up')).text();
  const answer = await browser.submit(page, '/sign-up', { email, password: PASSWORD });
  return answer.status === 200 && (await answer.text()).includes('recovery codes') ? { email, browser } : null;
};

const readCount = async (pool: Pool, sql: string, value: string): Promise<number> =>
  (await pool.query<{ count: number }>(sql, [value])).rows[0]?.count ?? 0;

t.test('a killed process leaves no account half made or half closed, and no key twice', async (t) => {
  t.comment(`SIGN_IN_SEED=${SEED}`);
  const next = createRandom(SEED + 1).next;
  const url = await (await useEngines(t, ['postgres'])).database();
  const pool = openPostgres(url, { max: 2 });
  t.teardown(() => pool.end());
  const ports = [await findFreePort(), await findFreePort()] as const;
  const authUrl = `http://localhost:${ports[0]}`;
  let web = await startWeb(t, url, ports);
  const member = async (name: string): Promise<Member> => {
    const made = await signUp(authUrl, `${name}@example.org`);
    if (made === null) throw new Error(`${name} could not sign up`);
    return made;
  };
  const keeper = await member('keeper');
  for (let kill = 0; kill < KILLS; kill++) {
    const leaver = await member(`leaver${kill}`);
    const keys = await (await keeper.browser.fetch('/keys')).text();
    const security = await (await leaver.browser.fetch('/security')).text();
    const formId = hiddenFields(keys, '/keys')['form_id'] ?? '';
    const late = `late${kill}@example.org`;
    // One request of each kind is in progress when the process dies.
    const makeKey = () => keeper.browser.submit(keys, '/keys', { name: `key ${kill}`, expires: '' });
    const close = () => leaver.browser.submit(security, '/security/close', { confirm: leaver.email });
    const work = Promise.allSettled([signUp(authUrl, late), makeKey(), close()]);
    await killAmid(web, pool, next() * 60);
    await work;
    t.same((await pool.query(HALVES)).rows, [], `kill ${kill}`);
    web = await startWeb(t, url, ports);
    // A client without a response repeats: completed work is not done again, other work is done now.
    const wasMade = (await readCount(pool, 'select count(*)::int from accounts where email = $1', late)) === 1;
    t.equal((await signUp(authUrl, late)) === null, wasMade, `kill ${kill}: an address has one account`);
    t.ok((await makeKey()).status < 500);
    t.equal(
      await readCount(pool, 'select count(*)::int from api_keys where form_id = $1', formId),
      1,
      `kill ${kill}: one key`,
    );
    const isOpen = (await readCount(pool, 'select count(*)::int from accounts where email = $1', leaver.email)) === 1;
    const again = await close();
    // A browser that received the closing has no session, so its form has none either; one that did not has an ended session.
    const valid = isOpen ? [200] : [303, 403];
    t.ok(valid.includes(again.status), `kill ${kill}: closed once, ${isOpen ? 'now' : 'before'}: ${again.status}`);
    t.same((await pool.query(HALVES)).rows, [], `kill ${kill}, repeated`);
    await pool.query("update api_keys set revoked_at = now() where revoked_at is null and name like 'key %'");
  }
});
