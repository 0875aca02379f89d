// Changes on the security page, and all consequences of closing an account.
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { hashKey } from '../../../api/access/keys.ts';
import {
  ACCOUNT_URL,
  type Browser,
  connect,
  PASSWORD,
  readAccount,
  signUp,
  startSite,
} from '../../support/apps/site-fixture.ts';

const { browser, pool, site } = await startSite(t);
const signIn = async (email: string, password = PASSWORD): Promise<Browser> => {
  const one = browser();
  await one.submit('/sign-in', { email, password });
  return one;
};

/** What an owner acts with. */
type Held = {
  readonly one: Browser;
  readonly account: string;
  readonly code: string;
  readonly connection: string;
  readonly page: string;
};
const LOCKED = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
const STRANGER = { password: 'three unrelated words', address: '192.0.2.9', agent: 'test' };

t.test('the password is changed by who knows it; the other sessions end, and this one is a new one', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const other = await signIn(email);
  const change = (fields: Record<string, string>) => one.submit('/security', fields, '/security/password');
  t.match(await change({ current: 'not this one!!', password: 'a new long secret' }), {
    statusCode: 401,
    body: /current password is not right/,
  });
  t.match(await change({ current: PASSWORD, password: 'short' }), { statusCode: 400 });
  const before = one.cookies.get('session');
  t.equal((await change({ current: PASSWORD, password: 'a new long secret' })).statusCode, 303);
  t.not(one.cookies.get('session'), before);
  t.equal((await one.get('/security')).statusCode, 200);
  t.equal((await other.get('/security')).statusCode, 303);
  t.equal((await (await signIn(email, 'a new long secret')).get('/keys')).statusCode, 200);
});

t.test('sessions are listed and ended, one or all others', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const [second, third, fourth] = [await signIn(email), await signIn(email), await signIn(email)];
  const page = (await one.get('/security')).body;
  const ends = [...page.matchAll(/action="(\/security\/sessions\/ses_[^"]+)"/g)].map(([, path = '']) => path);
  t.equal(ends.length, 3, 'all but this one have a button');
  await one.submitFrom(page, {}, ends[0] ?? '');
  const alive = await Promise.all([second, third, fourth].map(async (who) => (await who.get('/keys')).statusCode));
  t.same([...alive].sort(), [200, 200, 303]);
  await one.submitFrom(page, {}, '/security/sessions/end-others');
  for (const who of [second, third, fourth]) t.equal((await who.get('/keys')).statusCode, 303);
  t.equal((await one.get('/keys')).statusCode, 200);
});

t.test('new recovery codes end the earlier ones', async (t) => {
  const one = browser();
  const { email, codes } = await signUp(one);
  const shown = await one.submit('/security', {}, '/security/codes');
  const fresh = shown.body.match(/[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/g) ?? [];
  t.equal(new Set([...fresh, ...codes]).size, 20);
  t.equal(
    (await browser().submit('/recover', { email, code: codes[0] ?? '', password: 'a new long secret' })).statusCode,
    401,
  );
  t.equal(
    (await browser().submit('/recover', { email, code: fresh[0] ?? '', password: 'a new long secret' })).statusCode,
    303,
  );
});

t.test('hours after the sign-in, changes require the password again', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  await pool.query("update account_sessions set proven_at = now() - interval '13 hours' where account_id = $1", [
    await readAccount(pool, email),
  ]);
  t.match(await one.get('/security'), { statusCode: 303, headers: { location: '/prove?next=%2Fsecurity' } });
  t.equal((await one.get('/keys')).statusCode, 200, 'keys do not');
  t.equal((await one.submit('/prove', { password: 'not this one!!' })).statusCode, 401);
  t.equal((await one.submit('/prove?next=%2Fsecurity', { password: PASSWORD }, '/prove')).statusCode, 303);
  t.equal((await one.get('/security')).statusCode, 200);
});

t.test(
  'a password is asked for again after twelve hours by the clock of PostgreSQL, whatever the process has',
  async (t) => {
    for (const hours of [-13, 13]) {
      const { browser, pool } = await startSite(t, { nowMs: () => Date.now() + hours * 3_600_000 });
      const one = browser();
      await signUp(one);
      t.equal((await one.get('/security')).statusCode, 200, `just signed in, ${hours} hours off`);
      await pool.query("update account_sessions set proven_at = now() - interval '13 hours'");
      t.match(await one.get('/security'), { statusCode: 303, headers: { location: '/prove?next=%2Fsecurity' } });
      t.equal((await one.submit('/prove?next=%2Fsecurity', { password: PASSWORD }, '/prove')).statusCode, 303);
      t.equal((await one.get('/security')).statusCode, 200);
    }
  },
);

