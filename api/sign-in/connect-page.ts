// The page on which an owner allows or denies a connection; it works without script (interface, Tool-server sign-in; T-10).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import { readSession, refuseEnded, requireSession } from '../account-app/guards.ts';
import { makeContentSecurityPolicy } from '../account-app/headers.ts';
import { type Content, renderFormField, sendPage, sendProblem } from '../account-app/shell.ts';
import type { Site } from '../account-app/site.ts';
import { type Connection, listConnections } from '../accounts/connections.ts';
import type { Session } from '../accounts/sessions.ts';
import { PLANS } from '../contract/plans.ts';
import { MOST_CONNECTIONS } from './connections.ts';
import type { Asking, Consents } from './consents.ts';

type Shown = {
  readonly uid: string;
  readonly asking: Asking;
  readonly session: Session;
  /** What the account holds beside an earlier connection of this client. */
  readonly others: readonly Connection[];
  readonly earlier: Connection | undefined;
  readonly status: 200 | 409;
};

const UNNAMED = 'An application without a name';
const toDay = (date: Date): string => date.toISOString().slice(0, 10);

/** Not spelt by the client: `https://bank.example@evil.example` has the host evil.example. */
const readHost = (redirectUri: string): string => new URL(redirectUri).host;

const renderFacts = ({ asking, session }: Shown): Content => html`<dl class="facts">
  <dt>Application</dt>
  <dd><strong><bdi>${asking.clientName ?? UNNAMED}</bdi></strong> <span class="hint">(it calls itself so; nobody has verified it)</span></dd>
  ${asking.clientId.startsWith('https:') ? html`<dt>Described at</dt><dd><code>${asking.clientId}</code></dd>` : null}
  <dt>You are sent back to</dt>
  <dd><strong>${readHost(asking.redirectUri)}</strong> <span class="hint"><code>${asking.redirectUri}</code></span></dd>
  <dt>Account</dt>
  <dd>${session.email}</dd>
  <dt>Plan</dt>
  <dd>${PLANS[session.plan].name}</dd>
</dl>`;

const renderWarning = ({ asking }: Shown): Content =>
  asking.isLoopback
    ? html`<p class="message warn" role="note">
        This address is a program on your own computer. Allow it only if you have just asked a program on this computer to connect.
      </p>`
    : null;

const renderRoom = ({ others }: Shown): Content =>
  others.length < MOST_CONNECTIONS
    ? null
    : html`<fieldset>
        <legend>An account has at most ${MOST_CONNECTIONS} connections. Which one ends?</legend>
        ${others.map(
          ({ connection_id: id, client_name: name, redirect_uri: to, created_at: made }) =>
            html`<label class="check">
              <input type="radio" name="instead" value=${id} />
              <span><bdi>${name ?? UNNAMED}</bdi><br /><span class="hint">${readHost(to)}, since ${toDay(made)}</span></span>
            </label>`,
        )}
      </fieldset>`;

const renderBody = (site: Site, exchange: { request: FastifyRequest; reply: FastifyReply }, shown: Shown): Content => {
  const path = `/connect/${shown.uid}`;
  return html`<h1>Connect this application?</h1>
    ${
      shown.status === 409
        ? html`<p class="message bad" role="alert">Choose which connection ends, then press Allow again.</p>`
        : null
    }
    ${renderFacts(shown)} ${renderWarning(shown)}
    <p>It may read market data within the limits of your plan. It cannot change your account, your plan, your keys or your agent rules.</p>
    ${
      shown.earlier === undefined
        ? null
        : html`<p>It replaces the connection that this application has had since ${toDay(shown.earlier.created_at)}.</p>`
    }
    <form method="post" action=${path}>
      ${renderFormField(site, exchange, path)} ${renderRoom(shown)}
      <p class="actions">
        <button type="submit" name="choice" value="allow">Allow</button>
        <button type="submit" name="choice" value="deny" class="quiet">Deny</button>
      </p>
    </form>`;
};

const sendGone = (site: Site, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  sendProblem(
    site,
    { request, reply },
    {
      status: 404,
      text: 'This request to connect has expired, was answered, or was made in another browser. Connect again from the application.',
    },
  );

type Opened = { readonly uid: string; readonly asking: Asking; readonly session: Session; readonly status: 200 | 409 };

const createShow =
  (site: Site) =>
  async (request: FastifyRequest, reply: FastifyReply, opened: Opened): Promise<FastifyReply> => {
    const { asking, session } = opened;
    const held = await listConnections(site.pool, session.accountId);
    const shown = {
      ...opened,
      others: held.filter((one) => one.client_id !== asking.clientId),
      earlier: held.find((one) => one.client_id === asking.clientId),
    };
    // Browsers apply form-action to every redirect that follows the form, so it names where the code goes.
    const formAction = [new URL(site.urls.auth).origin, new URL(asking.redirectUri).origin];
    reply.header('content-security-policy', makeContentSecurityPolicy({ formAction }));
    return sendPage(
      site,
      { request, reply },
      { title: 'Connect', status: opened.status, width: 'narrow', body: renderBody(site, { request, reply }, shown) },
    );
  };

const readField = (request: FastifyRequest, name: string): string | null => {
  const value = (request.body as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : null;
};

/** `/connect/{uid}`; the cookie of the provider determines which browser may answer it. */
export const addConnectPage = (app: FastifyInstance, site: Site, consents: Consents): void => {
  const show = createShow(site);
  const path = '/connect/:uid';
  const options = { onRequest: requireSession };

  app.get<{ Params: { uid: string } }>(path, options, async (request, reply) => {
    const { uid } = request.params;
    const session = readSession(request);
    const asking = await consents.read({ req: request.raw, res: reply.raw }, uid);
    if (asking === null) return sendGone(site, request, reply);
    if (asking.answeredTo !== null) return reply.redirect(asking.answeredTo, 303);
    return show(request, reply, { uid, asking, session, status: 200 });
  });

  app.post<{ Params: { uid: string } }>(path, options, async (request, reply) => {
    const { uid } = request.params;
    const session = readSession(request);
    const browser = { req: request.raw, res: reply.raw };
    const choice = readField(request, 'choice');
    if (choice !== 'allow' && choice !== 'deny') {
      const problem = { status: 400, text: 'Press Allow or Deny.' };
      return sendProblem(site, { request, reply }, problem);
    }
    const to =
      choice === 'deny'
        ? await consents.deny(browser, uid)
        : await consents.allow(browser, { uid, session, instead: readField(request, 'instead') });
    if (to === null) return sendGone(site, request, reply);
    if (to === 'ended') return refuseEnded(request, reply);
    if (to !== 'full') return reply.header('cache-control', 'no-store').redirect(to, 303);
    const asking = await consents.read(browser, uid);
    if (asking === null) return sendGone(site, request, reply);
    return show(request, reply, { uid, asking, session, status: 409 });
  });
};
