// Search over the passages of the documentation, in memory.
import MiniSearch from 'minisearch';
import type { DocsPage } from './pages.ts';
import type { RenderedPage } from './render-markdown.ts';

type Hit = { readonly address: string; readonly page: string; readonly title: string; readonly excerpt: string };
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

/** A letter alone, as of `H-07`, is none: others do not begin with it, and there is nothing to read about it. */
const isWord = (term: string): boolean => term.length > 1;

const isPartOfWord = (character: string | undefined): boolean => /[\p{L}\p{N}]/u.test(character ?? '');

/** Where a word is in the text: by itself, or as a part of a name such as `DQL_SCOPE`. */
const findPlaces = (text: string, word: string): readonly number[] => {
  const places: number[] = [];
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1))
    if (!isPartOfWord(lower[at - 1]) && !isPartOfWord(lower[at + word.length])) places.push(at);
  return places;
};

type Stretch = { readonly from: number; readonly to: number };

/** Whole words about a place. Null: there are letters without a space for longer than an excerpt. */
const cutAbout = (text: string, at: number): Stretch | null => {
  const from = at <= LEAD ? 0 : Math.min(text.indexOf(' ', at - LEAD), text.lastIndexOf(' ', at)) + 1;
  const to = text.length <= from + EXCERPT ? text.length : text.lastIndexOf(' ', from + EXCERPT);
  return to > at ? { from, to } : null;
};

/** About the first one of `words` that the text has, in the order in which the search found them. */
const cutExcerpt = (text: string, words: readonly string[]): string => {
  const plain = text.replaceAll(/\s+/g, ' ').trim();
  const places = words.flatMap((word) => findPlaces(plain, word));
  const [about] = [...places, 0].flatMap((at) => cutAbout(plain, at) ?? []);
  const { from, to } = about ?? { from: 0, to: EXCERPT };
  return `${from > 0 ? '… ' : ''}${plain.slice(from, to)}${to < plain.length ? ' …' : ''}`;
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
    const found = index.search(query, { prefix: isWord, fuzzy: 0.15, boost: { title: 3 }, combineWith: 'AND' });
    const hits = found.slice(0, MOST_HITS).map(({ id, page, title, text, terms }) => ({
      address: id,
      page,
      title,
      excerpt: cutExcerpt(text, terms.filter(isWord)),
    }));
    return { total: found.length, hits };
  };
};
