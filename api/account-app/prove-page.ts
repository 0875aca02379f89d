// /prove: a user who changes sign-in methods hours after signing in must present the password or a passkey again.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import { findAccount } from '../accounts/accounts.ts';
import { checkPasskey, requestPasskey } from '../accounts/passkeys.ts';
import { isPasswordOf, runAttempt } from '../accounts/passwords.ts';
import { proveSession } from '../accounts/sessions.ts';
import { forgiveTries, listHeld, takeTry } from '../accounts/tries.ts';
import { renderFault, renderField } from './components.ts';
import { readField } from './fields.ts';
import { readSession, requireSession, toSafeNext } from './guards.ts';
import { makeRelyingParty } from './relying-party.ts';
import { type Content, type Exchange, renderFormField, sendPage, sendProblem } from './shell.ts';
import { formatWait, renderPasskeyButton, SECRET_CHECKS } from './sign-in-page.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/prove';

/** A hook for changes that grant access: the session is new, or has just been proven. */
export const requireProof = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
  const { session } = request;
  if (session === null || session.isProven) return undefined;
  const isForm = request.method !== 'GET';
  return reply.redirect(`${PATH}?next=${encodeURIComponent(isForm ? '/security' : request.url)}`, 303);
};

const show = (
  site: Site,
  exchange: Exchange,
  { next, problem, atFault, status = 200 }: { next: string; problem?: Content; atFault?: 'password'; status?: number },
) =>
  sendPage(site, exchange, {
    title: 'Confirm that it is you',
    status,
    width: 'narrow',
    islands: ['passkeys'],
    body: html`<h1>Confirm that it is you</h1>
      <p class="lead">You signed in some time ago, and what comes next changes how you sign in.</p>
      ${problem}
      <form method="post" action=${PATH}>
        ${renderFormField(site, exchange, PATH)}
        <input type="hidden" name="next" value=${next} />
        ${renderField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isAtFault: atFault === 'password' })}
        <button type="submit">Continue</button>
      </form>
      ${renderPasskeyButton('Use a passkey', { 'data-to': '/api/passkeys/prove', 'data-next': next })}`,
  });

const prove = async (site: Site, exchange: Exchange) => {
  const { body } = exchange.request;
  const next = toSafeNext(readField(body, 'next', 2_000), '/security');
  const { accountId, email, sessionId } = readSession(exchange.request);
  const subjects = listHeld(accountId);
  const seconds = await takeTry(site.pool, subjects);
  if (seconds > 0) return show(site, exchange, { next, problem: renderFault(formatWait(seconds)), status: 429 });
  const account = await findAccount(site.pool, email);
  if (!(await isPasswordOf(account?.passwordHash ?? null, readField(body, 'password'))))
    return show(site, exchange, {
      next,
      problem: renderFault('This is not your password.', 'password'),
      atFault: 'password',
      status: 401,
    });
  await forgiveTries(site.pool, subjects);
  await proveSession(site.pool, sessionId);
  return exchange.reply.redirect(next, 303);
};

export const provePage: SiteModule = {
  name: 'prove',
  register: (app, site) => {
    const rp = makeRelyingParty(site);
    app.addHook('preHandler', requireSession);
    app.get(PATH, (request, reply) =>
      show(site, { request, reply }, { next: toSafeNext((request.query as { next?: unknown }).next, '/security') }),
    );
    app.post(PATH, { config: { rateLimit: SECRET_CHECKS } }, (request, reply) =>
      runAttempt(() => prove(site, { request, reply })),
    );
    app.post('/api/passkeys/prove/options', async (request, reply) => {
      const { sessionId: binding, accountId } = readSession(request);
      return reply
        .header('cache-control', 'no-store')
        .send(await requestPasskey(site.pool, { binding, accountId }, rp));
    });
    app.post('/api/passkeys/prove', async (request, reply) => {
      const { sessionId, accountId } = readSession(request);
      const { response } = (request.body ?? {}) as { readonly response?: unknown };
      const shown = await checkPasskey(site.pool, { response, binding: sessionId }, rp);
      if (shown?.accountId !== accountId)
        return sendProblem(site, { request, reply }, { status: 401, text: 'This is not a passkey of your account.' });
      await proveSession(site.pool, sessionId);
      return reply
        .header('cache-control', 'no-store')
        .send({ next: toSafeNext(readField(request.body, 'next', 2_000), '/security') });
    });
  },
};
