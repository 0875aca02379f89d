// Sign-up, sign-in, recovery and sign-out as a browser without script does them.
import { PassThrough } from 'node:stream';
import t from 'tap';
import { mailCode } from '../../../api/accounts/signing-in.ts';
import {
  ACCOUNT_URL,
  hiddenFields,
  PASSWORD,
  readAccount,
  signUp,
  startSite,
} from '../../support/apps/site-fixture.ts';
import { waitFor } from '../../support/wait.ts';

const { browser, pool } = await startSite(t);
const OPEN = 'select count(*)::int as open from account_sessions where ended_at is null and account_id = $1';
const FAILED = "select 1 from account_events where action = 'sign_in_failed' and account_id = $1";

t.test('an account is made, shows its codes once and is signed in; its address is taken then', async (t) => {
  const one = browser();
  const { answer, codes, email } = await signUp(one, { email: 'Ann@Example.com' });
  t.equal(answer.statusCode, 200);
  t.equal(new Set(codes).size, 10, 'ten codes');
  t.match((await one.get('/security')).body, /ann@example\.com/);
  const { rows } = await pool.query('select password_hash from accounts where email = $1', ['ann@example.com']);
  t.match(rows, [{ password_hash: /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/ }]);
  const again = await signUp(browser(), { email });
  t.match(again.answer, { statusCode: 409, body: /There is an account with this address/ });
  t.notMatch(
    JSON.stringify((await pool.query('select * from account_sessions')).rows),
    one.cookies.get('session') ?? '?',
  );
});

/** Whether one field alone is marked, and described by the message that the page shows. */
const isMarked = (body: string, name: string, words: RegExp): boolean => {
  const marked = [...body.matchAll(/<input[^>]*aria-invalid="true"[^>]*>/g)].map(([input]) => input);
  const [, text = ''] = new RegExp(`<p id="${name}-fault">([^]*?)</p>`).exec(body) ?? [];
  return marked.length === 1 && isDescribedBy(marked[0] ?? '', name) && words.test(text);
};
const isDescribedBy = (input: string, name: string): boolean =>
  input.includes(` name="${name}"`) && new RegExp(` aria-describedby="${name}-fault[ "]`).test(input);

t.test('a refusal marks the field at fault, which its message describes', async (t) => {
  const one = browser();
  t.notMatch((await one.get('/sign-up')).body, /aria-invalid|-fault/);
  const { email } = await signUp(one);
  const refused = async (fields: Record<string, string>) => (await signUp(browser(), fields)).answer.body;
  t.ok(isMarked(await refused({ email: 'ann' }), 'email', /Enter an email address/));
  t.ok(isMarked(await refused({ email }), 'email', /There is an account/));
  t.ok(isMarked(await refused({ password: 'short' }), 'password', /at least 12/));
  const submit = async (page: string, fields: Record<string, string>, to = page) =>
    (await one.submit(page, fields, to)).body;
  t.ok(isMarked(await submit('/recover', { email, code: 'x', password: 'short' }), 'password', /at least 12/));
  const change = (fields: Record<string, string>) => submit('/security', fields, '/security/password');
  t.ok(isMarked(await change({ current: PASSWORD, password: 'short' }), 'password', /at least 12/));
  t.ok(isMarked(await change({ current: 'no', password: 'lantern maker orbit' }), 'current', /is not right/));
  const closing = await submit('/security', { confirm: 'no@example.com' }, '/security/close');
  t.ok(isMarked(closing, 'confirm', /Type the email address/));
  t.match(closing, /<details open/, 'in sight');
  t.ok(isMarked(await submit('/keys', { name: ' ', expires: '' }), 'name', /Give the key a name/));
});

t.test('an address or a password that cannot be one is refused with what to do', async (t) => {
  for (const email of ['', 'ann', 'a@b', 'a b@c.de', `${'x'.repeat(70)}@example.com`, 'a@b@c.de'])
    t.match((await signUp(browser(), { email })).answer, { statusCode: 400, body: /Enter an email address/ }, email);
  for (const [password, words] of [
    ['short', /at least 12 characters/],
    ['password1234', /easily guessed/],
    ['abababababab', /easily guessed/],
    ['Password123456!', /easily guessed/],
    ['x'.repeat(257), /at most 256/],
  ] as const)
    t.match((await signUp(browser(), { password })).answer, { statusCode: 400, body: words }, password);
  const email = 'lantern.maker@quarry-works.example';
  for (const password of [
    ...[email, email.toUpperCase(), `${email}1!`, `my-${email}`, 'lantern.maker2026', 'lantern.maker quarry-works'],
    ...['quarry-works.example', 'Perp Market Data', 'perp-market-data!', 'PerpMarketData1'],
  ])
    t.match(
      (await signUp(browser(), { email, password })).answer,
      { statusCode: 400, body: /is your mail address or the name of this service with little else/ },
      password,
    );
  t.equal((await signUp(browser(), { email, password: 'lantern.maker orbit' })).answer.statusCode < 400, true);
});

