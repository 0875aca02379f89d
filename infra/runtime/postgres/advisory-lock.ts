// Work that one process at a time may do, guarded by an advisory lock of PostgreSQL.
import type { Pool, PoolClient } from 'pg';

/** The two halves of a lock's key: a number for each kind of work (an arbitrary constant), and a text of which PostgreSQL computes the other half. */
type AdvisoryLock = { readonly kind: number; readonly name: string };

/** The connection that held the lock was cut. */
class LockLost extends Error {
  override readonly name = 'LockLost';
  constructor(name: string) {
    super(`the lock "${name}" is lost with its connection to PostgreSQL: another process may do this work now`);
  }
}

/**
 * Runs `work` on the connection that holds the lock; null without running it: another connection has the lock. The lock belongs to the
 * connection, so it ends with a killed process. It also ends with a cut connection, while this process lives: `lost` is then aborted, and `work`
 * must write nothing more, because another process may have begun. Rejects with the failure of `work`, or while the database is away.
 */
export const runLocked = async <T>(
  pool: Pool,
  { kind, name }: AdvisoryLock,
  work: (client: PoolClient, lost: AbortSignal) => Promise<T>,
): Promise<T | null> => {
  const client = await pool.connect();
  const key = [kind, name];
  let broken: Error | undefined;
  try {
    const { rows } = await client.query<{ held: boolean }>(
      'select pg_try_advisory_lock($1, hashtext($2)) as held',
      key,
    );
    if (rows[0]?.held !== true) return null;
    const losing = new AbortController();
    const lose = (): void => losing.abort(new LockLost(name));
    client.on('error', lose).on('end', lose);
    try {
      return await work(client, losing.signal);
    } finally {
      client.off('error', lose).off('end', lose);
      await client.query('select pg_advisory_unlock($1, hashtext($2))', key).catch((error: Error) => {
        broken = error;
      });
    }
  } finally {
    // A connection that cannot unlock is closed, which releases its locks.
    client.release(broken);
  }
};
