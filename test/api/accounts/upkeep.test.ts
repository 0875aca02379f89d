// Background work of the web process: deletes expired rows, reports figures, delivers or queues mail (real PostgreSQL, real SMTP).
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Pool } from 'pg';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import t from 'tap';
import { createWebMetrics } from '../../../api/account-app/web-metrics.ts';
import { createAccount } from '../../../api/accounts/accounts.ts';
import { readLetterBacklog, sendLetters, writeLetter } from '../../../api/accounts/mail.ts';
import { mailCode } from '../../../api/accounts/signing-in.ts';
import { keepTidy, tidyOnce } from '../../../api/accounts/tidy.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { createMetrics, serveMetrics } from '../../../infra/runtime/process/metrics.ts';
import { PASSWORD, signUp, startSite } from '../../support/apps/site-fixture.ts';
import type { Teardown } from '../../support/engines/engines.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(0);

const countRows = async (pool: Pool, table: string): Promise<number> =>
  (await pool.query<{ count: number }>(`select count(*)::int as count from ${table}`)).rows[0]?.count ?? 0;

const FLOOD = 2_500;
/** Rows that are over and one of each table that is not: `over` is how long ago it ended. */
const fill = async (pool: Pool, accountId: string): Promise<void> => {
  const many = `generate_series(1, ${FLOOD})`;
  await pool.query(`
    insert into sign_in_tries select sha256(i::text::bytea), 1, now() - interval '25 hours', '-infinity' from ${many} i;
    insert into sign_in_tries values (sha256('now'), 1, now(), '-infinity');
    insert into passkey_challenges select 'c' || i, 'b', null, now() - interval '1 second' from ${many} i;
    insert into passkey_challenges values ('live', 'b', null, now() + interval '1 minute');
    insert into oidc_items select 'Interaction', sha256(i::text::bytea), '{}', null, null, now() - interval '1 second' from ${many} i;
    insert into oidc_items values ('Interaction', sha256('now'), '{}', null, null, now() + interval '1 minute')`);
  const ended = `insert into account_sessions (session_id, account_id, token_hash, agent, expires_at)
    select 's' || i, $1, sha256(i::text::bytea), 'a', now() - interval '25 hours' from ${many} i`;
  await pool.query(ended, [accountId]);
  const letters = `insert into mail_outbox (account_id, recipient, subject, body, made_at, sent_at) values
    ($1, 'a@b.test', 'old', 'code', now() - interval '3 days', null), ($1, 'a@b.test', 'sent', '', now() - interval '3 days', now()),
    ($1, 'a@b.test', 'new', 'code', now(), null)`;
  await pool.query(letters, [accountId]);
  const codes = `insert into recovery_codes (account_id, code_hash, kind, expires_at) values
    ($1, sha256('a'), 'mailed', now() - interval '25 hours'), ($1, sha256('b'), 'mailed', now() + interval '1 minute')`;
  await pool.query(codes, [accountId]);
};

t.test('rows past their time go, by several processes at once, and what holds stays', async (t) => {
  const { pool, browser } = await startSite(t);
  await signUp(browser(), { email: 'tidy@example.com' });
  const { rows } = await pool.query<{ account_id: string }>('select account_id from accounts');
  await fill(pool, rows[0]?.account_id ?? '');
  const gone = new Map<string, number>();
  const count = (table: string, deleted: number): void => void gone.set(table, (gone.get(table) ?? 0) + deleted);
  await Promise.all([tidyOnce(pool, count), tidyOnce(pool, count), tidyOnce(pool, count)]);
  for (const table of ['sign_in_tries', 'passkey_challenges', 'oidc_items', 'account_sessions']) {
    t.equal(gone.get(table), FLOOD, `${table}: each row once`);
    t.equal(await countRows(pool, table), 1, `${table}: what holds stays`);
  }
  t.same((await pool.query('select subject from mail_outbox order by 1')).rows, [
    { subject: 'new' },
    { subject: 'sent' },
  ]);
  t.equal(await countRows(pool, 'recovery_codes'), 11, 'ten that are kept, and one that still holds');
  await pool.query("update passkey_challenges set expires_at = now() - interval '1 second'");
  const tidying = keepTidy(pool, { count, log: createLog('test', 'silent'), everyMs: 20 });
  await waitFor('the loop has come round', async () => (await countRows(pool, 'passkey_challenges')) === 0);
  await tidying.stop();
});

