// Operations on payments in PostgreSQL for operators: lists, one payment with all its stored details, blocked payers (P-05, P-07).
import type { Pool } from 'pg';
import { OperatorError } from './command-line.ts';

/** A row of `v_payments`. */
export type PaymentRow = {
  readonly receipt_id: string;
  readonly state: string;
  readonly network: string;
  readonly payer: string;
  /** Atomic units. */
  readonly amount: string;
  readonly class: string | null;
  readonly plan: string | null;
  readonly transaction: string | null;
  readonly presented_at: Date;
  readonly settled_at: Date | null;
};

/** Further details, stored while a payment is remembered; those of a plan permanently. */
export type PaymentDetails = PaymentRow & {
  readonly nonce: string;
  readonly valid_before: Date | null;
  readonly sent_at: Date | null;
  readonly checked_at: Date | null;
  readonly reason: string | null;
  readonly payers_fault: boolean | null;
  readonly key_id: string | null;
  readonly delivered_at: Date | null;
};

export type BlockedPayer = { readonly payer: string; readonly blocked_at: Date; readonly blocked_until: Date };

const ROW = 'receipt_id, state, network, payer, amount, class, plan, transaction, presented_at, settled_at';
const LIST = `select ${ROW} from v_payments where ($1::text is null or state = $1) and ($2::text is null or payer = $2)
  order by presented_at desc, receipt_id desc limit $3`;

const SHOW = `
  select ${ROW.replaceAll(/(\w+)/g, 'v.$1')}, coalesce(p.nonce, l.nonce) as nonce, p.valid_before, p.sent_at, p.checked_at, p.reason,
    case when v.state = 'failed' then p.payers_fault end as payers_fault, q.key_id, q.delivered_at
  from v_payments v
  left join payments p using (receipt_id) left join payment_ledger l using (receipt_id) left join plan_purchases q using (receipt_id)
  where v.receipt_id = $1`;

const BLOCKED =
  'select payer, blocked_at, blocked_until from blocked_payers where blocked_until > now() order by payer';
const BLOCK = `
  insert into blocked_payers values ($1, now(), now() + make_interval(secs => $2))
  on conflict (payer) do update set blocked_at = excluded.blocked_at, blocked_until = excluded.blocked_until
  returning payer, blocked_at, blocked_until`;

/** Throws OperatorError for an invalid address. */
const toPayer = (text: string): string => {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase();
  throw new OperatorError(`"${text}" is not an address such as 0x0123…, 40 hexadecimal digits`);
};

/** Newest first. */
export const listPayments = async (
  pool: Pool,
  { state, payer, limit }: { readonly state: string | null; readonly payer: string | null; readonly limit: number },
): Promise<readonly PaymentRow[]> =>
  (await pool.query<PaymentRow>(LIST, [state, payer === null ? null : toPayer(payer), limit])).rows;

/** Throws OperatorError for an unknown receipt id. */
export const showPayment = async (pool: Pool, receiptId: string): Promise<PaymentDetails> => {
  const { rows } = await pool.query<PaymentDetails>(SHOW, [receiptId]);
  if (rows[0] === undefined) throw new OperatorError(`no payment has the receipt "${receiptId}"; \`list\` shows them`);
  return rows[0];
};

export const listBlocked = async (pool: Pool): Promise<readonly BlockedPayer[]> =>
  (await pool.query<BlockedPayer>(BLOCKED)).rows;

/** Blocks a payer from now on, also one that is blocked already. */
export const blockPayer = async (pool: Pool, payer: string, seconds: number): Promise<BlockedPayer> => {
  const { rows } = await pool.query<BlockedPayer>(BLOCK, [toPayer(payer), seconds]);
  if (rows[0] === undefined) throw new OperatorError('the payer was not stored');
  return rows[0];
};

/** Throws OperatorError for a payer that is not blocked. */
export const unblockPayer = async (pool: Pool, payer: string): Promise<void> => {
  const { rowCount } = await pool.query('delete from blocked_payers where payer = $1', [toPayer(payer)]);
  if (rowCount === 0) throw new OperatorError(`${payer} is not blocked; \`blocked\` lists who is`);
};
