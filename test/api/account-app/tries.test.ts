// Tries to sign in by a password: how many are made at once, and who waits (AC-04, D-558).
import t from 'tap';
import { ACCOUNT_URL, hiddenFields, PASSWORD, signUp, startSite } from '../../support/apps/site-fixture.ts';

const { browser, pool } = await startSite(t);

const FORM_HEADERS = {
  'content-type': 'application/x-www-form-urlencoded',
  origin: ACCOUNT_URL,
  'sec-fetch-site': 'same-origin',
};

/** Sends the form of a page of sign-in from an address of the network. */
const sendFrom = (
  one: ReturnType<typeof browser>,
  page: string,
  { remoteAddress, ...fields }: { readonly remoteAddress: string; readonly email: string; readonly password: string },
) => {
  const payload = new URLSearchParams({ ...hiddenFields(page, '/sign-in'), ...fields }).toString();
  return one.send({ method: 'POST', url: '/sign-in', remoteAddress, headers: FORM_HEADERS, payload });
};

t.test(
  'too many tries of a mailbox wait, known or not, and the wait grows; the owner is let in after it',
  async (t) => {
    const { email } = await signUp(browser());
    for (const who of [email, 'unknown@example.com']) {
      const one = browser();
      const form = (await one.get('/sign-in')).body;
      const tries = await Promise.all(
        Array.from({ length: 12 }, () =>
          one.submitFrom(form, { email: who, password: 'wrong wrong wrong' }, '/sign-in'),
        ),
      );
      t.equal(
        tries.filter(({ statusCode }) => statusCode === 401).length,
        5,
        `${who}: at once they are as many as one by one`,
      );
      t.equal(tries.filter(({ statusCode }) => statusCode === 429).length, 7);
      t.match(
        tries.find(({ statusCode }) => statusCode === 429),
        { headers: { 'retry-after': /^\d+$/ }, body: /Too many attempts/ },
      );
    }
    await pool.query('update sign_in_tries set blocked_until = now()');
    t.equal((await browser().submit('/sign-in', { email, password: 'wrong wrong wrong' })).statusCode, 401);
    const { rows } = await pool.query<{ s: number }>(
      `select max(extract(epoch from blocked_until - last_at))::int as s from sign_in_tries
       where tries = 6 and blocked_until > '-infinity'`,
    );
    t.equal(rows[0]?.s, 2, 'the sixth doubles the wait');
    await pool.query('update sign_in_tries set blocked_until = now()');
    t.equal((await browser().submit('/sign-in', { email, password: PASSWORD })).statusCode, 303);
  },
);

t.test('a stranger who tries the password of a mailbox keeps its owner from nothing', async (t) => {
  const owner = browser();
  const { email } = await signUp(owner);
  const tryFrom = async (remoteAddress: string, password: string) => {
    const one = browser();
    return sendFrom(one, (await one.get('/sign-in', { remoteAddress })).body, { remoteAddress, email, password });
  };
  for (let i = 0; i < 5; i++) await tryFrom('192.0.2.9', 'wrong wrong wrong');
  t.equal((await tryFrom('192.0.2.9', PASSWORD)).statusCode, 429, 'the stranger waits, whatever the password');
  t.equal((await tryFrom('198.51.100.7', PASSWORD)).statusCode, 303, 'who is elsewhere does not');
  for (let i = 0; i < 5; i++) await tryFrom('192.0.2.10', 'wrong wrong wrong');
  const change = { current: PASSWORD, password: 'lantern maker orbit' };
  t.equal((await owner.submit('/security', change, '/security/password')).statusCode, 303, 'nor who is signed in');
  const many = "update sign_in_tries set tries = 500 where subject = sha256(convert_to(E'mailbox\\n' || $1, 'UTF8'))";
  await tryFrom('203.0.113.1', 'wrong wrong wrong');
  t.equal((await pool.query(many, [email])).rowCount, 1);
  await tryFrom('203.0.113.2', 'wrong wrong wrong');
  const waits = await tryFrom('203.0.113.3', 'wrong wrong wrong');
  t.equal(waits.statusCode, 429, 'many networks together wait');
  t.ok(Number(waits.headers['retry-after']) <= 60, 'a minute at most');
  for (let i = 0; i < 8; i++) t.equal((await tryFrom('198.51.100.7', PASSWORD)).statusCode, 429);
  await pool.query(many.replace('tries = 500', 'blocked_until = now()'), [email]);
  const isOwner = await tryFrom('198.51.100.7', change.password);
  t.equal(isOwner.statusCode, 303, 'whom others keep waiting has made no try');
});

