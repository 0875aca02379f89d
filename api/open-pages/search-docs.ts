// Search over the passages of the documentation, in memory.
import MiniSearch from 'minisearch';
import type { DocsPage } from './pages.ts';
import type { RenderedPage } from './render-markdown.ts';

export type Hit = { readonly address: string; readonly page: string; readonly title: string; readonly excerpt: string };
/** The best hits, and how many there are. */
export type Found = { readonly total: number; readonly hits: readonly Hit[] };

const MOST_HITS = 20;
const EXCERPT = 180;
/** Letters before the word that was asked for. */
const LEAD = 60;

type Document = { readonly id: string; readonly page: string; readonly title: string; readonly text: string };

/** Codes and names such as `DQL_SCOPE`, `funding_8h` and `/v2/screen` are one word each, and their parts too. */
const splitWords = (text: string): string[] => {
  const whole = text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '');
  return whole.flatMap((word) =>
    word.includes('_') ? [word, ...word.split('_').filter((part) => part !== '')] : [word],
  );
};

/** Whole words about the first one of the query. */
const cutExcerpt = (text: string, query: string): string => {
  const plain = text.replaceAll(/\s+/g, ' ').trim();
  const first = query.split(/\s+/)[0]?.toLowerCase() ?? '';
  const at = plain.toLowerCase().indexOf(first) - LEAD;
  const from = at <= 0 ? 0 : plain.indexOf(' ', at) + 1;
  if (plain.length <= from + EXCERPT) return `${from > 0 ? '… ' : ''}${plain.slice(from)}`;
  const end = plain.lastIndexOf(' ', from + EXCERPT);
  return `${from > 0 ? '… ' : ''}${plain.slice(from, end > from ? end : from + EXCERPT)} …`;
};

export const createSearch = (pages: readonly (readonly [DocsPage, RenderedPage])[]): ((query: string) => Found) => {
  const index = new MiniSearch<Document>({
    fields: ['title', 'text'],
    storeFields: ['page', 'title', 'text'],
    tokenize: splitWords,
  });
  const documents = pages.flatMap(([{ slug, title: page }, { passages }]) =>
    passages.map(({ id, title, text }) => ({ id: `/docs/${slug}${id === '' ? '' : `#${id}`}`, page, title, text })),
  );
  // A heading that a file has twice is one address.
  index.addAll([...new Map(documents.map((document) => [document.id, document])).values()]);
  return (query) => {
    const found = index.search(query, { prefix: true, fuzzy: 0.15, boost: { title: 3 }, combineWith: 'AND' });
    const hits = found
      .slice(0, MOST_HITS)
      .map(({ id, page, title, text }) => ({ address: id, page, title, excerpt: cutExcerpt(text, query) }));
    return { total: found.length, hits };
  };
};
