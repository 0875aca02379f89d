// /connections: the applications that may read market data for the account, each ended by one press; and the same as JSON (AC-04).
import { html } from 'htm/preact';
import { type Connection, endConnection, listConnections } from '../accounts/connections.ts';
import { PLANS } from '../contract/plans.ts';
import { renderCopyable, renderInstant, renderTable } from './components.ts';
import { cleanId } from './fields.ts';
import { readSession, requireSession } from './guards.ts';
import { type Content, type Exchange, renderButtonForm, sendPage, sendProblem } from './shell.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/connections';
const MOST = 5;

const readHost = (uri: string): string => (URL.canParse(uri) ? new URL(uri).host : uri);

const renderRow = (site: Site, exchange: Exchange, connection: Connection): Content => {
  const { connection_id, client_name, redirect_uri, plan, created_at, last_used_at } = connection;
  const name = client_name ?? 'An application without a name';
  return html`<tr>
    <th scope="row"><bdi>${name}</bdi></th>
    <td>${readHost(redirect_uri)}</td>
    <td>${PLANS[plan].name}</td>
    <td>${renderInstant(created_at)}</td>
    <td>${renderInstant(last_used_at)}</td>
    <td class="act">
      ${renderButtonForm(site, exchange, { path: `${PATH}/${connection_id}/end`, label: 'End', name: `End ${name}` })}
    </td>
  </tr>`;
};

const COLUMNS = [
  ...['Application', 'Returns to', 'Plan', 'Connected', 'Last used'].map((label) => ({ label })),
  { label: 'End', isAction: true },
];

const renderHow = ({ urls }: Site): Content =>
  urls.mcp === null
    ? null
    : html`<h2>Connect an agent</h2>
        <p>Give its client this address of the tool server. The client opens a page of this site, and you press Allow. Claude Code, for example:</p>
        ${renderCopyable('connect', `claude mcp add --transport http perp ${urls.mcp}`, { wraps: true })}`;

const show = async (site: Site, exchange: Exchange) => {
  const { accountId } = readSession(exchange.request);
  const connections = await listConnections(site.pool, accountId);
  return sendPage(site, exchange, {
    title: 'Connected applications',
    body: html`<h1>Connected applications</h1>
      <p class="lead">
        They read market data with separate limits, and cannot change anything in your account. ${connections.length} of ${MOST} are connected.
      </p>
      ${
        connections.length === 0
          ? html`<p class="muted">Nothing is connected.</p>`
          : renderTable(
              'Connected applications',
              COLUMNS,
              connections.map((connection) => renderRow(site, exchange, connection)),
            )
      }
      ${renderHow(site)}`,
  });
};

const UNKNOWN = { status: 404, text: 'You have no such connection.' } as const;

export const connectionsPage: SiteModule = {
  name: 'connections',
  nav: { member: [{ path: PATH, label: 'Connections' }] },
  register: (app, site) => {
    app.addHook('preHandler', requireSession);
    const end = (request: Exchange['request']): Promise<boolean> => {
      const { id } = request.params as { readonly id: string };
      return endConnection(site.pool, readSession(request).accountId, cleanId(id));
    };
    app.get(PATH, (request, reply) => show(site, { request, reply }));
    app.post(`${PATH}/:id/end`, async (request, reply) =>
      (await end(request)) ? reply.redirect(PATH, 303) : sendProblem(site, { request, reply }, UNKNOWN),
    );
    app.get('/api/connections', async (request, reply) => {
      const items = await listConnections(site.pool, readSession(request).accountId);
      return reply.header('cache-control', 'no-store').send({ items });
    });
    app.delete('/api/connections/:id', async (request, reply) =>
      (await end(request)) ? reply.code(204).send() : sendProblem(site, { request, reply }, UNKNOWN),
    );
  },
};
