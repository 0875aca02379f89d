// A page for each endpoint: its part of docs/endpoints.md, which is rendered from the operation list as the OpenAPI document is.
import type { Endpoint } from '../contract/endpoint.ts';
import { OPERATIONS } from '../operations/index.ts';
import { STREAM } from '../stream/request.ts';

/** In the order of the document. */
export const ENDPOINTS: readonly Endpoint[] = [...OPERATIONS, STREAM] as readonly Endpoint[];

export const toEndpointSlug = ({ name }: Pick<Endpoint, 'name'>): string => `endpoints/${name.replaceAll('_', '-')}`;

type EndpointPage = { readonly endpoint: Endpoint; readonly anchor: string; readonly markdown: string };
type EndpointParts = {
  /** The text before and after the endpoints: the list of them, layers, causes of gaps. */
  readonly common: string;
  readonly pages: readonly EndpointPage[];
};

/** The anchor of an endpoint's heading in docs/endpoints.md, as GitHub makes it. */
export const toAnchor = ({ method, path }: Endpoint): string =>
  `${method} ${path}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9_ ]/g, '')
    .replaceAll(' ', '-');

/** A page of its own is read without the first one. */
const VARIABLES = 'Set `BASE`, `KEY` and the other variables first, as in [Endpoints](/docs/endpoints).';

const withVariables = (markdown: string): string =>
  markdown.replace('\n```sh\n', (fence) => `\n${VARIABLES}\n${fence}`);

/** Cuts the document at its headings; throws when an endpoint has no part in it. */
export const cutEndpoints = (document: string): EndpointParts => {
  const sections = document.split(/^(?=## )/m);
  const pages = ENDPOINTS.map((endpoint) => {
    const title = `## ${endpoint.method} ${endpoint.path}\n`;
    const found = sections.find((section) => section.startsWith(title));
    if (found === undefined) throw new Error(`docs/endpoints.md has no "${title.trim()}"; run npm run docs`);
    return { endpoint, anchor: toAnchor(endpoint), section: found };
  });
  const slugs = new Map(pages.map(({ endpoint, anchor }) => [anchor, toEndpointSlug(endpoint)]));
  const relink = (text: string): string =>
    text.replaceAll(/\]\(#([^)]+)\)/g, (_all, anchor: string) => {
      const slug = slugs.get(anchor);
      return slug === undefined ? `](/docs/endpoints#${anchor})` : `](/docs/${slug})`;
    });
  const isOwn = (section: string): boolean => pages.some((page) => page.section === section);
  return {
    common: relink(sections.filter((section) => !isOwn(section)).join('')),
    pages: pages.map(({ section, ...page }) => ({ ...page, markdown: withVariables(relink(section.slice(1))) })),
  };
};
