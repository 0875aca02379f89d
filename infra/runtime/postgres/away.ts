// Decides whether a failure of PostgreSQL means that it is unavailable: callers then wait, or ask their own callers to wait.
import type { Pool } from 'pg';
import { makeUnavailable } from '../../../schemas/errors.ts';
import { limitTime, NoAnswer } from '../time/within.ts';
import { isUnconnected } from './connection.ts';

/** Connection failures and a server that is starting or stopping (PostgreSQL, annex A, classes 08 and 57; Node.js, common system errors). */
const AWAY_CODE = /^(?:08...|57P0[123]|53300|ECONN|ETIMEDOUT|EPIPE|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/;
/**
 * Failures of a server that responds but cannot do its work at present: no space, memory or connection left, a rollback (deadlock, serialisation),
 * read-only after a failover, a timeout of a statement or lock, a failing disk (annex A, classes 53, 40, 25, 55, 57, 58).
 */
const UNABLE_CODE = /^(?:53...|40(?:001|003|P01)|25(?:006|P0[34])|55P03|57(?:014|P05)|58030)$/;
/** Messages of the driver without a code. */
const AWAY_MESSAGE = /Connection terminated|connection error and is not queryable|timeout/;
/** undefined_table: a new database that is not prepared yet. */
const NO_TABLE = '42P01';
const ANSWER_MS = 10_000;

const readCode = (error: Error): string | null => ('code' in error && error.code != null ? String(error.code) : null);

/** False for a refused login and a failed statement: waiting does not resolve them. An error without a code is judged by its cause, too. */
export const isAway = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if (error instanceof NoAnswer) return true;
  const code = readCode(error);
  if (code !== null) return AWAY_CODE.test(code);
  return AWAY_MESSAGE.test(error.message) || isAway(error.cause);
};

/** Whether a repetition may succeed without a change of ours: the database is away, lets nobody in, or cannot do its work for now. */
export const isOutOfService = (error: unknown): boolean => {
  if (isAway(error)) return true;
  if (!(error instanceof Error)) return false;
  if (isUnconnected(error)) return true;
  const code = readCode(error);
  return code === null ? isOutOfService(error.cause) : UNABLE_CODE.test(code);
};

/** The same queries; while the database is out of service they reject with a ServiceError UNAVAILABLE with this message. */
export const guardAway = (pool: Pick<Pool, 'query'>, message: string): Pick<Pool, 'query'> => {
  const query = (text: string, values?: unknown[]) =>
    limitTime(pool.query(text, values), ANSWER_MS).catch((error: unknown) => {
      if (!isOutOfService(error) && !(error instanceof Error && readCode(error) === NO_TABLE)) throw error;
      throw makeUnavailable(message);
    });
  return { query: query as Pool['query'] };
};
