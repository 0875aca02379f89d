// /keys: make, name, expire and revoke API keys; a new one is shown once, with its first call and what an agent's client needs.
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { html } from 'htm/preact';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import { isKey } from '../access/keys.ts';
import {
  findOwnKey,
  LONGEST_NAME,
  listOwnKeys,
  makeOwnKey,
  type OwnKey,
  revokeOwnKey,
} from '../accounts/account-keys.ts';
import { formatCount } from '../contract/counts.ts';
import { PLANS } from '../contract/plans.ts';
import { renderAgentSetup } from './agent-setup.ts';
import { callApi, type TriedCall } from './call-api.ts';
import {
  renderCopyable,
  renderDay,
  renderFault,
  renderField,
  renderMessage,
  renderTable,
  renderTag,
} from './components.ts';
import { cleanId, readField } from './fields.ts';
import { FIRST_CALL, formatExampleCurl } from './first-call.ts';
import { readSession, refuseEnded, requireSession } from './guards.ts';
import { addKeysJson } from './keys-json.ts';
import { type Content, type Exchange, renderButtonForm, renderFormField, sendPage, sendProblem } from './shell.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/keys';
const RUN_PATH = '/keys/run';

/** Choices of the form: days until the key ends; empty: never. */
const EXPIRIES = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
] as const;

const renderStateTags = ({ state, kind, compromised_at }: OwnKey): Content => [
  state === 'live' ? renderTag('good', 'Live') : renderTag('plain', state === 'expired' ? 'Expired' : 'Revoked'),
  kind === 'purchased' ? renderTag('plain', 'Bought') : null,
  compromised_at !== null && state === 'live' ? renderTag('bad', 'Compromised') : null,
];

const renderKeyRow = (site: Site, exchange: Exchange, key: OwnKey): Content => {
  const path = `${PATH}/${key.key_id}/revoke`;
  return html`<tr class=${key.state === 'live' ? undefined : 'off'}>
    <th scope="row">${key.name}</th>
    <td><code>${key.display}…</code></td>
    <td><span class="tags">${renderStateTags(key)}</span></td>
    <td>${PLANS[key.plan].name}</td>
    <td>${renderDay(key.created_at)}</td>
    <td>${renderDay(key.expires_at)}</td>
    <td>${key.last_used_on ?? 'Never'}</td>
    <td class="act">
      ${
        key.state === 'live'
          ? renderButtonForm(site, exchange, { path, label: 'Revoke', name: `Revoke ${key.name}` })
          : null
      }
    </td>
  </tr>`;
};

const COLUMNS = [
  ...['Name', 'Key', 'State', 'Plan', 'Made', 'Expires', 'Last used'].map((label) => ({ label })),
  { label: 'Revoke', isAction: true },
];

type Shown = {
  readonly problem?: Content;
  /** Name of the field that the problem is about. */
  readonly atFault?: 'name';
  readonly status?: number;
};

const renderNewKeyForm = (site: Site, exchange: Exchange, { atFault }: Shown): Content =>
  html`<form method="post" action=${PATH} class="panel">
    ${renderFormField(site, exchange, PATH)}
    <input type="hidden" name="form_id" value=${randomUUID()} />
    <div class="row">
      ${renderField({ name: 'name', label: 'Name of the new key', value: 'my first key', isAtFault: atFault === 'name', attributes: { maxlength: LONGEST_NAME } })}
      <div class="field">
        <label for="expires">Expires</label>
        <select id="expires" name="expires">
          ${EXPIRIES.map(([value, label]) => html`<option value=${value}>${label}</option>`)}
        </select>
      </div>
      <button type="submit">Make a key</button>
    </div>
  </form>`;

const renderCompromised = (keys: readonly OwnKey[]): Content => {
  const named = keys.filter(({ state, compromised_at }) => state === 'live' && compromised_at !== null);
  if (named.length === 0) return null;
  return renderMessage(
    'bad',
    html`<p>
      ${named.map(({ name }) => `“${name}”`).join(', ')} was sent in a URL, where proxies and logs keep it. It still works: make another key, put
      it in its place, and revoke this one.
    </p>`,
  );
};

const showKeys = async (site: Site, exchange: Exchange, shown: Shown = {}) => {
  const session = readSession(exchange.request);
  const keys = await listOwnKeys(site.pool, session.accountId);
  const { limits, name } = PLANS[session.plan];
  const held = keys.filter(({ state, kind }) => state === 'live' && kind === 'account').length;
  return sendPage(site, exchange, {
    title: 'API keys',
    status: shown.status ?? 200,
    body: html`<h1>API keys</h1>
      <p class="lead">A key is sent as a header with each request. ${held} of ${limits.keys} keys of the plan ${name} are in use.</p>
      ${shown.problem}${renderCompromised(keys)}${renderNewKeyForm(site, exchange, shown)}
      ${
        keys.length === 0
          ? html`<p class="muted">You have no key yet. Create one; the page then shows a first call that you can run.</p>`
          : renderTable(
              'Your keys',
              COLUMNS,
              keys.map((key) => renderKeyRow(site, exchange, key)),
            )
      }`,
  });
};

