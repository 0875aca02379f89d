// One round of posting: reads PostgreSQL and the chain, takes one action, and leaves both so that the next round can resume after any kill.
import { type Hex, keccak256, parseTransaction, type TransactionSerializableEIP1559 } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Day } from '../../day.ts';
import type { TransactionEvent } from '../../metrics.ts';
import { type AnchorChain, ChainError, type Fees, type Market } from './chain.ts';
import { decideNext, decideNonce, type Landed, type Seen } from './decide.ts';
import {
  type Kept,
  type Queries,
  readUndecided,
  recordSend,
  recordState,
  type Sender,
  storeSigned,
} from './transactions.ts';

/** Places of a posting in their order: tests end the process at each. `noted`: PostgreSQL records that it was sent. */
export const POSTING_PLACES = ['locked', 'looked', 'signed', 'stored', 'sent', 'noted', 'mined', 'confirmed'] as const;
export type PostingPlace = (typeof POSTING_PLACES)[number];

/** Why an operator must act before the day can be posted; it stays `failed` until a later attempt succeeds. */
type PostingFault = 'foreign_root' | 'reverted' | 'refused' | 'misconfigured';
export class PostingError extends Error {
  override readonly name = 'PostingError';
  readonly fault: PostingFault;
  constructor(fault: PostingFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

export type Poster = {
  readonly chain: AnchorChain;
  readonly owner: PrivateKeyAccount;
  readonly nowMs: () => number;
  readonly reached: (place: PostingPlace) => void;
  readonly count: (event: TransactionEvent) => void;
};

/** The target on the chain: the root of a day, or a contract. */
export type Purpose = {
  readonly day: Day | null;
  /** For a deployment null: the address follows from the nonce. */
  readonly contract: Hex | null;
  readonly data: Hex;
  /** What the chain has at our place. */
  readonly held: (kept: readonly Kept[]) => Promise<'nothing' | 'ours' | 'other'>;
  /** Hash of the transaction that posted ours, if it is unknown here. */
  readonly find: () => Promise<Hex | null>;
  readonly computeAddress: (nonce: number) => Hex;
};

export type Progress =
  | { readonly kind: 'confirmed'; readonly landed: Landed }
  /** `moved`: something was sent or changed, so the next round runs at once. */
  | { readonly kind: 'waiting'; readonly hash: Hex | null; readonly landed: Landed | null; readonly moved: boolean };

export const toSender = ({ chain, owner }: Poster): Sender => ({
  genesisHash: chain.genesisHash,
  sender: owner.address.toLowerCase() as Hex,
});

/** Refusals of the node need an operator; any other failure is retried unchanged. */
const catchRefusal = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ChainError && error.fault === 'refused') throw new PostingError('refused', error.message);
    throw error;
  }
};

/** How nodes word that they have the bytes, or a mined transaction of their nonce. */
const HELD_ELSEWHERE = /nonce (?:is )?too low|already known|already imported|known transaction/i;

/**
 * Sends stored bytes. A node that already has them is no failure; nor is one of several behind an address that has what the others have not yet
 * (false): the next rounds show whose transaction it is.
 */
const sendStored = async (
  { hash, raw }: Pick<Kept, 'hash' | 'raw'>,
  poster: Poster,
  queries: Queries,
): Promise<boolean> => {
  const { chain, reached, count } = poster;
  try {
    await chain.send(raw);
  } catch (error) {
    const isHeld = await chain.isKnown(hash);
    if (!isHeld && error instanceof ChainError && HELD_ELSEWHERE.test(error.message)) return false;
    if (!isHeld) throw error;
  }
  reached('sent');
  await recordSend(queries, toSender(poster), hash);
  count('sent');
  return true;
};

type Hands = { readonly poster: Poster; readonly queries: Queries };
type Unsigned = Pick<TransactionSerializableEIP1559, 'to' | 'data' | 'gas'> & { readonly nonce: number };

