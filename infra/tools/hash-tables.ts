// Hashes of all tables of a namespace: equal hashes mean equal rows, whatever order or files they are stored in.
import { createHash, type Hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { TABLES, type TableSpec } from '../../processors/sinks/tables.ts';
import { tableName } from '../../schemas/tables.ts';
import { createBackoff } from '../runtime/backoff.ts';
import type { Credentials } from '../runtime/questdb.ts';

export type TableHash = { readonly rows: number; readonly sha256: string };
export type HashOptions = {
  /** `http://host:port` of QuestDB. */
  readonly url: string;
  readonly auth?: Credentials;
  readonly namespace: string;
};

/**
 * SHA-256 over the CSV of each table, all columns of `TABLES` in their order, rows in a total order: designated instant, the
 * other keys, then every column. Streams a day at a time, so memory does not grow with the table. Rejects when a table is missing.
 */
export async function hashTables(options: HashOptions): Promise<Record<string, TableHash>> {
  const hashes: Record<string, TableHash> = {};
  for (const [table, spec] of Object.entries(TABLES)) hashes[table] = await hashTable(options, table, spec);
  return hashes;
}

async function hashTable(options: HashOptions, table: string, spec: TableSpec): Promise<TableHash> {
  const name = tableName(options.namespace, table);
  const days = await daysOf(options, name, spec.designated);
  const columns = Object.keys(spec.columns);
  const order = [...new Set([spec.designated, ...spec.keys, ...columns])].join(', ');
  const hash = createHash('sha256');
  for (const day of days) {
    const query = `SELECT ${columns.join(', ')} FROM '${name}' WHERE ${spec.designated} IN '${day.date}' ORDER BY ${order}`;
    await addRows(hash, await exported(options, query));
  }
  return { rows: days.reduce((sum, { rows }) => sum + rows, 0), sha256: hash.digest('hex') };
}

async function daysOf(
  options: HashOptions,
  name: string,
  designated: string,
): Promise<readonly { date: string; rows: number }[]> {
  const query = `SELECT to_str(timestamp_floor('d', ${designated}), 'yyyy-MM-dd') date, count() n FROM '${name}' ORDER BY date`;
  const text = await new Response(await exported(options, query)).text();
  const [, ...lines] = text.trim().split('\r\n');
  return lines.map((line) => {
    const [date = '', rows] = line.replaceAll('"', '').split(',');
    return { date, rows: Number(rows) };
  });
}

/** QuestDB exports for two connections at a time, and counts one that ended until it looks: it then says 429. */
const BUSY = 429;
const BUSY_FOR_MS = 60_000;

/** CSV with a heading line; an empty text is `""`, a null is nothing. */
async function exported({ url, auth }: HashOptions, query: string): Promise<ReadableStream<Uint8Array>> {
  const target = new URL('/exp', url);
  target.searchParams.set('query', query);
  const headers: Record<string, string> =
    auth === undefined ? {} : { authorization: `Basic ${btoa(`${auth.user}:${auth.password}`)}` };
  const backoff = createBackoff({ minMs: 50, maxMs: 1_000 });
  const deadline = performance.now() + BUSY_FOR_MS;
  let answer = await fetch(target, { headers });
  while (answer.status === BUSY && performance.now() < deadline) {
    await answer.body?.cancel();
    await pause(backoff.next());
    answer = await fetch(target, { headers });
  }
  if (!answer.ok || answer.body === null)
    throw new Error(`QuestDB answered ${answer.status} to ${query}: ${await answer.text()}`);
  return answer.body;
}

const NEW_LINE = 10;

/** The heading of every day but the rows only once: it is left out of the hash. */
async function addRows(hash: Hash, csv: ReadableStream<Uint8Array>): Promise<void> {
  let inHeading = true;
  for await (const bytes of csv) {
    const end = inHeading ? bytes.indexOf(NEW_LINE) : -1;
    if (inHeading && end === -1) continue;
    hash.update(inHeading ? bytes.subarray(end + 1) : bytes);
    inHeading = false;
  }
}

/** `hash-tables.ts --url http://127.0.0.1:9000 --namespace replay.`: one line a table, and the hash of them all. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { url: { type: 'string' }, namespace: { type: 'string', default: '' } } });
  const { QUESTDB_HTTP, QUESTDB_USER: user, QUESTDB_PASSWORD: password } = process.env;
  const auth = user === undefined || password === undefined ? {} : { auth: { user, password } };
  const url = values.url ?? QUESTDB_HTTP ?? 'http://127.0.0.1:9000';
  const hashes = await hashTables({ url, namespace: values.namespace, ...auth });
  const all = createHash('sha256').update(JSON.stringify(hashes)).digest('hex');
  const lines = Object.entries(hashes).map(([table, { rows, sha256 }]) => `${sha256} ${table} ${rows}`);
  process.stdout.write(`${[...lines, `${all} all`].join('\n')}\n`);
}

if (import.meta.main) await main();
