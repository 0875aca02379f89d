// The resources of the tool server: two pages of Markdown for a model to read (T-06).
import { printDqlPage } from './dql-page.ts';
import { printLayersPage } from './layers-page.ts';

export type Page = {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly text: string;
  readonly lastModified: string;
};

/** When the text of a page last changed; a test holds it to the text. */
export const PAGES_CHANGED = '2026-11-29T16:30:00Z';

export const PAGES: readonly Page[] = [
  {
    uri: 'docs://dql',
    name: 'dql',
    title: 'The query language DQL',
    description: 'Grammar, every field and function, ten queries that run. Read it before writing a query for screen.',
    text: printDqlPage(),
    lastModified: PAGES_CHANGED,
  },
  {
    uri: 'docs://layers',
    name: 'layers',
    title: 'Layers, their members and units',
    description: 'What each layer holds, in which unit, what its statuses mean, and which tool takes its name.',
    text: printLayersPage(),
    lastModified: PAGES_CHANGED,
  },
];
