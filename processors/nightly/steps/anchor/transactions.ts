// Every transaction we signed, in PostgreSQL: stored before it is sent, so that after a kill none is unknown.
import type { Pool } from 'pg';
import type { Hex } from 'viem';
import type { Day } from '../../day.ts';
import type { Signed, TransactionState } from './decide.ts';

/** A pool, or the connection that holds the lock of the poster. */
export type Queries = Pick<Pool, 'query'>;

/** Selects the transactions of one sender on one chain. */
export type Sender = { readonly genesisHash: string; readonly sender: Hex };
/** `day` null: the deployment of a contract. */
export type Kept = Signed & { readonly day: Day | null; readonly contract: Hex };

type Row = {
  readonly hash: Hex;
  readonly day: Day | null;
  readonly contract: Hex;
  readonly nonce: string;
  readonly raw: Hex;
  readonly max_fee: string;
  readonly priority_fee: string;
  readonly signed_at: Date;
  readonly state: TransactionState;
};

const COLUMNS = `tx_hash as hash, to_char(day, 'YYYY-MM-DD') as day, contract, nonce, raw, max_fee_per_gas as max_fee,
  max_priority_fee_per_gas as priority_fee, signed_at, state`;
/**
 * Open transactions of any purpose, because nonces are mined in order; mined ones of `day`, because a block may be removed; and those of any
 * purpose that the chain no longer counts: their block was removed, and their nonce stays theirs.
 */
const UNDECIDED = `select ${COLUMNS} from anchor_transactions where genesis_hash = $1 and sender = $2
  and (state = 'open' or (state = 'mined' and
    (nonce >= $5 or (day is not distinct from $3 and ($4::text is null or contract = $4)))))
  order by nonce, max_fee_per_gas`;
/** Bytes that were replaced may be signed again, once the block of what replaced them was removed: at the same fees they are the same. */
const STORE = `insert into anchor_transactions
  (genesis_hash, tx_hash, day, contract, sender, nonce, raw, max_fee_per_gas, max_priority_fee_per_gas, signed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (genesis_hash, tx_hash) do update set state = 'open', signed_at = excluded.signed_at`;

const toKept = ({ nonce, max_fee, priority_fee, signed_at, hash, day, contract, raw, state }: Row): Kept => ({
  ...{ hash, day, contract, raw, state },
  nonce: Number(nonce),
  maxFee: BigInt(max_fee),
  priorityFee: BigInt(priority_fee),
  signedAtMs: signed_at.getTime(),
});

type Asked = {
  readonly day: Day | null;
  /** Null: any contract, for a deployment, whose address is unknown before it is signed. */
  readonly contract: Hex | null;
  /** Number of the sender's mined transactions. */
  readonly mined: number;
};

export const readUndecided = async (
  queries: Queries,
  { genesisHash, sender }: Sender,
  { day, contract, mined }: Asked,
): Promise<readonly Kept[]> => {
  const { rows } = await queries.query<Row>(UNDECIDED, [genesisHash, sender, day, contract, mined]);
  return rows.map(toKept);
};

export const storeSigned = async (queries: Queries, { genesisHash, sender }: Sender, kept: Kept): Promise<void> => {
  const { hash, day, contract, nonce, raw, maxFee, priorityFee, signedAtMs } = kept;
  await queries.query(STORE, [
    ...[genesisHash, hash, day, contract, sender, nonce, raw],
    ...[String(maxFee), String(priorityFee), new Date(signedAtMs)],
  ]);
};

export const recordSend = async (queries: Queries, { genesisHash }: Sender, hash: Hex): Promise<void> => {
  await queries.query(
    'update anchor_transactions set sends = sends + 1, sent_at = now() where genesis_hash = $1 and tx_hash = $2',
    [genesisHash, hash],
  );
};

export const recordState = async (
  queries: Queries,
  { genesisHash }: Sender,
  { hashes, state }: { readonly hashes: readonly Hex[]; readonly state: TransactionState },
): Promise<void> => {
  await queries.query(
    'update anchor_transactions set state = $3 where genesis_hash = $1 and tx_hash = any($2) and state <> $3',
    [genesisHash, hashes, state],
  );
};
