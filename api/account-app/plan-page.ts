// /plan: the plan with its limits, today's counters of each key as GET /v2/account counts them, and what the other plans have.
import type { FastifyInstance } from 'fastify';
import { html } from 'htm/preact';
import { toDayOf } from '../../schemas/instants.ts';
import { openAccountStore } from '../access/account-store.ts';
import { listOwnKeys, type OwnKey } from '../accounts/account-keys.ts';
import type { Session } from '../accounts/sessions.ts';
import { SOLD_LAYERS } from '../contract/plan-rows.ts';
import { PLAN_CODES, PLANS, type Plan, type PlanLimits } from '../contract/plans.ts';
import { makeToday, type Today } from '../operations/account.ts';
import { renderMessage, renderTable, renderTag } from './components.ts';
import { readSession, requireSession } from './guards.ts';
import { type Content, type Exchange, sendPage } from './shell.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/plan';

/** From this share on it is drawn as a warning. */
const HIGH = 0.9;

const grouped = new Intl.NumberFormat('en-US');
const formatFigure = (value: number): string => grouped.format(value);

/** A share of a limit as a bar: drawn with attributes, because the pages have no inline style. */
const renderMeterBar = (label: string, { used, limit }: { readonly used: number; readonly limit: number }): Content => {
  const share = limit === 0 ? 0 : Math.min(1, used / limit);
  // Any use above zero must be visible.
  const width = used === 0 ? 0 : Math.max(1.5, share * 100);
  return html`<div class="use">
    <div class="use-words"><span>${label}</span><span class="muted">${formatFigure(used)} of ${formatFigure(limit)}</span></div>
    <svg class=${share >= HIGH ? 'meter high' : 'meter'} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect width=${width} height="8" />
    </svg>
  </div>`;
};

const formatCountOrAll = (count: number | null): string => (count === null ? 'All' : formatFigure(count));

/** The lines that a person compares plans by; GET /v2/account has all limits of a key. */
const LINES: readonly (readonly [label: string, of: (plan: Plan) => string])[] = [
  ['Price, 30 days', ({ price_usd }) => (price_usd === 0 ? 'Free' : `$${price_usd}`)],
  ['Venues', ({ venues }) => formatCountOrAll(venues)],
  ['Instruments', ({ instruments }) => formatCountOrAll(instruments)],
  ['History', ({ history_days }) => (history_days === null ? 'All kept' : `${history_days} days`)],
  ['Raw messages and rows', ({ raw }) => (raw ? 'Yes' : 'No')],
  ...SOLD_LAYERS.map(
    (layer) => [`Layer ${layer}`, ({ layers }: Plan) => (layers.includes(layer) ? 'Yes' : 'No')] as const,
  ),
  ['Requests a second', ({ limits }) => formatFigure(limits.requests_per_second)],
  ['Requests a day', ({ limits }) => formatFigure(limits.requests_per_day)],
  ['Queries a day', ({ limits }) => formatFigure(limits.dql_per_day)],
  ['Listings in a snapshot', ({ limits }) => formatFigure(limits.snapshots_listings)],
  ['Levels of a book', ({ limits }) => formatFigure(limits.book_depth)],
  ['Streams', ({ limits }) => formatFigure(limits.streams)],
  ['Agent rules', ({ limits }) => formatFigure(limits.agent_rules)],
  ['Archive files a day', ({ limits }) => formatFigure(limits.archive_files_per_day)],
  ['Keys', ({ limits }) => formatFigure(limits.keys)],
];

const renderPlansTable = (current: Plan): Content =>
  renderTable(
    'Plans',
    [{ label: 'Limit of a key' }, ...PLAN_CODES.map((code) => ({ label: PLANS[code].name, isNumber: true }))],
    LINES.map(
      ([label, of]) =>
        html`<tr>
          <th scope="row">${label}</th>
          ${PLAN_CODES.map((code) => html`<td class=${code === current.code ? 'number current' : 'number'}>${of(PLANS[code])}</td>`)}
        </tr>`,
    ),
  );

