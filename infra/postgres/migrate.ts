// Applies the SQL files of this folder that a database lacks, in order of name, each in its own transaction.
import { readdir, readFile } from 'node:fs/promises';
import type { Pool, PoolClient } from 'pg';
import { openPostgres } from '../runtime/postgres/postgres.ts';
import type { Logger } from '../runtime/process/log.ts';

/** Any number of processes may start at once: one migrates, the others wait (an arbitrary constant of ours). */
const LOCK = 7_305_119;

const HISTORY =
  'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())';

/** A file may take long on a large table, and so may another process that holds the lock: the pool's deadline is for answers. */
const makePatientQuery = (text: string) => ({ text, query_timeout: 3_600_000 });

const applyOne = async (client: PoolClient, name: string, sql: string): Promise<void> => {
  await client.query('begin');
  try {
    await client.query(makePatientQuery(sql));
    await client.query('insert into migrations (name) values ($1)', [name]);
    await client.query('commit');
  } catch (error) {
    // Where the connection is lost the transaction is, too; the first failure is the cause.
    await client.query('rollback').catch(() => undefined);
    throw new Error(`migration ${name} failed`, { cause: error });
  }
};

/** A node of the version before goes on, and starts again, beside one that has migrated (D-560); of two versions before nobody knows. */
const reportLater = (seen: ReadonlySet<string>, files: readonly string[], log: Pick<Logger, 'warn'>): void => {
  const later = [...seen].filter((name) => !files.includes(name)).sort();
  if (later.length > 0) log.warn({ later }, 'PostgreSQL has tables of a later version of the service');
};

/** Returns the names of the migrations applied by this call. */
export const migrate = async (pool: Pool, log?: Pick<Logger, 'warn'>): Promise<readonly string[]> => {
  const folder = new URL('./', import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(makePatientQuery(`select pg_advisory_lock(${LOCK})`));
    await client.query(HISTORY);
    const { rows } = await client.query<{ name: string }>('select name from migrations');
    const seen = new Set(rows.map((row) => row.name));
    if (log !== undefined) reportLater(seen, files, log);
    const missing = files.filter((name) => !seen.has(name));
    for (const name of missing) await applyOne(client, name, await readFile(new URL(name, folder), 'utf8'));
    return missing;
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch((failure: Error) => {
      broken = failure;
    });
    // A connection that is closed releases the lock.
    client.release(broken);
  }
};

/** Runs the work of a command over a database, which gets what it lacks first; at most `max` connections, which are ended after it. */
export const runOnDatabase = async <T>(
  { url, max }: { readonly url: string; readonly max: number },
  work: (pool: Pool) => Promise<T>,
): Promise<T> => {
  const pool = openPostgres(url, { max });
  try {
    await migrate(pool);
    return await work(pool);
  } finally {
    await pool.end();
  }
};
