// What a migration does to tables of a service that goes on meanwhile: no deadlock with statements that are under way.
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';

const FOLDER = new URL('../../../infra/postgres/', import.meta.url);
const FILES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sql'))
  .sort();

type Lock = { readonly table: string; readonly isExclusive: boolean };

const STATEMENT =
  /^\s*(?:create table (\w+)|create (?:unique )?index (\w+) on (\w+)|alter table (\w+)|drop index (?:if exists )?(\w+)|(?:update|delete from|insert into) (\w+))/;

/** Tables that the files make, and the table of each index. */
const made = new Set<string>();
const tableOf = new Map<string, string>();

/** Locks that a file takes on tables that are there before it, in their order. */
const listLocks = (sql: string): readonly Lock[] => {
  const before = new Set(made);
  // Bodies of functions run later.
  const statements = sql
    .replace(/\$\$[\s\S]*?\$\$/g, '')
    .replace(/--.*$/gm, '')
    .split(';');
  return statements.flatMap((statement): Lock[] => {
    const [, created, index, indexed, altered, dropped, written] = STATEMENT.exec(statement) ?? [];
    if (created !== undefined) made.add(created);
    if (index !== undefined && indexed !== undefined) tableOf.set(index, indexed);
    const locked = altered ?? (dropped === undefined ? undefined : tableOf.get(dropped));
    const table = locked ?? indexed ?? written;
    return table !== undefined && before.has(table) ? [{ table, isExclusive: locked !== undefined }] : [];
  });
};

t.test('a migration takes its strongest lock on a table first', (t) => {
  let count = 0;
  for (const file of FILES) {
    const locks = listLocks(readFileSync(new URL(file, FOLDER), 'utf8'));
    for (const [table, own] of Map.groupBy(locks, (lock) => lock.table)) {
      count += 1;
      t.ok(
        own[0]?.isExclusive === true || own.every(({ isExclusive }) => !isExclusive),
        `${file}: found a stronger lock on ${table} after a weaker one, use a file of its own for it, because a statement that has begun to read the table and waits to write it ends in a deadlock`,
      );
    }
  }
  t.ok(count > 5, `${count} tables that were there before`);
  t.end();
});