type Counted = { readonly key: OwnKey; readonly today: Today };

const countKeys = async (site: Site, keys: readonly OwnKey[]): Promise<readonly Counted[]> => {
  const store = openAccountStore(site.pool);
  const at = site.nowMs() * 1_000;
  const facts = await Promise.all(keys.map(({ key_id }) => store.read(key_id, toDayOf(at))));
  return keys.map((key, i) => ({ key, today: makeToday(PLANS[key.plan], facts[i] ?? { used: {} }, at) }));
};

const formatByClass = ({ by_class }: Today['requests']): string =>
  Object.entries(by_class)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name.replaceAll('_', ' ')} ${formatFigure(count)}`)
    .join(', ');

const renderKeyCard = ({ key, today }: Counted): Content =>
  html`<section class="card" aria-label=${`Today of ${key.name}`}>
    <h3>${key.name} ${renderTag('plain', PLANS[key.plan].name)}</h3>
    ${renderMeterBar('Requests', today.requests)} ${renderMeterBar('Queries', today.dql)}
    ${renderMeterBar('Fresh rule evaluations', today.agent_evaluations)} ${renderMeterBar('Archive files', today.archive_files)}
    <p class="muted small-text">${formatByClass(today.requests) || 'No request yet today.'}</p>
  </section>`;

const toLimitName = (name: keyof PlanLimits): string => name.replaceAll('_', ' ');

const renderAllLimits = ({ limits }: Plan): Content =>
  html`<details>
    <summary>All limits of your plan</summary>
    <dl class="facts">
      ${Object.entries(limits).map(
        ([name, value]) =>
          html`<dt>${toLimitName(name as keyof PlanLimits)}</dt>
            <dd>${typeof value === 'number' ? formatFigure(value) : value}</dd>`,
      )}
    </dl>
  </details>`;

const renderWhyPlan = ({ plan, ownPlan }: Session): Content =>
  plan === ownPlan
    ? null
    : renderMessage(
        'good',
        html`<p>
          ${PLANS[plan].name} is the plan of your best live key; the account's own plan is ${PLANS[ownPlan].name}. Agents that you connect have
          the better one, and keys that you create here have the account's.
        </p>`,
      );

const showPlan = async (site: Site, exchange: Exchange) => {
  const session = readSession(exchange.request);
  const plan = PLANS[session.plan];
  const live = (await listOwnKeys(site.pool, session.accountId)).filter(({ state }) => state === 'live');
  const counted = await countKeys(site, live);
  const resets = counted[0]?.today.resets_at.slice(0, 10);
  return sendPage(site, exchange, {
    title: 'Plan',
    body: html`<h1>Plan ${plan.name}</h1>
      <p class="lead">Limits apply to each key separately; a day is a UTC day.</p>
      ${renderWhyPlan(session)}
      <h2>Today</h2>
      ${
        counted.length === 0
          ? html`<p class="muted">No key is live. <a href="/keys">Make one</a>.</p>`
          : html`<div class="cards">${counted.map(renderKeyCard)}</div>
              <p class="muted small-text">Counters begin again on ${resets} at 00:00 UTC.</p>`
      }
      ${renderAllLimits(plan)}
      <h2>Plans</h2>
      <p>
        A larger plan is bought with USDC, 30 days at a time, by the API itself: a request without a key is answered with 402 and the price of each
        plan. No card and no subscription. <a href="/plan/link">Link a bought key</a> to this account.
      </p>
      ${renderPlansTable(plan)}`,
  });
};

export const planPage: SiteModule = {
  name: 'plan',
  nav: { member: [{ path: PATH, label: 'Plan' }] },
  register: (app: FastifyInstance, site) => {
    app.addHook('preHandler', requireSession);
    app.get(PATH, (request, reply) => showPlan(site, { request, reply }));
  },
};
