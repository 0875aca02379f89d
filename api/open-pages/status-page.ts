// `/status`: /status.json and /incidents.json as a page without script; while the API does not answer, its last answer with its age.
import { html } from 'htm/preact';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import { renderTable } from '../account-app/components.ts';
import { type Content, sendPage } from '../account-app/shell.ts';
import type { SiteModule } from '../account-app/site.ts';
import {
  createStatusReader,
  type Incident,
  type KnownStatus,
  type LayerStatus,
  type Level,
  type Status,
  type VenueStatus,
} from './read-status.ts';
import { formatPercent, renderExactInstant, renderStateTag, renderTextInstant } from './status-words.ts';

const SHOWN_INCIDENTS = 50;

const formatLevel = (level: Level): string => (level === null ? 'not measured' : `${level.p50} / ${level.p99} ms`);
const toDayClass = (share: number | null): string | undefined => {
  if (share === null) return 'none';
  if (share >= 0.999) return undefined;
  return share >= 0.95 ? 'some' : 'little';
};

/** Every day from the first to the last; one without a count is no good day. */
const fillDays = (days: LayerStatus['days']): LayerStatus['days'] => {
  const shares = new Map(days.map(({ day, present_share: share }) => [day, share]));
  const [first, last] = [days[0]?.day, days.at(-1)?.day];
  if (first === undefined || last === undefined) return [];
  const count = (Date.parse(last) - Date.parse(first)) / MS_PER_DAY + 1;
  return Array.from({ length: count }, (_, i) => {
    const day = new Date(Date.parse(first) + i * MS_PER_DAY).toISOString().slice(0, 10);
    return { day, present_share: shares.get(day) ?? null };
  });
};

const renderStrip = ({ layer, days }: LayerStatus): Content =>
  days.length === 0
    ? html`<span class="muted">no closed day yet</span>`
    : html`<ul class="strip" aria-label=${`Share of time present of ${layer} by day`}>
        ${fillDays(days).map(
          ({ day, present_share: share }) =>
            html`<li class=${toDayClass(share)} title=${`${day}: ${formatPercent(share)}`}>
              <span class="hidden-text">${`${day}: ${formatPercent(share)}`}</span>
            </li>`,
        )}
      </ul>`;

const renderLayerRow = (layer: LayerStatus): Content =>
  html`<tr class=${layer.state === 'off' || layer.state === 'not_published' ? 'off' : undefined}>
    <th scope="row">${layer.layer}</th>
    <td>${renderStateTag(layer.state)}</td>
    <td class="number">${`${layer.present} of ${layer.listings}`}</td>
    <td>${renderTextInstant(layer.last_received)}</td>
    <td class="number">${formatLevel(layer.receipt_lag_ms)}</td>
    <td class="days">${renderStrip(layer)}</td>
  </tr>`;

const COLUMNS = [
  { label: 'Layer' },
  { label: 'State' },
  { label: 'Present', isNumber: true },
  { label: 'Last received' },
  { label: 'Receipt lag p50 / p99', isNumber: true },
  { label: 'Days' },
];

const renderVenueSection = (venue: VenueStatus): Content =>
  html`<section>
    <h2>${venue.name} ${renderStateTag(venue.state)}</h2>
    <p class="muted">
      ${venue.state_since === null ? null : html`Since ${renderTextInstant(venue.state_since)}. `}Pipeline lag p50 / p99: ${formatLevel(venue.pipeline_lag_ms)}.
    </p>
    ${renderTable(`Layers of ${venue.name}`, COLUMNS, venue.layers.map(renderLayerRow))}
  </section>`;

const renderIncidentRow = ({ venue, layers, from, to, gap_cause: cause, state, note }: Incident): Content =>
  html`<tr>
    <td>${renderExactInstant(from)}</td>
    <td>${to === null ? 'still open' : renderExactInstant(to)}</td>
    <td>${venue ?? 'service'}</td>
    <td>${layers.join(', ')}</td>
    <td>${cause ?? ''}</td>
    <td>${renderStateTag(state)}</td>
    <td class="wraps">${note}</td>
  </tr>`;

