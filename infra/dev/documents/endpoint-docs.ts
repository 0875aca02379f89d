// docs/endpoints.md, rendered from the operation list: `npm run docs` writes it and the other generated files, `npm run docs -- --check` compares
// them; a test compares them, too, and runs the examples.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Endpoint, RequestClass } from '../../../api/contract/endpoint.ts';
import { PLAN_NAMES, PLAN_ROWS } from '../../../api/contract/plan-rows.ts';
import type { PlanLimits } from '../../../api/contract/plans.ts';
import { listErrorCodes } from '../../../api/data-app/endpoint-codes.ts';
import { GAPS_HEADER } from '../../../api/data-app/envelope-headers.ts';
import { ENDPOINTS, toAnchor } from '../../../api/open-pages/endpoint-pages.ts';
import { formatDuration, formatSeconds } from '../../../schemas/durations.ts';
import { CATALOGUE } from '../../../schemas/errors.ts';
import { GAP_CAUSES } from '../../../schemas/gap-causes.ts';
import { ALL_LAYERS } from '../../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { printArchiveFiles } from './archive-columns.ts';
import { listClientSources } from './client-sources.ts';
import { renderPictures } from './draw-pictures.ts';
import { ARCHIVED_DAY, formatExampleCommand, formatWideJson, INSTANTS, isAboutPast } from './endpoint-examples.ts';
import { printMembersTable, printParametersTable, printTable } from './schema-tables.ts';
import { renderVenueDocs } from './venue-docs.ts';

export const ENDPOINT_DOCS = join(PROJECT_ROOT, 'docs', 'endpoints.md');

const fenceText = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
const formatCodes = (codes: readonly string[]): string => codes.map((code) => `\`${code}\``).join(', ');
/** The limit of a plan that bounds the size of one response. */
const BOUNDED_BY: Readonly<Partial<Record<RequestClass, keyof PlanLimits>>> = {
  screen: 'screen_limit',
  snapshots: 'snapshots_listings',
  history: 'history_listings',
  candles: 'candles_listings',
  books: 'books_listings',
  liquidations: 'history_listings',
  stream: 'stream_listings',
};

/** Access, price, size of the response, and how long it may be cached. */
const describeTerms = ({ key, price, pricing, cacheS, class: requestClass, input, redirects }: Endpoint): string => {
  const { properties = {} } = input;
  const selects = ['where', 'query'].some((name) => Object.hasOwn(properties, name));
  const bound = selects ? BOUNDED_BY[requestClass] : undefined;
  return [
    key === 'open' ? 'It needs no key.' : 'It needs a key.',
    price === null ? [] : (pricing ?? `Without a key a call costs ${price / 1_000_000} USDC.`),
    requestClass === 'account' || requestClass === 'receipt'
      ? `It is not counted as a request${requestClass === 'account' ? ', and is answered once a second' : ''}.`
      : `It is counted as \`${requestClass}\`.`,
    bound === undefined ? [] : `The limit is \`${bound}\` of the [plan](#plans).`,
    cacheS === null ? [] : `An answer may be cached for ${cacheS} s.`,
    redirects === true
      ? 'Its columns are under [Archive files](#archive-files). `X-Service-Receipt` is a header of the redirect, not of the file to which it leads.'
      : [],
  ]
    .flat()
    .join(' ');
};

const printAnswerText = ({ example }: Endpoint): string =>
  typeof example.output === 'string'
    ? fenceText('text', example.output)
    : fenceText('json', formatWideJson(example.output));

const printAnswerTable = ({ name, output, class: requestClass }: Endpoint): string =>
  requestClass === 'stream' ? (output.description ?? '') : printMembersTable(name, output);

const printSection = (endpoint: Endpoint): string =>
  [
    `## ${endpoint.method} ${endpoint.path}`,
    `${endpoint.summary} ${describeTerms(endpoint)}`,
    `*${endpoint.example.question}*`,
    fenceText('sh', formatExampleCommand(endpoint)),
    printAnswerText(endpoint),
    printParametersTable(endpoint.input),
    printAnswerTable(endpoint),
    `Errors: ${formatCodes(listErrorCodes(endpoint))}.`,
  ].join('\n\n');

/** Endpoints whose rows are available as tables. */
const printRowPaths = (endpoints: readonly Endpoint[]): string =>
  formatCodes(
    endpoints
      .filter(({ output: { properties = {} } }) => 'items' in properties && 'items_sha256' in properties)
      .map(({ path }) => path),
  );

const printHead = (endpoints: readonly Endpoint[]): string => `# Endpoints

<!-- Made from api/operations by \`npm run docs\`; a test compares it and runs every example. Edit the declarations, not this file. -->

${printTable(
  ['endpoint', 'key', 'what it answers'],
  endpoints.map((one) => [
    `[${one.method} ${one.path}](#${toAnchor(one)})`,
    one.key === 'open' ? 'no' : 'yes',
    one.summary,
  ]),
)}

