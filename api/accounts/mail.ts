// Letters to owners: a row first, then sent where there is a mail server; without one the operator reads the table.
import { createTransport } from 'nodemailer';
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { Db } from './events.ts';

type Letter = {
  readonly accountId: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  /** An interval of PostgreSQL: after it the letter is not sent any more. */
  readonly lastsFor?: string;
};

const WRITE = `insert into mail_outbox (account_id, recipient, subject, body, ends_at) values ($1, $2, $3, $4, now() + $5::interval)`;

/** Written in the transaction of the event that the letter reports. */
export const writeLetter = async (
  db: Db,
  { accountId, recipient, subject, body, lastsFor = '1 day' }: Letter,
): Promise<void> => {
  await db.query(WRITE, [accountId, recipient, subject, body, lastsFor]);
};

/** Those that wait are not sent any more. */
export const endLetters = async (
  db: Db,
  { accountId, subject }: Pick<Letter, 'accountId' | 'subject'>,
): Promise<void> => {
  await db.query('update mail_outbox set ends_at = now() where account_id = $1 and subject = $2 and sent_at is null', [
    accountId,
    subject,
  ]);
};

type Due = { readonly mail_id: string; readonly recipient: string; readonly subject: string; readonly body: string };

/**
 * Taken for ten minutes: a process that dies meanwhile leaves it to the next. One whose code has expired is useless (D-1095). One that is put off for
 * longer was so before the clock of the database was set back (D-1046); the minute is for a process whose transaction began before that of the one
 * that has taken it meanwhile (D-1085).
 */
const TAKE = `
  update mail_outbox m set due_at = now() + interval '10 minutes', failures = failures + 1
  where mail_id in (select mail_id from mail_outbox where sent_at is null and ends_at > now()
      and (due_at <= now() or due_at > now() + interval '11 minutes')
    order by due_at, mail_id limit $1 for update skip locked)
  returning mail_id, recipient, subject, body`;
/** A sent letter is kept without its text, which may hold a code. */
const SENT = `update mail_outbox set sent_at = now(), body = '' where mail_id = $1`;
/** A refusal for now is tried again soon, and later each time. */
const FAILED = `
  update mail_outbox set due_at = now() + make_interval(secs => least(600, 15 * 2 ^ least(failures - 1, 10))) where mail_id = $1`;
const BACKLOG = `
  select count(*)::int as waiting, coalesce(extract(epoch from now() - min(made_at)), 0)::float8 as "oldestS"
  from mail_outbox where sent_at is null and ends_at > now()`;

const LOOK_EVERY_MS = 3_000;
/** Letters on their way at a time. */
const AT_ONCE = 5;
/** A server that accepts a connection and sends nothing delays so many letters for so long, and nothing else. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 } as const;

export type MailServer = { readonly url: string; readonly from: string };

/** Letters that still are to be sent, and the age of the oldest. */
export const readLetterBacklog = async (db: Db): Promise<{ readonly waiting: number; readonly oldestS: number }> =>
  (await db.query<{ waiting: number; oldestS: number }>(BACKLOG)).rows[0] ?? { waiting: 0, oldestS: 0 };

type Post = (letter: Due) => Promise<unknown>;
type MailDeps = {
  readonly pool: Pool;
  readonly log: Pick<Logger, 'warn'>;
  readonly count: (outcome: 'sent' | 'failed') => void;
};

/** What the log may hold of a failure: servers repeat addresses in their messages, so those are left out. */
const toCause = (error: unknown) => {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  return { code, response_code: responseCode, command };
};

const sendOne = async (letter: Due, post: Post, { pool, log, count }: MailDeps): Promise<void> => {
  try {
    await post(letter);
  } catch (error) {
    count('failed');
    log.warn({ mail_id: letter.mail_id, ...toCause(error) }, 'a letter was not sent, trying again later');
    await pool.query(FAILED, [letter.mail_id]);
    return;
  }
  await pool.query(SENT, [letter.mail_id]);
  count('sent');
};

/** Sends what is due, again and again, until it is stopped; what is under way then is left to the next process. */
export const sendLetters = (
  { url, from }: MailServer,
  deps: MailDeps,
  {
    everyMs = LOOK_EVERY_MS,
    timeouts = TIMEOUTS,
  }: { everyMs?: number; timeouts?: Readonly<Record<keyof typeof TIMEOUTS, number>> } = {},
) => {
  const transport = createTransport({ url, ...timeouts });
  const stopping = new AbortController();
  const { signal } = stopping;
  const post: Post = ({ recipient, subject, body }) => transport.sendMail({ from, to: recipient, subject, text: body });
  const round = async (): Promise<void> => {
    const { rows } = await deps.pool.query<Due>(TAKE, [AT_ONCE]);
    await Promise.all(rows.map((letter) => sendOne(letter, post, deps)));
  };
  const outages = createOutageLog(deps.log, 'letters cannot be read now, trying again');
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await round();
        outages.noteSuccess();
      } catch (err) {
        outages.noteFailure(err);
      }
      await pauseUnlessAborted(everyMs, signal);
    }
  };
  void loop();
  return {
    /** Does not wait for a letter under way: a server may hang, and the letter is due again in ten minutes. */
    stop: (): void => {
      stopping.abort();
      transport.close();
    },
  };
};
