// Every page and every write of the site, requested by nobody, another account, an ended and an expired session: none gets at foreign data.
import t from 'tap';
import { WEB_MODULES } from '../../../api/web-modules.ts';
import { ACCOUNT_URL, type Browser, connect, readAccount, signUp, startSite } from '../../support/apps/site-fixture.ts';

/** Addresses that anyone may load. */
const OPEN = ['/', '/sign-up', '/sign-in', '/recover', '/healthz'];
/** Pages and JSON of members; `:…` is replaced by an id of the owner. */
const MEMBER = [
  '/keys',
  '/plan',
  '/plan/link',
  '/connections',
  '/security',
  '/security/export',
  '/prove',
  '/api/keys',
  '/api/connections',
];
const FORMS = [
  ...[
    '/keys',
    '/keys/run',
    '/keys/:key/revoke',
    '/plan/link',
    '/plan/link/sign',
    '/connections/:connection/end',
    '/prove',
  ],
  ...[
    '/security/password',
    '/security/password/remove',
    '/security/passkey-needed',
    '/security/passkeys/:passkey/remove',
  ],
  ...['/security/codes', '/security/sessions/end-others', '/security/sessions/:session/end', '/security/close'],
];
const WRITES = [
  ['POST', '/api/keys'],
  ['DELETE', '/api/keys/:key'],
  ['DELETE', '/api/connections/:connection'],
  ['POST', '/api/passkeys'],
  ['POST', '/api/passkeys/options'],
  ['POST', '/api/passkeys/prove'],
  ['POST', '/api/passkeys/prove/options'],
] as const;
/** Pages of the site before sign-in, with their own tests. */
const BEFORE = [
  '/sign-up',
  '/sign-in',
  '/sign-out',
  '/recover',
  '/recover/mail',
  '/api/passkeys/sign-in',
  '/api/passkeys/sign-in/options',
];

const world = await startSite(t);
const { browser, pool, app } = world;
const owner = browser();
const { email } = await signUp(owner, { email: 'owner@example.com' });
const account = await readAccount(pool, email);
await owner.submit('/keys', { name: 'owned', expires: '' });
await pool.query("insert into account_passkeys values ('cred', $1, 'x', 0, '{}', 'owned passkey')", [account]);
const { rows: held } = await pool.query(
  'select key_id, session_id from api_keys join account_sessions using (account_id) where account_id = $1',
  [account],
);
const ids: Record<string, string> = {
  key: held[0].key_id,
  session: held[0].session_id,
  passkey: 'cred',
  connection: await connect(pool, account, 'owned agent'),
};
const filled = (path: string): string => path.replace(/:(\w+)/g, (_all, name: string) => ids[name] ?? '');

/** All that belongs to the owner, as text: unchanged, nothing of it was touched. */
const ownersState = async (): Promise<string> => {
  const tables = ['accounts', 'api_keys', 'account_passkeys', 'connections', 'recovery_codes', 'account_events'];
  const parts = tables.map((name) =>
    pool.query(`select * from ${name} where account_id = $1 order by 1, 2`, [account]),
  );
  const open = pool.query(
    'select session_id from account_sessions where account_id = $1 and ended_at is null order by 1',
    [account],
  );
  return JSON.stringify((await Promise.all([...parts, open])).map(({ rows }) => rows));
};

const withToken = (token: string): Browser => {
  const one = browser();
  one.cookies.set('session', token);
  return one;
};
const signedIn = async (): Promise<Browser> => {
  const one = browser();
  await signUp(one);
  return one;
};
const ended = await signedIn();
await pool.query(
  'update account_sessions set ended_at = now() where session_id = (select session_id from account_sessions order by created_at desc limit 1)',
);
const expired = await signedIn();
await pool.query(
  'update account_sessions set expires_at = now() where session_id = (select session_id from account_sessions order by created_at desc limit 1)',
);
const stranger = await signedIn();
const NOBODIES = {
  'no session': browser(),
  'a made-up session': withToken('A'.repeat(43)),
  'an ended session': ended,
  'an expired session': expired,
};

/** The parameter as its route calls it. */
const NAMES: Readonly<Record<string, string>> = { '/keys/:/revoke': ':keyId', '/api/keys/:': ':keyId' };
const toRoute = (path: string): string => path.replace(':', NAMES[path] ?? ':id');

t.test('every address of these tables is one of the site', (t) => {
  const listed = new Set(
    [...OPEN, ...MEMBER, ...FORMS, ...WRITES.map(([, path]) => path), ...BEFORE].map((path) =>
      path.replace(/:\w+/g, ':'),
    ),
  );
  const routes = app.printRoutes({ commonPrefix: false, includeHooks: false }).split('\n');
  t.ok(routes.length > 10 && WEB_MODULES.length > 5);
  for (const path of listed) {
    const known = ['GET', 'POST', 'DELETE'].some(
      (method) => app.findRoute({ url: path.includes(':') ? toRoute(path) : path, method: method as 'GET' }) !== null,
    );
    t.ok(known, path);
  }
  t.end();
});
t.test('pages of members redirect visitors to the sign-in, and JSON is 401', async (t) => {
  for (const [who, one] of Object.entries(NOBODIES)) {
    for (const path of MEMBER) {
      const { statusCode, headers, body } = await one.get(path);
      if (path.startsWith('/api/')) t.equal(statusCode, 401, `${who} ${path}`);
      else
        t.match(
          { statusCode, headers },
          { statusCode: 303, headers: { location: `/sign-in?next=${encodeURIComponent(path)}` } },
          `${who} ${path}`,
        );
      t.notMatch(body, /owned|owner@/, path);
    }
    for (const path of OPEN) t.equal((await one.get(path)).statusCode, 200, `${who} ${path}`);
  }
});

