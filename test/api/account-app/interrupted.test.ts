// The database fails between two steps of a form: either all of it is done and shown, or nothing is and the form can be sent again (D-191).
import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import { PASSWORD, readAccount, signUp, startSite } from '../../support/apps/site-fixture.ts';

/** Rows of the table that satisfy the condition are refused, as by a disk that is full; the function ends that. */
const refuseRows = async (
  t: Test,
  pool: Pool,
  { when, event, table }: { readonly when: string; readonly event: string; readonly table: string },
) => {
  await pool.query(`create or replace function refuse_row() returns trigger language plpgsql as
    $$ begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$`);
  await pool.query(
    `create trigger refused before ${event} on ${table} for each row when (${when}) execute function refuse_row()`,
  );
  t.teardown(() => pool.query(`drop trigger if exists refused on ${table}`));
  return () => pool.query(`drop trigger refused on ${table}`);
};

t.test('the codes of a new account are shown although the letter to its owner cannot be written', async (t) => {
  const { browser, pool } = await startSite(t, { sendsMail: true });
  await refuseRows(t, pool, { when: 'true', event: 'insert', table: 'mail_outbox' });
  const one = browser();
  const { answer, codes } = await signUp(one);
  t.equal(answer.statusCode, 200);
  t.equal(codes.length, 10, 'they are never shown again');
  t.equal((await one.get('/keys')).statusCode, 200, 'signed in');
});

t.test('a sign-in or a new password that fails at its end leaves nothing, and can be sent again', async (t) => {
  const { browser, pool } = await startSite(t);
  const { email, codes } = await signUp(browser());
  const [code = ''] = codes;
  const one = browser();
  const letPass = await refuseRows(t, pool, {
    ...{ when: 'new.tries < old.tries', event: 'update', table: 'sign_in_tries' },
  });
  const away = { statusCode: 503, headers: { 'retry-after': '5' } };
  t.match(await one.submit('/sign-in', { email, password: PASSWORD }), away);
  const password = 'another quiet orbit';
  t.match(await one.submit('/recover', { email, code, password }), away);
  const { rows } = await pool.query('select count(*)::int as open from account_sessions where ended_at is null');
  t.same(rows, [{ open: 1 }], 'the session of the sign-up is open, and no other has begun');
  await letPass();
  t.equal((await one.submit('/recover', { email, code, password })).statusCode, 303, 'the code is as good as before');
  t.equal((await browser().submit('/sign-in', { email, password })).statusCode, 303);
});

t.test('a password is changed and the session after it begun, or neither', async (t) => {
  const { browser, pool } = await startSite(t);
  const one = browser();
  await signUp(one);
  const letPass = await refuseRows(t, pool, {
    ...{ when: 'new.tries < old.tries', event: 'update', table: 'sign_in_tries' },
  });
  const fields = { current: PASSWORD, password: 'another quiet orbit' };
  const change = () => one.submit('/security', fields, '/security/password');
  t.match(await change(), { statusCode: 503, headers: { 'retry-after': '5' } });
  t.equal((await one.get('/keys')).statusCode, 200, 'still signed in');
  await letPass();
  t.equal((await change()).statusCode, 303, 'the form can be sent again');
});

t.test('whoever has used a code is signed in although the session before cannot be ended', async (t) => {
  const { browser, pool } = await startSite(t);
  const { email, codes } = await signUp(browser());
  const one = browser();
  const other = await signUp(one);
  const before = await readAccount(pool, other.email);
  await refuseRows(t, pool, {
    ...{ when: `new.account_id = '${before}'`, event: 'update', table: 'account_sessions' },
  });
  const entered = await one.submit('/recover', { email, code: codes[0] ?? '', password: 'another quiet orbit' });
  t.equal(entered.statusCode, 303, 'the code is used up');
  t.match((await one.get('/security')).body, email);
});

t.test('the secret of a new webhook is shown although the page of rules cannot be read', async (t) => {
  const { browser, pool } = await startSite(t);
  const one = browser();
  await signUp(one);
  const { body: form } = await one.get('/rules');
  await pool.query('alter table rule_states rename to rule_states_away');
  const made = await one.submitFrom(form, { url: 'https://hooks.test/x' }, '/rules/webhooks');
  t.match(made, { statusCode: 200, body: /whsec_/ }, 'it is never shown again');
});
