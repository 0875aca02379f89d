// What all pages of the explorer share: their address space, the bar that leads from one to the other, their scripts and styles.
import type { FastifyReply } from 'fastify';
import { html } from 'htm/preact';
import {
  type Content,
  type Exchange,
  type PageContent,
  type Problem,
  sendPage,
  sendProblem,
} from '../account-app/shell.ts';
import type { Site } from '../account-app/site.ts';
import { readPath } from '../contract/request-url.ts';

/** `/explore/{instrument}` is the page of an instrument; names of pages are no instruments. */
export const EXPLORE = {
  board: '/explore',
  instrument: (instrument: string): string => `/explore/${encodeURIComponent(instrument)}`,
  query: '/explore/query',
  proof: '/explore/proof',
} as const;

const TABS = [
  { path: EXPLORE.board, label: 'Board' },
  { path: EXPLORE.query, label: 'Query' },
  { path: EXPLORE.proof, label: 'Proof' },
];

const renderTabs = (url: string): Content => {
  const current = readPath(url);
  return html`<nav class="tabs" aria-label="Explorer">
    <ul>
      ${TABS.map(
        ({ path, label }) =>
          html`<li><a href=${path} aria-current=${path === current ? 'page' : undefined}>${label}</a></li>`,
      )}
    </ul>
  </nav>`;
};

/** Sends a page of the explorer: wide, with the bar of its pages above the body and the style `explorer` besides its own; packed if signed out. */
export const sendExplorer = (site: Site, exchange: Exchange, content: PageContent): FastifyReply =>
  sendPage(site, exchange, {
    width: 'wide',
    isPacked: exchange.request.session === null,
    ...content,
    styles: ['explorer', ...(content.styles ?? [])],
    body: html`${renderTabs(exchange.request.url)}<noscript><p class="message warn">The explorer is live: it needs JavaScript, from this site alone.</p></noscript>
      <time id="made-at" datetime=${new Date(site.nowMs()).toISOString()} hidden></time>${content.body}`,
  });

/** Seconds after which the browser reloads a page whose directory or scope could not be read. */
const READ_AGAIN_S = '5';

/** Sends why a page's directory or scope could not be read (503, 429), with `Retry-After`. */
export const sendUnread = (site: Site, exchange: Exchange, problem: Problem): FastifyReply => {
  exchange.reply.header('retry-after', READ_AGAIN_S);
  return sendProblem(site, exchange, problem);
};
