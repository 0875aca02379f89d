// Payments in PostgreSQL: each change between two states is one statement, so that only one of several processes makes it (P-04, P-07).
import type { Pool } from 'pg';
import { limitTime } from '../../infra/runtime/time/within.ts';
import type { PlanCode } from '../contract/plans.ts';
import type { Settleable } from './facilitator.ts';

/** A database that does not answer for this long is unavailable. */
const ANSWER_MS = 2_000;
/** A process renews it every second while it answers or settles; without it another one takes the payment up. */
const LEASE_S = 15;
/** Verified and unsettled payments that a payer may have. */
export const MOST_UNSETTLED = 3;
/** How long what became of a payment is remembered after its authorisation expired. */
const KEPT = '10 minutes';

export type PaymentKey = { readonly payer: string; readonly nonce: string };
export type PaymentState = 'presented' | 'verified' | 'served' | 'settling' | 'settled' | 'failed' | 'unknown';

/** The facts of an authorisation and its payer before anything is decided. */
export type Standing = {
  /** Null: it was not presented, or what was left of it is removed. */
  readonly state: PaymentState | null;
  /** A plan that was paid with it; `signature` is the one it was paid with. */
  readonly purchase: { readonly isDelivered: boolean; readonly signature: string } | null;
  readonly plan: PlanCode | null;
  readonly signature: string | null;
  readonly isBlocked: boolean;
  readonly unsettled: number;
};

/**
 * `payersFault`: the token shows that the payer's balance or a cancelled nonce is the cause (P-05). `ofCall`: the settle call that was refused; absent
 * where the chain shows that nothing will be paid, whoever sends it.
 */
export type Failure = { readonly reason: string; readonly payersFault: boolean; readonly ofCall?: string };

type NewPayment = PaymentKey &
  Settleable & {
    readonly receiptId: string;
    readonly class: string | null;
    readonly plan: PlanCode | null;
    /** Seconds since 1970. */
    readonly validBefore: number;
  };

/** A payment whose settlement this process has taken up. */
export type OpenPayment = Settleable & {
  readonly receiptId: string;
  readonly plan: PlanCode | null;
  readonly presentedMs: number;
  /** The newest settle call of it, of whichever process. */
  readonly call: string;
};

type OpenRow = {
  readonly receipt_id: string;
  readonly plan: PlanCode | null;
  readonly payload: Settleable['payload'];
  readonly offer: Settleable['offer'];
  readonly presented_at: Date;
  readonly call: string;
};

const LEASE = `now() + interval '${LEASE_S} seconds'`;
const IS_GONE = "p.state in ('presented', 'verified') and p.lease_until <= now()";
/** Each call is known by the instant at which it was sent; as a number, because a date has only milliseconds. */
const CALL = 'extract(epoch from p.sent_at)::text';
const OPEN = `p.receipt_id, p.plan, p.payload, p.offer, p.presented_at, ${CALL} as call`;

const READ = `
  select p.state, p.plan, p.payload ->> 'signature' as signature,
    q.delivered_at is not null as is_delivered, q.signature as purchase_signature,
    exists (select 1 from blocked_payers b where b.payer = $1 and b.blocked_until > now()) as is_blocked,
    (select count(*)::integer from payments o where o.payer = $1 and is_unsettled(o)) as unsettled
  from (select 1) one
  left join payments p on p.payer = $1 and p.nonce = $2
  left join plan_purchases q on q.payer = $1 and q.nonce = $2`;

const COLUMNS = ['receipt_id', 'network', 'asset', 'amount', 'class', 'plan', 'offer', 'payload', 'valid_before'];
/** A row without a lease counts until it is removed: after an outage of the database its process may be about to renew it. */
const INSERT = `
  insert into payments as p (payer, nonce, ${COLUMNS.join(', ')}, lease_until)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, to_timestamp($11), ${LEASE})
  on conflict (payer, nonce) do nothing`;

const REMOVE = `delete from payments where receipt_id = $1 and state in ('presented', 'verified')`;
const RENEW = `update payments set lease_until = ${LEASE}
  where receipt_id = any($1) and state in ('presented', 'verified', 'settling')`;
