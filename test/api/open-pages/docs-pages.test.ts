// The documentation: every link and fragment leads somewhere, every query runs through the parser, each page is also Markdown, everything is found.
import MarkdownIt from 'markdown-it';
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { makeOpenApi } from '../../../api/data-app/openapi.ts';
import { compile } from '../../../api/language/compile.ts';
import { FUNCTIONS } from '../../../api/language/functions.ts';
import { ENDPOINTS } from '../../../api/open-pages/endpoint-pages.ts';
import { readPages } from '../../../api/open-pages/pages.ts';
import { toSlug } from '../../../api/open-pages/render-markdown.ts';
import { CATALOGUE } from '../../../schemas/errors.ts';
import { ACCOUNT_URL, startSite } from '../../support/apps/site-fixture.ts';
import { answerJson, type EdgeAnswer, hangUp, openEdgeServer, refuse } from '../../support/services/edge-server.ts';
import { CODES } from '../language/codes.ts';

const { browser } = await startSite(t);
const { get } = browser();
const pages = readPages();
const listHrefs = (body: string): string[] =>
  [...body.matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));

/** What is left of a Markdown text without its links and pictures, whose words stay. */
const withoutLinks = (markdown: string): string =>
  markdown.replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '(Picture: $1)').replaceAll(/\[([^\]]*)\]\([^)\s]*\)/g, '$1');

t.test('every link of every page leads to a page, and every fragment to a heading of it', async (t) => {
  const bodies = new Map<string, string>();
  const read = async (path: string): Promise<string> => {
    const held = bodies.get(path);
    if (held !== undefined) return held;
    const answer = await get(path);
    t.ok([200, 302, 303].includes(answer.statusCode) || path === '/status', `${path}: ${answer.statusCode}`);
    bodies.set(path, answer.body);
    return answer.body;
  };
  for (const path of [...pages.map(({ slug }) => `/docs/${slug}`), '/changelog', '/docs/search?q=gap']) {
    const body = await read(path);
    t.notMatch(body, /<script(?![^>]*\bsrc=)|<style|\sstyle=/, `${path} has nothing inline`);
    for (const href of new Set(listHrefs(body))) {
      if (!href.startsWith('/') && !href.startsWith('#')) continue;
      const [target = '', fragment] = href.split('#');
      const there = await read(target === '' ? path : target);
      if (fragment !== undefined) t.ok(there.includes(`id="${fragment}"`), `${path} -> ${href}`);
    }
  }
});

t.test('every query of the pages compiles', (t) => {
  for (const { slug, markdown } of pages) {
    for (const [, query = ''] of markdown.matchAll(/```dql\n([\s\S]*?)```/g)) {
      t.doesNotThrow(() => compile({ text: query.trim() }, CODES), `${slug}: ${query.trim().slice(0, 60)}`);
    }
  }
  t.end();
});

t.test(
  'each call of the OpenAPI document has a page with its parameters, its answer and the way to try it',
  async (t) => {
    const { paths } = makeOpenApi({ operations: ENDPOINTS, baseUrl: 'http://api.test', simulated: false });
    const calls = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const titles = new Map(pages.map((page) => [page.title, page]));
    t.ok(calls.length > 15, `${calls.length} calls`);
    for (const call of calls) {
      const page = titles.get(call);
      t.ok(page, `${call} has a page`);
      const { body } = await get(`/docs/${page?.slug}`);
      t.match(body, '<section id="try"', call);
      t.match(
        page?.markdown,
        /```sh\ncurl [\s\S]*```\n\n```(?:json|text)\n[\s\S]*Errors: `/,
        `${call}: example, answer, errors`,
      );
    }
  },
);

t.test(
  'the page of plans has what each plan covers: venues, instruments, history, raw, layers and limits (AC-02)',
  (t) => {
    const { markdown = '' } = pages.find(({ slug }) => slug === 'plans') ?? {};
    for (const { name, venues, instruments, history_days: days, layers } of Object.values(PLANS)) {
      t.match(markdown, name);
      for (const figure of [venues, instruments, days]) t.match(markdown, `| ${figure ?? 'all'} |`);
      for (const layer of layers) t.match(markdown, `\`${layer}\``, `${name} has ${layer}`);
    }
    for (const limit of Object.keys(PLANS.free.limits)) t.match(markdown, `| \`${limit}\` |`);
    t.match(markdown, /\| days of history \|.*\n\| raw messages and rows \|/);
    t.end();
  },
);

t.test('each page is also Markdown, by its address and by Accept; the texts for programs name each', async (t) => {
  const llms = await get('/llms.txt');
  const full = await get('/llms-full.txt');
  t.match(llms.headers['content-type'], 'text/plain');
  for (const { headers } of [llms, full, await get('/docs/start.md')])
    t.equal(headers['access-control-allow-origin'], '*', 'a page of any origin may read it (N-13, OP-01)');
  for (const { slug, title, markdown } of pages) {
    const twin = await get(`/docs/${slug}.md`);
    t.match(twin.headers['content-type'], 'text/markdown');
    t.equal(withoutLinks(twin.body), withoutLinks(markdown), `${slug}: nothing but links differs`);
    t.equal((await get(`/docs/${slug}`, { headers: { accept: 'text/markdown' } })).body, twin.body, slug);
    const page = await get(`/docs/${slug}`, { headers: { accept: 'text/markdown;q=0.1, text/html' } });
    t.match(page.headers, { 'content-type': /^text\/html/, vary: /accept/i }, slug);
    t.ok(llms.body.includes(`/docs/${slug}.md): `), slug);
    t.ok(full.body.includes(twin.body.trim()), title);
  }
});

