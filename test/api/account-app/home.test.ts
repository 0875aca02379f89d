// The start page: every link leads to something, with the explorer open and closed, and its query is one of the language.
import t from 'tap';
import { makeKey } from '../../../api/access/keys.ts';
import { compile } from '../../../api/language/compile.ts';
import { ACCOUNT_URL, startSite } from '../../support/apps/site-fixture.ts';
import { CODES } from '../language/codes.ts';

const { host } = new URL(ACCOUNT_URL);
const readLinks = (page: string): string[] =>
  [...page.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));

for (const explorerKey of [null, makeKey()]) {
  const when = explorerKey === null ? 'closed' : 'open';
  t.test(`the links of the start page, explorer ${when}`, async (t) => {
    const { app } = await startSite(t, { explorerKey });
    const get = (url: string) => app.inject({ url, headers: { host, accept: 'text/html' } });
    const links = readLinks((await get('/')).body).filter((href) => href.startsWith('/'));
    t.equal(
      links.some((href) => href.startsWith('/explore/')),
      explorerKey !== null,
      'what needs no sign-in',
    );
    for (const href of new Set(links)) {
      const [path = '', fragment] = href.split('#');
      const { statusCode, body } = await get(path);
      // No API answers here, so pages of its figures are 503.
      t.not(statusCode, 404, href);
      if (fragment !== undefined) t.match(body, `id="${fragment}"`, href);
    }
    const query = links.find((href) => href.includes('?q='));
    t.equal(query !== undefined, explorerKey !== null);
    if (query !== undefined) t.ok(compile({ text: new URL(query, ACCOUNT_URL).searchParams.get('q') ?? '' }, CODES));
  });
}
