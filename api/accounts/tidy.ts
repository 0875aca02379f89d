// Forgets what is past its time of the tables that strangers make grow: a few rows at a time, by any number of processes.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { Db } from './events.ts';

/** Expired rows, by table. Each condition uses an index. `processors/nightly/steps/sign-in.ts` deletes ends of connections. */
const OVER: readonly (readonly [table: string, condition: string])[] = [
  // A day without a try forgets them anyway (`take_try`).
  ['sign_in_tries', "last_at < now() - interval '1 day'"],
  ['passkey_challenges', 'expires_at < now()'],
  // Also those that were ended: none expires later than 30 days after its last use.
  ['account_sessions', "expires_at < now() - interval '1 day'"],
  // Letters that were not sent within a day never are, and may hold a code.
  ['mail_outbox', "made_at < now() - interval '2 days' and sent_at is null"],
  ['mail_outbox', "made_at < now() - interval '90 days'"],
  ['recovery_codes', "kind = 'mailed' and expires_at < now() - interval '1 day'"],
  // Consent pages without an answer, codes and tokens.
  ['oidc_items', 'expires_at < now()'],
];

/** Rows of one statement: its locks are held for milliseconds. */
const ROWS = 1_000;
/** Statements of one table in a round, so that a flood of rows is no flood of writes. */
const STATEMENTS = 20;
const EVERY_MS = 60_000;

/** Skips rows that another process is deleting. */
const makeStatement = (table: string, condition: string): string => `
  delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${condition} limit ${ROWS} for update skip locked))`;

type CountTidied = (table: string, rows: number) => void;

/** One round over all tables. Rejects when the store is unavailable; tables done before that stay done. */
export const tidyOnce = async (db: Db, count: CountTidied): Promise<void> => {
  for (const [table, condition] of OVER) {
    for (let i = 0; i < STATEMENTS; i++) {
      const rows = (await db.query(makeStatement(table, condition))).rowCount ?? 0;
      count(table, rows);
      if (rows < ROWS) break;
    }
  }
};

/** A round a minute until it is stopped. */
export const keepTidy = (
  pool: Pool,
  { count, log, everyMs = EVERY_MS }: { readonly count: CountTidied; readonly log: Logger; readonly everyMs?: number },
): { readonly stop: () => Promise<void> } => {
  const outages = createOutageLog(log, 'old rows were not forgotten, they are later');
  const stopping = new AbortController();
  const { signal } = stopping;
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await tidyOnce(pool, count).then(outages.noteSuccess, outages.noteFailure);
      await pauseUnlessAborted(everyMs, signal);
    }
  };
  const ended = loop();
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
};