/** A repetition whose first answer was lost finds what it did, or what has become of it since. */
const SERVE = `update payments set state = case when state = 'verified' then 'served' else state end
  where receipt_id = $1 and state <> 'presented'`;

/** Taken up once: `settling` with a lease, so that a settlement whose process died is found. */
const TAKE = `
  update payments p set state = 'settling', sent_at = now(), lease_until = ${LEASE}
  where p.receipt_id = $1 and (p.state = 'served' or (p.state = 'verified' and p.plan is not null)) returning ${OPEN}`;
const TAKE_SERVED = `
  update payments p set state = 'settling', sent_at = now(), lease_until = ${LEASE} where p.receipt_id in (
    select receipt_id from payments where state = 'served' order by presented_at limit $1 for update skip locked)
  returning ${OPEN}`;
const TAKE_UNKNOWN = `
  update payments p set checked_at = now() where p.receipt_id in (
    select receipt_id from payments where state = 'unknown'
      and (checked_at is null or checked_at not between now() - interval '3 seconds' and now() + interval '3 seconds')
    order by checked_at nulls first limit $1 for update skip locked)
  returning ${OPEN}`;
/** Sent again: what the chain has not used and has not let expire. */
const RESUME = `update payments set state = 'settling', sent_at = now(), lease_until = ${LEASE}
  where receipt_id = $1 and state = 'unknown'`;
const DOUBT = `update payments set state = 'unknown' where receipt_id = $1 and state = 'settling'`;
const SETTLE = `
  with ended as (
    update payments set state = 'settled', transaction = $2, ended_at = now()
    where receipt_id = $1 and state in ('settling', 'unknown') returning *)
  insert into payment_ledger (receipt_id, transaction, network, payer, nonce, amount, class, plan, presented_at, settled_at)
  select receipt_id, transaction, network, payer, nonce, amount, class, plan, presented_at, ended_at from ended`;
/** A refused call ends its payment only while no later call may still pay it (D-1151). The row is locked, so that none is sent meanwhile. */
const FAIL = `
  with mine as (select p.receipt_id from payments p where p.receipt_id = $1 and ($4::text is null or ${CALL} = $4) for update)
  select fail_payment(receipt_id, $2, $3) as failed from mine`;

const TIDY = [
  // A lease that ends further in the future was taken before the clock was set back: its process renews it, unless the process has ended.
  `update payments set lease_until = ${LEASE}
    where state in ('presented', 'verified', 'settling') and lease_until > now() + interval '${2 * LEASE_S} seconds'`,
  // Failures and blocks of that time are of this moment: they count, and last, as long as they were meant to.
  `update payments set ended_at = now() where state = 'failed' and ended_at > now() + interval '1 minute'`,
  `update blocked_payers set blocked_at = now(), blocked_until = now() + (blocked_until - blocked_at)
    where blocked_at > now() + interval '1 minute'`,
  `delete from payments p where ${IS_GONE}`,
  `update payments set state = 'unknown' where state = 'settling' and lease_until <= now()`,
  `delete from payments where state = 'settled' and valid_before < now() - interval '${KEPT}'`,
  // Failures are counted for a day.
  `delete from payments where state = 'failed' and valid_before < now() - interval '${KEPT}' and ended_at < now() - interval '1 day'`,
  'delete from blocked_payers where blocked_until < now()',
];

const OLDEST = `select coalesce(extract(epoch from now() - min(coalesce(sent_at, presented_at)) filter (where state = 'unknown')), 0)::float as unknown_s,
  count(*) filter (where state in ('served', 'settling', 'unknown') and valid_before < now())::integer as overdue from payments`;

const toOpen = ({ receipt_id, plan, payload, offer, presented_at, call }: OpenRow): OpenPayment => ({
  ...{ receiptId: receipt_id, plan, payload, offer, call },
  presentedMs: presented_at.getTime(),
});

