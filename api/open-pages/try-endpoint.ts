// "Try it" below each endpoint: its example in a form, which this server sends to the API with the key that the explorer has for the account.
import type { FastifyInstance } from 'fastify';
import { html } from 'htm/preact';
import { type ApiCall, callApi, type TriedCall } from '../account-app/call-api.ts';
import { renderMessage, renderTag } from '../account-app/components.ts';
import { readField } from '../account-app/fields.ts';
import { isOpen } from '../account-app/guards.ts';
import { type Content, type Exchange, renderFormField } from '../account-app/shell.ts';
import type { Site } from '../account-app/site.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { type FindExplorerKey, openExplorerKeys } from '../explorer/explorer-key.ts';
import { fillPath, isForVisitors, toRoute } from '../explorer/relayed-calls.ts';
import { toEndpointSlug } from './endpoint-pages.ts';

const HOUR_MS = 3_600_000;
const MOST_BODY = 16_384;
const MOST_FIELD = 1_000;

/** What the form is filled with: texts by the names of its fields. */
type Filled = Readonly<Record<string, string>>;

/** The example; where it requests the past, the hour up to now or the newest anchored day. A payment is the reader's own to name. */
const makeExample = ({ example }: Endpoint, nowMs: number, day: string | null): Readonly<Record<string, unknown>> => {
  const window: Readonly<Record<string, string>> = {
    from: new Date(nowMs - HOUR_MS).toISOString(),
    to: new Date(nowMs).toISOString(),
    ...(day === null ? {} : { day, at: `${day}T23:59:59.000Z` }),
    receipt_id: '',
  };
  return Object.fromEntries(Object.entries(example.input).map(([name, value]) => [name, window[name] ?? value]));
};

/** Whether the form is filled with the newest anchored day. */
export const isAboutDay = ({ example }: Endpoint): boolean => 'day' in example.input || 'at' in example.input;

const formatValue = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value));

const fill = (endpoint: Endpoint, nowMs: number, day: string | null): Filled => {
  const example = makeExample(endpoint, nowMs, day);
  if (endpoint.method === 'POST') return { body: JSON.stringify(example, null, 2) };
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, formatValue(value)]));
};

/** What was sent in the form, bounded. */
const readSentFields = (endpoint: Endpoint, body: unknown): Filled =>
  endpoint.method === 'POST'
    ? { body: readField(body, 'body', MOST_BODY) }
    : Object.fromEntries(
        Object.keys(endpoint.input.properties ?? {}).map((name) => [name, readField(body, `p_${name}`, MOST_FIELD)]),
      );

/** The call that the form describes; of a query what is empty is left out. Null: its path names no call of this endpoint. */
const toCall = ({ method, path }: Endpoint, filled: Filled): ApiCall | null => {
  if (method === 'POST') return { method, path, body: filled['body'] ?? '' };
  const full = fillPath(toRoute(path), filled);
  if (full === null) return null;
  const query = new URLSearchParams(
    Object.entries(filled).filter(([name, value]) => value !== '' && !path.includes(`{${name}}`)),
  ).toString();
  return { method, path: query === '' ? full : `${full}?${query}`, body: null };
};

const renderBodyField = (filled: Filled): Content =>
  html`<div class="field">
    <label for="try-body">Body (JSON)</label>
    <textarea id="try-body" name="body" rows=${Math.min(16, (filled['body'] ?? '').split('\n').length + 1)} spellcheck="false" maxlength=${MOST_BODY}>
${filled['body'] ?? ''}</textarea
    >
  </div>`;

const renderInputFields = ({ input }: Endpoint, filled: Filled): Content => {
  const required = new Set(input.required);
  return Object.keys(input.properties ?? {}).map(
    (name) =>
      html`<div class="field">
        <label for=${`try-${name}`}><code>${name}</code>${required.has(name) ? '' : html` <span class="muted">optional</span>`}</label>
        <input
          id=${`try-${name}`}
          name=${`p_${name}`}
          value=${filled[name] ?? ''}
          autocomplete="off"
          required=${required.has(name)}
          maxlength=${MOST_FIELD}
        />
      </div>`,
  );
};

const NO_CALL = html`<p>A part of the path is empty, or leads to another endpoint. Correct it and run it again.</p>`;
const AWAY = html`<p>The API does not respond at the moment. Run it again in a few seconds.</p>`;

