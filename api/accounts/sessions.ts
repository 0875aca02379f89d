// Sessions of the account site: 32 random bytes in a cookie, their hash in PostgreSQL, so that each can be listed and ended.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { PlanCode } from '../contract/plans.ts';
import { lockAccount } from './accounts.ts';
import type { Db } from './events.ts';
import { hashToken } from './token-hash.ts';

/** A session that is used goes on; one that is not ends after so long. */
export const SESSION_DAYS = 30;
const PROVEN_HOURS = 12;
const AGENT_LENGTH = 200;

export type Session = {
  readonly sessionId: string;
  readonly accountId: string;
  readonly email: string;
  /** The best of the account's own plan and its live keys (P-06). */
  readonly plan: PlanCode;
  readonly ownPlan: PlanCode;
  readonly confirmedAt: Date | null;
  readonly createdAt: Date;
  /** The password or a passkey was shown within twelve hours. */
  readonly isProven: boolean;
};

export type ListedSession = Pick<Session, 'sessionId' | 'createdAt'> & {
  readonly agent: string;
  readonly seenAt: Date;
  readonly expiresAt: Date;
};

const BEGIN = `insert into account_sessions (session_id, account_id, token_hash, agent, expires_at)
  values ($1, $2, $3, $4, now() + interval '${SESSION_DAYS} days')`;

/** Written at most once a minute: reading pages is not a write. */
const FIND = `
  with found as (
    select s.session_id, s.seen_at, s.created_at, s.proven_at, a.account_id, a.email, a.plan, a.confirmed_at
    from account_sessions s join accounts a using (account_id)
    where s.token_hash = $1 and s.ended_at is null and s.expires_at > now() and a.closed_at is null),
  seen as (
    update account_sessions s set seen_at = now(), expires_at = now() + interval '${SESSION_DAYS} days'
    from found where s.session_id = found.session_id and found.seen_at < now() - interval '1 minute')
  select session_id as "sessionId", account_id as "accountId", email, best_plan(account_id) as plan, plan as "ownPlan",
    confirmed_at as "confirmedAt", created_at as "createdAt", proven_at > now() - interval '${PROVEN_HOURS} hours' as "isProven" from found`;

const LIVE = `
  select 1 from account_sessions join accounts using (account_id)
  where session_id = $1 and ended_at is null and expires_at > now() and closed_at is null`;

const LIST = `
  select session_id as "sessionId", agent, created_at as "createdAt", seen_at as "seenAt", expires_at as "expiresAt"
  from account_sessions where account_id = $1 and ended_at is null and expires_at > now() order by seen_at desc, session_id`;

const END = `update account_sessions set ended_at = now()
  where session_id = $1 and account_id = $2 and ended_at is null returning session_id`;
const END_OTHERS = `update account_sessions set ended_at = now()
  where account_id = $1 and session_id is distinct from $2 and ended_at is null`;
const PROVE = 'update account_sessions set proven_at = now() where session_id = $1';

/** A token that no cookie of ours could hold is not looked up. */
const TOKEN = /^[\w-]{43}$/;

/** Begins a session within the caller's transaction; the token goes into the cookie and nowhere else. */
export const beginSession = async (
  db: Db,
  { accountId, agent }: { readonly accountId: string; readonly agent: string },
): Promise<{ readonly token: string; readonly sessionId: string }> => {
  const token = randomBytes(32).toString('base64url');
  const sessionId = `ses_${randomUUID()}`;
  await db.query(BEGIN, [sessionId, accountId, hashToken(token), agent.slice(0, AGENT_LENGTH)]);
  return { token, sessionId };
};

/** Ends one session of the account; false: it has no such live session. */
export const endSession = async (db: Db, sessionId: string, accountId: string): Promise<boolean> =>
  (await db.query(END, [sessionId, accountId])).rowCount === 1;

/** Ends every session of the account but `except` (null: all). */
export const endOtherSessions = async (db: Db, accountId: string, except: string | null): Promise<number> =>
  (await db.query(END_OTHERS, [accountId, except])).rowCount ?? 0;

/** A connection, a pool, or the transaction of a request of sign-in. */
type Asked = { readonly query: (text: string, values: unknown[]) => Promise<{ readonly rows: readonly unknown[] }> };

/** Whether a session goes on: it has neither ended nor expired, and its account is open. */
export const isLiveSession = async (db: Asked, sessionId: string): Promise<boolean> =>
  (await db.query(LIVE, [sessionId])).rows.length > 0;

/**
 * As `lockAccount`, for what gives a way in: false also when the session has ended. It is found before the body of a request comes, which may take
 * half a minute; whoever ends the sessions of an account has locked it.
 */
export const lockSession = async (
  client: Db,
  { accountId, sessionId }: Pick<Session, 'accountId' | 'sessionId'>,
): Promise<boolean> => (await lockAccount(client, accountId)) && (await isLiveSession(client, sessionId));

/** Notes that the owner has just shown the password or a passkey again. */
export const proveSession = async (db: Db, sessionId: string): Promise<void> => {
  await db.query(PROVE, [sessionId]);
};

export const listSessions = async (db: Db, accountId: string): Promise<readonly ListedSession[]> =>
  (await db.query<ListedSession>(LIST, [accountId])).rows;

export type Sessions = {
  /** The live session of a cookie's token; null: ended, expired, unknown, or its account is closed. Rejects when the store is unavailable. */
  readonly find: (token: string) => Promise<Session | null>;
  /** Whether a session that was found before still goes on. */
  readonly isLive: (sessionId: string) => Promise<boolean>;
};

export const openSessions = (pool: Pick<Pool, 'query'>): Sessions => ({
  find: async (token) => {
    if (!TOKEN.test(token)) return null;
    const { rows } = await pool.query<Session>(FIND, [hashToken(token)]);
    return rows[0] ?? null;
  },
  isLive: (sessionId) => isLiveSession(pool, sessionId),
});