t.test(
  'the password signs in and leads to the requested page; a wrong one and an unknown address get the same answer',
  async (t) => {
    const { email } = await signUp(browser());
    const one = browser();
    t.match(await one.submit('/sign-in?next=%2Fplan', { email: email.toUpperCase(), password: PASSWORD }, '/sign-in'), {
      statusCode: 303,
      headers: { location: '/plan' },
    });
    t.equal((await one.get('/plan')).statusCode, 200);
    for (const next of ['//evil.test/', '/\\evil.test', 'https://evil.test']) {
      const two = browser();
      const to = await two.submit('/sign-in', { email, password: PASSWORD, next });
      t.match(to.headers, { location: '/keys' }, next);
    }
    const wrong = await browser().submit('/sign-in', { email, password: `${PASSWORD}!` });
    const unknown = await browser().submit('/sign-in', { email: 'nobody@example.com', password: PASSWORD });
    const blank = (text: string): string => text.replace(/value="[^"]*"/g, '');
    t.equal(wrong.statusCode, 401);
    t.same([unknown.statusCode, blank(unknown.body)], [wrong.statusCode, blank(wrong.body)]);
    await waitFor('the failure is in the audit', async () => {
      const { rows } = await pool.query(FAILED, [await readAccount(pool, email)]);
      return rows.length === 1;
    });
  },
);

t.test('a sign-in begins a session of its own and ends the one before; signing out ends it', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const planted = one.cookies.get('session') ?? '';
  // A person who put their own cookie into this browser must not share its later requests.
  one.cookies.delete('session');
  const form = (await one.get('/sign-in')).body;
  one.cookies.set('session', 'A'.repeat(43));
  t.equal((await one.submitFrom(form, { email, password: PASSWORD }, '/sign-in')).statusCode, 303);
  t.notMatch(one.cookies.get('session'), planted);
  t.not(one.cookies.get('session'), 'A'.repeat(43));
  const token = one.cookies.get('session') ?? '';
  t.equal((await one.submit('/keys', {}, '/sign-out')).statusCode, 303);
  t.not(one.cookies.has('session'), true);
  one.cookies.set('session', token);
  t.match(
    await one.get('/keys'),
    { statusCode: 303, headers: { location: '/sign-in?next=%2Fkeys' } },
    'ended, not forgotten alone',
  );
  const { rows } = await pool.query(OPEN, [await readAccount(pool, email)]);
  t.same(rows, [{ open: 1 }]);
});

t.test('a recovery code sets a new password once, and every session ends', async (t) => {
  const lost = browser();
  const { email, codes } = await signUp(lost);
  const one = browser();
  const [code = ''] = codes;
  t.match(await one.submit('/recover', { email, code: 'ZZZZ-ZZZZ-ZZZZ-ZZZZ', password: 'a new long secret' }), {
    statusCode: 401,
  });
  t.match(await one.submit('/recover', { email: 'nobody@example.com', code, password: 'a new long secret' }), {
    statusCode: 401,
  });
  t.match(
    await one.submit('/recover', {
      email,
      code: code.toLowerCase().replaceAll('-', ' '),
      password: 'a new long secret',
    }),
    {
      statusCode: 303,
      headers: { location: '/keys' },
    },
  );
  t.equal((await one.get('/keys')).statusCode, 200);
  t.equal((await lost.get('/keys')).statusCode, 303, 'the old session has ended');
  t.equal((await browser().submit('/sign-in', { email, password: PASSWORD })).statusCode, 401, 'the old password too');
  t.equal(
    (await browser().submit('/recover', { email, code, password: 'another long secret' })).statusCode,
    401,
    'used up',
  );
});

