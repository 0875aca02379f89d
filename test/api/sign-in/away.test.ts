// The database goes between two steps of a sign-in: every address answers 503 and nothing of the request is used up (D-191, D-520).
import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import {
  authorizeUrl,
  computeChallenge,
  exchangeCode,
  newVerifier,
  openPage,
  postToken,
  press,
  readLocation,
  register,
  registered,
  signUp,
  startSignIn,
} from './sign-in-fixture.ts';

/** From now on sessions are found, and whatever concerns the provider waits for a lock until the server ends it. */
const holdProvider = async (t: Test, pool: Pool): Promise<() => Promise<void>> => {
  const holder = await pool.connect();
  t.teardown(() => holder.release(true));
  const { rows } = await holder.query<{ name: string }>('select current_database() as name');
  await holder.query(`alter database "${rows[0]?.name}" set lock_timeout = '100ms'`);
  await holder.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  await holder.query('begin; lock table oidc_items, oidc_clients in access exclusive mode');
  return async () => void (await holder.query('commit'));
};

t.test('while what the provider keeps cannot be read every address is 503, and goes on afterwards', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const [clientId, verifier] = [await registered(service), newVerifier()];
  const asked = { client_id: clientId, code_challenge: computeChallenge(verifier) };
  const code = (await press(owner, await openPage(service, owner, asked), { choice: 'allow' })).get('code') ?? '';
  const open = await openPage(service, owner, asked);
  const letGo = await holdProvider(t, service.pool);

  const form = { client_id: clientId, code, code_verifier: verifier };
  const pages = {
    'the way to the page': await owner.browser.fetch(authorizeUrl(service, asked)),
    'the page': await owner.browser.fetch(open.url),
    allow: await owner.browser.submit(open.html, open.url, { choice: 'allow' }),
    deny: await owner.browser.submit(open.html, open.url, { choice: 'deny' }),
  };
  for (const [what, answer] of Object.entries(pages)) {
    t.match([answer.status, answer.headers.get('retry-after')], [503, '5'], what);
    t.match(await answer.text(), /does not respond/, what);
  }
  const programs = {
    code: await exchangeCode(service, form),
    renewal: await postToken(service, { grant_type: 'refresh_token', refresh_token: 'r', client_id: clientId }),
    registration: await register(service),
  };
  for (const [what, answer] of Object.entries(programs)) {
    t.match([answer.status, answer.headers.get('retry-after')], [503, '5'], what);
    t.match(await answer.json(), { error: 'temporarily_unavailable' }, what);
  }

  await letGo();
  t.equal((await exchangeCode(service, form)).status, 200, 'the code is as good as before');
  const to = await owner.browser.fetch(
    readLocation(await owner.browser.submit(open.html, open.url, { choice: 'deny' })),
  );
  t.match(readLocation(to), /error=access_denied/, 'and so is the page');
});