t.test('a connected application is shown, and ended with its key and what it holds', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const id = await connect(pool, await readAccount(pool, email), '<b>Agent</b>');
  await pool.query(
    "insert into oidc_items values ('AccessToken', sha256('a'), '{}', $1, null, now() + interval '1 hour')",
    [id],
  );
  t.match((await one.get('/connections')).body, /&lt;b>Agent&lt;\/b>/);
  t.match((await one.get('/api/connections')).json(), {
    items: [
      {
        connection_id: id,
        client_name: '<b>Agent</b>',
        redirect_uri: 'http://localhost:1234/cb',
        plan: 'free',
        last_used_at: null,
      },
    ],
  });
  t.equal((await one.submit('/connections', {}, `/connections/${id}/end`)).statusCode, 303);
  const { rows } = await pool.query(
    `select end_reason, revoked_at, (select count(*)::int from oidc_items i where i.connection_id = c.connection_id) as items
     from connections c join api_keys using (key_id) where connection_id = $1`,
    [id],
  );
  t.match(rows, [{ end_reason: 'user', revoked_at: Date, items: 0 }]);
  t.notMatch((await one.get('/connections')).body, /Agent&lt;/);
});

t.test('the export has everything that is kept, and no secret', async (t) => {
  const one = browser();
  const { email, codes } = await signUp(one);
  const key =
    /sk_[0-9A-Za-z]{36}/.exec((await one.submit('/keys', { name: 'exported key', expires: '' })).body)?.[0] ?? '';
  await connect(pool, await readAccount(pool, email), 'exported agent');
  const { body, headers } = await one.get('/security/export');
  t.match(headers, { 'content-disposition': /attachment/, 'cache-control': 'no-store' });
  t.match(JSON.parse(body), {
    account: { email, plan: 'free', has_password: true },
    keys: [{ name: 'exported key' }],
    connections: [{ client_name: 'exported agent' }],
    sessions: [{ agent: /.*/ }],
    recovery_codes_left: 10,
  });
  const { rows } = await pool.query('select encode(token_hash, $1) as hash from account_sessions', ['hex']);
  for (const secret of [
    key,
    one.cookies.get('session') ?? '?',
    codes[0] ?? '?',
    'argon2',
    ...rows.map(({ hash }) => hash),
  ])
    t.notMatch(body, secret);
});

t.test(
  'closing an account ends its keys, sessions and connections, forgets who it was, and frees the address',
  async (t) => {
    const one = browser();
    const { email } = await signUp(one);
    const account = await readAccount(pool, email);
    const other = await signIn(email);
    const key = /sk_[0-9A-Za-z]{36}/.exec((await one.submit('/keys', { name: 'closed', expires: '' })).body)?.[0] ?? '';
    await connect(pool, account);
    t.equal((await one.submit('/security', { confirm: 'another@example.com' }, '/security/close')).statusCode, 400);
    t.match(await one.submit('/security', { confirm: email }, '/security/close'), {
      statusCode: 200,
      body: /Your account is closed/,
    });
    t.equal(await openKeyStore(pool).find(key, Date.now()), 'unknown');
    for (const who of [one, other]) t.equal((await who.get('/keys')).statusCode, 303);
    t.match((await pool.query('select * from accounts where account_id = $1', [account])).rows, [
      { email: null, password_hash: null, closed_at: Date },
    ]);
    t.match((await pool.query('select end_reason from connections where account_id = $1', [account])).rows, [
      { end_reason: 'account_closed' },
    ]);
    t.same(
      (await pool.query('select 1 from api_keys where account_id = $1 and revoked_at is null', [account])).rows,
      [],
    );
    t.equal((await (await signIn(email)).get('/keys')).statusCode, 303);
    t.match((await signUp(browser(), { email })).answer, { statusCode: 200 }, 'the address is free');
    t.equal(
      (await pool.query("select 1 from account_events where account_id = $1 and action = 'closed'", [account]))
        .rowCount,
      1,
    );
  },
);

t.test('the audit cannot be changed, and knows what was done', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const account = await readAccount(pool, email);
  await t.rejects(pool.query('update account_events set action = $1', ['x']), /only ever added/);
  await t.rejects(pool.query('delete from account_events'), /only ever added/);
  await one.submit('/keys', { name: 'audited', expires: '' });
  const { body } = await one.get('/security');
  t.match(body, /key created/);
  t.match(body, /signed up/);
  t.equal(
    (await pool.query('select 1 from key_events e join api_keys using (key_id) where account_id = $1', [account]))
      .rowCount,
    1,
  );
});

t.test('what else ends with an account ends in the same transaction, or nothing does', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const { closeAccount } = await import('../../../api/accounts/close-account.ts');
  const account = await readAccount(pool, email);
  const broken = closeAccount(pool, account, [async () => Promise.reject(new Error('killed here'))]);
  await t.rejects(broken, /killed here/);
  t.equal((await one.get('/keys')).statusCode, 200);
  t.ok(site.onClose !== undefined && hashKey('x').length === 32);
});