t.test(
  'a code is requested by mail: a letter waits for the operator, and the answer does not reveal whether there is an account',
  async (t) => {
    const { email } = await signUp(browser());
    const one = browser();
    const answers = [];
    for (const to of ['nobody@example.com', email])
      answers.push((await one.submit('/recover', { 'mail-to': to }, '/recover/mail')).body);
    t.equal(answers[0], answers[1]);
    const letter = await waitFor(
      'the letter',
      async () => (await pool.query('select * from mail_outbox where recipient = $1', [email])).rows[0],
    );
    const code = /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/.exec(letter.body)?.[0] ?? '';
    t.match(letter, { recipient: email, sent_at: null });
    t.equal((await browser().submit('/recover', { email, code, password: 'a new long secret' })).statusCode, 303);
    await pool.query("update recovery_codes set expires_at = now(), used_at = null where kind = 'mailed'");
    t.equal(
      (await browser().submit('/recover', { email, code, password: 'a new long secret' })).statusCode,
      401,
      'half an hour later',
    );
    t.match(
      await pool.query('select confirmed_at from accounts where account_id = $1', [await readAccount(pool, email)]),
      {
        rows: [{ confirmed_at: Date }],
      },
    );
  },
);

/** Asks for a code by mail and sets a password with it. */
const resetByMail = async (email: string, password: string): Promise<number> => {
  await mailCode(pool, { email, site: ACCOUNT_URL });
  const letters = await pool.query('select body from mail_outbox where recipient = $1 order by mail_id desc', [email]);
  const code = /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/.exec(letters.rows[0]?.body)?.[0] ?? '';
  return (await browser().submit('/recover', { email, code, password })).statusCode;
};

t.test(
  'whoever signed up with the address of another has no way in once its owner answers a letter (D-512)',
  async (t) => {
    const { email, codes } = await signUp(browser());
    const accountId = await readAccount(pool, email);
    const addPasskey = (id: string) =>
      pool.query(
        "insert into account_passkeys (credential_id, account_id, public_key, counter, transports, name) values ($1, $2, '', 0, '{}', 'k')",
        [id, accountId],
      );
    const passkeys = 'select credential_id from account_passkeys where account_id = $1';
    await addPasskey(`early ${accountId}`);
    t.equal(await resetByMail(email, 'a new long secret'), 303);
    t.same((await pool.query(passkeys, [accountId])).rows, []);
    const [early = ''] = codes;
    const again = { email, code: early, password: 'another long secret' };
    t.equal((await browser().submit('/recover', again)).statusCode, 401, 'nor with a code of the sign-up');

    await addPasskey(`own ${accountId}`);
    t.equal(await resetByMail(email, 'a third long secret'), 303);
    t.equal((await pool.query(passkeys, [accountId])).rows.length, 1, 'what the owner added since stays');
  },
);

t.test('what is sent under a session that ends before it has come whole is not done', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const accountId = await readAccount(pool, email);
  const { body: page } = await one.get('/security');
  await pool.query("update account_sessions set seen_at = now() - interval '1 hour' where account_id = $1", [
    accountId,
  ]);
  const sent = ['/security/codes', '/security/close'].map((url) => {
    const payload = new PassThrough();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: ACCOUNT_URL };
    const answered = one.send({ method: 'POST', url, headers, payload });
    return {
      answered,
      end: () => payload.end(new URLSearchParams({ ...hiddenFields(page, url), confirm: email }).toString()),
    };
  });
  await waitFor('the session is found', async () => {
    const found = "select 1 from account_sessions where account_id = $1 and seen_at > now() - interval '1 minute'";
    return (await pool.query(found, [accountId])).rowCount === 1;
  });
  t.equal(await resetByMail(email, 'a new long secret'), 303);
  for (const { answered, end } of sent) {
    end();
    t.match(await answered, { statusCode: 303, headers: { location: '/sign-in' } });
  }
  const left = await pool.query("select 1 from recovery_codes where account_id = $1 and kind = 'kept'", [accountId]);
  t.equal(left.rowCount, 0, 'no code is left to whoever signed up');
  t.equal((await browser().submit('/sign-in', { email, password: 'a new long secret' })).statusCode, 303, 'not closed');
});

t.test(
  'a mailbox gets few codes at a time, whoever asks for them, and the code that its owner reads goes on',
  async (t) => {
    const { email } = await signUp(browser());
    const count = 'select count(*)::int as letters from mail_outbox where recipient = $1';
    const site = { site: ACCOUNT_URL };
    for (let i = 0; i < 5; i++) await mailCode(pool, { email, ...site });
    // As after many calls: the wait is longer than the calls of this test take.
    await pool.query(
      "update sign_in_tries set blocked_until = now() + interval '4 minutes' where blocked_until > '-infinity'",
    );
    t.match(await pool.query(count, [email]), { rows: [{ letters: 5 }] });
    const { rows } = await pool.query('select body from mail_outbox where recipient = $1 order by mail_id desc', [
      email,
    ]);
    const code = /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/.exec(rows[0]?.body)?.[0] ?? '';
    for (let i = 0; i < 20; i++) await mailCode(pool, { email, ...site });
    t.match(await pool.query(count, [email]), { rows: [{ letters: 5 }] });
    t.equal((await browser().submit('/recover', { email, code, password: 'a new long secret' })).statusCode, 303);
  },
);