/** Signs, stores, sends, in this order, so that every transaction on the chain is known here. Returns the hash. */
const signAndSend = async (
  unsigned: Unsigned & Pick<Kept, 'day' | 'contract'>,
  { maxFee, priorityFee }: Fees,
  { poster, queries }: Hands,
): Promise<Hex> => {
  const { chain, owner, nowMs, reached, count } = poster;
  const { day, contract, ...fields } = unsigned;
  const fees = { maxFeePerGas: maxFee, maxPriorityFeePerGas: priorityFee };
  const raw = await owner.signTransaction({ type: 'eip1559', chainId: chain.chainId, ...fields, ...fees });
  const hash = keccak256(raw);
  reached('signed');
  const kept: Kept = {
    hash,
    raw,
    day,
    contract,
    nonce: fields.nonce,
    maxFee,
    priorityFee,
    signedAtMs: nowMs(),
    state: 'open',
  };
  await storeSigned(queries, toSender(poster), kept);
  count('signed');
  reached('stored');
  await catchRefusal(sendStored(kept, poster, queries));
  return hash;
};

type SeenKept = Kept & Seen;

const readReceipts = (kept: readonly Kept[], { chain }: Poster): Promise<SeenKept[]> =>
  Promise.all(
    kept.map(async (one) => {
      const receipt = await chain.receiptOf(one.hash);
      return { ...one, receipt, isKnown: receipt !== null || (await chain.isKnown(one.hash)) };
    }),
  );

/** Outcome of the transactions of one nonce. */
type NonceOutcome = {
  readonly hash: Hex | null;
  readonly landed: Landed | null;
  readonly reverted: Hex | null;
  readonly moved: boolean;
};

/** Advances the transactions of one nonce: a stuck nonce blocks all later ones, whatever day they post. */
const moveNonce = async (
  sameNonce: readonly [SeenKept, ...SeenKept[]],
  now: { readonly mined: number; readonly market: Market },
  { poster, queries }: Hands,
): Promise<NonceOutcome> => {
  const { count, nowMs } = poster;
  const sender = toSender(poster);
  const hashes = sameNonce.map(({ hash }) => hash);
  const action = decideNonce(sameNonce, { ...now, nowMs: nowMs() });
  switch (action.kind) {
    case 'mined': {
      const { receipt, transaction } = action;
      const { hash } = transaction;
      const state = receipt.succeeded ? 'mined' : 'reverted';
      await recordState(queries, sender, { hashes: [hash], state });
      await recordState(queries, sender, { hashes: hashes.filter((one) => one !== hash), state: 'replaced' });
      if (transaction.state !== state) count(state);
      return receipt.succeeded
        ? { hash, landed: { hash, receipt }, reverted: null, moved: false }
        : { hash: null, landed: null, reverted: hash, moved: false };
    }
    case 'lost':
      await recordState(queries, sender, { hashes, state: 'replaced' });
      count('nonce_lost');
      return { hash: null, landed: null, reverted: null, moved: true };
    case 'send':
    case 'wait': {
      const { hash, state } = action.transaction;
      // Includes transactions whose block a reorganisation has removed.
      await recordState(queries, sender, { hashes, state: 'open' });
      const isSent = action.kind === 'send' && (await catchRefusal(sendStored(action.transaction, poster, queries)));
      // A node need not show what it was sent before: it is sent once more after a block, not at once.
      return { hash, landed: null, reverted: null, moved: isSent && state === 'mined' };
    }
    case 'replace': {
      const { day, contract, raw, nonce } = sameNonce[0];
      const { to, data, gas } = parseTransaction(raw);
      const fields = { to: to ?? null, data: data ?? '0x', gas: gas ?? 0n, nonce };
      const hash = await signAndSend({ ...fields, day, contract }, action.fees, { poster, queries });
      count('fee_raised');
      return { hash, landed: null, reverted: null, moved: true };
    }
    default:
      return action satisfies never;
  }
};

/** Gas of the trial and a third more: the cost of a storage slot may differ between the trial and the block. */
const withReserve = (gas: bigint): bigint => (gas * 4n) / 3n;

