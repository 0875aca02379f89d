// /recover: a recovery code, kept or mailed, sets a new password; every session ends and a new one begins.
import { html } from 'htm/preact';
import { normaliseEmail } from '../accounts/accounts.ts';
import { findPasswordFault, runAttempt } from '../accounts/passwords.ts';
import { mailCode, resetPassword } from '../accounts/signing-in.ts';
import { renderFault, renderField, renderMessage } from './components.ts';
import { readAgent, readField } from './fields.ts';
import { type Content, type Exchange, renderFormField, sendPage } from './shell.ts';
import { enterSession, formatWait, SECRET_CHECKS, showPasskeyStep } from './sign-in-page.ts';
import { NEW_PASSWORD } from './sign-up-page.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/recover';
const MAIL_PATH = '/recover/mail';

type Shown = {
  readonly email?: string;
  readonly problem?: Content;
  /** Name of the field that the problem is about. */
  readonly atFault?: 'password';
  readonly status?: number;
};

const renderCodeForm = (site: Site, exchange: Exchange, { email = '', atFault }: Shown): Content =>
  html`<form method="post" action=${PATH}>
    ${renderFormField(site, exchange, PATH)}
    ${renderField({ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email })}
    ${renderField({ name: 'code', label: 'Recovery code', hint: 'One of the ten that you kept, or one that was mailed to you.', attributes: { spellcheck: 'false' } })}
    ${renderField({ ...NEW_PASSWORD, label: 'New password', isAtFault: atFault === 'password' })}
    <button type="submit">Set the password and sign in</button>
  </form>`;

const renderMailForm = (site: Site, exchange: Exchange): Content =>
  html`<details>
    <summary>No code?</summary>
    <form method="post" action=${MAIL_PATH}>
      ${renderFormField(site, exchange, MAIL_PATH)}
      ${renderField({
        name: 'mail-to',
        label: 'Your email address',
        type: 'email',
        autocomplete: 'username',
        hint: site.sendsMail
          ? 'We mail you a code that is valid for half an hour.'
          : 'This service sends no mail. The operator can read the code that you request here: contact the operator and state who you are.',
      })}
      <button type="submit" class="quiet">Ask for a code</button>
    </form>
  </details>`;

const show = (site: Site, exchange: Exchange, shown: Shown = {}) =>
  sendPage(site, exchange, {
    title: 'New password',
    status: shown.status ?? 200,
    width: 'narrow',
    islands: ['passkeys'],
    body: html`<h1>Set a new password</h1>
      ${shown.problem}
      ${renderCodeForm(site, exchange, shown)}
      <div class="divider">or</div>
      ${renderMailForm(site, exchange)}`,
  });

const reset = async (site: Site, exchange: Exchange) => {
  const { body, ip, headers } = exchange.request;
  const [typed, password] = [readField(body, 'email'), readField(body, 'password')];
  const email = normaliseEmail(typed) ?? 'nobody';
  const weak = findPasswordFault(password, email);
  if (weak !== null)
    return show(site, exchange, {
      email: typed,
      problem: renderFault(weak, 'password'),
      atFault: 'password',
      status: 400,
    });
  const outcome = await resetPassword(site.pool, {
    ...{ email, password, address: ip, agent: readAgent(headers) },
    code: readField(body, 'code', 100),
  });
  switch (outcome.is) {
    case 'in':
      await enterSession(site, exchange, outcome.token);
      return exchange.reply.redirect('/keys', 303);
    case 'passkey':
      return showPasskeyStep(site, exchange, { accountId: outcome.accountId, next: '/keys' });
    case 'wait':
      exchange.reply.header('retry-after', String(outcome.seconds));
      return show(site, exchange, { email: typed, problem: renderFault(formatWait(outcome.seconds)), status: 429 });
    case 'wrong':
      return show(site, exchange, {
        email: typed,
        problem: renderFault('The email address or the code is not right, or the code was used before.'),
        status: 401,
      });
  }
};

export const recoverPage: SiteModule = {
  name: 'recover',
  register: (app, site) => {
    app.get(PATH, (request, reply) => show(site, { request, reply }));
    app.post(PATH, { config: { rateLimit: SECRET_CHECKS } }, (request, reply) =>
      runAttempt(() => reset(site, { request, reply })),
    );
    app.post(MAIL_PATH, { config: { rateLimit: { max: 5, timeWindow: '1 minute' } } }, (request, reply) => {
      const email = normaliseEmail(readField(request.body, 'mail-to'));
      // After the answer, which is the same whether there is an account or not.
      if (email !== null)
        mailCode(site.pool, { email, site: site.urls.account }).catch((err: unknown) =>
          site.log.error({ err }, 'a code could not be mailed'),
        );
      return show(
        site,
        { request, reply },
        {
          problem: renderMessage(
            'good',
            html`<p>If this address has an account, a code is on its way. Enter it here.</p>`,
          ),
        },
      );
    });
  },
};
