// /sign-in and /sign-out: password or passkey, or one after the other; the answer to a wrong address is that to a wrong password.
import { html } from 'htm/preact';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { normaliseEmail } from '../accounts/accounts.ts';
import { recordEvent } from '../accounts/events.ts';
import { checkPasskey, requestPasskey } from '../accounts/passkeys.ts';
import { runAttempt } from '../accounts/passwords.ts';
import { endSession } from '../accounts/sessions.ts';
import { enterWithPasskey, type SignInOutcome, signIn } from '../accounts/signing-in.ts';
import { formatCount } from '../contract/counts.ts';
import { renderFault, renderField } from './components.ts';
import { readAgent, readField } from './fields.ts';
import { clearSessionCookie, setSessionCookie, toSafeNext } from './guards.ts';
import { makeRelyingParty } from './relying-party.ts';
import { type Content, type Exchange, renderFormField, sendPage, sendProblem } from './shell.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/sign-in';
/** Per network address; in addition, each mailbox and each network has a growing wait. */
export const SECRET_CHECKS = { max: 60, timeWindow: '1 minute' };
/** Longer than any answer of an authenticator. */
const PASSKEY_BYTES = 32_768;

type Shown = { readonly email?: string; readonly next: string; readonly problem?: Content; readonly status?: number };

/** Hidden until the script runs: a passkey needs one. */
export const renderPasskeyButton = (label: string, data: Readonly<Record<string, string>>): Content =>
  html`<div class="passkey" hidden data-passkey ...${data}>
    <button type="button" class="quiet full">${label}</button>
    <p class="passkey-fault small-text" role="alert" hidden></p>
  </div>`;

const showForm = (site: Site, exchange: Exchange, { email, next, problem, status = 200 }: Shown) =>
  sendPage(site, exchange, {
    title: 'Sign in',
    status,
    width: 'narrow',
    islands: ['passkeys'],
    body: html`<h1>Sign in</h1>
      ${problem}
      <form method="post" action=${PATH}>
        ${renderFormField(site, exchange, PATH)}
        <input type="hidden" name="next" value=${next} />
        ${renderField({ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', ...(email === undefined ? {} : { value: email }) })}
        ${renderField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
        <button type="submit">Sign in</button>
      </form>
      ${renderPasskeyButton('Sign in with a passkey', { 'data-to': '/api/passkeys/sign-in', 'data-next': next })}
      <p class="small-text muted after-form">
        <a href="/recover">Forgot your password?</a> · New here? <a href=${`/sign-up?next=${encodeURIComponent(next)}`}>Create an account</a>
      </p>`,
  });

/** The second step where the password alone is not enough. */
export const showPasskeyStep = async (
  site: Site,
  exchange: Exchange,
  { accountId, next }: { accountId: string; next: string },
) => {
  const binding = site.forms.bindingOf(exchange.request) ?? '';
  const options = await requestPasskey(site.pool, { binding, accountId }, makeRelyingParty(site));
  return sendPage(site, exchange, {
    title: 'Passkey',
    width: 'narrow',
    islands: ['passkeys'],
    body: html`<h1>Now your passkey</h1>
      <p>Your password is right. This account asks for a passkey too.</p>
      ${renderPasskeyButton('Continue with a passkey', {
        'data-to': '/api/passkeys/sign-in',
        'data-next': next,
        'data-options': JSON.stringify(options),
      })}
      <noscript><p>A passkey needs a browser with JavaScript.</p></noscript>
      <p class="small-text muted after-form">Passkey lost? <a href="/recover">Use a recovery code</a></p>`,
  });
};

export const formatWait = (seconds: number): string =>
  `Too many attempts. Wait ${formatCount(seconds, 'second')}, then try again.`;

/** Replaces the earlier session of this browser, and ends it. The form has succeeded: a later failure does not replace its answer. */
export const enterSession = async (site: Site, { request, reply }: Exchange, token: string): Promise<void> => {
  const { session } = request;
  setSessionCookie(site, reply, token);
  if (session === null) return;
  await endSession(site.pool, session.sessionId, session.accountId).catch((err: unknown) =>
    site.log.warn({ err }, 'the session before could not be ended'),
  );
};

