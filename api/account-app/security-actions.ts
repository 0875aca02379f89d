// The changes of the security page: password, passkeys, codes, sessions; export and end of the account. Each is one transaction.
import type { FastifyInstance } from 'fastify';
import { html } from 'htm/preact';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { lockAccount, readAccount, setPassword } from '../accounts/accounts.ts';
import { closeAccount } from '../accounts/close-account.ts';
import { recordEvent } from '../accounts/events.ts';
import { exportAccount } from '../accounts/export-account.ts';
import { addPasskey, removePasskey, removePassword, requestNewPasskey } from '../accounts/passkeys.ts';
import { findPasswordFault, hashPassword, isPasswordOf, runAttempt } from '../accounts/passwords.ts';
import { renewCodes } from '../accounts/recovery-codes.ts';
import { beginSession, endOtherSessions, endSession, lockSession } from '../accounts/sessions.ts';
import { forgiveTries, listHeld, takeTry } from '../accounts/tries.ts';
import { renderCopyable, renderFault, renderMessage } from './components.ts';
import { cleanId, readAgent, readField } from './fields.ts';
import { clearSessionCookie, readSession, refuseEnded, setSessionCookie } from './guards.ts';
import { makeRelyingParty } from './relying-party.ts';
import { type Content, type Exchange, sendPage, sendProblem } from './shell.ts';
import { formatWait, SECRET_CHECKS } from './sign-in-page.ts';
import type { Site } from './site.ts';

const PATH = '/security';
const LONGEST_NAME = 60;

export type Shown = {
  readonly problem?: Content;
  /** Name of the field that the problem is about. */
  readonly atFault?: 'current' | 'password' | 'confirm';
  readonly status?: number;
};
type Show = (exchange: Exchange, shown: Shown) => Promise<unknown>;

const NOT_RIGHT: Shown = {
  problem: renderFault('The current password is not right.', 'current'),
  atFault: 'current',
  status: 401,
};

/** The new password, and a new session in the place of all. */
const changePassword = async (site: Site, exchange: Exchange, show: Show) => {
  const { body, headers } = exchange.request;
  const session = readSession(exchange.request);
  const { accountId, email } = session;
  const password = readField(body, 'password');
  const weak = findPasswordFault(password, email);
  if (weak !== null)
    return show(exchange, { problem: renderFault(weak, 'password'), atFault: 'password', status: 400 });
  const subjects = listHeld(accountId);
  const seconds = await takeTry(site.pool, subjects);
  if (seconds > 0) return show(exchange, { problem: renderFault(formatWait(seconds)), status: 429 });
  const held = (await readAccount(site.pool, accountId))?.passwordHash ?? null;
  if (held !== null && !(await isPasswordOf(held, readField(body, 'current')))) return show(exchange, NOT_RIGHT);
  const passwordHash = await hashPassword(password);
  const token = await runInTransaction(site.pool, async (client) => {
    // While the current one was checked it may have been replaced, which ended this session, or removed.
    if (!(await lockSession(client, session))) return 'ended';
    if ((await readAccount(client, accountId))?.passwordHash !== held) return null;
    await setPassword(client, accountId, passwordHash);
    await endOtherSessions(client, accountId, null);
    await recordEvent(client, { accountId, action: 'password_changed' });
    await forgiveTries(client, subjects);
    return (await beginSession(client, { accountId, agent: readAgent(headers) })).token;
  });
  if (token === 'ended') return refuseEnded(exchange.request, exchange.reply);
  if (token === null) return show(exchange, NOT_RIGHT);
  setSessionCookie(site, exchange.reply, token);
  return exchange.reply.redirect(PATH, 303);
};

const NEEDS = `update accounts set needs_passkey = not needs_passkey where account_id = $1 and password_hash is not null
  and exists (select 1 from account_passkeys where account_id = $1) returning needs_passkey`;

const addPasswordRoutes = (app: FastifyInstance, site: Site, show: Show): void => {
  app.post(`${PATH}/password`, { config: { rateLimit: SECRET_CHECKS } }, (request, reply) =>
    runAttempt(() => changePassword(site, { request, reply }, show)),
  );
  app.post(`${PATH}/password/remove`, async (request, reply) => {
    await removePassword(site.pool, readSession(request).accountId);
    return reply.redirect(PATH, 303);
  });
  app.post(`${PATH}/passkey-needed`, async (request, reply) => {
    const { accountId } = readSession(request);
    await runInTransaction(site.pool, async (client) => {
      const { rows } = await client.query<{ needs_passkey: boolean }>(NEEDS, [accountId]);
      const needed = rows[0]?.needs_passkey;
      if (needed !== undefined)
        await recordEvent(client, { accountId, action: 'password_changed', details: { passkey_needed: needed } });
    });
    return reply.redirect(PATH, 303);
  });
};