t.test('figures of the web process on a listener of their own', async (t) => {
  const registry = createMetrics();
  const { pool } = await startSite(t);
  const count = createWebMetrics(registry, pool);
  const { browser: counted } = await startSite(t, { pool, watch: count.watch });
  const member = counted();
  await signUp(member, { email: 'figures@example.com' });
  await member.get('/no-such-page');
  const { rows } = await pool.query<{ account_id: string }>('select account_id from accounts');
  const letter = { accountId: rows[0]?.account_id ?? '', recipient: 'a@b.test', subject: 's', body: 'b' };
  await writeLetter(pool, letter);
  count.tidied('sign_in_tries', 3);
  const server = await serveMetrics(registry, 0);
  t.teardown(() => server.close());
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
  for (const line of [
    'perp_web_requests_total{route="/sign-up",status="200"} 2',
    'perp_web_requests_total{route="none",status="404"} 1',
    'perp_web_request_seconds_count{route="/sign-up"} 2',
    'perp_web_letters_waiting 1',
    'perp_web_letters_total{outcome="sent"} 0',
    'perp_web_tidied_rows_total{table="sign_in_tries"} 3',
    'perp_web_passwords_waiting 0',
  ])
    t.match(text, line, line);
  t.match(text, /process_cpu_seconds_total/);
  t.notMatch(text, /figures@example|no-such-page/, 'nobody is named, and no address that was made up');
});

type Mailed = { readonly to: string; readonly text: string };