const answer = async (
  site: Site,
  exchange: Exchange,
  { outcome, email, next }: { outcome: SignInOutcome; email: string; next: string },
) => {
  const { reply } = exchange;
  switch (outcome.is) {
    case 'in':
      await enterSession(site, exchange, outcome.token);
      return reply.redirect(next, 303);
    case 'passkey':
      return showPasskeyStep(site, exchange, { accountId: outcome.accountId, next });
    case 'wait':
      reply.header('retry-after', String(outcome.seconds));
      return showForm(site, exchange, { email, next, problem: renderFault(formatWait(outcome.seconds)), status: 429 });
    case 'wrong':
      return showForm(site, exchange, {
        email,
        next,
        problem: renderFault('The email address or the password is not right.'),
        status: 401,
      });
  }
};

/** Checks what the form holds, and answers. */
const submitForm = async (site: Site, exchange: Exchange) => {
  const { body, ip, headers } = exchange.request;
  const [typed, password, next] = [
    readField(body, 'email'),
    readField(body, 'password'),
    toSafeNext(readField(body, 'next', 2_000)),
  ];
  // An address that cannot be one is checked like any other: it has no account.
  const credentials = { email: normaliseEmail(typed) ?? 'nobody', password, address: ip, agent: readAgent(headers) };
  const outcome = await signIn(site.pool, credentials, (accountId, action) => {
    recordEvent(site.pool, { accountId, action }).catch((err: unknown) =>
      site.log.warn({ err }, 'a failed sign-in was not noted'),
    );
  });
  return answer(site, exchange, { outcome, email: typed, next });
};

const addPasskeyRoutes = (app: Parameters<SiteModule['register']>[0], site: Site): void => {
  const rp = makeRelyingParty(site);
  app.post('/api/passkeys/sign-in/options', { config: { rateLimit: SECRET_CHECKS } }, async (request, reply) => {
    const binding = site.forms.bindingOf(request);
    if (binding === null)
      return sendProblem(site, { request, reply }, { status: 403, text: 'Load the sign-in page again.' });
    return reply
      .header('cache-control', 'no-store')
      .send(await requestPasskey(site.pool, { binding, accountId: null }, rp));
  });
  app.post(
    '/api/passkeys/sign-in',
    { bodyLimit: PASSKEY_BYTES, config: { rateLimit: SECRET_CHECKS } },
    async (request, reply) => {
      const { response } = (request.body ?? {}) as { readonly response?: unknown };
      const binding = site.forms.bindingOf(request) ?? '';
      const shown = await checkPasskey(site.pool, { response, binding }, rp);
      const agent = readAgent(request.headers);
      const entered = shown === null ? null : await enterWithPasskey(site.pool, { ...shown, agent });
      if (entered === null)
        return sendProblem(site, { request, reply }, { status: 401, text: 'This passkey is not known here.' });
      await enterSession(site, { request, reply }, entered.token);
      return reply
        .header('cache-control', 'no-store')
        .send({ next: toSafeNext(readField(request.body, 'next', 2_000)) });
    },
  );
};

export const signInPage: SiteModule = {
  name: 'sign-in',
  islands: { passkeys: new URL('./islands/passkeys.ts', import.meta.url) },
  register: (app, site) => {
    app.get(PATH, (request, reply) => {
      const next = toSafeNext((request.query as { next?: unknown }).next);
      return request.session === null ? showForm(site, { request, reply }, { next }) : reply.redirect(next, 303);
    });
    app.post(PATH, { config: { rateLimit: SECRET_CHECKS } }, (request, reply) =>
      runAttempt(() => submitForm(site, { request, reply })),
    );
    addPasskeyRoutes(app, site);
    app.post('/sign-out', async (request, reply) => {
      const { session } = request;
      clearSessionCookie(site, reply);
      if (session !== null)
        await runInTransaction(site.pool, async (client) => {
          await endSession(client, session.sessionId, session.accountId);
          await recordEvent(client, { accountId: session.accountId, action: 'signed_out' });
        });
      return reply.redirect('/sign-in', 303);
    });
  },
};