const refuseForeign = (day: Day | null): never => {
  throw new PostingError('foreign_root', `the contract holds another root for ${day}`);
};

type Look = {
  readonly held: 'nothing' | 'ours';
  /** Number of the owner's mined transactions. */
  readonly mined: number;
  readonly market: Market;
  readonly seen: readonly SeenKept[];
};

const look = async (purpose: Purpose, poster: Poster, queries: Queries): Promise<Look> => {
  const { chain, owner, reached } = poster;
  // Read before the receipts, so that every transaction it counts has a receipt.
  const mined = await chain.nonceOf(owner.address);
  const { day, contract } = purpose;
  const kept = await readUndecided(queries, toSender(poster), { day, contract, mined });
  const held = await purpose.held(kept);
  if (held === 'other') return refuseForeign(day);
  const market = await chain.market();
  const seen = await readReceipts(kept, poster);
  reached('looked');
  return { held, mined, market, seen };
};

const isPurposeOf = ({ day, contract }: Purpose, kept: Kept): boolean =>
  kept.day === day && (contract === null || kept.contract === contract);

/** Advances every nonce; returns the outcomes of this purpose, newest last. */
const moveAll = async (
  purpose: Purpose,
  { seen, mined, market }: Look,
  { poster, queries }: Hands,
): Promise<readonly NonceOutcome[]> => {
  const outcomes: NonceOutcome[] = [];
  for (const [first, ...rest] of Map.groupBy(seen, ({ nonce }) => nonce).values()) {
    if (first === undefined) continue;
    const outcome = await moveNonce([first, ...rest], { mined, market }, { poster, queries });
    if (isPurposeOf(purpose, first)) outcomes.push(outcome);
  }
  return outcomes;
};

const findLanded = async ({ find }: Purpose, { receiptOf }: AnchorChain): Promise<Landed | null> => {
  const hash = await find();
  const receipt = hash === null ? null : await receiptOf(hash);
  return hash === null || receipt === null ? null : { hash, receipt };
};

const signNew = async (purpose: Purpose, { seen, mined, market }: Look, hands: Hands): Promise<Hex> => {
  const { chain, owner } = hands.poster;
  const nonce = Math.max(mined, ...seen.map((one) => one.nonce + 1));
  const call = { to: purpose.contract, data: purpose.data };
  const gas = withReserve(await catchRefusal(chain.gasFor({ from: owner.address, ...call })));
  return signAndSend({ ...call, gas, nonce, day: purpose.day, contract: purpose.computeAddress(nonce) }, market, hands);
};

/** Reads the state once and acts on it. Rejects with PostingError when an operator must act, ChainError while the node is unreachable. */
export const advance = async (purpose: Purpose, poster: Poster, queries: Queries): Promise<Progress> => {
  const { chain, reached } = poster;
  const found = await look(purpose, poster, queries);
  const outcomes = await moveAll(purpose, found, { poster, queries });
  const known = outcomes.findLast(({ landed }) => landed !== null)?.landed ?? null;
  const next = decideNext({
    held: found.held,
    landed: known ?? (found.held === 'ours' ? await findLanded(purpose, chain) : null),
    reverted: outcomes.findLast(({ reverted }) => reverted !== null)?.reverted ?? null,
    open: outcomes.findLast(({ hash }) => hash !== null)?.hash ?? null,
    head: await chain.head(),
    confirmations: chain.confirmations,
  });
  switch (next.kind) {
    case 'confirmed':
      reached('mined');
      return next;
    case 'wait':
      if (next.landed !== null) reached('mined');
      return { kind: 'waiting', hash: next.hash, landed: next.landed, moved: outcomes.some(({ moved }) => moved) };
    case 'reverted':
      throw new PostingError('reverted', `the chain refused transaction ${next.hash}`);
    case 'sign':
      return { kind: 'waiting', hash: await signNew(purpose, found, { poster, queries }), landed: null, moved: true };
    default:
      return next satisfies never;
  }
};
