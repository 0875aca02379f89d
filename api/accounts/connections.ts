// Connected applications as the account site shows and ends them; sign-in makes them (T-10).
import type { Pool } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import type { PlanCode } from '../contract/plans.ts';
import { lockAccount } from './accounts.ts';
import { type Db, recordEvent } from './events.ts';

export type Connection = {
  readonly connection_id: string;
  /** The client's own name for itself; it is not verified. */
  readonly client_name: string | null;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly plan: PlanCode;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
};

const LIST = `
  select c.connection_id, c.client_name, c.client_id, c.redirect_uri, k.plan, c.created_at, c.last_used_at
  from connections c join api_keys k using (key_id)
  where c.account_id = $1 and c.ended_at is null and c.expires_at > now() order by c.created_at desc, c.connection_id`;

/** The connection, its key and its tokens. `$2` null: all of the account. */
const END = `
  with ended as (
    update connections set ended_at = now(), end_reason = $3
    where account_id = $1 and ($2::text is null or connection_id = $2) and ended_at is null returning connection_id, key_id, client_name),
  revoked as (
    update api_keys k set revoked_at = now() from ended e where k.key_id = e.key_id and k.revoked_at is null returning k.key_id),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'revoked', 'owner', jsonb_build_object('end_reason', $3::text) from revoked),
  items as (delete from oidc_items i using ended e where i.connection_id = e.connection_id),
  renewals as (delete from oidc_renewals r using ended e where r.connection_id = e.connection_id)
  select connection_id, client_name from ended`;

type Ended = { readonly connection_id: string; readonly client_name: string | null };

export const listConnections = async (db: Db, accountId: string): Promise<readonly Connection[]> =>
  (await db.query<Connection>(LIST, [accountId])).rows;

/** Ends one for good: its client is refused at its next request. False: the account has no such live connection. */
export const endConnection = (pool: Pool, accountId: string, connectionId: string): Promise<boolean> =>
  runInTransaction(pool, async (client) => {
    if (!(await lockAccount(client, accountId))) return false;
    const { rows } = await client.query<Ended>(END, [accountId, connectionId, 'user']);
    for (const { connection_id, client_name } of rows) {
      const details = { connection_id, client_name };
      await recordEvent(client, { accountId, action: 'connection_ended', details });
    }
    return rows.length > 0;
  });

/** Ends all of an account that is closed, in the transaction that closes it. */
export const endAllConnections = async (db: Db, accountId: string): Promise<void> => {
  await db.query(END, [accountId, null, 'account_closed']);
};
