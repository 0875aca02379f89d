// PostgreSQL (accounts, keys, payments): one pool a process.
import pg from 'pg';
import { createLog } from '../process/log.ts';
import { DATABASE_NAMES, guardPool, KEEP_ALIVE, makeClientClass, parsePostgresAddress } from './connection.ts';

type PostgresOptions = {
  readonly max?: number;
  /** A statement without an answer for this long rejects, and its connection is closed; without it a statement may take any time. */
  readonly answerMs?: number;
};

/** For processes that answer callers: none of their statements takes seconds, and a frozen database must not hold their connections. */
export const ANSWER_MS = 30_000;

/** Days compared with instants and intervals of days are those of UTC, whatever zone the server took from its machine. */
const IN_UTC = '-c TimeZone=UTC';

// The driver writes an instant in the zone of the process, and a column of days reads the day that is written.
pg.defaults.parseInputDatesAsUTC = true;

/** The address with the zone of its sessions, after what its own `options` say. */
const toUtcAddress = (url: string): ReturnType<typeof parsePostgresAddress> => {
  const address = parsePostgresAddress(url, DATABASE_NAMES.address);
  const parsed = new URL(address.connectionString ?? url);
  const { searchParams } = parsed;
  searchParams.set('options', [searchParams.get('options'), IN_UTC].filter((one) => one !== null).join(' '));
  return { ...address, connectionString: parsed.href };
};

/** Whether statements may write: not on a standby, and not where an administrator made the database read only. */
export const canWrite = async (pool: Pick<pg.Pool, 'query'>): Promise<boolean> => {
  const { rows } = await pool.query<{ transaction_read_only: string }>('show transaction_read_only');
  return rows[0]?.transaction_read_only === 'off';
};

/** A dead idle connection is logged and replaced by the pool; queries reject to their callers. Close with `pool.end()`. */
export const openPostgres = (url: string, { max = 10, answerMs }: PostgresOptions = {}): pg.Pool => {
  const pool = new pg.Pool({
    ...toUtcAddress(url),
    Client: makeClientClass(DATABASE_NAMES),
    ...KEEP_ALIVE,
    max,
    connectionTimeoutMillis: 5_000,
    ...(answerMs === undefined ? {} : { query_timeout: answerMs }),
    application_name: 'perp',
  });
  return guardPool(pool, createLog('postgres'), 'idle connection lost');
};

/** Runs `work` in one transaction on its own connection: all of it or nothing. */
export const runInTransaction = async <T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    // A connection that cannot roll back is closed, which ends its transaction.
    client.release(broken);
  }
};
