// Accounts in PostgreSQL: made, found by their address of mail, and their password set.
import { randomUUID } from 'node:crypto';
import type { PlanCode } from '../contract/plans.ts';
import type { Db } from './events.ts';

export type Account = {
  readonly accountId: string;
  readonly email: string;
  readonly passwordHash: string | null;
  /** The password alone does not sign in. */
  readonly needsPasskey: boolean;
  readonly plan: PlanCode;
  readonly createdAt: Date;
  readonly confirmedAt: Date | null;
};

const LONGEST_EMAIL = 254;
/** An address that a mail server could accept: the only proof is a letter that arrives. */
const EMAIL = /^[^\s@<>()[\],;:\\"]{1,64}@[^\s@<>()[\],;:\\"]+\.[^\s@<>()[\],;:\\".]{2,}$/;
/** Characters that nobody sees, or that turn the direction of others: an address with one reads as the address of somebody else (D-1050). */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]/u;

/** The address as it is stored and compared; null: it is none. */
export const normaliseEmail = (text: string): string | null => {
  const email = text.trim().normalize('NFKC').toLowerCase();
  return email.length <= LONGEST_EMAIL && EMAIL.test(email) && !UNSEEN.test(email) ? email : null;
};

const FIND = `select account_id as "accountId", email, password_hash as "passwordHash", needs_passkey as "needsPasskey", plan, created_at as "createdAt",
  confirmed_at as "confirmedAt" from accounts where closed_at is null`;

const LOCK = 'select 1 from accounts where account_id = $1 and closed_at is null for update';

/** Until the transaction ends, nothing that an account may hold so many of is added, nor is it closed; false: it is closed, or there is none. */
export const lockAccount = async (client: Db, accountId: string): Promise<boolean> =>
  (await client.query(LOCK, [accountId])).rowCount === 1;

/** As `lockAccount`, by a normal address; null: there is no open account. */
export const lockAccountOf = async (client: Db, email: string): Promise<Account | null> =>
  (await client.query<Account>(`${FIND} and email = $1 for update`, [email])).rows[0] ?? null;

/** The open account of a normal address. */
export const findAccount = async (db: Db, email: string): Promise<Account | null> =>
  (await db.query<Account>(`${FIND} and email = $1`, [email])).rows[0] ?? null;

export const readAccount = async (db: Db, accountId: string): Promise<Account | null> =>
  (await db.query<Account>(`${FIND} and account_id = $1`, [accountId])).rows[0] ?? null;

/** Makes a free account; null: the address is taken. */
export const createAccount = async (
  db: Db,
  { email, passwordHash }: { readonly email: string; readonly passwordHash: string | null },
): Promise<string | null> => {
  const { rows } = await db.query<{ account_id: string }>(
    'insert into accounts (account_id, email, password_hash) values ($1, $2, $3) on conflict (email) do nothing returning account_id',
    [`acc_${randomUUID()}`, email, passwordHash],
  );
  return rows[0]?.account_id ?? null;
};

export const setPassword = async (db: Db, accountId: string, passwordHash: string): Promise<void> => {
  await db.query('update accounts set password_hash = $2 where account_id = $1', [accountId, passwordHash]);
};