t.test('whatever else the owner does while the account is closed ends with it, and fails nobody', async (t) => {
  const { closeAccount } = await import('../../../api/accounts/close-account.ts');
  const { endConnection } = await import('../../../api/accounts/connections.ts');
  const { mailCode, resetPassword } = await import('../../../api/accounts/signing-in.ts');
  const place = { site: 'http://site.test' };
  for (const [what, act] of [
    ['a code sets a password', (email: string, { code }: Held) => resetPassword(pool, { ...STRANGER, email, code })],
    ['a code is mailed', (email: string) => mailCode(pool, { ...place, email })],
    ['a connection is ended', (_: string, { account, connection }: Held) => endConnection(pool, account, connection)],
    [
      'other sessions end',
      (_: string, { one, page }: Held) => one.submitFrom(page, {}, '/security/sessions/end-others'),
    ],
  ] as const) {
    const one = browser();
    const { email, codes } = await signUp(one);
    const account = await readAccount(pool, email);
    await signIn(email);
    await mailCode(pool, { ...place, email });
    const held = {
      one,
      account,
      code: codes[0] ?? '',
      connection: await connect(pool, account),
      page: (await one.get('/security')).body,
    };
    const blocker = await pool.connect();
    await blocker.query('begin');
    await blocker.query('select 1 from accounts where account_id = $1 for update', [account]);
    const waiting = async (count: number): Promise<void> => {
      for (;;) {
        const { rows } = await blocker.query(LOCKED);
        if (rows.length >= count) return;
      }
    };
    const closed = closeAccount(pool, account, site.onClose);
    await waiting(1);
    const acted = act(email, held).then((outcome) => (outcome as { statusCode?: number } | undefined)?.statusCode ?? 0);
    await waiting(2);
    await blocker.query('commit');
    blocker.release();
    t.equal(await closed, true, what);
    t.ok((await acted) < 500, what);
  }
});

t.test('a password that is replaced while it is being checked neither signs in nor sets another', async (t) => {
  const { signIn: enter } = await import('../../../api/accounts/signing-in.ts');
  const { hashPassword } = await import('../../../api/accounts/passwords.ts');
  const byOwner = await hashPassword('what the owner has set');
  for (const [what, act] of [
    [
      'sign-in',
      async ({ email }) => (await enter(pool, { ...STRANGER, email, password: PASSWORD }, () => undefined)).is,
    ],
    [
      'change',
      async ({ one, page }) => {
        const fields = { current: PASSWORD, password: 'what a stranger wants' };
        return (await one.submitFrom(page, fields, '/security/password')).statusCode;
      },
    ],
  ] as const satisfies readonly (readonly [
    string,
    (by: { email: string; one: Browser; page: string }) => Promise<unknown>,
  ])[]) {
    const one = browser();
    const { email } = await signUp(one);
    const account = await readAccount(pool, email);
    const page = (await one.get('/security')).body;
    const owner = await pool.connect();
    await owner.query('begin');
    await owner.query('update accounts set password_hash = $2 where account_id = $1', [account, byOwner]);
    await owner.query('update account_sessions set ended_at = now() where account_id = $1', [account]);
    const acted = act({ email, one, page });
    let isOver = false;
    void acted.then(() => {
      isOver = true;
    });
    for (let isWaiting = false; !isWaiting && !isOver; ) {
      const { rows } = await owner.query(LOCKED);
      isWaiting = rows.length > 0;
    }
    await owner.query('commit');
    owner.release();
    t.equal(await acted, what === 'change' ? 303 : 'wrong', what);
    const { rows } = await pool.query(
      'select 1 from account_sessions where account_id = $1 and ended_at is null union all select 1 from accounts where account_id = $1 and password_hash <> $2',
      [account, byOwner],
    );
    t.equal(rows.length, 0, `${what}: no session is left, and the password is the owner's`);
  }
});

t.test('what a session sends while every session is ended gives no way in afterwards (D-512)', async (t) => {
  const json = { 'content-type': 'application/json', origin: ACCOUNT_URL };
  const acts: Readonly<Record<string, (one: Browser, page: string) => ReturnType<Browser['send']>>> = {
    password: (one, page) =>
      one.submitFrom(page, { current: PASSWORD, password: 'what a stranger wants' }, '/security/password'),
    codes: (one, page) => one.submitFrom(page, {}, '/security/codes'),
    key: (one) => one.send({ method: 'POST', url: '/api/keys', headers: json, payload: '{"name":"kept"}' }),
  };
  for (const [what, act] of Object.entries(acts)) {
    const one = browser();
    const { email } = await signUp(one);
    const account = await readAccount(pool, email);
    const { body: page } = await one.get('/security');
    const owner = await pool.connect();
    await owner.query('begin');
    await owner.query('select 1 from accounts where account_id = $1 for update', [account]);
    await owner.query('update account_sessions set ended_at = now() where account_id = $1', [account]);
    const acted = act(one, page);
    while ((await pool.query(LOCKED)).rows.length === 0);
    await owner.query('commit');
    owner.release();
    t.match(await acted, what === 'key' ? { statusCode: 401 } : { statusCode: 303, headers: { location: '/sign-in' } });
    const { rows } = await pool.query(
      `select action from account_events where account_id = $1 and action in ('password_changed', 'codes_made')
       union all select 'session' from account_sessions where account_id = $1 and ended_at is null
       union all select 'key' from api_keys where account_id = $1`,
      [account],
    );
    t.same(rows, [], `${what}: neither a session nor a key is left, and nothing else to sign in with`);
  }
});