const renderAnswer = (tried: TriedCall): Content =>
  tried.is === 'away'
    ? renderMessage('warn', html`<p>The data API does not respond at the moment. Run it again in a few seconds.</p>`)
    : html`<h3 id="answer">
          Answer ${tried.status === 200 ? renderTag('good', '200') : renderTag('bad', String(tried.status))}
          <span class="muted small-text">${tried.ms} ms</span>
        </h3>
        <pre tabindex="0" aria-labelledby="answer" role="region"><code>${tried.text}</code></pre>
        ${tried.cutLines === 0 ? null : html`<p class="muted small-text">${tried.cutLines} more lines are not shown.</p>`}`;

type NewKey = { readonly key: string; readonly name: string; readonly isNew: boolean; readonly tried?: TriedCall };

/** The page of a key whose text is known; the first call is a form that brings it along. */
const showKey = (site: Site, exchange: Exchange, { key, name, isNew, tried }: NewKey) =>
  sendPage(site, exchange, {
    title: name,
    status: isNew ? 201 : 200,
    body: html`<h1>${name}</h1>
      ${renderMessage('warn', html`<p><strong>Copy your key now.</strong> It is shown only here; we keep no more than its hash.</p>`)}
      ${renderCopyable('key', key, { isSecret: true, wraps: true })}
      <section aria-labelledby="first">
        <h2 id="first">Your first call</h2>
        <p>Marks and funding of every bitcoin perpetual that your plan covers, each value with its age.</p>
        ${renderCopyable('curl', formatExampleCurl(site.urls, key))}
        <form method="post" action=${RUN_PATH}>
          ${renderFormField(site, exchange, RUN_PATH)}
          <input type="hidden" name="key" value=${key} />
          <button type="submit">${tried === undefined ? 'Run it here' : 'Run it again'}</button>
        </form>
        ${tried === undefined ? null : renderAnswer(tried)}
      </section>
      ${renderAgentSetup(site.urls, key)}
      <p class="end"><a href=${PATH}>All keys</a></p>`,
  });

/** Null: a text that is no choice of the form. */
const readExpiry = (text: string, nowMs: number): Date | null | undefined => {
  if (!EXPIRIES.some(([value]) => value === text)) return undefined;
  return text === '' ? null : new Date(nowMs + Number(text) * MS_PER_DAY);
};

const makeKey = async (site: Site, exchange: Exchange) => {
  const { body } = exchange.request;
  const session = readSession(exchange.request);
  const [name, formId] = [readField(body, 'name', LONGEST_NAME).trim(), readField(body, 'form_id', 36)];
  const expiresAt = readExpiry(readField(body, 'expires', 3), site.nowMs());
  if (name === '' || formId === '' || expiresAt === undefined)
    return showKeys(site, exchange, {
      problem: renderFault(`Give the key a name of at most ${LONGEST_NAME} characters.`, 'name'),
      ...(name === '' ? { atFault: 'name' } : {}),
      status: 400,
    });
  const made = await makeOwnKey(site.pool, { session, name, expiresAt, formId });
  switch (made.is) {
    case 'made':
      return showKey(site, exchange, { key: made.key, name, isNew: true });
    case 'ended':
      return refuseEnded(exchange.request, exchange.reply);
    case 'again':
      return showKeys(site, exchange, {
        problem: renderMessage(
          'warn',
          html`<p>This key was created and shown before. If you did not save it, revoke it and create another.</p>`,
        ),
      });
    case 'full':
      return showKeys(site, exchange, {
        problem: renderFault(
          `Your plan allows ${formatCount(made.most, 'key')}, and you have reached this number. Revoke one that you do not need.`,
        ),
        status: 403,
      });
    case 'often':
      return showKeys(site, exchange, {
        problem: renderFault(
          `An account can create at most ${formatCount(made.most, 'key')} in 24 hours. Use an existing one.`,
        ),
        status: 403,
      });
  }
};

const addPages = (app: FastifyInstance, site: Site): void => {
  app.get(PATH, (request, reply) => showKeys(site, { request, reply }));
  app.post(PATH, (request, reply) => makeKey(site, { request, reply }));
  app.post(RUN_PATH, { config: { rateLimit: { max: 30, timeWindow: '1 minute' } } }, async (request, reply) => {
    const { accountId } = readSession(request);
    const key = readField(request.body, 'key', 100);
    const own = isKey(key) ? await findOwnKey(site.pool, key, accountId) : null;
    if (own === null)
      return sendProblem(site, { request, reply }, { status: 404, text: 'You have no such key, or it was revoked.' });
    return showKey(
      site,
      { request, reply },
      { key, name: own.name, isNew: false, tried: await callApi(site.urls, FIRST_CALL, key) },
    );
  });
  app.post<{ Params: { keyId: string } }>(`${PATH}/:keyId/revoke`, async (request, reply) => {
    const { accountId } = readSession(request);
    if (await revokeOwnKey(site.pool, cleanId(request.params.keyId), accountId)) return reply.redirect(PATH, 303);
    return sendProblem(site, { request, reply }, { status: 404, text: 'You have no such key.' });
  });
};

export const keysPage: SiteModule = {
  name: 'keys',
  nav: { member: [{ path: PATH, label: 'Keys' }] },
  register: (app, site) => {
    app.addHook('preHandler', requireSession);
    addPages(app, site);
    addKeysJson(app, site);
  },
};
