// /sign-up: an address and a password make a free account; the recovery codes are shown once, with a link to the page of keys.
import { html } from 'htm/preact';
import { normaliseEmail } from '../accounts/accounts.ts';
import { findPasswordFault, SHORTEST_PASSWORD } from '../accounts/passwords.ts';
import { KEPT_CODES } from '../accounts/recovery-codes.ts';
import { endSession } from '../accounts/sessions.ts';
import { mailCode, signUp } from '../accounts/signing-in.ts';
import { renderCopyable, renderFault, renderField, renderMessage } from './components.ts';
import { readAgent, readField } from './fields.ts';
import { setSessionCookie, toSafeNext } from './guards.ts';
import { type Content, type Exchange, renderFormField, sendPage } from './shell.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/sign-up';
/** Accounts that one network address may create in an hour. */
const SIGN_UPS = { max: 60, timeWindow: '1 hour' };

export const NEW_PASSWORD = {
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'new-password',
  hint: `At least ${SHORTEST_PASSWORD} characters. A few unrelated words are easy to keep and hard to guess.`,
} as const;

type Shown = {
  readonly email?: string;
  readonly next: string;
  readonly problem?: Content;
  /** Name of the field that the problem is about. */
  readonly atFault?: 'email' | 'password';
  readonly status?: number;
};

const showForm = (site: Site, exchange: Exchange, { email, next, problem, atFault, status = 200 }: Shown) =>
  sendPage(site, exchange, {
    title: 'Sign up',
    status,
    width: 'narrow',
    body: html`<h1>Create a free account</h1>
      <p class="lead">No card. You get an API key in the next step.</p>
      ${problem}
      <form method="post" action=${PATH}>
        ${renderFormField(site, exchange, PATH)}
        <input type="hidden" name="next" value=${next} />
        ${renderField({ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', isAtFault: atFault === 'email', ...(email === undefined ? {} : { value: email }) })}
        ${renderField({ ...NEW_PASSWORD, isAtFault: atFault === 'password' })}
        <button type="submit">Sign up</button>
      </form>
      <p class="small-text muted after-form">
        You have an account? <a href=${`/sign-in?next=${encodeURIComponent(next)}`}>Sign in</a>
      </p>`,
  });

const showCodes = (site: Site, exchange: Exchange, { codes, next }: { codes: readonly string[]; next: string }) =>
  sendPage(site, exchange, {
    title: 'Recovery codes',
    body: html`<h1>Keep your recovery codes</h1>
      ${renderMessage('good', html`<p>Your account is ready, and you are signed in.</p>`)}
      <p>
        Each of these ${KEPT_CODES} codes sets a new password once, if you lose yours. They are shown only now: put them into your password
        manager or print them.
      </p>
      ${renderCopyable('codes-text', codes.join('\n'))}
      <p><a class="button" href=${next}>I have kept them: continue</a></p>`,
  });

const TAKEN = html`There is an account with this address. <a href="/sign-in">Sign in</a>, or <a href="/recover">set a new password</a> with a
  recovery code.`;

type Made = { readonly email: string; readonly token: string };

/** The account is created, and its codes are shown only now: a later failure must not replace them. */
const followUp = async (site: Site, { request, reply }: Exchange, { email, token }: Made): Promise<void> => {
  const { session } = request;
  const attempt = <T>(work: Promise<T>): Promise<T | null> =>
    work.catch((err: unknown) => {
      site.log.warn({ err }, 'what follows a sign-up could not be done');
      return null;
    });
  setSessionCookie(site, reply, token);
  if (session !== null) await attempt(endSession(site.pool, session.sessionId, session.accountId));
  if (site.sendsMail) await attempt(mailCode(site.pool, { email, site: site.urls.account, use: 'address' }));
  request.session = await attempt(site.sessions.find(token));
};

export const signUpPage: SiteModule = {
  name: 'sign-up',
  register: (app, site) => {
    app.get(PATH, (request, reply) => {
      const next = toSafeNext((request.query as { next?: unknown }).next, '/keys?first=yes');
      return request.session === null ? showForm(site, { request, reply }, { next }) : reply.redirect('/keys', 303);
    });
    app.post(PATH, { config: { rateLimit: SIGN_UPS } }, async (request, reply) => {
      const { body } = request;
      const exchange = { request, reply };
      const [typed, password, next] = [
        readField(body, 'email'),
        readField(body, 'password'),
        toSafeNext(readField(body, 'next'), '/keys?first=yes'),
      ];
      const refuse = (atFault: 'email' | 'password', problem: Content, status = 400) =>
        showForm(site, exchange, { email: typed, next, problem: renderFault(problem, atFault), atFault, status });
      const email = normaliseEmail(typed);
      if (email === null) return refuse('email', 'Enter an email address, such as name@example.com.');
      const weak = findPasswordFault(password, email);
      if (weak !== null) return refuse('password', weak);
      const made = await signUp(site.pool, { email, password, address: request.ip, agent: readAgent(request.headers) });
      if (made === null) return refuse('email', TAKEN, 409);
      await followUp(site, exchange, { email, token: made.token });
      return showCodes(site, exchange, { codes: made.codes, next });
    });
  },
};
