// The documentation: `/docs`, each page also as Markdown, search, and texts for programs. Texts are rendered once at start; no script is needed.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'htm/preact';
import { type Content, type Exchange, type PageContent, sendPage } from '../account-app/shell.ts';
import type { Site, SiteModule } from '../account-app/site.ts';
import { chooseMediaType } from '../contract/negotiation.ts';
import { ENDPOINTS, toEndpointSlug } from './endpoint-pages.ts';
import { printLlmsFullText, printLlmsText } from './llms-text.ts';
import { type DocsPage, readPages } from './pages.ts';
import { createStatusReader } from './read-status.ts';
import { createRenderer, type RenderedPage } from './render-markdown.ts';
import { createSearch, type Found } from './search-docs.ts';
import { addTrial, isAboutDay, renderTrySection, type Trial, type Tried } from './try-endpoint.ts';
import { createTwins } from './twin-text.ts';
import { renderVenuesNow } from './venues-now.ts';

const CACHING = 'public, max-age=60';
const MOST_QUERY = 200;
/** A page with more headings than that shows the upper ones only. */
const MOST_HEADINGS = 40;

const renderSearchForm = (query: string): Content =>
  html`<form class="docs-search" method="get" action="/docs/search" role="search">
    <label class="hidden-text" for="q">Search the documentation</label>
    <input id="q" name="q" type="search" value=${query} maxlength=${MOST_QUERY} placeholder="Search" />
    <button class="quiet" type="submit">Search</button>
  </form>`;

const isBelow = ({ slug }: DocsPage, upper: string): boolean => slug.startsWith(`${upper}/`);

/** Pages below another are listed while one of them, or that one, is shown. */
const isListed = (page: DocsPage, current: string): boolean => {
  const [upper = ''] = page.slug.split('/');
  return page.slug === upper || current === upper || current.startsWith(`${upper}/`);
};

/** Open beside the page; on a phone, where it would fill the first screen of every page, it opens on a press (`docs.css`). */
const renderContents = (pages: readonly DocsPage[], current: string): Content =>
  html`<details class="docs-fold"><summary>Contents</summary><nav class="docs-contents" aria-label="Documentation">
    ${[...Map.groupBy(pages, ({ section }) => section)].map(
      ([section, own]) =>
        html`<p class="docs-section">${section}</p>
          <ul>
            ${own
              .filter((page) => isListed(page, current))
              .map(
                (page) =>
                  html`<li class=${own.some(({ slug }) => isBelow(page, slug)) ? 'below' : undefined}>
                    <a href=${`/docs/${page.slug}`} aria-current=${page.slug === current ? 'page' : undefined}>${page.title}</a>
                  </li>`,
              )}
          </ul>`,
    )}
  </nav></details>`;

const renderOnThisPage = ({ headings }: RenderedPage): Content => {
  const second = headings.filter(({ level }) => level === 2);
  if (second.length < 3) return null;
  return html`<details class="docs-headings">
    <summary>On this page</summary>
    <ul>
      ${second.slice(0, MOST_HEADINGS).map(({ id, title }) => html`<li><a href=${`#${id}`}>${title}</a></li>`)}
    </ul>
  </details>`;
};

const renderFrame = (
  pages: readonly DocsPage[],
  { slug, body, query = '' }: { slug: string; body: Content; query?: string },
): Content =>
  html`<div class="docs">
    <aside>${renderSearchForm(query)}${renderContents(pages, slug)}</aside>
    <div class="docs-page">${body}</div>
  </div>`;

/** What a page has besides its text. */
type Extras = { readonly above?: Content; readonly below?: Content };

/** `above` is shown below the title. */
const renderArticle = (rendered: RenderedPage, above: Content): Content => {
  const { html: text } = rendered;
  const end = text.indexOf('</h1>') + '</h1>'.length;
  return html`<div dangerouslySetInnerHTML=${{ __html: text.slice(0, end) }}></div>
    ${renderOnThisPage(rendered)}${above}
    <div dangerouslySetInnerHTML=${{ __html: text.slice(end) }}></div>`;
};

const makePageContent = (
  pages: readonly DocsPage[],
  [page, rendered]: Shown,
  { above, below }: Extras = {},
): PageContent => ({
  title: page.title,
  description: page.summary,
  width: 'wide',
  styles: ['docs'],
  body: renderFrame(pages, {
    slug: page.slug,
    body: html`<article>${renderArticle(rendered, above)}</article>${below}
      <p class="muted small-text"><a href=${`/docs/${page.slug}.md`}>This page as Markdown</a></p>`,
  }),
});

const describeFound = (query: string, { total, hits }: Found): string => {
  if (query === '') return 'Type a word, a field, a function or an error code.';
  if (total === 0) return `0 results for “${query}”. Fewer or shorter words find more.`;
  const count = total === 1 ? '1 result' : `${total} results`;
  return `${count} for “${query}”${total > hits.length ? `, the best ${hits.length} below` : ''}`;
};

const renderHitList = (query: string, found: Found): Content =>
  html`<h1>Search</h1>
    <p role="status">${describeFound(query, found)}</p>
    <ol class="docs-hits">
      ${found.hits.map(
        ({ address, page, title, excerpt }) =>
          html`<li>
            <a href=${address}>${title}</a> <span class="muted">${page}</span>
            <p class="small-text">${excerpt}</p>
          </li>`,
      )}
    </ol>`;

