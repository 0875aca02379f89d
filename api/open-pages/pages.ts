// The pages of the documentation: each is a Markdown file of the repository, or a text made from the tables that the service itself runs by.
import { readFileSync } from 'node:fs';
import { CATALOGUE } from '../../schemas/errors.ts';
import { PLAN_NAMES, PLAN_ROWS } from '../contract/plan-rows.ts';
import { PLANS } from '../contract/plans.ts';
import { printDqlPage } from '../tool-app/dql-page.ts';
import { printLayersPage } from '../tool-app/layers-page.ts';
import { cutEndpoints, toEndpointSlug } from './endpoint-pages.ts';

export type DocsSection = 'Guides' | 'Reference' | 'Data';
export type DocsPage = {
  /** `/docs/<slug>`; the first page is `/docs` itself too. */
  readonly slug: string;
  readonly title: string;
  readonly summary: string;
  readonly section: DocsSection;
  /** Path in the repository; links to it lead to the page. Null: no file's link leads to a text that is made. */
  readonly file: string | null;
  readonly markdown: string;
  /** For a part of a file: the heading under which other files link to it. */
  readonly part?: { readonly of: string; readonly anchor: string };
  /** The part above the page's text, which changes while the service runs. */
  readonly live?: 'venues';
};

const ROOT = new URL('../../', import.meta.url);

type Listed = Omit<DocsPage, 'markdown' | 'section' | 'file'>;

const fromFile = (section: DocsSection, file: string, listed: Listed): DocsPage => ({
  ...{ ...listed, section, file },
  // Comments are for the authors of the file.
  markdown: readFileSync(new URL(file, ROOT), 'utf8').replaceAll(/<!--[\s\S]*?-->\n*/g, ''),
});

const printRow = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

const printErrors = (): string =>
  [
    '# Errors',
    'The response to a refused request is `{"errors": [{"code", "message", "position", "hint", "path"}]}` with every fault found. `position` is the place of a fault in the text of a query or selection (`line`, `column`, `offset`, `length`), `path` the JSON pointer of a member or parameter. A 429 and a 503 have `Retry-After`.',
    [
      printRow(['code', 'status', 'try again', 'meaning', 'what to do']),
      printRow(['---', '---', '---', '---', '---']),
      ...Object.entries(CATALOGUE).map(([code, { status, retry, meaning, fix }]) =>
        printRow([`\`${code}\``, status, retry ? 'yes' : 'no', meaning, fix]),
      ),
    ].join('\n'),
  ].join('\n\n');

const printPlans = (): string =>
  [
    '# Plans and prices',
    'Each key has one plan, and limits apply per key. A day is a UTC day. A plan for 30 days can be bought with USDC by a payable call without a key (the 402 response offers it); it does not renew automatically. A plan with a number of venues or instruments covers the venues with the largest volume and the instruments with the largest turnover of 24 h, chosen daily at 00:00 UTC; `scope` of an answer states what it covers.',
    `Every plan has the layers ${PLANS.free.layers.map((layer) => `\`${layer}\``).join(', ')}.`,
    [
      printRow(['limit', ...PLAN_NAMES]),
      printRow(['---', ...PLAN_NAMES.map(() => '---')]),
      ...PLAN_ROWS.map(printRow),
    ].join('\n'),
  ].join('\n\n');

/** One for what all endpoints have in common, then one an endpoint. */
const listEndpointPages = (): readonly DocsPage[] => {
  const all = fromFile('Reference', 'docs/endpoints.md', {
    slug: 'endpoints',
    title: 'Endpoints',
    summary: 'Every endpoint, the layers and their figures, causes of gaps, limits.',
  });
  const { common, pages } = cutEndpoints(all.markdown);
  return [
    { ...all, markdown: common },
    ...pages.map(
      ({ endpoint, anchor, markdown }): DocsPage => ({
        slug: toEndpointSlug(endpoint),
        title: `${endpoint.method} ${endpoint.path}`,
        summary: endpoint.summary,
        section: 'Reference',
        file: null,
        markdown,
        part: { of: 'docs/endpoints.md', anchor },
      }),
    ),
  ];
};

const listGuidePages = (): readonly DocsPage[] => [
  fromFile('Guides', 'docs/guides/start.md', {
    slug: 'start',
    title: 'Start in two minutes',
    summary: 'The first calls and the meaning of their answers.',
  }),
  fromFile('Guides', 'docs/guides/concepts.md', {
    slug: 'concepts',
    title: 'Concepts',
    summary: 'Status, horizon, freshness, units, gaps, settled and anchored.',
  }),
  fromFile('Guides', 'docs/guides/recipes.md', {
    slug: 'recipes',
    title: 'Recipes',
    summary: 'Funding arbitrage, basis without look-ahead, liquidations, book imbalance.',
  }),
  fromFile('Guides', 'docs/guides/agents.md', {
    slug: 'agents',
    title: 'Agents',
    summary: 'The tool server (MCP): how clients connect, what the tools do, and the meaning of failures.',
  }),
  fromFile('Guides', 'clients/python/README.md', {
    slug: 'python',
    title: 'Python',
    summary: 'The Python client: data frames, exact digits, live stream, archive and proofs.',
  }),
  fromFile('Guides', 'clients/typescript/README.md', {
    slug: 'typescript',
    title: 'TypeScript',
    summary: 'The TypeScript client, for Node and browsers.',
  }),
  fromFile('Guides', 'clients/cli/README.md', {
    slug: 'terminal',
    title: 'Terminal',
    summary: 'The program perp: every endpoint in a terminal.',
  }),
];

const listReferencePages = (): readonly DocsPage[] => [
  ...listEndpointPages(),
  {
    // That manual is for developers of the language; links to it lead to the page for its users.
    ...{ slug: 'language', title: 'Query language', section: 'Reference', file: 'api/language/README.md' },
    summary: 'DQL: grammar, three-valued conditions, fields, functions, limits.',
    markdown: printDqlPage(),
  },
  {
    ...{ slug: 'layers', title: 'Layers and units', section: 'Reference', file: null },
    summary: 'What each layer holds, in which units.',
    markdown: printLayersPage(),
  },
  {
    ...{ slug: 'plans', title: 'Plans and prices', section: 'Reference', file: null },
    summary: 'Limits of each plan, and what it costs.',
    markdown: printPlans(),
  },
  {
    ...{ slug: 'errors', title: 'Errors', section: 'Reference', file: null },
    summary: 'Every code with its status, meaning and remedy.',
    markdown: printErrors(),
  },
];

const listDataPages = (): readonly DocsPage[] => [
  fromFile('Data', 'infra/questdb/README.md', {
    slug: 'sql',
    title: 'SQL',
    summary: 'The views of the stored history, with examples.',
  }),
  fromFile('Data', 'docs/records.md', {
    slug: 'records',
    title: 'Kafka records',
    summary: 'Records of the normalised topics.',
  }),
  {
    ...fromFile('Data', 'docs/venues.md', {
      slug: 'venues',
      title: 'Venues',
      summary: 'What each venue publishes, how often, in which units, what it omits, and its last reading.',
    }),
    live: 'venues',
  },
  fromFile('Data', 'docs/rules.md', {
    slug: 'rules',
    title: 'Rules',
    summary: 'The rules that the service follows, by id.',
  }),
  fromFile('Data', 'docs/glossary.md', {
    slug: 'glossary',
    title: 'Glossary',
    summary: 'Terms of the field and of this service.',
  }),
];

/** In the order of the contents. Read once. */
export const readPages = (): readonly DocsPage[] => [...listGuidePages(), ...listReferencePages(), ...listDataPages()];
