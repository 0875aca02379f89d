// The database of a process that serves what it can while PostgreSQL is away: migrates it before the start continues, or once it is available.
import type { Pool } from 'pg';
import { describeError } from '../../schemas/thrown.ts';
import { isAway } from '../runtime/postgres/away.ts';
import type { Logger } from '../runtime/process/log.ts';
import { createBackoff } from '../runtime/time/backoff.ts';
import { pauseUnlessAborted } from '../runtime/time/pause.ts';
import { migrate } from './migrate.ts';

type PreparedDatabase = {
  /** Whether its tables have the version of this process. */
  readonly isReady: () => boolean;
  readonly stop: () => Promise<void>;
};

/**
 * Resolves after the first attempt, whether the database is available or away; later attempts follow until it is. Rejects when waiting does not
 * help: a refused login, a failed migration.
 */
export const prepareDatabase = async (
  pool: Pool,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): Promise<PreparedDatabase> => {
  const stopping = new AbortController();
  const backoff = createBackoff({ minMs: 250, maxMs: 5_000 });
  let isReady = false;

  const prepare = async (): Promise<void> => {
    await migrate(pool, log);
    isReady = true;
  };
  /** The attempts that follow fail alike: one line for each reason. */
  let told = '';
  const noteFailure = (err: unknown): void => {
    const reason = describeError(err);
    if (!isAway(err) && reason !== told) log.error({ err }, 'PostgreSQL cannot be prepared, trying again');
    told = reason;
  };
  const goOn = async (): Promise<void> => {
    while (!isReady && !stopping.signal.aborted) {
      await pauseUnlessAborted(backoff.next(), stopping.signal);
      if (stopping.signal.aborted) return;
      await prepare().then(() => log.info('PostgreSQL is there'), noteFailure);
    }
  };

  let goingOn: Promise<void> | null = null;
  try {
    await prepare();
  } catch (err) {
    if (!isAway(err)) throw err;
    log.warn({ err }, 'PostgreSQL is unavailable: requests that need it are answered with 503 until it is available');
    goingOn = goOn();
  }
  return {
    isReady: () => isReady,
    async stop() {
      stopping.abort();
      await goingOn;
    },
  };
};
