// Webhooks on the page of rules: their addresses, the outcome of their messages; a secret is shown once (AG-06).
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'htm/preact';
import { addWebhook, enableWebhook, listWebhooks, removeWebhook, type Webhook } from '../rules/webhooks.ts';
import { renderCopyable, renderField, renderMessage, renderTable } from './components.ts';
import { readField } from './fields.ts';
import { requireSession } from './guards.ts';
import { requireAccountId } from './rules-json.ts';
import { RULES_PATH } from './rules-view.ts';
import { type Content, type Exchange, renderButtonForm, renderFormField, sendPage } from './shell.ts';
import type { Site } from './site.ts';

const HOOKS_PATH = `${RULES_PATH}/webhooks`;
const LONGEST_URL = 2_000;

const COLUMNS = [
  ...[{ label: 'Address' }, { label: 'Last attempt' }],
  ...['Waiting', 'Delivered', 'Given up'].map((label) => ({ label, isNumber: true })),
  { label: 'Change', isAction: true },
];

const renderHookRow = (site: Site, exchange: Exchange, hook: Webhook): Content => {
  const change = (label: 'Enable' | 'Remove'): Content =>
    renderButtonForm(site, exchange, {
      path: `${HOOKS_PATH}/${hook.webhook_id}/${label.toLowerCase()}`,
      label,
      name: `${label} ${hook.url}`,
      style: 'small quiet',
    });
  return html`<tr class=${hook.disabled_at === null ? undefined : 'off'}>
    <th scope="row">${hook.url}</th>
    <td>${hook.notice ?? hook.outcome ?? 'nothing sent yet'}</td>
    <td class="number">${hook.waiting}</td>
    <td class="number">${hook.delivered}</td>
    <td class="number">${hook.dead}</td>
    <td class="act">${hook.disabled_at === null ? null : change('Enable')} ${change('Remove')}</td>
  </tr>`;
};

export const renderHooksPart = async (site: Site, exchange: Exchange): Promise<Content> => {
  const hooks = await listWebhooks(site.pool, requireAccountId(exchange.request));
  const rows = hooks.map((hook) => renderHookRow(site, exchange, hook));
  return html`<section>
    <h2>Webhooks</h2>
    <p>Each webhook receives every change of state of your rules, signed with its own secret. <a href="/docs/agents#webhooks">What a message is, and how to check it</a>.</p>
    ${rows.length === 0 ? null : renderTable('Your webhooks', COLUMNS, rows)}
    <form method="post" action=${HOOKS_PATH} class="panel">
      ${renderFormField(site, exchange, HOOKS_PATH)}
      ${renderField({ name: 'url', label: 'Address of the new webhook', value: 'https://', attributes: { maxlength: LONGEST_URL } })}
      <button type="submit">Add a webhook</button>
    </form>
  </section>`;
};

const renderSecret = (secret: string): Content =>
  renderMessage('good', [
    html`<p>The secret of the new webhook, shown once:</p>`,
    renderCopyable('webhook-secret', secret, { isSecret: true, wraps: true }),
  ]);

/** The webhook is created, and its secret is shown only now: a failure to read the page of rules must not replace it. */
const showSecret = (
  site: Site,
  exchange: Exchange,
  { show, secret }: { readonly show: ShowRules; readonly secret: string },
): Promise<FastifyReply> =>
  show(exchange, renderSecret(secret)).catch((err: unknown) => {
    site.log.warn({ err }, 'the page of rules could not be shown after a webhook was made');
    return sendPage(site, exchange, {
      title: 'Your webhook',
      body: html`<h1>Your webhook</h1>
        ${renderSecret(secret)}
        <p class="end"><a href=${RULES_PATH}>All rules</a></p>`,
    });
  });

type OneHook = { readonly Params: { readonly webhook_id: string } };
type ShowRules = (exchange: Exchange, problem: Content) => Promise<FastifyReply>;
type Attempt = (exchange: Exchange, work: () => Promise<FastifyReply>) => Promise<FastifyReply>;

/** `attempt` does the work, or shows the page of rules with its faults. */
export const addHookForms = (
  app: FastifyInstance,
  site: Site,
  { show, attempt }: { readonly show: ShowRules; readonly attempt: Attempt },
): void => {
  const { pool } = site;
  const signedIn = { onRequest: requireSession };
  app.post(HOOKS_PATH, signedIn, (request, reply) =>
    attempt({ request, reply }, async () => {
      const url = readField(request.body, 'url', LONGEST_URL).trim();
      const wanted = { accountId: requireAccountId(request), url, allowsLoopback: site.simulated };
      const { secret } = await addWebhook(pool, wanted);
      return showSecret(site, { request, reply }, { show, secret });
    }),
  );
  const forms = { enable: enableWebhook, remove: removeWebhook };
  for (const [name, work] of Object.entries(forms)) {
    app.post<OneHook>(`${HOOKS_PATH}/:webhook_id/${name}`, signedIn, (request, reply) =>
      attempt({ request, reply }, async () => {
        await work(pool, request.params.webhook_id, requireAccountId(request));
        return reply.redirect(RULES_PATH, 303);
      }),
    );
  }
};
