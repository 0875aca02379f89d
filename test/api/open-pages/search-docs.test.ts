// The search of the documentation: how many passages it found, and excerpts that are read as text.
import t from 'tap';
import { readPages } from '../../../api/open-pages/pages.ts';
import { createRenderer } from '../../../api/open-pages/render-markdown.ts';
import { createSearch } from '../../../api/open-pages/search-docs.ts';

const pages = readPages();
const render = createRenderer(pages);
const search = createSearch(pages.map((page) => [page, render(page)]));
const WORDS = ['gap', 'funding_8h', 'stale', 'settled', 'H-07', 'connection', 'units', 'ASOF', 'Picture', 'webhook'];

t.test('all that is found is counted, the best of it shown', (t) => {
  const many = search('gap');
  t.equal(many.hits.length, 20);
  t.ok(many.total > 20, `${many.total}`);
  const one = search('is_genuine');
  t.equal(one.total, one.hits.length);
  t.same(search('zzzzqq'), { total: 0, hits: [] });
  t.end();
});

t.test('an excerpt has no marks of Markdown, no space before a comma or full stop, and no part of a word', (t) => {
  const words = new Set(
    pages.flatMap((page) =>
      render(page).passages.flatMap(({ text }) => text.split(/\s+/).filter((word) => word !== '')),
    ),
  );
  for (const query of WORDS) {
    for (const { excerpt, address } of search(query).hits) {
      t.notMatch(excerpt, /\]\(/, `${query}: ${address}`);
      const shown = excerpt.replace(/^… ?/, '').replace(/ ?…$/, '').split(' ');
      t.same(
        shown.filter((word) => word !== '' && !words.has(word)),
        [],
        `${query}: ${address}: ${excerpt}`,
      );
    }
  }
  t.end();
});

t.test('letters without a space for long are cut before, or shown whole about the word in them', (t) => {
  const [page] = pages as readonly [(typeof pages)[number]];
  const excerptOf = (text: string): string | undefined => {
    const passages = [{ id: '', title: 'Paths', text }];
    return createSearch([[page, { html: '', headings: [], passages }]])('target').hits[0]?.excerpt;
  };
  const [short, long] = ['abc/'.repeat(25), 'abc/'.repeat(60)];
  t.equal(excerptOf(`See ${short}target/abc at the end.`), `… ${short}target/abc at the end.`);
  t.equal(excerptOf(`See ${long}target at the end.`), 'See …');
  t.end();
});

t.test('words of a picture are found by what it shows', (t) => {
  t.ok(search('forty').hits.some(({ address }) => address.startsWith('/docs/concepts')));
  t.end();
});

t.test(
  'an excerpt has the word that was found, by itself and not inside another, in the form in which the text has it',
  (t) => {
    const split = (text: string): string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    const texts = new Map<string, readonly string[]>(
      pages.flatMap((page) =>
        render(page).passages.map(
          ({ id, text }) => [`/docs/${page.slug}${id === '' ? '' : `#${id}`}`, split(text)] as const,
        ),
      ),
    );
    for (const word of ['oi', 'url', 'age', 'key', 'it', 'run', 'mark', 'settle', 'stale'])
      for (const { excerpt, address } of search(word).hits)
        if (texts.get(address)?.includes(word)) t.ok(split(excerpt).includes(word), `${word}: ${address}: ${excerpt}`);
    const rules = search('held').hits.find(({ address }) => address === '/docs/agents#rules');
    const [rule] = search('H-07').hits;
    t.match(rule?.excerpt, /^Row members: at, status/, 'a rule is read from its beginning');
    t.match(rules?.excerpt, 'holds for an instrument', 'the text says "holds"');
    t.end();
  },
);
