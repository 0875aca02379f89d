// The start page: what the service is and how to begin; redirects signed-in users to their keys.
import { html } from 'htm/preact';
import { isOpen } from './guards.ts';
import { type Content, SITE_NAME, sendPage } from './shell.ts';
import type { SiteModule } from './site.ts';

/** Instruments whose venues differ in funding by more than 0.02 % in 8 h. */
const QUERY = 'max(venues, funding_8h) - min(venues, funding_8h) > 0.0002 select funding_8h, mark';

type Feature = { readonly title: string; readonly text: Content; readonly href: string; readonly label: string };

/** What the service does that others do not, each with the page that explains or shows it. */
const listFeatures = (explorer: 'open' | 'closed'): readonly Feature[] => [
  {
    title: 'Every figure has its age',
    text: 'Each value has the venue’s timestamp, the time of receipt and a status. A stale figure is withheld, and the reason is stated.',
    href: '/docs/concepts',
    label: 'Concepts',
  },
  {
    title: 'Venues are not blended',
    text: 'A figure is one venue’s, with that venue’s digits and unit. What a venue does not publish is absent, not zero.',
    href: '/docs/venues',
    label: 'Venues',
  },
  {
    title: 'History keeps its gaps',
    text: 'A period without readings is a row with its cause. An answer about the past stays the same, byte for byte.',
    href: '/docs/concepts#gaps',
    label: 'Gaps',
  },
  {
    title: 'One language for all questions',
    text: html`<code>${QUERY}</code>`,
    ...(explorer === 'open'
      ? { href: `/explore/query?${new URLSearchParams({ q: QUERY })}`, label: 'Run it' }
      : { href: '/docs/language', label: 'Query language' }),
  },
  {
    title: 'Rows can be proved',
    text: 'The rows of a day are the leaves of a hash tree. Its root is posted on a public chain.',
    ...(explorer === 'open'
      ? { href: '/explore/proof', label: 'Prove a row' }
      : { href: '/docs/concepts#anchored', label: 'Anchored days' }),
  },
  {
    title: 'Agents read it too',
    text: 'Calls are tools of an MCP server, with a key or by sign-in. With x402 a program pays for a call and needs no account.',
    href: '/docs/agents',
    label: 'Agents',
  },
];

const renderFeature = ({ title, text, href, label }: Feature): Content =>
  html`<li class="card">
    <h2>${title}</h2>
    <p>${text}</p>
    <p><a href=${href}>${label}</a></p>
  </li>`;

export const homePage: SiteModule = {
  name: 'home',
  register: (app, site) => {
    app.get('/', (request, reply) => {
      if (request.session !== null) return reply.redirect('/keys', 303);
      const explorer = isOpen(request, site) ? 'open' : 'closed';
      return sendPage(
        site,
        { request, reply },
        {
          title: 'Perpetual-futures market data',
          description: 'Perpetual-futures market data with the age, the source and the validity of each number.',
          body: html`<div class="hero">
          <h1>Market data that says how old it is</h1>
          <p class="lead">
            ${SITE_NAME} collects what perpetual-futures venues publish and serves each number with its age, its source and its validity.
            What is not current is withheld with the reason.
          </p>
          <p class="actions">
            <a class="button" href="/sign-up">Create a free account</a>
            ${explorer === 'open' ? html`<a class="button quiet" href="/explore">Explore without an account</a>` : html`<a class="button quiet" href="/sign-in">Sign in</a>`}
            <a class="button quiet" href="/docs">Read the documentation</a>
          </p>
        </div>
        <ul class="cards features">${listFeatures(explorer).map(renderFeature)}</ul>`,
        },
      );
    });
  },
};
