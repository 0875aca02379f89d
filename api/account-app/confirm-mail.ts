// /security: the owner confirms the mail address with a code that is sent there; only if the service sends mail.
import type { FastifyInstance } from 'fastify';
import { html } from 'htm/preact';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { type Account, lockAccount } from '../accounts/accounts.ts';
import { recordEvent } from '../accounts/events.ts';
import { takeCode } from '../accounts/recovery-codes.ts';
import { mailCode } from '../accounts/signing-in.ts';
import { takeTry } from '../accounts/tries.ts';
import { formatCount } from '../contract/counts.ts';
import { renderFault, renderField, renderMessage, renderTag } from './components.ts';
import { readField } from './fields.ts';
import { readSession, requireSession } from './guards.ts';
import { type Content, type Exchange, renderFormField, sendPage } from './shell.ts';
import type { Site } from './site.ts';

const CONFIRM_PATH = '/security/mail';
const CODE_PATH = `${CONFIRM_PATH}/code`;

/** On the page of security: whether the address is confirmed, and the way to it. */
export const confirmPart = (site: Site, exchange: Exchange, { email, confirmedAt }: Account): Content => {
  if (!site.sendsMail) return null;
  if (confirmedAt !== null) return html`<h2>Address ${renderTag('good', 'Confirmed')}</h2><p>${email}</p>`;
  return html`<h2>Address</h2>
    <p>${email} is not confirmed yet: mail may not reach you.</p>
    <form method="post" action=${CONFIRM_PATH}>
      ${renderFormField(site, exchange, CONFIRM_PATH)}
      <button type="submit" class="quiet">Send me a code</button>
    </form>`;
};

type Problem = { readonly status: number; readonly note: Content };

const showCodeForm = (site: Site, exchange: Exchange, { status, note }: Problem = { status: 200, note: null }) =>
  sendPage(site, exchange, {
    title: 'Confirm your address',
    status,
    width: 'narrow',
    body: html`<h1>Confirm your address</h1>
      ${note}
      <p>A code was sent to ${exchange.request.session?.email}. It is valid for half an hour and can be used once.</p>
      <form method="post" action=${CODE_PATH}>
        ${renderFormField(site, exchange, CODE_PATH)}
        ${renderField({ name: 'code', label: 'Code of the letter', autocomplete: 'one-time-code' })}
        <button type="submit">Confirm</button>
      </form>`,
  });

/** Uses the code up; false: it is not a code of this account. */
const confirm = ({ pool }: Site, accountId: string, code: string): Promise<boolean> =>
  runInTransaction(pool, async (client) => {
    if (!(await lockAccount(client, accountId))) return false;
    // Codes that the owner keeps prove nothing of a mailbox, and are not used up here.
    if ((await takeCode(client, accountId, { code, only: 'mailed' })) === null) return false;
    await client.query('update accounts set confirmed_at = coalesce(confirmed_at, now()) where account_id = $1', [
      accountId,
    ]);
    await recordEvent(client, { accountId, action: 'mail_confirmed' });
    return true;
  });

export const addConfirmForms = (app: FastifyInstance, site: Site): void => {
  const signedIn = { onRequest: requireSession };
  const limited = { ...signedIn, config: { rateLimit: { max: 5, timeWindow: '10 minutes' } } };
  app.post(CONFIRM_PATH, limited, async (request, reply) => {
    const { email } = readSession(request);
    await mailCode(site.pool, { email, site: site.urls.account, use: 'address' });
    return showCodeForm(site, { request, reply });
  });
  app.post(CODE_PATH, signedIn, async (request, reply) => {
    const { accountId, email } = readSession(request);
    const exchange = { request, reply };
    const wait = await takeTry(site.pool, [{ kind: 'mail', value: `confirm ${email}` }]);
    if (wait > 0)
      return showCodeForm(site, exchange, {
        status: 429,
        note: renderFault(`Too many attempts. Wait ${formatCount(wait, 'second')}.`),
      });
    if (!(await confirm(site, accountId, readField(request.body, 'code', 100))))
      return showCodeForm(site, exchange, {
        status: 400,
        note: renderFault('This code is not valid: it was used, has expired, or is not the code that was sent.'),
      });
    return sendPage(site, exchange, {
      title: 'Address confirmed',
      width: 'narrow',
      body: html`<h1>Address confirmed</h1>
        ${renderMessage('good', html`<p>Letters reach you at ${email}.</p>`)}
        <p><a href="/security">Back to security</a></p>`,
    });
  });
};