t.test('every link of every Markdown text that is served leads to something served', async (t) => {
  const parser = new MarkdownIt();
  /** Addresses of links and pictures outside of code. */
  const listLinks = (text: string): string[] =>
    parser
      .parse(text, {})
      .flatMap(({ children }) => children ?? [])
      .filter(({ type }) => type === 'link_open' || type === 'image')
      .map((token) => String(token.attrGet(token.type === 'image' ? 'src' : 'href')));
  const listHeadings = (text: string): string[] =>
    parser
      .parse(text, {})
      .flatMap((token, i, all) => (all[i - 1]?.type === 'heading_open' ? toSlug(token.content) : []));
  const held = new Map<string, Promise<{ readonly statusCode: number; readonly body: string }>>();
  // An address of its own, because so many are more than one may load in a minute.
  const load = (path: string) => {
    const answer = held.get(path) ?? get(path, { remoteAddress: `10.0.0.${held.size % 200}` });
    held.set(path, answer);
    return answer;
  };
  let looked = 0;
  for (const path of ['/llms.txt', '/llms-full.txt', ...pages.map(({ slug }) => `/docs/${slug}.md`)]) {
    const { body } = await load(path);
    for (const href of new Set(listLinks(body))) {
      if (/^https?:/.test(href) && !href.startsWith(ACCOUNT_URL)) continue;
      looked++;
      t.match(href, /^(http:\/\/localhost:8082\/|#)/, `${path}: the same wherever it is read`);
      const [address = '', fragment] = href.replace(ACCOUNT_URL, '').split('#');
      const there = address === '' ? { statusCode: 200, body } : await load(address);
      t.ok([200, 302].includes(there.statusCode), `${path}: ${href} ${there.statusCode}`);
      if (fragment !== undefined) t.ok(listHeadings(there.body).includes(fragment), `${path}: ${href}`);
    }
  }
  t.ok(looked > 200, `${looked} links`);
});

t.test('the search finds each function and each error code', async (t) => {
  const finds = async (word: string): Promise<void> => {
    const { body } = await get(`/docs/search?q=${encodeURIComponent(word)}`);
    t.notMatch(body, />0 results/, word);
  };
  for (const code of Object.keys(CATALOGUE)) await finds(code);
  for (const name of FUNCTIONS.keys()) await finds(name);
  t.match((await get('/docs/search?q=%3Cscript%3Ealert(1)')).body, '&lt;script');
  t.match((await get('/docs/search?q=a&q=b')).statusCode, 200);
});

t.test('the status page says that it is not known what the API has not told', async (t) => {
  const answer = await get('/status');
  t.equal(answer.statusCode, 503, 'no API has ever answered here');
  t.match(answer.body, 'does not respond');
});

t.test('the status page shows what the API reports, and its last report while the API is away', async (t) => {
  const at = new Date().toISOString();
  const status = { evaluated_at: at, venues: [], anchored: null, history_read_at: null };
  const service = { answers_ms: {}, stream_delivery_ms: null, settled_recheck_failures: null };
  const row = { id: 'inc_1', venue: 'okx', layers: ['mark'], from: at, to: null, gap_cause: 'venue_down' };
  const incident = { ...row, state: 'open', note: '' };
  let incidents: EdgeAnswer = refuse(503, 'UNAVAILABLE');
  let report: EdgeAnswer = answerJson(200, { ...status, service });
  const api = await openEdgeServer(t, [
    (response, request) => (request.url === '/status.json' ? report : incidents)(response, request),
  ]);
  let nowMs = Date.now();
  const { app } = await startSite(t, {
    urls: { account: ACCOUNT_URL, auth: ACCOUNT_URL, base: api.url, api: api.url, mcp: null },
    nowMs: () => nowMs,
  });
  const readPage = async (): Promise<string> => {
    nowMs += 60_000;
    return (await app.inject('/status')).body;
  };
  const without = await readPage();
  t.match(without, 'The incidents cannot be read at this moment.', 'incidents that could not be read are not none');
  t.match(without, /Newest anchored day<\/dt>\s*<dd>not known/, 'nor is a day that was not read');
  t.match(without, 'No venue is served yet.');

  report = answerJson(200, { ...status, service, history_read_at: at });
  incidents = answerJson(200, { items: [] });
  const none = await readPage();
  t.match(none, 'None in the last 90 days.');
  t.match(none, /Newest anchored day<\/dt>\s*<dd>none yet/);

  incidents = answerJson(200, { items: Array.from({ length: 51 }, () => incident) });
  const many = await readPage();
  t.equal(many.split('venue_down').length - 1, 50);
  t.match(many, 'The newest 50 are shown', 'a list that is cut says so');

  report = hangUp;
  t.match(await readPage(), 'This is its last response.');
});
