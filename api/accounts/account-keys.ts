// Keys that owners make, list and revoke; each change and its line in the audit are one statement.
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { hashKey, makeKey, shortenKey } from '../access/keys.ts';
import { makeKeyId } from '../contract/ids.ts';
import { PLANS, type PlanCode } from '../contract/plans.ts';
import type { Db } from './events.ts';
import { lockSession, type Session } from './sessions.ts';

export const LONGEST_NAME = 60;

/** A key as its owner sees it; the key itself is nowhere. */
export type OwnKey = {
  readonly key_id: string;
  readonly name: string;
  /** Its first eight characters. */
  readonly display: string;
  readonly plan: PlanCode;
  readonly kind: 'account' | 'purchased';
  readonly state: 'live' | 'expired' | 'revoked';
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  /** Seen in a URL (E-02). */
  readonly compromised_at: Date | null;
  /** The UTC day of its last counted request. */
  readonly last_used_on: string | null;
};

const ENTRY = `key_id, name, display, plan, kind, created_at, expires_at, revoked_at, compromised_at,
  case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'live' end as state,
  (select max(u.day)::text from key_usage u where u.key_id = k.key_id) as last_used_on`;

/** Live ones first; a revoked or expired key is shown for three months, the newest that fit. */
const LIST = `select ${ENTRY} from api_keys k
  where account_id = $1 and kind in ('account', 'purchased') and coalesce(revoked_at, expires_at, now()) > now() - interval '90 days'
  order by (revoked_at is null and (expires_at is null or expires_at > now())) desc, created_at desc, key_id
  limit 500`;

/** Keys and their events are kept for ever: whoever makes and revokes them without end fills the database. Those of a clock set back since are of no day (D-1172). */
const MOST_A_DAY = 500;
const COUNT = `select
  count(*) filter (where revoked_at is null and (expires_at is null or expires_at > now()))::int as held,
  count(*) filter (where created_at > now() - interval '1 day' and created_at < now() + interval '1 minute')::int as lately
  from api_keys where account_id = $1 and kind = 'account'`;

const CREATE = `
  with created as (
    insert into api_keys (key_id, account_id, hash, display, name, plan, expires_at, form_id)
    select $1, account_id, $3, $4, $5, plan, $6, $7 from accounts where account_id = $2 returning *),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'created', 'owner', jsonb_build_object('plan', plan, 'name', name, 'expires_at', expires_at) from created)
  select ${ENTRY} from created k`;

const REVOKE = `
  with revoked as (
    update api_keys set revoked_at = now() where key_id = $1 and account_id = $2 and kind in ('account', 'purchased') and revoked_at is null
    returning key_id)
  insert into key_events (key_id, action, actor) select key_id, 'revoked', 'owner' from revoked`;
const OWN = `select 1 from api_keys where key_id = $1 and account_id = $2 and kind in ('account', 'purchased')`;

export const listOwnKeys = async (db: Db, accountId: string): Promise<readonly OwnKey[]> =>
  (await db.query<OwnKey>(LIST, [accountId])).rows;

type NewKey = {
  /** Its plan decides how many keys there may be: the best one of the account. */
  readonly session: Pick<Session, 'accountId' | 'sessionId' | 'plan'>;
  readonly name: string;
  readonly expiresAt: Date | null;
  /** Id of the form that was sent: sent twice, it makes one key. */
  readonly formId: string;
};
type MadeKey =
  | { readonly is: 'made'; readonly key: string; readonly entry: OwnKey }
  | { readonly is: 'full'; readonly most: number }
  /** So many were made within 24 hours. */
  | { readonly is: 'often'; readonly most: number }
  /** The form was sent before: its key was shown then. */
  | { readonly is: 'again' }
  /** The session has ended meanwhile, or the account was closed. */
  | { readonly is: 'ended' };

/** The plain key is in this answer and nowhere else. The account's row is locked: two forms at once count one after the other. */
export const makeOwnKey = (pool: Pool, { session, name, expiresAt, formId }: NewKey): Promise<MadeKey> =>
  runInTransaction<MadeKey>(pool, async (client) => {
    if (!(await lockSession(client, session))) return { is: 'ended' };
    const { accountId, plan } = session;
    const before = await client.query('select 1 from api_keys where account_id = $1 and form_id = $2', [
      accountId,
      formId,
    ]);
    if (before.rowCount !== 0) return { is: 'again' };
    const { rows: counted } = await client.query<{ held: number; lately: number }>(COUNT, [accountId]);
    const most = PLANS[plan].limits.keys;
    if ((counted[0]?.held ?? 0) >= most) return { is: 'full', most };
    if ((counted[0]?.lately ?? 0) >= MOST_A_DAY) return { is: 'often', most: MOST_A_DAY };
    const key = makeKey();
    const values = [makeKeyId(Date.now()), accountId, hashKey(key), shortenKey(key), name, expiresAt, formId];
    const { rows } = await client.query<OwnKey>(CREATE, values);
    return { is: 'made', key, entry: rows[0] as OwnKey };
  });

/** Ends a key at once everywhere; false: the account has no such key. Ending it again changes nothing. */
export const revokeOwnKey = async (db: Db, keyId: string, accountId: string): Promise<boolean> => {
  await db.query(REVOKE, [keyId, accountId]);
  return (await db.query(OWN, [keyId, accountId])).rowCount === 1;
};

/** The account's live key with this text; null: it has none. */
export const findOwnKey = async (db: Db, key: string, accountId: string): Promise<OwnKey | null> => {
  const { rows } = await db.query<OwnKey>(
    `select ${ENTRY} from api_keys k where hash = $1 and account_id = $2 and kind in ('account', 'purchased')`,
    [hashKey(key), accountId],
  );
  return rows[0]?.state === 'live' ? rows[0] : null;
};
