// Posts the root of one closed day and follows it until confirmation; PostgreSQL has its state at every moment (AN-03).
import type { Pool } from 'pg';
import type { Hex } from 'viem';
import { describeStorable } from '../../../../infra/runtime/postgres/storable.ts';
import type { AnchorStatus } from '../../../../schemas/anchor-chain.ts';
import type { Day } from '../../day.ts';
import type { AnchorChain } from './chain.ts';
import { encodePost } from './contract.ts';
import type { Landed } from './decide.ts';
import { checkOwner, repeatInTurn } from './poster.ts';
import { advance, type Poster, PostingError, type Progress, type Purpose } from './posting.ts';
import type { Queries } from './transactions.ts';

export type ClosedDay = {
  readonly day: Day;
  /** 64 hex digits. */
  readonly root: string;
  readonly status: AnchorStatus;
  readonly binding: boolean | null;
  readonly genesisHash: string | null;
  readonly contract: Hex | null;
  readonly txHash: Hex | null;
  readonly block: number | null;
};

const READ = `select to_char(day, 'YYYY-MM-DD') as day, day_root as root, status, binding, genesis_hash as "genesisHash", contract,
  tx_hash as "txHash", block::int as block from anchor_days`;
/** Restarts days that belong to another chain or contract. */
const BEGIN = `update anchor_days set network = $2, binding = $3, genesis_hash = $4, contract = $5, status = 'pending', tx_hash = null,
  block = null, block_hash = null, anchored_at = null, confirmed_at = null, problem = null
  where day = $1 and (genesis_hash, contract) is distinct from ($4, $5)`;
const RECORD = `update anchor_days set status = $2, tx_hash = coalesce($3, tx_hash), block = $4, block_hash = $5, anchored_at = $6,
  confirmed_at = case when $2 = 'confirmed' then coalesce(confirmed_at, now()) end, problem = null where day = $1`;
const RECORD_PROBLEM = `update anchor_days set problem = $2, status = case when $3 then 'failed' else status end where day = $1`;

/** Null: the day is not closed, or has no rows and therefore no root. */
export const readClosedDay = async (queries: Queries, day: Day): Promise<ClosedDay | null> =>
  (await queries.query<ClosedDay>(`${READ} where day = $1`, [day])).rows[0] ?? null;

/** Closed days with a root, oldest first. */
export const readClosedDays = async (queries: Queries): Promise<readonly ClosedDay[]> =>
  (await queries.query<ClosedDay>(`${READ} order by day`)).rows;

/** Whether nothing is left to do permanently, whatever the settings are now: Base has confirmed the day. */
export const isBound = ({ status, binding }: ClosedDay): boolean => status === 'confirmed' && binding === true;

/** Whether nothing is left to do: permanently for a bound day, otherwise while its chain still has the root. */
export const isSettled = async (closed: ClosedDay, chain: AnchorChain): Promise<boolean> => {
  const { day, root, status, contract, genesisHash } = closed;
  if (isBound(closed)) return true;
  if (status !== 'confirmed' || contract === null || genesisHash !== chain.genesisHash) return false;
  return (await chain.rootOf(contract, day)) === root;
};

/** Records why an attempt ended; `failed` when an operator must act. */
export const recordProblem = async (database: Pool, day: Day, error: unknown): Promise<void> => {
  await database.query(RECORD_PROBLEM, [day, describeStorable(error), error instanceof PostingError]);
};

const toPurpose = ({ day, root }: ClosedDay, contract: Hex, { chain }: { readonly chain: AnchorChain }): Purpose => ({
  ...{ day, contract },
  data: encodePost(day, root),
  held: async () => {
    const held = await chain.rootOf(contract, day);
    if (held === null) return 'nothing';
    return held === root ? 'ours' : 'other';
  },
  find: () => chain.findAnchored(contract, day, 0),
  computeAddress: () => contract,
});

const recordProgress = async (queries: Queries, day: Day, progress: Progress): Promise<void> => {
  const landed: Landed | null = progress.landed;
  const hash = progress.kind === 'confirmed' ? progress.landed.hash : progress.hash;
  const status: AnchorStatus = progress.kind === 'confirmed' ? 'confirmed' : hash === null ? 'pending' : 'submitted';
  const { block = null, blockHash = null, minedAt = null } = landed?.receipt ?? {};
  await queries.query(RECORD, [day, status, hash, block, blockHash, minedAt]);
};

const toState = (progress: Progress): string => {
  if (progress.landed !== null) return `transaction ${progress.landed.hash} in block ${progress.landed.receipt.block}`;
  return progress.kind === 'waiting' && progress.hash !== null
    ? `transaction ${progress.hash} waits`
    : 'nothing was sent';
};

/** Throws for a day whose transaction may still be mined on Base while the settings name another chain. */
const refuseLeavingBase = ({ day, binding, status, genesisHash }: ClosedDay, chain: AnchorChain): void => {
  if (binding !== true || status === 'pending' || genesisHash === chain.genesisHash) return;
  throw new PostingError(
    'misconfigured',
    `${day} was sent to Base, RPC_URL is ${chain.network} with another first block`,
  );
};

/** One round of one day: reads the chain, acts, and records the state in PostgreSQL. */
export const advanceDay = async (
  closed: ClosedDay,
  { poster, contract, queries }: { readonly poster: Poster; readonly contract: Hex; readonly queries: Queries },
): Promise<Progress> => {
  const { chain, reached } = poster;
  const { day } = closed;
  refuseLeavingBase(closed, chain);
  await queries.query(BEGIN, [day, chain.network, chain.binding, chain.genesisHash, contract]);
  const progress = await advance(toPurpose(closed, contract, poster), poster, queries);
  await recordProgress(queries, day, progress);
  if (progress.kind === 'confirmed') reached('confirmed');
  else if (progress.hash !== null) reached('noted');
  return progress;
};

/** Posts until the day is confirmed. Rejects when an operator must act, when the node is unreachable, and after a timeout. */
export const postDay = async (
  closed: ClosedDay,
  {
    poster,
    contract,
    database,
    signal,
  }: {
    readonly poster: Poster;
    readonly contract: Hex;
    readonly database: Pool;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Landed> => {
  await checkOwner(poster, contract);
  let landed: Landed | null = null;
  await repeatInTurn(database, { poster, signal }, async (queries) => {
    const progress = await advanceDay(closed, { poster, contract, queries });
    if (progress.kind === 'confirmed') landed = progress.landed;
    return {
      isDone: progress.kind === 'confirmed',
      moved: progress.kind === 'waiting' && progress.moved,
      state: toState(progress),
    };
  });
  if (landed === null) throw new Error(`${closed.day} is not confirmed`);
  return landed;
};
