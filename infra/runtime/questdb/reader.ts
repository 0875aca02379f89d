// Reads QuestDB over the PostgreSQL wire, with every cell as text.
import pg from 'pg';
import {
  guardPool,
  KEEP_ALIVE,
  makeClientClass,
  parsePostgresAddress,
  QUESTDB_PG_NAMES,
} from '../postgres/connection.ts';
import type { ConfigSpec } from '../process/config.ts';
import { createLog, type Logger } from '../process/log.ts';
import { limitTime } from '../time/within.ts';
import type { Credentials } from './http.ts';

/** The login of both addresses. */
export const QUESTDB_LOGIN_CONFIG = {
  QUESTDB_USER: { type: 'string', default: 'admin', description: 'QuestDB user.' },
  QUESTDB_PASSWORD: { type: 'string', default: 'quest', secret: true, description: 'Its password.' },
} as const satisfies ConfigSpec;

/** Text of a cell as QuestDB writes it: timestamps `2026-11-20 00:00:00.123456`, booleans `t`/`f`, doubles like `1.0E-7`. */
export type Cell = string | null;

export type QuestdbQuery = {
  readonly text: string;
  /** Texts only: instants as ISO or micros with `$n::long::timestamp`, lists as one parameter a member. */
  readonly values?: readonly Cell[];
  /** Prepared once a connection under this name; keep the names few. */
  readonly name?: string;
};
export type QuestdbReader = {
  /** Rows in the order of the result, cells in the order of the columns. Rejects with pg's DatabaseError, also at the timeout. */
  readonly query: (query: QuestdbQuery) => Promise<Cell[][]>;
  /** Connects once: rejects while QuestDB is away. */
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
};
type QuestdbReaderOptions = {
  readonly max: number;
  /** The server ends queries after this time; if the server does not even do that, the connection is closed `GRACE_MS` later. */
  readonly timeoutMs: number;
  readonly auth?: Credentials;
  readonly log?: Logger;
};

/** A frozen QuestDB delays the end of a process by at most this time. Nothing is lost, because unconfirmed rows are written again. */
export const CLOSE_MS = 2_000;

/** Time for the server to report its own timeout. */
const GRACE_MS = 2_000;

const toText = (value: string): string => value;

/** Accepts `host:port` and whole URLs, TLS as in libpq's URLs; the database is always `qdb`. */
const toConnectionUrl = (url: string, auth: Credentials | undefined): string => {
  const parsed = new URL(url.includes('://') ? url : `postgres://${url}`);
  if (auth !== undefined) {
    parsed.username = encodeURIComponent(auth.user);
    parsed.password = encodeURIComponent(auth.password);
  }
  if (parsed.pathname === '' || parsed.pathname === '/') parsed.pathname = '/qdb';
  return parsed.href;
};

/** A small pool; QuestDB has few query threads, so more connections do not read faster. */
export const openQuestdbReader = (url: string, options: QuestdbReaderOptions): QuestdbReader => {
  const { max, timeoutMs, auth, log = createLog('questdb') } = options;
  const pool = new pg.Pool({
    ...parsePostgresAddress(toConnectionUrl(url, auth), QUESTDB_PG_NAMES.address),
    Client: makeClientClass(QUESTDB_PG_NAMES),
    ...KEEP_ALIVE,
    max,
    connectionTimeoutMillis: 5_000,
    query_timeout: timeoutMs + GRACE_MS,
    // QuestDB ignores pg's own statement_timeout as it is sent.
    options: `-c statement_timeout=${timeoutMs}`,
    types: { getTypeParser: () => toText },
  });
  guardPool(pool, log, 'idle QuestDB connection lost');
  return {
    query: async ({ text, values = [], name }) => {
      const answer = await pool.query<Cell[]>({
        text,
        values: [...values],
        rowMode: 'array',
        ...(name === undefined ? {} : { name }),
      });
      return answer.rows;
    },
    ping: async () => {
      await pool.query('SELECT 1');
    },
    close: () =>
      limitTime(pool.end(), CLOSE_MS).catch((err: unknown) =>
        log.warn({ err }, 'QuestDB did not answer before the end'),
      ),
  };
};