t.test('nothing changes without a session, or with that of another account', async (t) => {
  const before = await ownersState();
  for (const [who, one] of Object.entries({ ...NOBODIES, 'another owner': stranger })) {
    // A token that is good for the form, so that the session alone decides.
    const page = await one.get('/recover');
    for (const form of FORMS) {
      const request = { cookies: Object.fromEntries(one.cookies), session: null, headers: {} } as never;
      const reply = { setCookie: () => undefined } as never;
      const url = filled(form);
      const _form = who === 'another owner' ? await strangersToken(url) : world.site.forms.make(request, reply, url);
      const { statusCode } = await one.send({
        method: 'POST',
        url,
        headers: { origin: ACCOUNT_URL, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ _form, confirm: email, name: 'x', form_id: 'y' }).toString(),
      });
      const isTheirs = who === 'another owner' && !form.includes(':');
      if (!isTheirs) t.ok([303, 403, 404].includes(statusCode), `${who} ${form} ${statusCode}`);
      if (who === 'another owner' && form.includes(':')) t.equal(statusCode, 404, `${who} ${form}`);
    }
    t.ok(page.statusCode === 200 || page.statusCode === 303);
    for (const [method, path] of WRITES) {
      const payload = { name: 'x' };
      const { statusCode } = await one.send({
        method,
        url: filled(path),
        headers: { origin: ACCOUNT_URL, 'content-type': 'application/json' },
        payload,
      });
      if (who !== 'another owner') t.equal(statusCode, 401, `${who} ${method} ${path}`);
      else if (path.includes(':')) t.equal(statusCode, 404, `${who} ${method} ${path}`);
    }
  }
  t.equal(await ownersState(), before, 'nothing of the owner has changed');
});

t.test('another spelling of an address below /api/ is answered as the address itself', async (t) => {
  const before = await ownersState();
  const ask = (one: Browser, method: 'GET' | 'POST' | 'DELETE', url: string, headers: Record<string, string>) =>
    one.send({ method, url, headers, ...(method === 'POST' ? { payload: 'name=x' } : {}) });
  const json = { 'content-type': 'application/json' };
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: ACCOUNT_URL };
  const reads = MEMBER.filter((path) => path.startsWith('/api/'));
  const calls: (readonly [Browser, 'GET' | 'POST' | 'DELETE', string, Record<string, string>])[] = [
    ...reads.map((path) => [browser(), 'GET', path, {}] as const),
    ...WRITES.map(([method, path]) => [browser(), method, filled(path), { ...json, origin: ACCOUNT_URL }] as const),
    ...WRITES.map(([method, path]) => [owner, method, filled(path), { ...json, origin: 'http://evil.test' }] as const),
    ...WRITES.filter(([method]) => method === 'POST').map(
      ([method, path]) => [owner, method, filled(path), form] as const,
    ),
  ];
  for (const [one, method, path, headers] of calls) {
    const itself = await ask(one, method, path, headers);
    t.ok([400, 401, 403, 415].includes(itself.statusCode), `${method} ${path} ${itself.statusCode}`);
    for (const spelt of [path.replace('/api/', '/%61pi/'), path.replace('/api/', '/a%70%69/')]) {
      const { statusCode, body, headers: given } = await ask(one, method, spelt, headers);
      t.same(
        [statusCode, given['content-type'], body],
        [itself.statusCode, itself.headers['content-type'], itself.body],
        spelt,
      );
    }
  }
  t.equal(await ownersState(), before, 'nothing of the owner has changed');
});

const strangersToken = async (url: string): Promise<string> => {
  const session = await world.site.sessions.find(stranger.cookies.get('session') ?? '');
  return world.site.forms.make({ cookies: {}, session, headers: {} } as never, {} as never, url);
};

t.test(
  'a form without its token, with that of another form, of another browser or from another site is refused',
  async (t) => {
    const page = (await owner.get('/keys')).body;
    const before = await ownersState();
    const send = (fields: Record<string, string>, headers: Record<string, string> = {}, one = owner) =>
      one.send({
        method: 'POST',
        url: '/security/codes',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ACCOUNT_URL, ...headers },
        payload: new URLSearchParams(fields).toString(),
      });
    const good =
      /action="\/security\/codes"[^>]*>\s*<input[^>]*value="([^"]+)"/.exec((await owner.get('/security')).body)?.[1] ??
      '';
    const other = /name="_form" value="([^"]+)"/.exec(page)?.[1] ?? '';
    t.not(good, '');
    for (const [what, request] of [
      ['none', send({})],
      ['of another form', send({ _form: other })],
      ['of the stranger', send({ _form: await strangersToken('/security/codes') })],
      ['another site', send({ _form: good }, { origin: 'http://evil.test' })],
      ['no origin at all but the fetch of another site', send({ _form: good }, { 'sec-fetch-site': 'cross-site' })],
      [
        'another port of the machine',
        send({ _form: good }, { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-site' }),
      ],
      ['an opaque origin', send({ _form: good }, { origin: 'null' })],
    ] as const)
      t.equal((await request).statusCode, 403, what);
    t.equal(await ownersState(), before);
    t.equal((await send({ _form: good })).statusCode, 200, 'the form itself is taken');
  },
);
