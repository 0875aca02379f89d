// Recovers a lost bought key: the signer with the wallet that paid gets another key with the same expiry, once per message (P-06).
import type { Pool, PoolClient } from 'pg';
import type { Hex } from 'viem';
import { recoverMessageAddress } from 'viem/utils';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import type { PaymentChain } from './chain.ts';
import { type Purchase, replaceKey } from './purchases.ts';

/** A signed message is good for so long after the instant it states. */
const MESSAGE_MS = 600_000;
/** The page that states the instant may be of a process whose clock is ahead by so much, or ours was set back since. */
const CLOCKS_APART_MS = 5_000;

/** The query to the chain: whether a contract wallet accepts the message as its own. */
export type MessageChain = Pick<PaymentChain, 'isMessageOf'>;

export type Recovery = {
  /** The transaction that settled the purchase, and the wallet it shows as payer. */
  readonly transaction: string;
  readonly payer: string;
  /** ISO 8601, from the page that requests the signature. */
  readonly issuedAt: string;
  /** Address of mail of the account that the key joins: its owner alone requests the signature. */
  readonly account: string;
  readonly signature: string;
};

/**
 * The text that the wallet shows and signs (EIP-191). It names the service and the account: whoever else has somebody sign it, on a page of their
 * own, shows where the key would go, and has no use for the signature of another account.
 */
export const writeRecoveryMessage = (
  baseUrl: string,
  { transaction, issuedAt, account }: Pick<Recovery, 'transaction' | 'issuedAt' | 'account'>,
): string =>
  [
    `Replace the API key that was bought at ${baseUrl}.`,
    'The key it replaces is revoked. This signature moves no funds.',
    '',
    `Account: ${account}`,
    `Transaction: ${transaction}`,
    `Issued at: ${issuedAt}`,
  ].join('\n');

/** The chain, which decides about a wallet that is a contract, does not answer: nothing was changed, and the same message may be sent again. */
export class WalletUndecided extends Error {
  override readonly name = 'WalletUndecided';
}

const isSignedBy = async (
  payer: string,
  message: string,
  { signature, chain }: { signature: string; chain: MessageChain },
) => {
  if (!/^0x([0-9a-fA-F]{2}){1,4096}$/.test(signature)) return false;
  const signer = await recoverMessageAddress({ message, signature: signature as Hex }).catch(() => null);
  // A contract wallet answers for itself.
  if (signer?.toLowerCase() === payer) return true;
  return chain.isMessageOf(payer, message, signature).catch((cause: unknown) => {
    throw new WalletUndecided('the chain does not respond about the owner of a signature', { cause });
  });
};

/** A message is good once, and no older one after it; a key that has expired stays expired. */
const TAKE = `
  update plan_purchases q set recovered_at = $3, delivered_at = coalesce(q.delivered_at, now()), claimed_by = null, claimed_until = null
  from payment_ledger l, api_keys k
  where l.receipt_id = q.receipt_id and k.key_id = q.key_id and l.transaction = $1 and q.payer = $2 and k.expires_at > now()
    and (q.recovered_at is null or q.recovered_at < $3)
  returning q.receipt_id`;

export type RecoveryDeps = {
  readonly pool: Pool;
  readonly chain: MessageChain;
  readonly baseUrl: string;
  readonly nowMs: number;
};

/** What else belongs to the transaction: nothing is recovered when `before` answers false. */
type Beside = {
  readonly before: (client: PoolClient) => Promise<boolean>;
  readonly after: (client: PoolClient, purchase: Purchase) => Promise<void>;
};
const NOTHING: Beside = { before: async () => true, after: async () => undefined };

/** The replacement; null: there is no such purchase, the message is old or was used, or another wallet signed. Rejects with WalletUndecided. */
export const recoverKey = async (
  recovery: Recovery,
  { pool, chain, baseUrl, nowMs }: RecoveryDeps,
  { before, after }: Beside = NOTHING,
): Promise<Purchase | null> => {
  const { transaction, issuedAt, signature } = recovery;
  const payer = recovery.payer.toLowerCase();
  const issuedMs = Date.parse(issuedAt);
  if (!(issuedMs <= nowMs + CLOCKS_APART_MS && nowMs < issuedMs + MESSAGE_MS)) return null;
  if (!(await isSignedBy(payer, writeRecoveryMessage(baseUrl, recovery), { signature, chain }))) return null;
  return runInTransaction(pool, async (client) => {
    if (!(await before(client))) return null;
    const { rows } = await client.query<{ receipt_id: string }>(TAKE, [transaction, payer, new Date(issuedMs)]);
    if (rows[0] === undefined) return null;
    const purchase = await replaceKey(client, rows[0].receipt_id);
    await after(client, purchase);
    return purchase;
  });
};