type StandingRow = {
  readonly state: PaymentState | null;
  readonly plan: PlanCode | null;
  readonly signature: string | null;
  readonly is_delivered: boolean;
  readonly purchase_signature: string | null;
  readonly is_blocked: boolean;
  readonly unsettled: number;
};

const toStanding = (row: StandingRow): Standing => ({
  state: row.state,
  plan: row.plan,
  signature: row.signature,
  purchase:
    row.purchase_signature === null ? null : { isDelivered: row.is_delivered, signature: row.purchase_signature },
  isBlocked: row.is_blocked,
  unsettled: row.unsettled,
});

/** Every function rejects when the database is unavailable. */
export const openPaymentStore = (pool: Pick<Pool, 'query'>) => {
  const query = <R extends object>(text: string, values: readonly unknown[] = []) =>
    limitTime(pool.query<R & Record<string, unknown>>(text, [...values]), ANSWER_MS);
  const isDone = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    ((await query(text, values)).rowCount ?? 0) > 0;
  const take = async (text: string, value: unknown): Promise<readonly OpenPayment[]> =>
    (await query<OpenRow>(text, [value])).rows.map(toOpen);

  return {
    async read({ payer, nonce }: PaymentKey): Promise<Standing> {
      const { rows } = await query<StandingRow>(READ, [payer, nonce]);
      return toStanding(rows[0] as StandingRow);
    },
    /** False: the authorisation is there already. */
    insert: ({ payer, nonce, receiptId, class: of, plan, offer, payload, validBefore }: NewPayment): Promise<boolean> =>
      isDone(INSERT, [
        ...[payer, nonce, receiptId, offer.network, offer.asset, offer.amount, of, plan],
        ...[JSON.stringify(offer), JSON.stringify(payload), validBefore],
      ]),
    async verify(receiptId: string): Promise<'verified' | 'limit' | 'gone'> {
      const { rows } = await query<{ became: 'verified' | 'limit' | 'gone' }>(
        'select verify_payment($1, $2) as became',
        [...[receiptId, MOST_UNSETTLED]],
      );
      return rows[0]?.became ?? 'gone';
    },
    /** Nothing was served: the authorisation may be presented again. */
    remove: (receiptId: string) => isDone(REMOVE, [receiptId]),
    renew: (receiptIds: readonly string[]) => isDone(RENEW, [receiptIds]),
    serve: (receiptId: string) => isDone(SERVE, [receiptId]),
    /** Null: another process has taken it up. */
    takeOne: async (receiptId: string): Promise<OpenPayment | null> => (await take(TAKE, receiptId))[0] ?? null,
    takeServed: (most: number) => take(TAKE_SERVED, most),
    takeUnknown: (most: number) => take(TAKE_UNKNOWN, most),
    resume: (receiptId: string) => isDone(RESUME, [receiptId]),
    doubt: (receiptId: string) => isDone(DOUBT, [receiptId]),
    /** The payment of a call and its row of the ledger. */
    settle: (receiptId: string, transaction: string) => isDone(SETTLE, [receiptId, transaction]),
    /** False: it has ended already, or has been sent again since the call that was refused. */
    async fail(receiptId: string, { reason, payersFault, ofCall }: Failure): Promise<boolean> {
      const { rows } = await query<{ failed: boolean }>(FAIL, [receiptId, reason, payersFault, ofCall ?? null]);
      return rows[0]?.failed ?? false;
    },
    /** Deletes rows of processes that have ended, and rows that are no longer needed. */
    async tidy(): Promise<void> {
      for (const text of TIDY) await query(text);
    },
    /** Seconds since the oldest unknown settlement was sent, and payments served and unsettled past their validity. */
    async overdue(): Promise<{ readonly unknownS: number; readonly overdue: number }> {
      const { rows } = await query<{ unknown_s: number; overdue: number }>(OLDEST);
      return { unknownS: rows[0]?.unknown_s ?? 0, overdue: rows[0]?.overdue ?? 0 };
    },
  };
};
export type PaymentStore = ReturnType<typeof openPaymentStore>;
