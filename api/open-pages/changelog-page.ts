// `/changelog`: what changed for users, newest first (VER-02).
import { readFileSync } from 'node:fs';
import { html } from 'htm/preact';
import { renderTag } from '../account-app/components.ts';
import { type Content, sendPage } from '../account-app/shell.ts';
import type { SiteModule } from '../account-app/site.ts';
import { type Change, parseChangelog } from '../status/changelog.ts';

/** Text between backticks as code. */
const renderText = (text: string): Content =>
  text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));

const renderChangesOfDay = (date: string, changes: readonly Change[]): Content =>
  html`<section>
    <h2 id=${date}><time datetime=${date}>${date}</time></h2>
    ${changes.map(({ kind, text }) => html`<p class="change">${renderTag('plain', kind)} ${renderText(text)}</p>`)}
  </section>`;

export const changelogPage: SiteModule = {
  name: 'changelog',
  register: (app, site) => {
    const changes = parseChangelog(readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8'));
    app.get('/changelog', (request, reply) =>
      sendPage(
        site,
        { request, reply },
        {
          title: 'Changelog',
          styles: ['docs'],
          body: html`<h1>Changelog</h1>
            <p class="muted"><a href="/changelog.atom">Atom feed</a> · <a href="/changelog.json">JSON</a></p>
            ${[...Map.groupBy(changes, ({ date }) => date)].map(([date, own]) => renderChangesOfDay(date, own))}`,
        },
      ),
    );
  },
};