const startSmtp = async (t: Teardown, options: SMTPServerOptions = {}) => {
  const mailed: Mailed[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString().replaceAll('=\r\n', '');
        mailed.push({ to: session.envelope.rcptTo.map(({ address }) => address).join(), text });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1') as unknown as Server;
  await once(listening, 'listening');
  t.teardown(() => new Promise<void>((done) => server.close(done)));
  return { mailed, url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}` };
};

/** From its line: the id of a message may have the form of a code. */
const readCode = (letter: Mailed | undefined): string =>
  /^ +([0-9A-Z]{4}(?:-[0-9A-Z]{4}){3})\r?$/m.exec(letter?.text ?? '')?.[1] ?? '';

/** Accepts connections and sends nothing; a letter under way ends with the test, not with its deadline. */
const startMute = async (t: Teardown): Promise<string> => {
  const open = new Set<Socket>();
  const server = createServer((socket) => void open.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** For servers that answer, on a slow machine too. */
const PATIENT = {
  everyMs: 20,
  timeouts: { connectionTimeout: 120_000, greetingTimeout: 120_000, socketTimeout: 120_000 },
};
const FAST = { everyMs: 20, timeouts: { connectionTimeout: 300, greetingTimeout: 300, socketTimeout: 300 } };
const dueNow = (pool: Pool) => pool.query('update mail_outbox set due_at = now() where sent_at is null');

t.test('a letter with a code reaches its owner, who sets a new password; without its text it is kept', async (t) => {
  const { pool, browser } = await startSite(t, { sendsMail: true });
  const { mailed, url } = await startSmtp(t);
  const outcomes: string[] = [];
  const log = createLog('test', 'silent');
  const mail = sendLetters({ url, from: 'desk@perp.test' }, { pool, log, count: (one) => outcomes.push(one) }, PATIENT);
  t.teardown(() => mail.stop());
  const { email } = await signUp(browser(), { email: 'mailed@example.com' });
  await waitFor('the letter of the sign-up', () => outcomes.length >= 1);
  t.match(mailed[0], { to: email, text: /confirm your address/ });
  const guest = browser();
  const asked = await guest.submit('/recover', { 'mail-to': email }, '/recover/mail');
  const nobody = await browser().submit('/recover', { 'mail-to': 'nobody@example.com' }, '/recover/mail');
  t.equal(asked.statusCode, nobody.statusCode, 'every visitor gets the same answer');
  await waitFor('the letter is there', () => outcomes.length >= 2);
  t.match(mailed[1], { to: email, text: /set a new password/ });
  const code = readCode(mailed[1]);
  await waitFor(
    'it is noted',
    async () => (await pool.query("select 1 from mail_outbox where sent_at is not null and body = ''")).rows[0],
  );
  const fields = { email, code, password: 'another long secret' };
  t.match(await guest.submit('/recover', fields), { statusCode: 303 }, 'the code of the letter signs in');
  t.match((await pool.query('select confirmed_at from accounts')).rows, [{ confirmed_at: Date }]);
  t.not((await browser().submit('/recover', { ...fields, password: PASSWORD })).statusCode, 303, 'it is good once');
  t.same(outcomes, ['sent', 'sent']);
  t.equal(mailed.length, 2, 'an address without an account is sent nothing');

  const owner = browser();
  const { codes } = await signUp(owner, { email: 'confirms@example.com' });
  await waitFor('the letter of that sign-up', () => outcomes.length >= 3);
  t.match((await owner.get('/security')).body, /not confirmed yet/);
  const page = await owner.submit('/security', {}, '/security/mail');
  await waitFor('a letter to confirm with', () => outcomes.length >= 4);
  const sent = readCode(mailed[3]);
  const answer = (given: string) => owner.submitFrom(page.body, { code: given }, '/security/mail/code');
  t.equal((await answer(codes[0] ?? '')).statusCode, 400, 'a code that the owner keeps proves nothing of a mailbox');
  t.match(await answer(sent), { statusCode: 200, body: /Address confirmed/ });
  t.equal((await answer(sent)).statusCode, 400, 'once');
  t.match((await owner.get('/security')).body, /Confirmed/);
  const { rows } = await pool.query(
    "select count(*)::int as used from recovery_codes where kind = 'kept' and used_at is not null",
  );
  t.equal(rows[0]?.used, 0, 'no kept code was used up');
});

t.test('a mail server that refuses, hangs or is away loses nothing, and the log names no address', async (t) => {
  const { pool } = await startSite(t);
  const accountId = (await createAccount(pool, { email: 'waits@example.com', passwordHash: null })) as string;
  const letter = { accountId, recipient: 'waits@example.com', subject: 's', body: 'the code' };
  await writeLetter(pool, letter);
  const logged: unknown[] = [];
  const outcomes: string[] = [];
  const deps = {
    pool,
    log: { warn: (...words: unknown[]) => void logged.push(words) } as never,
    count: (one: string) => void outcomes.push(one),
  };
  const refusing = await startSmtp(t, {
    onRcptTo: ({ address }, _session, done) => done(new Error(`450 ${address} is busy`)),
  });
  const away = await startSmtp(t);
  const closed = `smtp://127.0.0.1:1`;
  for (const url of [refusing.url, await startMute(t), closed]) {
    const before = outcomes.length;
    await dueNow(pool);
    const mail = sendLetters({ url, from: 'desk@perp.test' }, deps, FAST);
    await waitFor('an attempt has failed', () => outcomes.length > before);
    await waitFor(
      'it is due later',
      async () => (await pool.query('select 1 from mail_outbox where due_at > now()')).rows[0],
    );
    await mail.stop();
    const { rows } = await pool.query('select sent_at, body, due_at > now() as later from mail_outbox');
    t.same(rows, [{ sent_at: null, body: 'the code', later: true }], 'it waits, whole');
  }
  t.notMatch(JSON.stringify(logged), /waits@|the code/, 'no address, no text');
  t.notOk(outcomes.includes('sent'));

  // One that hangs is not waited for when the process stops.
  const patient = {
    everyMs: 20,
    timeouts: { connectionTimeout: 60_000, greetingTimeout: 2_000, socketTimeout: 60_000 },
  };
  await dueNow(pool);
  const hanging = sendLetters({ url: await startMute(t), from: 'desk@perp.test' }, deps, patient);
  await waitFor(
    'it is taken',
    async () => (await pool.query('select 1 from mail_outbox where due_at > now()')).rows[0],
  );
  await hanging.stop();
  await dueNow(pool);
  const mail = sendLetters({ url: away.url, from: 'desk@perp.test' }, deps, PATIENT);
  await waitFor('it is sent at last', () => outcomes.includes('sent'));
  await mail.stop();
  t.match(away.mailed, [{ to: 'waits@example.com', text: /the code/ }], 'once');
});