t.test('cookies are of the host alone and secure on https', async (t) => {
  const url = 'https://account.test';
  const { app } = await startSite(t, { urls: { account: url, auth: url, base: url, api: url, mcp: null } });
  const form = await app.inject({ url: '/sign-up' });
  const browser = form.cookies[0];
  t.match(browser, { name: '__Host-browser', secure: true, httpOnly: true, sameSite: 'Lax', path: '/' });
  t.match(form.headers, { 'strict-transport-security': /max-age/ });
  const token = /name="_form" value="([^"]+)"/.exec(form.body)?.[1] ?? '';
  const answer = await app.inject({
    method: 'POST',
    url: '/sign-up',
    headers: { origin: url, 'content-type': 'application/x-www-form-urlencoded' },
    cookies: { [browser?.name ?? '']: browser?.value ?? '' },
    payload: new URLSearchParams({ _form: token, email: 'a@example.com', password: PASSWORD }).toString(),
  });
  t.match(answer.cookies, [{ name: '__Host-session', secure: true, httpOnly: true, sameSite: 'Lax', path: '/' }]);
});

t.test('a sign-up that ends at any of its statements leaves nothing', async (t) => {
  const email = 'half@example.com';
  for (const table of ['recovery_codes', 'account_events', 'account_sessions']) {
    await pool.query(`create function fail_here() returns trigger language plpgsql as $$ begin raise exception 'killed here'; end $$;
      create trigger fail_here before insert on ${table} for each statement execute function fail_here()`);
    t.match(
      (await signUp(browser(), { email })).answer,
      { statusCode: 500, body: /Something failed on our side/ },
      table,
    );
    await pool.query('drop function fail_here cascade');
    t.equal((await pool.query('select 1 from accounts where email = $1', [email])).rowCount, 0, table);
  }
  t.equal((await signUp(browser(), { email })).answer.statusCode, 200);
});

t.test('a browser whose session is used keeps its cookie as long as the session goes on', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const renewed = async () => (await one.get('/keys')).cookies.find(({ name }) => name === 'session');
  t.equal(await renewed(), undefined, 'a cookie of today is not sent again');
  const token = one.cookies.get('session');
  await pool.query(
    `update account_sessions set created_at = now() - interval '29 days'
     where account_id = (select account_id from accounts where email = $1)`,
    [email],
  );
  t.match(await renewed(), { value: token, maxAge: 30 * 86_400, httpOnly: true, sameSite: 'Lax', path: '/' });
  for (const path of ['/api/keys', '/assets/none.js', '/sign-in']) {
    const { cookies } = await one.get(path);
    t.equal(
      cookies.some(({ name }) => name === 'session'),
      path === '/sign-in',
      `${path}: with pages alone`,
    );
  }
  await one.submit('/keys', {}, '/sign-out');
  t.equal(one.cookies.get('session'), undefined, 'whoever signs out has none');
});

t.test('a mailed code lives half an hour, whatever the clock of the process that made it (D-1048)', async (t) => {
  for (const [isGood, hoursOff, minutes] of [
    [true, -1, 29],
    [false, 1, 31],
  ] as const) {
    const site = await startSite(t, { nowMs: () => Date.now() + hoursOff * 3_600_000 });
    const { email } = await signUp(site.browser());
    const guest = site.browser();
    await guest.submit('/recover', { 'mail-to': email }, '/recover/mail');
    const readLetter = async () => (await site.pool.query<{ body: string }>('select body from mail_outbox')).rows[0];
    await waitFor('the letter is written', readLetter);
    const code = /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/.exec((await readLetter())?.body ?? '')?.[0] ?? '';
    await site.pool.query('update recovery_codes set expires_at = expires_at - make_interval(mins => $1)', [minutes]);
    const { statusCode } = await guest.submit('/recover', { email, code, password: 'another long secret' });
    t.equal(statusCode === 303, isGood, `${hoursOff} h off, after ${minutes} minutes: ${statusCode}`);
  }
});
