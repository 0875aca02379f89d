// Hashes of all tables of a namespace: equal hashes mean equal rows, regardless of order and files.
import { createHash, type Hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { TABLES, type TableSpec } from '../../../processors/sinks/tables.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { isHelpAsked, type Outcome, printOutcome } from '../../runtime/process/print-outcome.ts';
import { type Credentials, openQuestdbHttp, type QuestdbHttp } from '../../runtime/questdb/http.ts';
import { createBackoff } from '../../runtime/time/backoff.ts';

export type TableHash = { readonly rows: number; readonly sha256: string };
type HashOptions = {
  /** Format of QUESTDB_HTTP. */
  readonly url: string;
  readonly auth?: Credentials;
  readonly namespace: string;
};

/**
 * SHA-256 over the CSV of each table, all columns of `TABLES` in their order, rows in a total order: designated instant, the
 * other keys, then every column. Streams a day at a time, so memory does not grow with the table. Rejects when a table is missing.
 */
export async function hashTables({ url, auth, namespace }: HashOptions): Promise<Record<string, TableHash>> {
  const http = openQuestdbHttp(url, auth);
  const hashes: Record<string, TableHash> = {};
  try {
    for (const [table, spec] of Object.entries(TABLES))
      hashes[table] = await hashTable(http, toTableName(namespace, table), spec);
  } finally {
    await http.close();
  }
  return hashes;
}

async function hashTable(http: QuestdbHttp, name: string, spec: TableSpec): Promise<TableHash> {
  const days = await listDays(http, name, spec.designated);
  const columns = Object.keys(spec.columns);
  const order = [...new Set([spec.designated, ...spec.keys, ...columns])].join(', ');
  const hash = createHash('sha256');
  for (const day of days) {
    const query = `SELECT ${columns.join(', ')} FROM '${name}' WHERE ${spec.designated} IN '${day.date}' ORDER BY ${order}`;
    await addRows(hash, await fetchExported(http, query));
  }
  return { rows: days.reduce((sum, { rows }) => sum + rows, 0), sha256: hash.digest('hex') };
}

async function listDays(
  http: QuestdbHttp,
  name: string,
  designated: string,
): Promise<readonly { date: string; rows: number }[]> {
  const query = `SELECT to_str(timestamp_floor('d', ${designated}), 'yyyy-MM-dd') date, count() n FROM '${name}' ORDER BY date`;
  const text = await (await fetchAnswered(http, query)).text();
  const [, ...lines] = text.trim().split('\r\n');
  return lines.map((line) => {
    const [date = '', rows] = line.replaceAll('"', '').split(',');
    return { date, rows: Number(rows) };
  });
}

/** QuestDB exports for two connections at a time, and counts an ended one until it notices: it then returns 429. */
const BUSY = 429;
const BUSY_FOR_MS = 60_000;

/** CSV with a heading line; an empty text is `""`, a null is an empty cell. */
async function fetchAnswered(http: QuestdbHttp, query: string) {
  const backoff = createBackoff({ minMs: 50, maxMs: 1_000 });
  const deadline = performance.now() + BUSY_FOR_MS;
  let answer = await http.get('/exp', { query });
  while (answer.status === BUSY && performance.now() < deadline) {
    await answer.body?.cancel();
    await pause(backoff.next());
    answer = await http.get('/exp', { query });
  }
  if (answer.ok) return answer;
  throw new Error(`QuestDB answered ${answer.status} to ${query}: ${await answer.text()}`);
}

async function fetchExported(http: QuestdbHttp, query: string): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await fetchAnswered(http, query);
  if (body === null) throw new Error(`QuestDB answered nothing to ${query}`);
  return body;
}

const NEW_LINE = 10;

/** Every day has the heading, but the rows appear once: the hash excludes the heading. */
async function addRows(hash: Hash, csv: AsyncIterable<Uint8Array>): Promise<void> {
  let inHeading = true;
  for await (const bytes of csv) {
    const end = inHeading ? bytes.indexOf(NEW_LINE) : -1;
    if (inHeading && end === -1) continue;
    hash.update(inHeading ? bytes.subarray(end + 1) : bytes);
    inHeading = false;
  }
}

const USAGE = `usage: node infra/dev/tools/hash-tables.ts [--url http://127.0.0.1:9000] [--namespace replay.]
One line a table, and the hash of all hashes.`;

async function hashAll(): Promise<Outcome> {
  if (isHelpAsked(process.argv)) return { text: USAGE };
  const { values } = parseArgs({ options: { url: { type: 'string' }, namespace: { type: 'string', default: '' } } });
  const { QUESTDB_HTTP, QUESTDB_USER: user, QUESTDB_PASSWORD: password } = process.env;
  const auth = user === undefined || password === undefined ? {} : { auth: { user, password } };
  const url = values.url ?? QUESTDB_HTTP ?? 'http://127.0.0.1:9000';
  const hashes = await hashTables({ url, namespace: values.namespace, ...auth });
  const all = createHash('sha256').update(JSON.stringify(hashes)).digest('hex');
  const lines = Object.entries(hashes).map(([table, { rows, sha256 }]) => `${sha256} ${table} ${rows}`);
  return { text: [...lines, `${all} all`].join('\n') };
}

if (import.meta.main) await printOutcome(hashAll());
