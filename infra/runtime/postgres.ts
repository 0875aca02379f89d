// PostgreSQL (accounts, keys, payments): one pool a process.
import pg from 'pg';
import { createLog } from './log.ts';

export type PostgresOptions = { readonly max?: number };

/** A dead idle connection is logged and replaced by the pool; queries reject to their callers. Close with `pool.end()`. */
export const openPostgres = (url: string, { max = 10 }: PostgresOptions = {}): pg.Pool => {
  const log = createLog('postgres');
  const pool = new pg.Pool({ connectionString: url, max, connectionTimeoutMillis: 5_000, application_name: 'perp' });
  pool.on('error', (error) => log.warn({ err: error }, 'idle connection lost'));
  return pool;
};
