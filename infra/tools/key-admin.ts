// Operations on keys for operators: each change and its audit entry are one statement, so neither exists without the other.
import type { Pool } from 'pg';
import { hashKey, makeKey, shortenKey } from '../../api/access/keys.ts';
import { makeKeyId } from '../../api/contract/ids.ts';
import type { PlanCode } from '../../api/contract/plans.ts';
import { OperatorError } from './command-line.ts';

type KeyState = 'live' | 'expired' | 'revoked';

/** A key as operators see it, without the key itself. */
export type KeyEntry = {
  readonly key_id: string;
  readonly display: string;
  readonly name: string;
  readonly account_id: string;
  readonly plan: PlanCode;
  readonly kind: string;
  readonly state: KeyState;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  /** Seen in a URL (E-02). */
  readonly compromised_at: Date | null;
};

type NewKey = {
  readonly plan: PlanCode;
  readonly name: string;
  /** Created when it does not exist. */
  readonly accountId: string;
  readonly expiresAt: Date | null;
};

const ENTRY = `key_id, display, name, account_id, plan, kind, created_at, expires_at, revoked_at, compromised_at,
  case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'live' end as state`;

const CREATE = `
  with account as (insert into accounts (account_id, plan) values ($2, $6) on conflict do nothing),
  created as (
    insert into api_keys (key_id, account_id, hash, display, name, plan, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7) returning *),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'created', $8, jsonb_build_object('plan', plan, 'name', name, 'expires_at', expires_at) from created)
  select ${ENTRY} from created`;

const LIST = `select ${ENTRY} from api_keys where $1::text is null or account_id = $1 order by created_at, key_id`;

/** A second revocation changes nothing and writes no event. */
const REVOKE = `
  with revoked as (
    update api_keys set revoked_at = now() where key_id = $1 and revoked_at is null returning *),
  event as (insert into key_events (key_id, action, actor) select key_id, 'revoked', $2 from revoked)
  select ${ENTRY} from revoked`;

const CHANGE_PLAN = `
  with held as (select key_id, plan from api_keys where key_id = $1 for update),
  changed as (
    update api_keys k set plan = $3, plan_since = now() from held
    where k.key_id = held.key_id and held.plan <> $3 and k.revoked_at is null returning k.*),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'plan_changed', $2, jsonb_build_object('from', held.plan, 'to', $3::text)
    from changed join held using (key_id))
  select ${ENTRY} from changed`;

const FIND = `select ${ENTRY} from api_keys where key_id = $1`;

const findKey = async (pool: Pool, keyId: string): Promise<KeyEntry> => {
  const { rows } = await pool.query<KeyEntry>(FIND, [keyId]);
  const entry = rows[0];
  if (entry === undefined) throw new OperatorError(`there is no key "${keyId}"; \`list\` shows them`);
  return entry;
};

/** Only this result contains the plain key. */
export const createKey = async (
  pool: Pool,
  { plan, name, accountId, expiresAt }: NewKey,
  actor: string,
): Promise<{ readonly key: string; readonly entry: KeyEntry }> => {
  const key = makeKey();
  const values = [makeKeyId(Date.now()), accountId, hashKey(key), shortenKey(key), name, plan, expiresAt, actor];
  const { rows } = await pool.query<KeyEntry>(CREATE, values);
  const entry = rows[0];
  if (entry === undefined) throw new OperatorError('the key was not stored');
  return { key, entry };
};

/** Keys of an account, or of all; oldest first. */
export const listKeys = async (pool: Pool, accountId: string | null): Promise<readonly KeyEntry[]> =>
  (await pool.query<KeyEntry>(LIST, [accountId])).rows;

/** Ends a key permanently; every process refuses it at once. Revoking a revoked key is no error. */
export const revokeKey = async (pool: Pool, keyId: string, actor: string): Promise<KeyEntry> => {
  const { rows } = await pool.query<KeyEntry>(REVOKE, [keyId, actor]);
  return rows[0] ?? findKey(pool, keyId);
};

/** Throws OperatorError for a key that is unknown or revoked. */
export const changePlan = async (
  pool: Pool,
  { keyId, plan }: { readonly keyId: string; readonly plan: PlanCode },
  actor: string,
): Promise<KeyEntry> => {
  const { rows } = await pool.query<KeyEntry>(CHANGE_PLAN, [keyId, actor, plan]);
  const entry = rows[0] ?? (await findKey(pool, keyId));
  if (entry.state === 'revoked') throw new OperatorError(`the key "${keyId}" is revoked; create another`);
  return entry;
};