const renderIncidentsTable = (incidents: readonly Incident[]): Content =>
  html`${renderTable(
    'Incidents',
    ['From', 'To', 'Venue', 'Layers', 'Cause', 'State', 'Note'].map((label) => ({ label })),
    incidents.slice(0, SHOWN_INCIDENTS).map(renderIncidentRow),
  )}
  ${
    incidents.length <= SHOWN_INCIDENTS
      ? null
      : html`<p>The newest ${SHOWN_INCIDENTS} are shown; <a href="/incidents.json">incidents.json</a> has more.</p>`
  }`;

const listIncidents = (incidents: KnownStatus['incidents']): Content => {
  if (incidents === null) return html`<p>The incidents cannot be read at this moment.</p>`;
  return incidents.length === 0 ? html`<p>None in the last 90 days.</p>` : renderIncidentsTable(incidents);
};

const renderIncidentsSection = (incidents: KnownStatus['incidents']): Content =>
  html`<section>
    <h2>Incidents</h2>
    ${listIncidents(incidents)}
    <p class="small-text muted">The range of an incident is that of the gap rows in the stored history.</p>
  </section>`;

const formatAnchored = ({ anchored, history_read_at: readAt }: Status): string => {
  if (anchored !== null) return `${anchored.day} (${anchored.status})`;
  return readAt === null ? 'not known' : 'none yet';
};

const renderServiceSection = (status: Status): Content => {
  const { service } = status;
  return html`<section>
    <h2>Service</h2>
    ${renderTable(
      'Answer times of the last hour',
      [
        { label: 'Endpoint' },
        { label: 'p50', isNumber: true },
        { label: 'p99', isNumber: true },
        { label: 'Answers', isNumber: true },
      ],
      Object.entries(service.answers_ms).map(
        ([route, { p50, p99, count }]) =>
          html`<tr>
            <th scope="row"><code>${route}</code></th>
            <td class="number">${p50} ms</td>
            <td class="number">${p99} ms</td>
            <td class="number">${count}</td>
          </tr>`,
      ),
    )}
    <dl class="facts">
      <dt>Stream delivery p50 / p99</dt>
      <dd>${formatLevel(service.stream_delivery_ms)}</dd>
      <dt>Settled answers that changed</dt>
      <dd>${service.settled_recheck_failures ?? 'not known'}</dd>
      <dt>Newest anchored day</dt>
      <dd>${formatAnchored(status)}</dd>
    </dl>
  </section>`;
};

const formatSummary = ({ venues }: Status): string => {
  if (venues.length === 0) return 'No venue is served yet.';
  const live = venues.filter(({ state }) => state === 'live').length;
  return live === venues.length ? 'All venues are live.' : `${live} of ${venues.length} venues are live.`;
};

const renderBody = ({ status, incidents, isOld }: KnownStatus): Content =>
  html`<h1>Status</h1>
    ${isOld ? html`<p class="message warn" role="status">The API does not respond. This is its last response.</p>` : null}
    <p>
      <strong>${formatSummary(status)}</strong> <span class="muted">As of ${renderTextInstant(status.evaluated_at)}.</span>
    </p>
    ${status.venues.map(renderVenueSection)} ${renderIncidentsSection(incidents)} ${renderServiceSection(status)}`;

const register: SiteModule['register'] = (app, site) => {
  const readStatus = createStatusReader(site);
  app.get('/status', async (request, reply) => {
    const known = await readStatus();
    const body =
      known === null
        ? html`<h1>Status</h1><p>The API does not respond, and has not responded since this site was started.</p>`
        : renderBody(known);
    const status = known === null ? 503 : 200;
    return sendPage(site, { request, reply }, { title: 'Status', width: 'wide', styles: ['docs'], status, body });
  });
  for (const name of ['status.json', 'incidents.json', 'changelog.json', 'changelog.atom', 'openapi.json'])
    app.get(`/${name}`, (_request, reply) => reply.redirect(`${site.urls.base}/${name}`, 302));
};

export const statusPage: SiteModule = {
  name: 'status',
  nav: { open: [{ path: '/status', label: 'Status' }] },
  register,
};