Every example runs as it is pasted when the shell knows an address and a key; \`npm run demo\` prints both. The examples about the past
(${formatCodes(endpoints.filter(isAboutPast).map(({ path }) => path))}) ask about the last hour; the examples about one day ask about the oldest
archived day. \`RECEIPT\` is the header \`X-Service-Receipt\` of a paid answer; the demo's program that pays prints it. The answers shown came from
simulated venues; their instants are moved to one hour, and their lists and maps are shortened.

${fenceText('sh', `BASE=http://127.0.0.1:8080\nKEY=...\n${INSTANTS}\n${ARCHIVED_DAY}`)}

* **Selections** (\`where\`) are the same everywhere: \`base in (BTC, ETH) and quote = USDT\`, on \`instrument\`, \`base\`, \`venue\`, \`quote\`, \`symbol\`. Without a selection, everything that the plan covers is selected.
* **Instants** are ISO 8601 in UTC with milliseconds, or microseconds where they have them. A request may send an RFC 3339 instant with at most six fractional digits, or a date.
* **Figures** have the digits that the venue sent, or are computed from them. They are JSON numbers, or strings with \`number_format\` \`string\`. A value that is not current is withheld; \`status\` and \`reason\` give the cause.
* **Tables**: ${printRowPaths(endpoints)} answer their rows as \`text/csv\`, \`application/x-ndjson\` or \`application/vnd.apache.parquet\` when \`Accept\` says so, each row with the members of its listing and layer; the members of the envelope are headers \`X-Service-*\`. In Parquet figures are texts with all digits, instants timestamps. A table of liquidations has events alone: \`${GAPS_HEADER}\` is the number of gaps that the JSON answer lists.
* **HEAD** is allowed wherever GET is. A request body is JSON of at most 64 KiB. An unknown member or parameter is refused, not ignored.
* **Size**: an answer has at most 8 MiB. The request header \`X-Service-Max-Bytes\` (4096 to 8388608) lowers that limit; a larger answer is refused with \`DQL_LIMIT\`.
* **Errors** are \`{"errors": [{"code", "message", "position", "hint", "path"}]}\`, with every fault found; a 429 and a 503 have \`Retry-After\`.`;

const printLayersTable = (): string =>
  printTable(
    ['layer', 'figures and units', 'stale after', 'stored every'],
    READING_LAYERS.map((name) => {
      const { members, freshnessMs, windowMs } = LAYERS[name];
      const figures = Object.entries(members).map(([member, unit]) => `\`${member}\` ${unit}`);
      return [`\`${name}\``, figures.join(', '), formatSeconds(freshnessMs), formatDuration(windowMs)];
    }),
  );

/** Members of each layer; those of one unit and meaning, such as the bands', are grouped. */
const printLayerMembersTable = (): string =>
  printTable(
    ['layer', 'members', 'unit', 'meaning'],
    ALL_LAYERS.flatMap(({ name, members }) => {
      const named = Map.groupBy(Object.entries(members), ([, { unit, sentence }]) => `${unit}|${sentence}`);
      return [...named.values()].map((alike) => {
        const [, { unit, sentence }] = alike[0] as (typeof alike)[number];
        return [`\`${name}\``, formatCodes(alike.map(([member]) => member)), unit, sentence];
      });
    }),
  );

const printCausesTable = (): string =>
  printTable(
    ['cause', 'meaning'],
    Object.entries(GAP_CAUSES).map(([cause, meaning]) => [`\`${cause}\``, meaning]),
  );

const printErrorsTable = (endpoints: readonly Endpoint[]): string => {
  const named = new Set<string>(endpoints.flatMap(listErrorCodes));
  const rows = Object.entries(CATALOGUE)
    .filter(([code]) => named.has(code))
    .map(([code, { status, retry, meaning, fix }]) => [
      `\`${code}\``,
      String(status),
      retry ? 'yes' : 'no',
      meaning,
      fix,
    ]);
  return printTable(['code', 'status', 'again?', 'meaning', 'what to do'], rows);
};

/** The whole file. */
export const printEndpointDocs = (): string =>
  `${[
    printHead(ENDPOINTS),
    ...ENDPOINTS.map(printSection),
    '## Layers',
    printLayersTable(),
    printLayerMembersTable(),
    '## Archive files',
    printArchiveFiles(),
    '## Gap causes',
    printCausesTable(),
    '## Plans',
    printTable(['limit', ...PLAN_NAMES], PLAN_ROWS),
    '## Errors',
    printErrorsTable(ENDPOINTS),
  ].join('\n\n')}\n`;

/** Every file that `npm run docs` generates. */
const printFiles = (): ReadonlyMap<string, string> =>
  new Map([
    [ENDPOINT_DOCS, printEndpointDocs()],
    ...[...renderVenueDocs()].map(([path, text]) => [join(PROJECT_ROOT, path), text] as const),
    ...renderPictures(),
    ...listClientSources(),
  ]);

const read = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null);

/** Paths of outdated files, as `readText` returns their texts. */
export const listStaleFiles = (readText: (path: string) => string | null = read): string[] =>
  [...printFiles()].flatMap(([path, text]) => (readText(path) === text ? [] : [relative(PROJECT_ROOT, path)]));

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const stale = listStaleFiles();
    for (const path of stale) console.error(`${path} is not what its source says: npm run docs`);
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else for (const [path, text] of printFiles()) writeFileSync(path, text);
}
