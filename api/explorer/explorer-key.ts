// The key with which the explorer calls the data API: for an account derived from a secret and its id, so it is neither stored nor shown.
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { openDerivedKeys } from '../access/derived-keys.ts';
import { hashKey, shortenKey } from '../access/keys.ts';
import type { Site } from '../account-app/site.ts';
import { lockAccount } from '../accounts/accounts.ts';
import type { Session } from '../accounts/sessions.ts';
import { makeKeyId } from '../contract/ids.ts';
import type { PlanCode } from '../contract/plans.ts';

type Held = { readonly key_id: string; readonly hash: Buffer; readonly plan: PlanCode };

/** `form_id` makes it the only one of its account; its kind keeps it out of the lists of owners and of the count of their keys. */
const FIND = `select key_id, hash, plan from api_keys
  where account_id = $1 and form_id = 'explorer' and revoked_at is null`;
const REPLACE = `
  with replaced as (
    update api_keys set form_id = null, revoked_at = coalesce(revoked_at, now())
    where account_id = $1 and form_id = 'explorer' returning key_id)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'revoked', 'explorer', '{"because": "replaced"}' from replaced`;
const CREATE = `
  with created as (
    insert into api_keys (key_id, account_id, hash, display, name, plan, kind, form_id)
    values ($1, $2, $3, $4, 'explorer', $5, 'connection', 'explorer') returning key_id, plan)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'created', 'explorer', jsonb_build_object('plan', plan) from created`;
const CHANGE_PLAN = `
  with changed as (
    update api_keys set plan = $2, plan_since = now() where key_id = $1 and plan <> $2 returning key_id)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'plan_changed', 'explorer', jsonb_build_object('from', $3::text, 'to', $2::text) from changed`;

/** The key of a request by its session. Without one: the key for visitors, null when there is none. Rejects when the account is closed. */
export type FindExplorerKey = (session: Pick<Session, 'accountId' | 'plan'> | null) => Promise<string | null>;

/** The key of an account is made at its first use, and has the best plan of the account. */
export const openExplorerKeys = ({
  pool,
  connectionSecret,
  explorerKey,
}: Pick<Site, 'pool' | 'connectionSecret' | 'explorerKey'>): FindExplorerKey => {
  const deriveText = openDerivedKeys(connectionSecret, 'perp sign-in: explorer keys');
  /** A key of an earlier secret cannot be made again. */
  const isOurs = ({ key_id, hash }: Held): boolean => hashKey(deriveText(key_id)).equals(hash);

  const make = (accountId: string, plan: PlanCode): Promise<string> =>
    runInTransaction(pool, async (client) => {
      if (!(await lockAccount(client, accountId))) throw new Error('the account is closed');
      const [held] = (await client.query<Held>(FIND, [accountId])).rows;
      // Another request of the same account was here first.
      if (held !== undefined && isOurs(held)) return deriveText(held.key_id);
      await client.query(REPLACE, [accountId]);
      const keyId = makeKeyId(Date.now());
      const key = deriveText(keyId);
      await client.query(CREATE, [keyId, accountId, hashKey(key), shortenKey(key), plan]);
      return key;
    });

  return async (session) => {
    if (session === null) return explorerKey;
    const { accountId, plan } = session;
    const [held] = (await pool.query<Held>(FIND, [accountId])).rows;
    if (held === undefined || !isOurs(held)) return make(accountId, plan);
    if (held.plan !== plan) await pool.query(CHANGE_PLAN, [held.key_id, plan, held.plan]);
    return deriveText(held.key_id);
  };
};
