// /security: how one signs in (password, passkeys, recovery codes), where one is signed in, and what happened.
import { html } from 'htm/preact';
import { type Account, readAccount } from '../accounts/accounts.ts';
import { describeAgent } from '../accounts/agent-name.ts';
import { listEvents, type StoredEvent } from '../accounts/events.ts';
import { listPasskeys, type Passkey } from '../accounts/passkeys.ts';
import { countCodes } from '../accounts/recovery-codes.ts';
import { type ListedSession, listSessions } from '../accounts/sessions.ts';
import { renderField, renderInstant, renderTable, renderTag } from './components.ts';
import { addConfirmForms, confirmPart } from './confirm-mail.ts';
import { readSession, requireSession } from './guards.ts';
import { requireProof } from './prove-page.ts';
import { addSecurityActions, type Shown } from './security-actions.ts';
import { type Content, type Exchange, renderButtonForm, renderFormField, sendPage } from './shell.ts';
import { renderPasskeyButton } from './sign-in-page.ts';
import { NEW_PASSWORD } from './sign-up-page.ts';
import type { Site, SiteModule } from './site.ts';

const SECURITY_PATH = '/security';
const MOST_EVENTS = 50;

const renderPasswordPart = (
  site: Site,
  exchange: Exchange,
  { passwordHash, atFault }: Pick<Account, 'passwordHash'> & Pick<Shown, 'atFault'>,
): Content => {
  const path = `${SECURITY_PATH}/password`;
  return html`<h2>Password</h2>
    <form method="post" action=${path} class="panel">
      ${renderFormField(site, exchange, path)}
      <input type="hidden" name="username" autocomplete="username" value=${exchange.request.session?.email} />
      ${
        passwordHash === null
          ? html`<p class="muted">You sign in with a passkey only.</p>`
          : renderField({
              name: 'current',
              label: 'Current password',
              type: 'password',
              autocomplete: 'current-password',
              isAtFault: atFault === 'current',
            })
      }
      ${renderField({ ...NEW_PASSWORD, label: 'New password', isAtFault: atFault === 'password' })}
      <button type="submit" class="quiet">${passwordHash === null ? 'Set a password' : 'Change the password'}</button>
      <p class="hint">Every other session ends.</p>
    </form>`;
};

const renderPasskeyRow = (
  site: Site,
  exchange: Exchange,
  { credentialId, name, createdAt, lastUsedAt }: Passkey,
): Content => {
  const path = `${SECURITY_PATH}/passkeys/${encodeURIComponent(credentialId)}/remove`;
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${renderInstant(createdAt)}</td>
    <td>${renderInstant(lastUsedAt)}</td>
    <td class="act">${renderButtonForm(site, exchange, { path, label: 'Remove', name: `Remove the passkey ${name}` })}</td>
  </tr>`;
};

const needsPart = (site: Site, exchange: Exchange, { needsPasskey, passwordHash }: Account): Content => {
  if (passwordHash === null) return null;
  const path = `${SECURITY_PATH}/passkey-needed`;
  const label = needsPasskey ? 'Allow sign-in with the password only' : 'Ask for a passkey after the password';
  return html`<div class="actions">
    ${renderButtonForm(site, exchange, { path, label, style: 'quiet' })}
    ${renderButtonForm(site, exchange, { path: `${SECURITY_PATH}/password/remove`, label: 'Remove the password', style: 'quiet' })}
  </div>`;
};

const renderPasskeysPart = (
  site: Site,
  exchange: Exchange,
  { account, passkeys }: { account: Account; passkeys: readonly Passkey[] },
): Content =>
  html`<h2>Passkeys ${account.needsPasskey ? renderTag('good', 'Requested after the password') : null}</h2>
    <p>A passkey of your device or password manager signs you in without a text that you type or that can be stolen.</p>
    ${
      passkeys.length === 0
        ? html`<p class="muted">You have none yet.</p>`
        : [
            renderTable(
              'Your passkeys',
              [{ label: 'Name' }, { label: 'Made' }, { label: 'Last used' }, { label: 'Remove', isAction: true }],
              passkeys.map((passkey) => renderPasskeyRow(site, exchange, passkey)),
            ),
            needsPart(site, exchange, account),
          ]
    }
    <div class="panel">
      ${renderField({ name: 'passkey-name', label: 'Name of a new passkey', value: 'this device', attributes: { maxlength: 60 } })}
      ${renderPasskeyButton('Add a passkey', { 'data-to': '/api/passkeys', 'data-adds': 'passkey-name', 'data-next': SECURITY_PATH })}
      <noscript><p class="muted">A passkey needs a browser with JavaScript.</p></noscript>
    </div>`;

const renderCodesPart = (site: Site, exchange: Exchange, left: number): Content =>
  html`<h2>Recovery codes</h2>
    <p>${left === 0 ? 'You have none left.' : `${left} of your codes are unused.`} New ones end all earlier ones.</p>
    ${renderButtonForm(site, exchange, { path: `${SECURITY_PATH}/codes`, label: 'Make new codes', style: 'quiet' })}`;

const renderSessionRow = (site: Site, exchange: Exchange, session: ListedSession): Content => {
  const name = describeAgent(session.agent);
  const isThis = session.sessionId === exchange.request.session?.sessionId;
  const path = `${SECURITY_PATH}/sessions/${session.sessionId}/end`;
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${renderInstant(session.createdAt)}</td>
    <td>${renderInstant(session.seenAt)}</td>
    <td class="act">${isThis ? renderTag('good', 'This one') : renderButtonForm(site, exchange, { path, label: 'End', name: `End the session of ${name}` })}</td>
  </tr>`;
};

