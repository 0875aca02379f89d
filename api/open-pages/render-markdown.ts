// Markdown of the repository as HTML of the site: headings with addresses, links between files as links between pages, nothing inline that the CSP refuses.
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';
import anchor from 'markdown-it-anchor';
import type { DocsPage } from './pages.ts';

type Heading = { readonly id: string; readonly title: string; readonly level: number };
/** A heading with the text below it, for the search. */
type Passage = { readonly id: string; readonly title: string; readonly text: string };
export type RenderedPage = {
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly passages: readonly Passage[];
};

const ROOT = new URL('../../', import.meta.url);

/** As GitHub names them, so that links within the files work in both places. */
export const toSlug = (title: string): string =>
  title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

type Parser = ReturnType<typeof MarkdownIt>;
type Token = ReturnType<Parser['parse']>[number];

const isOutside = (href: string): boolean => /^[a-z]+:/i.test(href) || href.startsWith('//');

/** Where a link of a file leads on the site; null: to nothing that the site has. */
export const resolveLink = (href: string, { file }: DocsPage, pages: readonly DocsPage[]): string | null => {
  if (isOutside(href) || href.startsWith('#') || href.startsWith('/')) return href;
  const [path = '', fragment] = href.split('#');
  const target = posix.normalize(posix.join(posix.dirname(file ?? 'docs/x.md'), path)).replace(/\/$/, '');
  const part = pages.find((found) => found.part?.of === target && found.part.anchor === fragment);
  if (part !== undefined) return `/docs/${part.slug}`;
  const page = pages.find((found) => found.file === target || found.file === `${target}/README.md`);
  if (page === undefined) return null;
  return `/docs/${page.slug}${fragment === undefined ? '' : `#${fragment}`}`;
};

/** A picture in the page itself, so that it has the colours of the site; its own style is for readers elsewhere, and the CSP refuses it. */
const readDrawing = (source: string, { file, slug }: DocsPage): string => {
  const path = posix.normalize(posix.join(posix.dirname(file ?? ''), source));
  if (!path.endsWith('.svg'))
    throw new Error(`${slug}: found the picture ${source}, use an SVG, because pages take its text`);
  const svg = readFileSync(new URL(path, ROOT), 'utf8').replace(/<style>[\s\S]*?<\/style>\n?/, '');
  return `<span class="picture" tabindex="0" role="group" aria-label="Picture">${svg.trim()}</span>`;
};

/** Links without a target keep their text; alignment becomes a class, for the CSP refuses styles in markup; a picture becomes its text. */
const adjustTokens = (tokens: readonly Token[], page: DocsPage, pages: readonly DocsPage[]): void => {
  let isDropped = false;
  for (const token of tokens) {
    if (token.children !== null) adjustTokens(token.children, page, pages);
    if (token.type === 'th_open' || token.type === 'td_open') {
      const isRight = /right/.test(String(token.attrGet('style') ?? ''));
      token.attrs = isRight ? [['class', 'number']] : null;
    }
    if (token.type === 'link_open') {
      const target = resolveLink(String(token.attrGet('href') ?? ''), page, pages);
      isDropped = target === null;
      if (target !== null) token.attrSet('href', target);
      if (isOutside(target ?? '')) token.attrSet('rel', 'noopener');
    }
    if (isDropped && (token.type === 'link_open' || token.type === 'link_close')) {
      token.tag = 'span';
      token.attrs = null;
    }
    if (token.type === 'link_close') isDropped = false;
    if (token.type === 'image') {
      token.type = 'html_inline';
      token.content = readDrawing(String(token.attrGet('src')), page);
    }
  }
};

/** What a reader sees of a line: no marks, no addresses of links; of a picture its description. */
const readLineText = (tokens: readonly Token[]): string =>
  tokens
    .map(({ type, content, children }) => {
      if (children !== null && children.length > 0) return readLineText(children);
      return type === 'softbreak' || type === 'hardbreak' ? ' ' : content;
    })
    .join('');

const readPassageText = ({ type, content, children }: Token): string => {
  if (type === 'inline') return readLineText(children ?? []);
  return type === 'fence' || type === 'code_block' ? content : '';
};

const listPassages = (tokens: readonly Token[], page: DocsPage): Passage[] => {
  const passages: { id: string; title: string; text: string }[] = [{ id: '', title: page.title, text: page.summary }];
  tokens.forEach((token, i) => {
    if (token.type === 'heading_open')
      passages.push({
        id: String(token.attrGet('id') ?? ''),
        title: (tokens[i + 1]?.content ?? '').replaceAll('`', ''),
        text: '',
      });
    else if (tokens[i - 1]?.type !== 'heading_open') {
      const last = passages.at(-1);
      const words = readPassageText(token);
      if (last !== undefined && words !== '') last.text += ` ${words}`;
    }
  });
  return passages;
};

const listHeadings = (tokens: readonly Token[]): Heading[] =>
  tokens.flatMap((token, i) =>
    token.type === 'heading_open'
      ? [
          {
            id: String(token.attrGet('id') ?? ''),
            title: (tokens[i + 1]?.content ?? '').replaceAll('`', ''),
            level: Number(token.tag.slice(1)),
          },
        ]
      : [],
  );

/** Languages that readers take away. */
const PASTED: ReadonlySet<string> = new Set(['sh', 'js', 'ts', 'python', 'sql', 'dql']);

const createParser = (): Parser => {
  const parser = new MarkdownIt({ html: false, linkify: false });
  parser.use(anchor, { slugify: toSlug, tabIndex: false });
  // A group: regions are landmarks, and a page with dozens of those has none.
  parser.renderer.rules['table_open'] = (tokens, i) => {
    const { title = '' } = listHeadings(tokens.slice(0, i)).at(-1) ?? {};
    const label = parser.utils.escapeHtml(`Table of ${title}`);
    return `<div class="table" role="group" aria-label="${label}" tabindex="0"><table>`;
  };
  parser.renderer.rules['table_close'] = () => '</table></div>';
  parser.renderer.rules['fence'] = (tokens, i) => {
    const token = tokens[i] as Token;
    const language = parser.utils.escapeHtml(token.info.trim());
    const text = parser.utils.escapeHtml(token.content);
    const pre = (id: string): string => `<pre${id} tabindex="0" data-language="${language}"><code>${text}</code></pre>`;
    if (!PASTED.has(language)) return pre('');
    // The button appears once the script can copy.
    const id = `code-${i}`;
    return `<div class="copyable">${pre(` id="${id}"`)}<button type="button" class="quiet small" data-copy="${id}" hidden>Copy</button></div>`;
  };
  parser.renderer.rules['code_block'] = (tokens, i) =>
    `<pre tabindex="0"><code>${parser.utils.escapeHtml((tokens[i] as Token).content)}</code></pre>`;
  return parser;
};

export const createRenderer = (pages: readonly DocsPage[]): ((page: DocsPage) => RenderedPage) => {
  const parser = createParser();
  return (page) => {
    const tokens = parser.parse(page.markdown, {});
    adjustTokens(tokens, page, pages);
    return {
      html: parser.renderer.render(tokens, parser.options, {}),
      headings: listHeadings(tokens),
      passages: listPassages(tokens, page),
    };
  };
};
