// Connections of an account to clients: made at Allow with a key of their own, at most five, prolonged and ended with their tokens (T-10).
// The account site lists and ends them in `api/accounts/connections.ts`.
import { randomUUID } from 'node:crypto';
import { hashKey, shortenKey } from '../access/keys.ts';
import { isLiveSession } from '../accounts/sessions.ts';
import { makeKeyId } from '../contract/ids.ts';
import type { PlanCode } from '../contract/plans.ts';
import type { Query, Units } from './units.ts';

/** An account holds at most so many. */
export const MOST_CONNECTIONS = 5;
const ACTOR = 'sign-in';
/** Between Allow and the code that the very next request of the browser makes. */
const ALLOWED_MS = 120_000;

export type EndReason = 'user' | 'replaced' | 'client' | 'reuse' | 'account_closed' | 'expired';

type Allowed = {
  readonly accountId: string;
  readonly clientId: string;
  readonly clientName: string | null;
  readonly redirectUri: string;
  /** A connection of the account that is ended to make room; null: none was chosen. */
  readonly instead: string | null;
};

/** The provider's grant, which tokens belong to. */
type LiveConnection = {
  readonly connection_id: string;
  readonly account_id: string;
  readonly client_id: string;
};

const LIVE = `
  select connection_id, account_id, client_id from connections join accounts using (account_id)
  where connection_id = $1 and ended_at is null and expires_at > $2 and closed_at is null`;
const ACCOUNT = 'select account_id from connections where connection_id = $1';
const LOCK_ACCOUNT = 'select 1 from accounts where account_id = $1 and closed_at is null for update';
const LOCK = 'select 1 from connections where connection_id = $1 for update';
/** Ended rows are not found, so a second end changes nothing. */
const END = `
  with ended as (
    update connections set ended_at = $2, end_reason = $3 where connection_id = $1 and ended_at is null
    returning *),
  told as (
    insert into account_events (account_id, action, actor, details)
    select account_id, 'connection_ended', case when $3 = 'user' then 'owner' else '${ACTOR}' end,
      jsonb_build_object('connection_id', connection_id, 'client_name', client_name, 'end_reason', $3::text) from ended),
  revoked as (
    update api_keys k set revoked_at = $2 from ended e where k.key_id = e.key_id and k.revoked_at is null returning k.key_id),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'revoked', '${ACTOR}', jsonb_build_object('end_reason', $3::text) from revoked)
  select connection_id from ended`;
const FORGET = 'delete from oidc_items where connection_id = $1';
const FORGET_RENEWALS = 'delete from oidc_renewals where connection_id = $1';
const OPEN = `
  select connection_id, client_id, expires_at <= $2 as is_expired from connections
  where account_id = $1 and ended_at is null order by connection_id`;
const BEST_PLAN = 'select best_plan($1) as plan';
const CREATE = `
  with created as (
    insert into api_keys (key_id, account_id, hash, display, name, plan, kind, expires_at)
    values ($1, $2, $3, $4, 'connection', $5, 'connection', $6) returning *),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'created', '${ACTOR}', jsonb_build_object('plan', plan, 'connection_id', $7::text) from created),
  told as (
    insert into account_events (account_id, action, actor, details)
    select account_id, 'connection_allowed', 'owner', jsonb_build_object('connection_id', $7::text, 'client_name', $9::text) from created)
  insert into connections (connection_id, account_id, client_id, client_name, redirect_uri, key_id, created_at, expires_at)
  select $7, account_id, $8, $9, $10, key_id, $11::timestamptz, expires_at from created`;
/** The key never outlives its connection, even without a clean-up. */
const PROLONG = `
  with prolonged as (
    update connections set expires_at = $2 where connection_id = $1 and ended_at is null returning key_id),
  held as (select k.key_id, k.plan from api_keys k join prolonged using (key_id)),
  changed as (
    update api_keys k set expires_at = $2, plan = $3,
      plan_since = case when k.plan = $3 then k.plan_since else $4 end
    from held where k.key_id = held.key_id returning k.key_id)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'plan_changed', '${ACTOR}', jsonb_build_object('from', held.plan, 'to', $3::text)
  from changed join held using (key_id) where held.plan <> $3`;