const renderSessionsPart = (site: Site, exchange: Exchange, sessions: readonly ListedSession[]): Content =>
  html`<h2>Sessions</h2>
    ${renderTable(
      'Where you are signed in',
      [{ label: 'Browser' }, { label: 'Begun' }, { label: 'Last seen' }, { label: 'End', isAction: true }],
      sessions.map((session) => renderSessionRow(site, exchange, session)),
    )}
    ${
      sessions.length < 2
        ? null
        : renderButtonForm(site, exchange, {
            path: `${SECURITY_PATH}/sessions/end-others`,
            label: 'End all others',
            style: 'quiet',
          })
    }`;

const listDetails = ({ key, details }: StoredEvent): string => {
  const shownDetails = Object.entries(details ?? {}).filter(([, value]) => value !== null && typeof value !== 'object');
  return [
    ...(key === null ? [] : [key]),
    ...shownDetails.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`),
  ].join(', ');
};

const renderEventRow = (event: StoredEvent): Content =>
  html`<tr>
    <td>${renderInstant(event.at)}</td>
    <th scope="row">${event.action.replaceAll('_', ' ')}</th>
    <td>${event.actor}</td>
    <td>${listDetails(event)}</td>
  </tr>`;

const renderLeavePart = (site: Site, exchange: Exchange, { atFault }: Shown): Content => {
  const isAtFault = atFault === 'confirm';
  const path = `${SECURITY_PATH}/close`;
  return html`<h2>Your data, and leaving</h2>
    <p>
      <a href=${`${SECURITY_PATH}/export`} download>Download everything that is kept about this account</a> (JSON). Of passwords, keys and codes only
      hashes are kept; they are left out.
    </p>
    <details open=${isAtFault}>
      <summary>Close this account</summary>
      <form method="post" action=${path} class="panel">
        ${renderFormField(site, exchange, path)}
        <p>
          All keys are revoked, bought ones too. All sessions and connected applications end, agent rules stop, and your address is forgotten. This
          cannot be undone.
        </p>
        ${renderField({ name: 'confirm', label: 'Type your email address to confirm', type: 'email', isAtFault, attributes: { placeholder: exchange.request.session?.email ?? '' } })}
        <button type="submit" class="danger">Close this account for good</button>
      </form>
    </details>`;
};

const showSecurity = async (site: Site, exchange: Exchange, shown: Shown = {}) => {
  const { accountId } = readSession(exchange.request);
  const { pool } = site;
  const [account, passkeys, left, sessions, events] = await Promise.all([
    readAccount(pool, accountId),
    listPasskeys(pool, accountId),
    countCodes(pool, accountId),
    listSessions(pool, accountId),
    listEvents(pool, accountId, MOST_EVENTS),
  ]);
  if (account === null) return exchange.reply.redirect('/sign-in', 303);
  return sendPage(site, exchange, {
    title: 'Security',
    status: shown.status ?? 200,
    islands: ['passkeys'],
    body: html`<h1>Security</h1>
      <p class="lead">${account.email}, since ${renderInstant(account.createdAt)}</p>
      ${shown.problem} ${confirmPart(site, exchange, account)} ${renderPasswordPart(site, exchange, { ...account, ...shown })} ${renderPasskeysPart(site, exchange, { account, passkeys })}
      ${renderCodesPart(site, exchange, left)} ${renderSessionsPart(site, exchange, sessions)}
      <h2>What happened</h2>
      ${renderTable('The last events', [{ label: 'When' }, { label: 'What' }, { label: 'By' }, { label: 'Details' }], events.map(renderEventRow))}
      ${renderLeavePart(site, exchange, shown)}`,
  });
};

export const securityPage: SiteModule = {
  name: 'security',
  nav: { member: [{ path: SECURITY_PATH, label: 'Security' }] },
  register: (app, site) => {
    app.addHook('preHandler', requireSession);
    app.addHook('preHandler', requireProof);
    app.get(SECURITY_PATH, (request, reply) => showSecurity(site, { request, reply }));
    addConfirmForms(app, site);
    addSecurityActions(app, site, (exchange, shown) => showSecurity(site, exchange, shown));
  },
};
