// /llms.txt and /llms-full.txt: the documentation for programs that read text (llmstxt.org).
import type { SiteUrls } from '../account-app/site.ts';
import type { DocsPage, DocsSection } from './pages.ts';

const SECTIONS: readonly DocsSection[] = ['Guides', 'Reference', 'Data'];

const listNotes = ({ base, mcp }: SiteUrls): readonly string[] => [
  `* The API is at ${base}; its OpenAPI document at ${base}/openapi.json.`,
  '* Send the key in the header `Authorization: Bearer KEY`, never in a URL. Snapshots, history, screen, candles, agent state and archive files can be paid per call: without a key the response is 402 with the price in USDC.',
  '* `status` of a value states whether it is current. A value that is not current is withheld: null is never zero, and nothing is carried forward. A gap is a row with its cause.',
  '* `number_format: "string"` returns the digits of the venue.',
  ...(mcp === null ? [] : [`* The tool server (MCP, Streamable HTTP) is at ${mcp}.`]),
];

export const printLlmsText = (pages: readonly DocsPage[], urls: SiteUrls): string =>
  [
    '# Perp Market Data',
    '> Market data of perpetual futures. Each value has its venue, its timestamps, its age and its status.',
    listNotes(urls).join('\n'),
    ...SECTIONS.map((section) =>
      [
        `## ${section}`,
        '',
        ...pages
          .filter((page) => page.section === section)
          .map(({ slug, title, summary }) => `- [${title}](${urls.account}/docs/${slug}.md): ${summary}`),
      ].join('\n'),
    ),
    `## Optional\n\n- [Changelog](${urls.account}/changelog.json): what changed, newest first.\n- [Status](${urls.base}/status.json): what is present now, by venue and layer.`,
  ].join('\n\n');

/** `texts` are the pages with their Markdown as programs are given it. */
export const printLlmsFullText = (texts: readonly (readonly [DocsPage, string])[], urls: SiteUrls): string =>
  texts
    .map(([{ slug, title }, text]) => `<!-- ${title}: ${urls.account}/docs/${slug} -->\n\n${text.trim()}`)
    .join('\n\n---\n\n');