const readPlan = async (query: Query, accountId: string): Promise<PlanCode> => {
  const { rows } = await query<{ plan: PlanCode | null }>(BEST_PLAN, [accountId]);
  return rows[0]?.plan ?? 'free';
};

const endConnection = async (
  query: Query,
  connectionId: string,
  { now, reason }: { readonly now: Date; readonly reason: EndReason },
): Promise<boolean> => {
  const { rows } = await query(END, [connectionId, now, reason]);
  await query(FORGET, [connectionId]);
  await query(FORGET_RENEWALS, [connectionId]);
  return rows.length > 0;
};

/** The chosen one, those that died by themselves, and an earlier one of the same client; answers how many are left. */
const makeRoom = async (query: Query, { accountId, clientId, instead }: Allowed, now: Date): Promise<number> => {
  const { rows } = await query<{ connection_id: string; client_id: string; is_expired: boolean }>(OPEN, [
    accountId,
    now,
  ]);
  let left = 0;
  for (const { connection_id: id, client_id, is_expired } of rows) {
    const reason = is_expired ? 'expired' : client_id === clientId ? 'replaced' : id === instead ? 'user' : null;
    if (reason === null) left += 1;
    else await endConnection(query, id, { now, reason });
  }
  return left;
};

/** The account holds as many others as it may. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

type ConnectionDeps = {
  readonly units: Units;
  /** The key of a connection, by its id. */
  readonly keyOf: (connectionId: string) => string;
  readonly nowMs: () => number;
};

/** Every function rejects when the database is unavailable. What is called in a transaction of `units` is part of it. */
export const openConnections = ({ units, keyOf, nowMs }: ConnectionDeps) => {
  const now = (): Date => new Date(nowMs());
  const { query } = units;

  const lockAccount = async (accountId: string): Promise<void> => {
    const { rows } = await query(LOCK_ACCOUNT, [accountId]);
    if (rows.length === 0) throw new Error('the account is closed');
  };

  const create = async ({ accountId, clientId, clientName, redirectUri }: Allowed): Promise<string> => {
    const connectionId = `con_${randomUUID()}`;
    const key = keyOf(connectionId);
    await query(CREATE, [
      ...[makeKeyId(Date.now()), accountId, hashKey(key), shortenKey(key), await readPlan(query, accountId)],
      ...[new Date(nowMs() + ALLOWED_MS), connectionId, clientId, clientName, redirectUri, now()],
    ]);
    return connectionId;
  };

  return {
    /** Pages of one account go on one after the other, until the transaction ends. */
    lockAccount,
    hasSession: (sessionId: string): Promise<boolean> => isLiveSession({ query }, sessionId),
    /** Connects the client, in place of its earlier connection. Rejects with NoRoom when the account holds five others. */
    allow: (allowed: Allowed): Promise<string> =>
      units.run(async () => {
        await lockAccount(allowed.accountId);
        if ((await makeRoom(query, allowed, now())) >= MOST_CONNECTIONS) throw new NoRoom();
        return create(allowed);
      }),
    live: async (connectionId: string): Promise<LiveConnection | null> =>
      (await query<LiveConnection>(LIVE, [connectionId, now()])).rows[0] ?? null,
    /** Until the transaction ends no other one renews or ends it. */
    lock: async (connectionId: string): Promise<void> => void (await query(LOCK, [connectionId])),
    /** A code or a refresh token was given out: the connection lives as long as that, and its plan is read again. */
    prolong: async (connectionId: string, until: Date): Promise<void> => {
      const { rows } = await query<{ account_id: string }>(ACCOUNT, [connectionId]);
      const accountId = rows[0]?.account_id ?? '';
      await query(PROLONG, [connectionId, until, await readPlan(query, accountId), now()]);
    },
    /** Ends it with its key and its tokens. */
    end: (connectionId: string, reason: EndReason): Promise<boolean> =>
      units.run(() => endConnection(query, connectionId, { now: now(), reason })),
  };
};
export type Connections = ReturnType<typeof openConnections>;
