// The audit of an account: each change is written in its own transaction, and an entry is never changed.
import type { Pool } from 'pg';

/** A pool, or the client of a transaction. */
export type Db = Pick<Pool, 'query'>;

const ACCOUNT_ACTIONS = [
  'signed_up',
  'signed_in',
  'sign_in_failed',
  'signed_out',
  'session_ended',
  'sessions_ended',
  'password_changed',
  'password_reset',
  'codes_made',
  'code_used',
  'mail_confirmed',
  'passkey_added',
  'passkey_removed',
  'key_linked',
  'connection_allowed',
  'connection_ended',
  'rule_made',
  'rule_changed',
  'rule_removed',
  'exported',
  'closed',
] as const;
export type AccountAction = (typeof ACCOUNT_ACTIONS)[number];

type Details = Readonly<Record<string, string | number | boolean | null>>;

/** No secret and no address of mail belongs in `details`. */
export const recordEvent = async (
  db: Db,
  { accountId, action, details = {} }: { accountId: string; action: AccountAction; details?: Details },
): Promise<void> => {
  await db.query("insert into account_events (account_id, action, actor, details) values ($1, $2, 'owner', $3)", [
    accountId,
    action,
    details,
  ]);
};

export type StoredEvent = {
  readonly at: Date;
  readonly action: string;
  readonly actor: string;
  readonly details: Details;
  /** For an event of a key: its name and first characters. */
  readonly key: string | null;
};

const LIST = `
  select at, action, actor, details, null as key from account_events where account_id = $1
  union all
  select e.at, 'key_' || e.action, e.actor, e.details, k.name || ' (' || k.display || '…)'
    from key_events e join api_keys k using (key_id) where k.account_id = $1 and k.kind in ('account', 'purchased')
  order by at desc limit $2`;

/** What happened to the account and to its keys, newest first. */
export const listEvents = async (db: Db, accountId: string, most: number): Promise<readonly StoredEvent[]> =>
  (await db.query<StoredEvent>(LIST, [accountId, most])).rows;