const addPasskeyRoutes = (app: FastifyInstance, site: Site, show: Show): void => {
  const rp = makeRelyingParty(site);
  app.post('/api/passkeys/options', async (request, reply) => {
    return reply.header('cache-control', 'no-store').send(await requestNewPasskey(site.pool, readSession(request), rp));
  });
  app.post('/api/passkeys', async (request, reply) => {
    const { sessionId, accountId, email } = readSession(request);
    const { response } = (request.body ?? {}) as { readonly response?: unknown };
    const name = readField(request.body, 'name', LONGEST_NAME).trim() || 'passkey';
    if (await addPasskey(site.pool, { accountId, email, sessionId, response, name, rp }))
      return reply.code(201).header('cache-control', 'no-store').send({ next: PATH });
    return sendProblem(
      site,
      { request, reply },
      { status: 400, text: 'This passkey was not accepted. Load the page again and repeat.' },
    );
  });
  app.post<{ Params: { id: string } }>(`${PATH}/passkeys/:id/remove`, async (request, reply) => {
    const removed = await removePasskey(site.pool, readSession(request).accountId, cleanId(request.params.id));
    if (removed === 'removed') return reply.redirect(PATH, 303);
    if (removed === 'last')
      return show(
        { request, reply },
        {
          problem: renderFault('This is your only way to sign in. Set a password or add another passkey first.'),
          status: 409,
        },
      );
    return sendProblem(site, { request, reply }, { status: 404, text: 'You have no such passkey.' });
  });
};

const showCodes = async (site: Site, exchange: Exchange) => {
  const session = readSession(exchange.request);
  const { accountId } = session;
  const codes = await runInTransaction(site.pool, async (client) => {
    if (!(await lockSession(client, session))) return null;
    await recordEvent(client, { accountId, action: 'codes_made' });
    return renewCodes(client, accountId);
  });
  if (codes === null) return refuseEnded(exchange.request, exchange.reply);
  return sendPage(site, exchange, {
    title: 'Recovery codes',
    body: html`<h1>Your new recovery codes</h1>
      ${renderMessage('warn', html`<p><strong>Keep them now.</strong> They are shown only here, and all earlier codes have ended.</p>`)}
      ${renderCopyable('codes-text', codes.join('\n'))}
      <p><a class="button" href=${PATH}>I have kept them</a></p>`,
  });
};

const addSessionRoutes = (app: FastifyInstance, site: Site): void => {
  app.post(`${PATH}/sessions/end-others`, async (request, reply) => {
    const { accountId, sessionId } = readSession(request);
    await runInTransaction(site.pool, async (client) => {
      if (!(await lockAccount(client, accountId))) return;
      const ended = await endOtherSessions(client, accountId, sessionId);
      await recordEvent(client, { accountId, action: 'sessions_ended', details: { ended } });
    });
    return reply.redirect(PATH, 303);
  });
  app.post<{ Params: { id: string } }>(`${PATH}/sessions/:id/end`, async (request, reply) => {
    const { accountId } = readSession(request);
    const isEnded = await runInTransaction(site.pool, async (client) => {
      if (!(await lockAccount(client, accountId))) return false;
      const done = await endSession(client, cleanId(request.params.id), accountId);
      if (done) await recordEvent(client, { accountId, action: 'session_ended' });
      return done;
    });
    if (isEnded) return reply.redirect(PATH, 303);
    return sendProblem(site, { request, reply }, { status: 404, text: 'You have no such session.' });
  });
};

const addLeaving = (app: FastifyInstance, site: Site, show: Show): void => {
  app.get(`${PATH}/export`, { config: { rateLimit: { max: 10, timeWindow: '1 minute' } } }, async (request, reply) => {
    const exported = await exportAccount(site.pool, readSession(request).accountId, site.exportParts);
    return reply
      .header('cache-control', 'no-store')
      .header('content-disposition', 'attachment; filename="account.json"')
      .type('application/json')
      .send(JSON.stringify(exported, null, 2));
  });
  app.post(`${PATH}/close`, async (request, reply) => {
    const { accountId, email } = readSession(request);
    if (readField(request.body, 'confirm').trim().toLowerCase() !== email)
      return show(
        { request, reply },
        {
          problem: renderFault('Type the email address of this account to close it.', 'confirm'),
          atFault: 'confirm',
          status: 400,
        },
      );
    await closeAccount(site.pool, accountId, site.onClose);
    clearSessionCookie(site, reply);
    request.session = null;
    return sendPage(
      site,
      { request, reply },
      {
        title: 'Account closed',
        width: 'narrow',
        body: html`<h1>Your account is closed</h1>
        <p>Its keys are revoked, and every session and connection has ended.</p>
        <p><a href="/">Back to the start</a></p>`,
      },
    );
  });
};

export const addSecurityActions = (app: FastifyInstance, site: Site, show: Show): void => {
  addPasswordRoutes(app, site, show);
  addPasskeyRoutes(app, site, show);
  app.post(`${PATH}/codes`, (request, reply) => showCodes(site, { request, reply }));
  addSessionRoutes(app, site);
  addLeaving(app, site, show);
};
