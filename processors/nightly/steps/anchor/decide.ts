// Decides the next action for a day root or a deployment: pure, from PostgreSQL's records and the chain's answers (AN-03).
import type { Hex } from 'viem';
import type { Fees, Market, Receipt } from './chain.ts';

/** A transaction that waits longer is sent with a higher fee once the market's fee is above its own. */
export const STUCK_MS = 60_000;

export type TransactionState = 'open' | 'mined' | 'reverted' | 'replaced';
/** A transaction that we signed, as stored. */
export type Signed = Fees & {
  readonly hash: Hex;
  readonly nonce: number;
  readonly raw: Hex;
  readonly signedAtMs: number;
  readonly state: TransactionState;
};
/** With its state on the chain. */
export type Seen = Signed & { readonly receipt: Receipt | null; readonly isKnown: boolean };

type NonceAction =
  | { readonly kind: 'mined'; readonly transaction: Seen; readonly receipt: Receipt }
  /** A transaction of the owner that is not ours has had the nonce for longer than nodes differ. */
  | { readonly kind: 'lost' }
  /** Sends the same bytes. */
  | { readonly kind: 'send'; readonly transaction: Seen }
  | { readonly kind: 'replace'; readonly transaction: Seen; readonly fees: Fees }
  | { readonly kind: 'wait'; readonly transaction: Seen };

/** Nodes accept a replacement with the same nonce only when both fees are at least a tenth higher. */
const raiseFee = (held: bigint, market: bigint): bigint => {
  const least = (held * 9n + 7n) / 8n;
  return market > least ? market : least;
};

/** `sameNonce` contains the transactions that we signed with one nonce; at most one of them can be mined. */
export const decideNonce = (
  sameNonce: readonly [Seen, ...Seen[]],
  { mined, market, nowMs }: { readonly mined: number; readonly market: Market; readonly nowMs: number },
): NonceAction => {
  for (const transaction of sameNonce)
    if (transaction.receipt !== null) return { kind: 'mined', transaction, receipt: transaction.receipt };
  const transaction = sameNonce.reduce((best, one) => (one.maxFee > best.maxFee ? one : best));
  // Of several nodes behind an address one counts a block whose receipts another does not have yet: for a while it may be ours that was mined.
  if (transaction.nonce < mined)
    return nowMs - transaction.signedAtMs >= STUCK_MS ? { kind: 'lost' } : { kind: 'wait', transaction };
  const { maxFee, priorityFee, signedAtMs, isKnown } = transaction;
  // A node drops a transaction that no block can include, and refuses it when it is sent again.
  const isDropped = !isKnown && maxFee < market.baseFee;
  const isStuck = isDropped || nowMs - signedAtMs >= STUCK_MS;
  if (isStuck && (market.maxFee > maxFee || market.priorityFee > priorityFee)) {
    const raised = { maxFee: raiseFee(maxFee, market.maxFee), priorityFee: raiseFee(priorityFee, market.priorityFee) };
    return { kind: 'replace', transaction, fees: raised };
  }
  return { kind: isKnown ? 'wait' : 'send', transaction };
};

export type Landed = { readonly hash: Hex; readonly receipt: Receipt };
export type Situation = {
  /** What the chain has at our place. */
  readonly held: 'nothing' | 'ours';
  /** The transaction that put it there. */
  readonly landed: Landed | null;
  /** A transaction of this purpose that reverted in this round. */
  readonly reverted: Hex | null;
  /** The newest undecided one. */
  readonly open: Hex | null;
  readonly head: number;
  readonly confirmations: number;
};
type Next =
  | { readonly kind: 'confirmed'; readonly landed: Landed }
  | { readonly kind: 'wait'; readonly hash: Hex | null; readonly landed: Landed | null }
  | { readonly kind: 'sign' }
  | { readonly kind: 'reverted'; readonly hash: Hex };

export const decideNext = ({ held, landed, reverted, open, head, confirmations }: Situation): Next => {
  if (held === 'ours') {
    if (landed === null) return { kind: 'wait', hash: open, landed };
    const isDeep = head - landed.receipt.block + 1 >= confirmations;
    return isDeep ? { kind: 'confirmed', landed } : { kind: 'wait', hash: landed.hash, landed };
  }
  // The node lags: it has the receipt but not yet the value.
  if (landed !== null) return { kind: 'wait', hash: landed.hash, landed };
  if (open !== null) return { kind: 'wait', hash: open, landed: null };
  return reverted === null ? { kind: 'sign' } : { kind: 'reverted', hash: reverted };
};