const renderAnswer = (tried: TriedCall | 'no_call'): Content =>
  tried === 'no_call'
    ? renderMessage('warn', NO_CALL)
    : tried.is === 'away'
      ? renderMessage('warn', AWAY)
      : html`<h3 id="try-answer">
          Answer ${renderTag(tried.status < 400 ? 'good' : 'bad', String(tried.status))} <span class="muted small-text">${tried.ms} ms</span>
        </h3>
        ${tried.location === null ? null : html`<p>It redirects to a link that is valid for 15 minutes: <code class="breaks">${tried.location}</code></p>`}
        ${tried.text === '' ? null : html`<pre tabindex="0" role="region" aria-labelledby="try-answer"><code>${tried.text}</code></pre>`}
        ${tried.cutLines === 0 ? null : html`<p class="muted small-text">${tried.cutLines} more lines are not shown.</p>`}`;

export type Trial = {
  readonly filled?: Filled;
  readonly tried?: TriedCall | 'no_call';
};

/** An endpoint, the newest anchored day, and what came of the endpoint's form when that was sent. */
export type Tried = { readonly endpoint: Endpoint; readonly day?: string | null; readonly trial?: Trial };

const toTryPath = (endpoint: Endpoint): string => `/docs/${toEndpointSlug(endpoint)}/try`;

const renderForm = (site: Site, exchange: Exchange, { endpoint, day = null, trial = {} }: Tried): Content => {
  const filled = trial.filled ?? fill(endpoint, site.nowMs(), day);
  const action = toTryPath(endpoint);
  return html`<form method="post" action=${`${action}#try`} class="panel">
      ${renderFormField(site, exchange, action)}${endpoint.method === 'POST' ? renderBodyField(filled) : renderInputFields(endpoint, filled)}
      <button type="submit">${trial.tried === undefined ? 'Run it here' : 'Run it again'}</button>
    </form>
    <p class="muted small-text">${describeTerms(exchange, endpoint)}</p>
    ${trial.tried === undefined ? null : renderAnswer(trial.tried)}`;
};

/** Whose request it is. */
const describeTerms = ({ request }: Exchange, { key }: Endpoint): string => {
  if (key === 'open') return 'This endpoint needs no key.';
  return request.session === null
    ? 'Runs with the key of this demo.'
    : 'Runs under the plan of your account and counts against its limits; you need no key.';
};

/** Signed out: the request and the recorded answer are above; the sign-in leads back here. */
const renderSignedOut = (endpoint: Endpoint): Content =>
  html`<p>
    The request and a recorded answer stand above.${' '}
    <a href=${`/sign-in?next=${encodeURIComponent(`/docs/${toEndpointSlug(endpoint)}`)}`}>Sign in</a>${' '}to change it and run it here, or${' '}
    <a href="/sign-up">make an account</a>: the plan Free costs nothing.
  </p>`;

/** Signed-in users; where the explorer is open everybody, but for what shows or changes an account of one's own. */
const mayRun = (site: Site, { request }: Exchange, endpoint: Endpoint): boolean =>
  request.session !== null || (isOpen(request, site) && isForVisitors(endpoint));

export const renderTrySection = (site: Site, exchange: Exchange, tried: Tried): Content => {
  const { endpoint } = tried;
  return html`<section id="try" aria-labelledby="try-title" class="try">
    <h2 id="try-title">Try it</h2>
    ${
      endpoint.class === 'stream'
        ? html`<p>The stream does not end, so it is not run here: paste the command above into a terminal.</p>`
        : !mayRun(site, exchange, endpoint)
          ? renderSignedOut(endpoint)
          : renderForm(site, exchange, tried)
    }
  </section>`;
};

const runTrial = async (
  site: Site,
  exchange: Exchange,
  { endpoint, findKey }: { readonly endpoint: Endpoint; readonly findKey: FindExplorerKey },
): Promise<Trial> => {
  if (!mayRun(site, exchange, endpoint)) return {};
  const filled = readSentFields(endpoint, exchange.request.body);
  const call = toCall(endpoint, filled);
  if (call === null) return { filled, tried: 'no_call' };
  const key = endpoint.key === 'open' ? null : await findKey(exchange.request.session);
  return { filled, tried: await callApi(site.urls, call, key) };
};

/** The route that the form goes to; `send` shows the page with what came of it. */
export const addTrial = (
  app: FastifyInstance,
  site: Site,
  { endpoint, send }: { readonly endpoint: Endpoint; readonly send: (exchange: Exchange, trial: Trial) => unknown },
): void => {
  if (endpoint.class === 'stream') return;
  const findKey = openExplorerKeys(site);
  const limits = { config: { rateLimit: { max: 30, timeWindow: '1 minute' } } };
  app.post(toTryPath(endpoint), limits, async (request, reply) => {
    const exchange = { request, reply };
    return send(exchange, await runTrial(site, exchange, { endpoint, findKey }));
  });
  app.get(toTryPath(endpoint), (_request, reply) => reply.redirect(`/docs/${toEndpointSlug(endpoint)}#try`, 303));
};