t.test('a visitor who comes when too many sign in is asked to retry later, and no try is counted', async (t) => {
  const tries = async (): Promise<number> =>
    (await pool.query<{ n: number }>('select count(*)::int as n from sign_in_tries')).rows[0]?.n ?? 0;
  const before = await tries();
  const crowd = Array.from({ length: 80 }, (_, n) => ({ one: browser(), remoteAddress: `10.1.${n}.1`, n }));
  const pages = await Promise.all(crowd.map(({ one, remoteAddress }) => one.get('/sign-in', { remoteAddress })));
  const answers = await Promise.all(
    crowd.map(({ one, remoteAddress, n }) =>
      sendFrom(one, pages[n]?.body ?? '', { remoteAddress, email: `crowd${n}@example.com`, password: PASSWORD }),
    ),
  );
  const checked = answers.filter(({ statusCode }) => statusCode === 401).length;
  const refused = answers.filter(({ statusCode }) => statusCode === 503);
  t.ok(refused.length > 0 && checked > 0, `${checked} checked, ${refused.length} refused`);
  t.equal(checked + refused.length, answers.length);
  for (const { headers, body } of refused) {
    t.equal(headers['retry-after'], '1');
    t.match(body, /Too many users are signing in/);
  }
  t.equal(
    (await tries()) - before,
    3 * checked,
    'a mailbox, a network and both together each that was checked, none that was refused',
  );
  t.equal((await browser().get('/sign-in')).statusCode, 200);
});

t.test('a clock that is set back locks nobody out for as long as the step was', async (t) => {
  const one = browser();
  const { email } = await signUp(one);
  const tries = async (password: string) => (await browser().submit('/sign-in', { email, password })).statusCode;
  await tries('not this one!!');
  const subject = "sha256(convert_to(E'mail\\n' || $1 || ' from 127.0.0.1', 'UTF8'))";
  const block = `update sign_in_tries set tries = 9, blocked_until = now() + $2::interval where subject = ${subject}`;
  t.equal((await pool.query(block, [email, '1 hour'])).rowCount, 1);
  t.equal(await tries(PASSWORD), 303, 'no wait is an hour');
  t.equal((await pool.query(block, [email, '4 minutes'])).rowCount, 1);
  t.equal(await tries(PASSWORD), 429);
});

t.test('who sends too many requests is told the wait that Retry-After names, however long the limit is', async (t) => {
  const send = (url: string, remoteAddress: string) =>
    browser().send({ method: 'POST', url, remoteAddress, headers: FORM_HEADERS, payload: '' });
  for (const [url, most, longest] of [
    ['/sign-up', 60, 3_600],
    ['/recover/mail', 5, 60],
  ] as const) {
    for (let i = 0; i < most; i++) t.not((await send(url, '192.0.2.77')).statusCode, 429);
    const { statusCode, headers, body } = await send(url, '192.0.2.77');
    t.equal(statusCode, 429, `${url}: number ${most + 1}`);
    const wait = Number(headers['retry-after']);
    t.ok(wait > longest - 60 && wait <= longest, `${url}: ${wait} s`);
    t.match(body, `Wait ${wait} second`, `${url}: the text says so too`);
  }
});
