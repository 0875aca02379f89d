// Applies the SQL files of this folder that a database lacks, in order of name, each in its own transaction.
import { readdir, readFile } from 'node:fs/promises';
import type { Pool, PoolClient } from 'pg';

/** Any number of processes may start at once: one migrates, the others wait (an arbitrary constant of ours). */
const LOCK = 7_305_119;

const HISTORY =
  'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())';

const applyOne = async (client: PoolClient, name: string, sql: string): Promise<void> => {
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query('insert into migrations (name) values ($1)', [name]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed`, { cause: error });
  }
};

/** Returns the names of the migrations applied by this call. */
export const migrate = async (pool: Pool): Promise<readonly string[]> => {
  const folder = new URL('./', import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await client.query(HISTORY);
    const { rows } = await client.query<{ name: string }>('select name from migrations');
    const seen = new Set(rows.map((row) => row.name));
    const missing = files.filter((name) => !seen.has(name));
    for (const name of missing) await applyOne(client, name, await readFile(new URL(name, folder), 'utf8'));
    return missing;
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    client.release();
  }
};
