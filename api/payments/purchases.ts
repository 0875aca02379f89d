// Plans bought with USDC, in PostgreSQL: the key is created in the transaction of the ledger row and delivered once (P-06).
import type { Pool, PoolClient } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { limitTime } from '../../infra/runtime/time/within.ts';
import type { AnswerEnd } from '../access/call.ts';
import { hashKey, makeKey, shortenKey } from '../access/keys.ts';
import { makeKeyId } from '../contract/ids.ts';
import type { PlanCode } from '../contract/plans.ts';
import type { PaymentKey } from './store.ts';

const ANSWER_MS = 5_000;
const KEY_DAYS = 30;
/** The answer has some hundred bytes: a request that has not delivered it within this time has failed. */
const CLAIM_S = 60;
const ACTOR = 'payments';

/** The only place where the key itself is: in the answer that delivers it. */
export type Purchase = {
  readonly plan: PlanCode;
  readonly key: string;
  readonly keyId: string;
  readonly expiresAt: Date;
  readonly transaction: string;
  readonly network: string;
  readonly payer: string;
  readonly receiptId: string;
};

/** `$6`: the process that delivers the key immediately; null: none yet. A wallet has a separate account until it is linked to another one. */
const SETTLE = `
  with ended as (
    update payments set state = 'settled', transaction = $2, ended_at = now()
    where receipt_id = $1 and state in ('settling', 'unknown') and plan is not null returning *),
  account as (insert into accounts (account_id) select 'wallet:' || payer from ended on conflict do nothing),
  created as (
    insert into api_keys (key_id, account_id, hash, display, name, plan, kind, expires_at)
    select $3, 'wallet:' || payer, $4, $5, 'bought with USDC', plan, 'purchased', ended_at + interval '${KEY_DAYS} days' from ended
    returning *),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'created', '${ACTOR}', jsonb_build_object('plan', plan, 'receipt_id', $1::text, 'expires_at', expires_at) from created),
  ledger as (
    insert into payment_ledger (receipt_id, transaction, network, payer, nonce, amount, class, plan, presented_at, settled_at)
    select receipt_id, transaction, network, payer, nonce, amount, class, plan, presented_at, ended_at from ended),
  purchase as (
    insert into plan_purchases (payer, nonce, signature, plan, key_id, receipt_id, claimed_by, claimed_until)
    select payer, nonce, payload ->> 'signature', plan, $3, receipt_id, $6::text,
      case when $6::text is null then null else now() + interval '${CLAIM_S} seconds' end from ended)
  select e.network, e.payer, c.plan, c.expires_at from ended e, created c`;

/**
 * A claim that lasts longer is of before the clock of the database was set back (D-1046). By twice its time, because that of a request which began
 * later and came first ends later than one of this request would (D-1085).
 */
const CLAIM = `
  update plan_purchases set claimed_by = $3, claimed_until = now() + interval '${CLAIM_S} seconds'
  where payer = $1 and nonce = $2 and delivered_at is null
    and (claimed_until is null or claimed_until <= now() or claimed_until > now() + interval '${2 * CLAIM_S} seconds')
  returning receipt_id`;
const HELD = `
  select q.plan, q.key_id, q.receipt_id, l.transaction, l.network, l.payer, k.expires_at, k.account_id, k.name
  from plan_purchases q join payment_ledger l using (receipt_id) join api_keys k using (key_id)
  where q.receipt_id = $1 for update of q`;
const REVOKE = `
  with revoked as (update api_keys set revoked_at = now() where key_id = $1 and revoked_at is null returning key_id)
  insert into key_events (key_id, action, actor, details)
  select key_id, 'revoked', '${ACTOR}', jsonb_build_object('replaced_by', $2::text) from revoked`;
const REPLACE = `
  with created as (
    insert into api_keys (key_id, account_id, hash, display, name, plan, kind, expires_at)
    values ($1, $2, $3, $4, $5, $6, 'purchased', $7) returning *),
  event as (
    insert into key_events (key_id, action, actor, details)
    select key_id, 'created', '${ACTOR}', jsonb_build_object('plan', plan, 'receipt_id', $8::text, 'expires_at', expires_at) from created)
  update plan_purchases set key_id = $1 where receipt_id = $8`;
const DELIVERED = `update plan_purchases set delivered_at = now(), claimed_until = null where receipt_id = $1 and claimed_by = $2`;
const LET_GO = `update plan_purchases set claimed_by = null, claimed_until = null
  where receipt_id = $1 and claimed_by = $2 and delivered_at is null`;

type HeldRow = {
  readonly plan: PlanCode;
  readonly key_id: string;
  readonly receipt_id: string;
  readonly transaction: string;
  readonly network: string;
  readonly payer: string;
  readonly expires_at: Date;
  readonly account_id: string;
  readonly name: string;
};
type SettledRow = Pick<HeldRow, 'network' | 'payer' | 'plan' | 'expires_at'>;

/** A new key in the place of one that was never delivered, or was lost: same plan, same expiry; the old one is revoked. */
export const replaceKey = async (client: PoolClient, receiptId: string): Promise<Purchase> => {
  const { rows } = await client.query<HeldRow>(HELD, [receiptId]);
  const held = rows[0] as HeldRow;
  const [key, keyId] = [makeKey(), makeKeyId(Date.now())];
  await client.query(REVOKE, [held.key_id, keyId]);
  const { plan, account_id, name, expires_at, transaction, network, payer } = held;
  await client.query(REPLACE, [
    ...[keyId, account_id, hashKey(key), shortenKey(key), name, plan],
    ...[expires_at, receiptId],
  ]);
  return { plan, key, keyId, expiresAt: expires_at, transaction, network, payer, receiptId };
};

/** Every function rejects when the database is unavailable. */
export const openPurchases = (pool: Pool) => ({
  /** Ledger row, key and purchase in one statement; null: it was settled already. */
  async settle(receiptId: string, transaction: string, claimedBy: string | null): Promise<Purchase | null> {
    const [key, keyId] = [makeKey(), makeKeyId(Date.now())];
    const values = [receiptId, transaction, keyId, hashKey(key), shortenKey(key), claimedBy];
    const { rows } = await limitTime(pool.query<SettledRow>(SETTLE, values), ANSWER_MS);
    const row = rows[0];
    if (row === undefined) return null;
    const { network, payer, plan, expires_at } = row;
    return { plan, key, keyId, expiresAt: expires_at, transaction, network, payer, receiptId };
  },
  /** The key of a purchase for this request to deliver; null: it was delivered, or another request is delivering it. */
  claim: ({ payer, nonce }: PaymentKey, claimedBy: string): Promise<Purchase | null> =>
    limitTime(
      runInTransaction(pool, async (client) => {
        const { rows } = await client.query<{ receipt_id: string }>(CLAIM, [payer, nonce, claimedBy]);
        return rows[0] === undefined ? null : replaceKey(client, rows[0].receipt_id);
      }),
      ANSWER_MS,
    ),
  /** The answer left whole, or did not: then the next request delivers. */
  async end(receiptId: string, claimedBy: string, left: AnswerEnd): Promise<void> {
    await limitTime(pool.query(left === 'whole' ? DELIVERED : LET_GO, [receiptId, claimedBy]), ANSWER_MS);
  },
});
export type Purchases = ReturnType<typeof openPurchases>;
