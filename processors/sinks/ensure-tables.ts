// Brings a QuestDB to the tables and views of this version: creates, adds, widens keys, drops only what QuestDB was killed in creating.
import { setTimeout as pause } from 'node:timers/promises';
import { hasTable } from '../../infra/runtime/questdb/has-table.ts';
import { createBackoff } from '../../infra/runtime/time/backoff.ts';
import { toTableName } from '../../schemas/tables.ts';
import { addColumn, createTable, createView, listViewTexts, setKeys } from './ddl.ts';
import { TABLES, type TableSpec } from './tables.ts';

/** Runs one statement and returns its rows as text cells. */
export type Sql = (text: string) => Promise<readonly (readonly (string | null)[])[]>;

/** A column of the database has another type than ours: only an operator can decide about its rows. */
export class TableMismatch extends Error {
  override readonly name = 'TableMismatch';
}

/** A table has rows and no log that QuestDB can read: only an operator can decide about them. */
class TableUnreadable extends Error {
  override readonly name = 'TableUnreadable';
}

const PATIENCE_MS = 60_000;

/**
 * While another process creates the same object, QuestDB answers `table busy` to IF NOT EXISTS and `view already exists` to OR REPLACE. A view
 * of a new column is an `Invalid column` until the table's writer has applied it, on a slow disk seconds later.
 */
const PASSES = /busy|already exists|Invalid column/;

const makePatient =
  (sql: Sql): Sql =>
  async (text) => {
    const backoff = createBackoff({ minMs: 20, maxMs: 500 });
    for (const end = performance.now() + PATIENCE_MS; ; ) {
      try {
        return await sql(text);
      } catch (error) {
        if (performance.now() > end || !(error instanceof Error && PASSES.test(error.message))) throw error;
        await pause(backoff.next());
      }
    }
  };

/**
 * Every process may run it at every start, also several at once. Throws TableMismatch, and TableUnreadable for a table with rows; of a table
 * or view that QuestDB began to create and was killed, nothing is left.
 */
export async function ensureTables(run: Sql, { namespace }: { readonly namespace: string }): Promise<void> {
  const sql = makePatient(run);
  await dropUnfinished(sql, namespace);
  for (const [table, spec] of Object.entries(TABLES)) {
    await sql(createTable(table, spec, namespace));
    await addMissing(sql, toTableName(namespace, table), spec);
  }
  for (const [name, select] of listViewTexts(namespace)) await sql(createView(name, select));
}

/**
 * QuestDB killed in a CREATE (9.3.4) shows the table or view after its next start, but has no log of it that it can read: IF NOT EXISTS passes
 * such a table over and every write to it is refused, and OR REPLACE of such a view fails. One whose creation runs, by another process, is not
 * there yet.
 */
async function dropUnfinished(sql: Sql, namespace: string): Promise<void> {
  const logs = await listLogs(sql);
  const found: string[] = [];
  for (const name of listOurNames(namespace)) if (!logs.has(name) && (await hasTable(sql, name))) found.push(name);
  if (found.length === 0) return;
  // Another process may have made one after the first answer.
  const newer = await listLogs(sql);
  const views = new Set(listViewTexts(namespace).map(([name]) => name));
  for (const name of found.filter((name) => !newer.has(name))) {
    // Each DROP reports the fault of the log, or that nothing is there, and drops all the same.
    if (views.has(name)) await sql(`DROP VIEW '${name}'`).catch(() => undefined);
    else await dropEmpty(sql, name);
  }
}

const listLogs = async (sql: Sql): Promise<ReadonlySet<string | null | undefined>> =>
  new Set((await sql('SELECT name FROM wal_tables()')).map(([name]) => name));

const listOurNames = (namespace: string): readonly string[] => [
  ...Object.keys(TABLES).map((table) => toTableName(namespace, table)),
  ...listViewTexts(namespace).map(([name]) => name),
];

async function dropEmpty(sql: Sql, table: string): Promise<void> {
  const [[rows] = []] = await sql(`SELECT count() FROM '${table}'`);
  if (rows !== '0') throw new TableUnreadable(`QuestDB cannot read the log of ${table}: restore it from a backup`);
  await sql(`DROP TABLE '${table}'`).catch(() => undefined);
}

/** Columns that an earlier version did not have, and keys: its table tells fewer rows apart (D-634). A key that this version does not name is left. */
async function addMissing(sql: Sql, table: string, spec: TableSpec): Promise<void> {
  const held = await sql(`SELECT "column", type, upsertKey FROM table_columns('${table}')`);
  const found = new Map(held.map(([column, type]) => [column, type]));
  for (const [column, kind] of Object.entries(spec.columns)) {
    const type = found.get(column);
    if (type === undefined) await sql(addColumn(table, column, kind));
    else if (type !== kind.toUpperCase())
      throw new TableMismatch(
        `${table}.${column} is ${type}, this version writes ${kind.toUpperCase()}: use a new namespace or migrate the column`,
      );
  }
  const keys = new Set(held.flatMap(([column, , isKey]) => (isKey === 't' ? [column] : [])));
  if (spec.keys.some((key) => !keys.has(key))) await sql(setKeys(table, spec.keys));
}
