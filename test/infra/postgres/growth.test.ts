// Each table of PostgreSQL is named where operators read what deletes its rows (docs/deployment.md), so that none only grows unnoticed.
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';

const FOLDER = new URL('../../../infra/postgres/', import.meta.url);
const MANUAL = new URL('../../../docs/deployment.md', import.meta.url);

const listTables = (): readonly string[] => {
  const tables = new Set<string>(['migrations']);
  for (const file of readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()) {
    const statements = readFileSync(new URL(file, FOLDER), 'utf8');
    for (const [, name = ''] of statements.matchAll(/^create (?:unlogged )?table (\w+)/gm)) tables.add(name);
    for (const [, name = ''] of statements.matchAll(/^drop table (?:if exists )?(\w+)/gm)) tables.delete(name);
  }
  return [...tables].sort();
};

t.test('the manual says of each table when its rows go, and of no other', (t) => {
  const manual = readFileSync(MANUAL, 'utf8');
  const [, rows = ''] = /\n\| tables \| rows go \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(manual) ?? [];
  const named = rows.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)]);
  t.same(named.map(([, name]) => name).sort(), listTables());
  t.end();
});
