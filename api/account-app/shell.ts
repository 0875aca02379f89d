// The frame of every page: head, navigation, main part, foot; rendered on the server, complete without script.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { render } from 'preact-render-to-string';
import { readPath } from '../contract/request-url.ts';
import { FORM_FIELD } from './form-tokens.ts';
import { canUnpack, packPage } from './packing.ts';
import type { NavEntry, Site } from './site.ts';

/** What `html` takes between tags. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

export type PageContent = {
  readonly title: string;
  readonly body: Content;
  /** 200 by default. */
  readonly status?: number;
  /** Names of scripts and style sheets that modules gave, beside those of every page. */
  readonly islands?: readonly string[];
  readonly styles?: readonly string[];
  /** `narrow`: one form in the middle; `wide`: tables and charts over the whole width. */
  readonly width?: 'narrow' | 'normal' | 'wide';
  readonly description?: string;
  /**
   * Compress with brotli if the browser accepts it. Only for a page without a form token and without a session: the length of a compressed answer
   * reveals its content when the address contributes text to it (the BREACH attack).
   */
  readonly isPacked?: boolean;
};

export const SITE_NAME = 'Perp Market Data';

const isCurrent = (path: string, url: string): boolean => {
  const current = readPath(url);
  return current === path || current.startsWith(`${path}/`);
};

const renderNavLinks = (entries: readonly NavEntry[], url: string): Content =>
  entries.map(
    ({ path, label }) =>
      html`<li><a href=${path} aria-current=${isCurrent(path, url) ? 'page' : undefined}>${label}</a></li>`,
  );

/** The field that every form has; `<form method="post" action=${path}>${renderFormField(…)}`. */
export const renderFormField = (site: Site, { request, reply }: Exchange, path: string): Content =>
  html`<input type="hidden" name=${FORM_FIELD} value=${site.forms.make(request, reply, path)} />`;

type Button = {
  readonly path: string;
  readonly label: string;
  /** Accessible name, where the label does not name what the button acts on. */
  readonly name?: string;
  readonly style?: string;
};

/** A form that is one button. */
export const renderButtonForm = (
  site: Site,
  exchange: Exchange,
  { path, label, name, style = 'danger small' }: Button,
): Content =>
  html`<form method="post" action=${path}>
    ${renderFormField(site, exchange, path)}
    <button type="submit" class=${style} aria-label=${name}>${label}</button>
  </form>`;

const renderSignOut = (site: Site, exchange: Exchange): Content =>
  html`<form method="post" action="/sign-out" class="sign-out">
    ${renderFormField(site, exchange, '/sign-out')}
    <button class="link" type="submit">Sign out</button>
  </form>`;

const renderHeader = (site: Site, exchange: Exchange): Content => {
  const { session, url } = exchange.request;
  return html`<header class="top">
    <a class="brand" href="/"><img src=${site.assets.icon} alt="" width="22" height="22" />${SITE_NAME}</a>
    <nav aria-label="Main">
      <ul>
        ${session === null ? null : renderNavLinks(site.nav.member, url)}${renderNavLinks(site.nav.open, url)}
      </ul>
    </nav>
    <div class="who">
      ${
        session === null
          ? html`<a href="/sign-in">Sign in</a><a class="button small" href="/sign-up">Sign up</a>`
          : html`<span class="email" title=${session.email}>${session.email}</span>${renderSignOut(site, exchange)}`
      }
    </div>
  </header>`;
};

const renderLinks = (site: Site, { islands = [], styles = [] }: PageContent): Content => [
  ...['site', ...styles].map((name) => html`<link rel="stylesheet" href=${site.assets.style(name)} />`),
  ...['site', ...islands].map((name) => html`<script type="module" src=${site.assets.script(name)}></script>`),
];

const renderPage = (site: Site, exchange: Exchange, content: PageContent): VNode => html`<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    ${content.description === undefined ? null : html`<meta name="description" content=${content.description} />`}
    <title>${`${content.title} · ${SITE_NAME}`}</title>
    <link rel="icon" type="image/svg+xml" href=${site.assets.icon} />
    ${renderLinks(site, content)}
  </head>
  <body>
    <a class="skip" href="#main">Skip to content</a>
    ${renderHeader(site, exchange)}
    ${
      site.simulated
        ? html`<aside class="notice" aria-label="Notice">Simulated venues: the figures of this service are invented.</aside>`
        : null
    }
    <main id="main" class=${content.width ?? 'normal'} tabindex="-1">${content.body}</main>
    <footer class="foot">
      <a href=${`${site.urls.base}/openapi.json`}>OpenAPI</a>
      <a href=${`${site.urls.base}/docs/verify`}>Verify a day</a>
    </footer>
  </body>
</html>`;

/** Sends a page; no cache keeps a page of a signed-in user or with a form. */
export const sendPage = (site: Site, exchange: Exchange, content: PageContent): FastifyReply => {
  const text = `<!doctype html>${render(renderPage(site, exchange, content))}`;
  const { request, reply } = exchange;
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  reply.code(content.status ?? 200).type('text/html; charset=utf-8');
  if (content.isPacked !== true) return reply.send(text);
  reply.header('vary', 'accept-encoding');
  return canUnpack(request) ? reply.header('content-encoding', 'br').send(packPage(text)) : reply.send(text);
};

/** `code`: where it is not the one of the status. */
export type Problem = { readonly status: number; readonly code?: string; readonly text: string };

type Kind = { readonly code: string; readonly title: string };

const FAILED: Kind = { code: 'INTERNAL', title: 'Something failed' };
const REFUSED: Kind = { code: 'BAD_REQUEST', title: 'Not accepted' };
const KINDS: Readonly<Record<number, Kind>> = {
  401: { ...REFUSED, code: 'AUTH_INVALID' },
  403: { code: 'FORBIDDEN', title: 'Refused' },
  404: { code: 'NOT_FOUND', title: 'Not found' },
  409: { ...REFUSED, title: 'Not possible now' },
  413: { code: 'PAYLOAD_TOO_LARGE', title: 'Too large' },
  415: { code: 'UNSUPPORTED_MEDIA_TYPE', title: 'Not a form' },
  429: { code: 'RATE_LIMITED', title: 'Too many requests' },
  503: { code: 'UNAVAILABLE', title: 'Not available' },
};

/** Whether the address is for programs, which get JSON. */
export const isJsonPath = ({ url }: Pick<FastifyRequest, 'url'>): boolean => readPath(url).startsWith('/api/');

/** A refusal as a page, or as JSON below `/api/`. */
export const sendProblem = (site: Site, exchange: Exchange, problem: Problem): FastifyReply => {
  const { request, reply } = exchange;
  const { status, text } = problem;
  const { code, title } = { ...(KINDS[status] ?? (status >= 500 ? FAILED : REFUSED)), ...problem };
  if (isJsonPath(request))
    return reply
      .header('cache-control', 'no-store')
      .code(status)
      .send({ errors: [{ code, message: text }] });
  return sendPage(site, exchange, {
    title,
    status,
    width: 'narrow',
    body: html`<h1>${title}</h1>
      <p>${text}</p>
      <p><a href="/">Back to the start</a></p>`,
  });
};