/** Texts for programs. Web pages of any origin may read them, as they may read the API that links to them (N-13). */
const sendText = (reply: FastifyReply, type: string, text: string): FastifyReply =>
  reply
    .header('cache-control', CACHING)
    .header('access-control-allow-origin', '*')
    .type(`${type}; charset=utf-8`)
    .send(text);

const wantsMarkdown = ({ request }: Exchange): boolean =>
  chooseMediaType(request.headers.accept, ['text/html', 'text/markdown']) === 'text/markdown';

/** A page, what the site shows of it, and its Markdown as programs are given it. */
type Shown = readonly [DocsPage, RenderedPage, string];
type Docs = {
  readonly pages: readonly DocsPage[];
  readonly makeExtras: (page: DocsPage, exchange: Exchange) => Extras | Promise<Extras>;
};

const addPage = (
  app: FastifyInstance,
  site: Site,
  { pages, makeExtras, shown }: Docs & { readonly shown: Shown },
): void => {
  const [page, , twin] = shown;
  const send = async (exchange: Exchange): Promise<FastifyReply> => {
    const { reply } = exchange;
    reply.header('vary', 'Accept').header('link', `</docs/${page.slug}.md>; rel="alternate"; type="text/markdown"`);
    if (wantsMarkdown(exchange)) return sendText(reply, 'text/markdown', twin);
    return sendPage(site, exchange, makePageContent(pages, shown, await makeExtras(page, exchange)));
  };
  app.get(`/docs/${page.slug}`, (request, reply) => send({ request, reply }));
  app.get(`/docs/${page.slug}.md`, (_request, reply) => sendText(reply, 'text/markdown', twin));
};

const TRY_LINK = html`<p><a class="button quiet small" href="#try">Try it</a></p>`;
const makeTrial = (site: Site, exchange: Exchange, tried: Tried): Extras => ({
  above: TRY_LINK,
  below: renderTrySection(site, exchange, tried),
});

type All = { readonly pages: readonly DocsPage[]; readonly all: readonly Shown[] };

/** The routes that the forms below endpoints go to. */
const addTrials = (app: FastifyInstance, site: Site, { pages, all }: All): void => {
  for (const endpoint of ENDPOINTS) {
    const shown = all.find(([{ slug }]) => slug === toEndpointSlug(endpoint));
    if (shown === undefined) continue;
    const send = (exchange: Exchange, trial: Trial): FastifyReply =>
      sendPage(site, exchange, makePageContent(pages, shown, makeTrial(site, exchange, { endpoint, trial })));
    addTrial(app, site, { endpoint, send });
  }
};

const addSearch = (app: FastifyInstance, site: Site, { pages, all }: All): void => {
  const search = createSearch(all.map(([page, rendered]) => [page, rendered]));
  app.get('/docs/search', (request, reply) => {
    const { q } = request.query as { readonly q?: unknown };
    const query = (typeof q === 'string' ? q : '').trim().slice(0, MOST_QUERY);
    const found = query === '' ? { total: 0, hits: [] } : search(query);
    const body = renderFrame(pages, { slug: '', query, body: renderHitList(query, found) });
    return sendPage(site, { request, reply }, { title: 'Search', width: 'wide', styles: ['docs'], body });
  });
};

const register = (app: FastifyInstance, site: Site): void => {
  const pages = readPages();
  const render = createRenderer(pages);
  const makeTwin = createTwins(pages, site.urls);
  const all = pages.map((page): Shown => [page, render(page), makeTwin(page)]);
  const readStatus = createStatusReader(site);
  const endpoints = new Map(ENDPOINTS.map((endpoint) => [toEndpointSlug(endpoint), endpoint]));
  const makeExtras: Docs['makeExtras'] = async ({ slug, live }, exchange) => {
    const endpoint = endpoints.get(slug);
    if (endpoint !== undefined) {
      // Only an example about one day waits for the status.
      const day = isAboutDay(endpoint) ? ((await readStatus())?.status.anchored?.day ?? null) : null;
      return makeTrial(site, exchange, { endpoint, day });
    }
    return live === 'venues' ? { above: renderVenuesNow(await readStatus()) } : {};
  };
  for (const shown of all) addPage(app, site, { pages, makeExtras, shown });
  addTrials(app, site, { pages, all });
  addSearch(app, site, { pages, all });
  const texts = all.map(([page, , twin]) => [page, twin] as const);
  app.get('/docs', (_request, reply) => reply.redirect(`/docs/${pages[0]?.slug}`, 302));
  app.get('/docs/verify', (_request, reply) => reply.redirect(`${site.urls.base}/docs/verify`, 302));
  app.get('/llms.txt', (_request, reply) => sendText(reply, 'text/plain', printLlmsText(pages, site.urls)));
  app.get('/llms-full.txt', (_request, reply) => sendText(reply, 'text/plain', printLlmsFullText(texts, site.urls)));
};

export const docsPages: SiteModule = {
  name: 'docs',
  nav: { open: [{ path: '/docs', label: 'Docs' }] },
  styles: { docs: new URL('./docs.css', import.meta.url) },
  register,
};
