// The outcome of a payment, by the receipt of the call it was presented with (P-10).
import type { Pool } from 'pg';
import { limitTime } from '../../infra/runtime/time/within.ts';
import type { PaymentState } from './store.ts';

/** A database that does not answer for this long is unavailable. */
const ANSWER_MS = 2_000;

export type Receipt = {
  readonly state: PaymentState;
  readonly network: string;
  readonly payer: string;
  /** Atomic units of the asset. */
  readonly amount: string;
  /** Class of the call, or code of the plan. */
  readonly class: string;
  readonly transaction: string | null;
  readonly settledAt: Date | null;
};

export type Receipts = {
  /** Null: no payment has this receipt. Rejects when the database is unavailable. */
  readonly find: (receiptId: string) => Promise<Receipt | null>;
};

const FIND = `
  select state, network, payer, amount, coalesce(class, plan) as class, transaction, settled_at as "settledAt"
  from v_payments where receipt_id = $1 order by state = 'settled' desc limit 1`;

export const openReceipts = (pool: Pick<Pool, 'query'>): Receipts => ({
  find: async (receiptId) => (await limitTime(pool.query<Receipt>(FIND, [receiptId]), ANSWER_MS)).rows[0] ?? null,
});