t.test('a clock of the database that is set back puts off no letter for longer than a wait (D-1046)', async (t) => {
  const { pool } = await startSite(t);
  const accountId = (await createAccount(pool, { email: 'waits@example.com', passwordHash: null })) as string;
  await writeLetter(pool, { accountId, recipient: 'waits@example.com', subject: 's', body: 'waits' });
  await pool.query("update mail_outbox set due_at = now() + interval '9 minutes'");
  await writeLetter(pool, { accountId, recipient: 'early@example.com', subject: 's', body: 'the code' });
  await pool.query("update mail_outbox set due_at = now() + interval '1 hour' where body = 'the code'");
  const { mailed, url } = await startSmtp(t);
  const outcomes: string[] = [];
  const log = createLog('test', 'silent');
  const mail = sendLetters({ url, from: 'desk@perp.test' }, { pool, log, count: (one) => outcomes.push(one) }, PATIENT);
  t.teardown(() => mail.stop());
  await waitFor('it is sent', () => outcomes.length > 0);
  t.match(mailed, [{ to: 'early@example.com', text: /the code/ }]);
  t.match((await pool.query('select body from mail_outbox where sent_at is null')).rows, [{ body: 'waits' }]);
});

t.test('a letter is not sent once its code has expired or another one has taken its place (D-1095)', async (t) => {
  const { pool } = await startSite(t);
  const email = 'codes@example.com';
  const accountId = (await createAccount(pool, { email, passwordHash: null })) as string;
  for (let letters = 0; letters < 2; letters += 1) await mailCode(pool, { email, site: 'https://account.test' });
  await writeLetter(pool, { accountId, recipient: email, subject: 'Late', body: 'late', lastsFor: '0 seconds' });
  t.match(await readLetterBacklog(pool), { waiting: 1 });
  const { mailed, url } = await startSmtp(t);
  const outcomes: string[] = [];
  const log = createLog('test', 'silent');
  const mail = sendLetters({ url, from: 'desk@perp.test' }, { pool, log, count: (one) => outcomes.push(one) }, PATIENT);
  t.teardown(() => mail.stop());
  await waitFor('one is sent', () => outcomes.length > 0);
  const { rows } = await pool.query<{ tried: boolean }>(
    'select failures > 0 as tried from mail_outbox order by mail_id',
  );
  t.same(
    rows.map(({ tried }) => tried),
    [false, true, false],
    'the newest code',
  );
  t.equal(mailed.length, 1);
});

t.test('a letter that one process has taken is not taken by another one that began to look before', async (t) => {
  const { pool } = await startSite(t);
  const accountId = (await createAccount(pool, { email: 'waits@example.com', passwordHash: null })) as string;
  await writeLetter(pool, { accountId, recipient: 'waits@example.com', subject: 's', body: 'the code' });
  const early = await pool.connect();
  t.teardown(() => early.release());
  // Its instant is from here on that of its transaction.
  await early.query('begin');
  const log = createLog('test', 'silent');
  const from = 'desk@perp.test';
  const hanging = sendLetters({ url: await startMute(t), from }, { pool, log, count: () => undefined }, PATIENT);
  t.teardown(() => hanging.stop());
  await waitFor('it is taken', async () => (await pool.query('select 1 from mail_outbox where failures = 1')).rows[0]);
  const taken: (number | null)[] = [];
  const query = async (text: string, values: unknown[]) => {
    const answer = await early.query(text, values);
    taken.push(answer.rowCount);
    return answer;
  };
  const { url } = await startSmtp(t);
  const late = sendLetters({ url, from }, { pool: { query } as never, log, count: () => undefined }, PATIENT);
  await waitFor('it has looked', () => taken.length > 0);
  late.stop();
  t.equal(taken[0], 0);
});
