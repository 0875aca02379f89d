// Every example of the documentation on a running demo, as its reader pastes it: each answers, and none answers nothing.
import pg from 'pg';
import type { Test } from 'tap';
import { QUERIES } from '../../../api/tool-app/dql-page.ts';
import type { ServiceEndpoints } from '../../../infra/dev/local/endpoints.ts';
import { listDocumentedQueries } from '../../../infra/dev/tools/documented-queries.ts';
import { isJsonObject } from '../../../schemas/json-object.ts';
import { waitFor } from '../wait.ts';
import {
  type Block,
  docsBlocks,
  type Language,
  type Place,
  runScript,
  runShell,
  settingsBefore,
} from './docs-blocks.ts';

/** What is stored follows by 100 s; a first liquidation may need longer. */
const PATIENCE_MS = 240_000;

/** Every list named `rows` of an answer. */
const listRows = (value: unknown): readonly (readonly unknown[])[] => {
  if (Array.isArray(value)) return value.flatMap(listRows);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'rows' && Array.isArray(member) ? [member] : listRows(member),
  );
};

/** The lists an answer is asked for that have nothing in them, by name. */
const findEmpty = (answer: unknown): readonly string[] => {
  if (!isJsonObject(answer)) return [];
  const lists = ['items', 'instruments', 'rules', 'partitions', 'fields'].filter(
    (name) => Array.isArray(answer[name]) && answer[name].length === 0,
  );
  const rows = listRows(answer['items']);
  return rows.length > 0 && rows.every((list) => list.length === 0) ? [...lists, 'rows'] : lists;
};

const firstLine = ({ page, text }: Block): string => `${page}: ${text.trim().split('\n')[0]}`;

/** Why what a command printed teaches nothing; empty when it does. */
const findFault = (output: string): string => {
  if (output.trim() === '') return 'it prints nothing';
  const last = output.trim().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) return '';
  const answer = JSON.parse(last) as Readonly<Record<string, unknown>>;
  return 'errors' in answer ? last.slice(0, 300) : findEmpty(answer).join();
};

/** Runs until it answers something; the fault is that of the last time. */
const answers = async (t: Test, name: string, ask: () => Promise<string>): Promise<void> => {
  let fault = '';
  const look = async (): Promise<boolean> => {
    fault = await ask();
    return fault === '';
  };
  await waitFor(name, look, { boundMs: PATIENCE_MS, everyMs: 500 }).catch(() => undefined);
  t.equal(fault, '', name);
};

const checkQueries = async (t: Test, blocks: readonly Block[], { base, key }: Place): Promise<void> => {
  const queries = new Set([
    ...blocks.map(({ text }) => text.trim()),
    ...listDocumentedQueries(),
    ...QUERIES.map(([, query]) => query),
  ]);
  for (const query of queries) {
    await answers(t, query, async () => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const answer = await fetch(`${base}/v2/screen`, { method: 'POST', headers, body: JSON.stringify({ query }) });
      return findFault(await answer.text());
    });
  }
};

const checkStatements = async (t: Test, blocks: readonly Block[], address: string | null): Promise<void> => {
  const client = new pg.Client({ connectionString: address ?? '' });
  await client.connect();
  for (const block of blocks) {
    await answers(t, firstLine(block), async () => ((await client.query(block.text)).rowCount ? '' : 'it has no rows'));
  }
  await client.end();
};

/** `receipt` is of a payment that was made. Blocks in Python run with `DOCS_PYTHON=1 npm test -- e2e/examples`. */
export const checkDocuments = async (t: Test, endpoints: ServiceEndpoints, receipt: string): Promise<void> => {
  const { base_url: base, mcp_url: mcp, keys, kafka, buyer_private_key: buyer } = endpoints;
  const place: Place = {
    ...{ base, mcp: mcp ?? '', key: keys.pro_plus, brokers: kafka ?? '', namespace: '' },
    ...{ buyer: buyer ?? '', receipt },
  };
  const blocks = docsBlocks();
  const of = (language: Language): readonly Block[] => blocks.filter((block) => block.language === language);
  for (const block of of('sh').filter(({ text }) => /^(?:curl|npm)/m.test(text))) {
    // A stream has no end.
    if (block.page === 'endpoints/stream') continue;
    const settings = settingsBefore(block, blocks);
    await answers(t, firstLine(block), async () => findFault((await runShell(block, settings, place)).output));
  }
  for (const block of [...of('js'), ...of('ts')]) {
    await answers(t, firstLine(block), async () => findFault((await runScript(block, place)).output));
  }
  await checkQueries(t, of('dql'), place);
  await checkStatements(t, of('sql'), endpoints.questdb_pg);
};
