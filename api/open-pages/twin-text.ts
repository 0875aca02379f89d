// The Markdown of a page as programs are given it: links between files of the repository lead to pages of the site, in Markdown too.
import type { SiteUrls } from '../account-app/site.ts';
import type { DocsPage } from './pages.ts';
import { resolveLink } from './render-markdown.ts';

const FENCE = /^ {0,3}(?:```|~~~)/;
/** Code in a line, which is left as it is; or a link or picture: `!`, text, address. */
const LINK = /(`+)[\s\S]*?\1|(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]*)\)/g;

/** Parts of a text, by turns outside and inside of fenced code; a fence belongs to its code. */
const divideAtFences = (markdown: string): readonly string[] => {
  const parts = [''];
  for (const line of markdown.split(/(?<=\n)/)) {
    const isFence = FENCE.test(line);
    const isInside = parts.length % 2 === 0;
    if (isFence && !isInside) parts.push('');
    parts[parts.length - 1] += line;
    if (isFence && isInside) parts.push('');
  }
  return parts;
};

/** An address of the site that is the same wherever the text is read; of a page its Markdown. */
const toAddress = (target: string, pages: readonly DocsPage[], { account }: Pick<SiteUrls, 'account'>): string => {
  if (!target.startsWith('/')) return target;
  const [path = '', fragment] = target.split('#');
  const isPage = pages.some(({ slug }) => path === `/docs/${slug}`);
  return `${account}${path}${isPage ? '.md' : ''}${fragment === undefined ? '' : `#${fragment}`}`;
};

type Twins = (page: DocsPage) => string;

/** Links that lead to nothing of the site keep their text, as on the page; a picture becomes its description. */
export const createTwins = (pages: readonly DocsPage[], urls: Pick<SiteUrls, 'account'>): Twins => {
  const relink = (page: DocsPage, text: string): string =>
    text.replaceAll(LINK, (all: string, ...groups: (string | undefined)[]) => {
      const [code, mark, words = '', href = ''] = groups;
      if (code !== undefined) return all;
      if (mark === '!') return `(Picture: ${words})`;
      const target = resolveLink(href, page, pages);
      return target === null ? words : `[${words}](${toAddress(target, pages, urls)})`;
    });
  return (page) =>
    divideAtFences(page.markdown)
      .map((part, i) => (i % 2 === 1 ? part : relink(page, part)))
      .join('');
};
