// The course of a payment: the checks of step 9 in their order, its settlement with the answer, and the purchase of a plan (P-04, P-06, P-11).
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createBackoff } from '../../infra/runtime/time/backoff.ts';
import type { AnswerEnd } from '../access/call.ts';
import type { PaymentChain } from './chain.ts';
import type { Facilitator } from './facilitator.ts';
import type { SignedPayment } from './header.ts';
import { findAuthorizationFault, matchOffer } from './match.ts';
import type { CountPayment } from './metrics.ts';
import { type Offer, toLedgerClass } from './offers.ts';
import type { Purchase, Purchases } from './purchases.ts';
import type { Settlement } from './settlement.ts';
import { checkSigner } from './signature.ts';
import type { PaymentKey, PaymentStore, Standing } from './store.ts';

const AGAIN_MS = 500;

type DeskDeps = {
  readonly store: PaymentStore;
  readonly purchases: Purchases;
  readonly facilitator: Facilitator;
  readonly chain: PaymentChain;
  readonly settlement: Settlement;
  readonly count: CountPayment;
  readonly log: Logger;
};

/** Why a payment is not taken: a reason of P-03, too many of the payer's are unsettled, or it cannot be decided now. */
export type NotTaken = { readonly refused: string } | 'limit' | 'away';

export type Bid = {
  readonly payment: SignedPayment;
  readonly offers: readonly Offer[];
  readonly receiptId: string;
};

/** The outcome of the purchase of a plan. */
type PlanOutcome =
  | { readonly is: 'bought'; readonly purchase: Purchase }
  | { readonly is: 'failed'; readonly reason: string }
  | { readonly is: 'unknown' }
  | { readonly is: 'refused'; readonly why: NotTaken };

export type PaymentDesk = {
  /** Rejects when the database is unavailable. */
  readonly standing: (payment: SignedPayment) => Promise<Standing>;
  /** Step 9: null, and the payment is verified. Rejects never. */
  readonly take: (bid: Bid) => Promise<NotTaken | null>;
  /** Step 11. Rejects never. */
  readonly end: (bid: Bid, left: AnswerEnd) => Promise<void>;
  readonly buyPlan: (bid: Bid) => Promise<PlanOutcome>;
  /** The key of a plan that was paid for and not delivered; null: another request delivers it now. */
  readonly claimKey: (bid: Bid) => Promise<Purchase | null>;
  readonly endDelivery: (purchase: Purchase, bid: Bid, left: AnswerEnd) => Promise<void>;
};

const toPaymentKey = ({ payload: { authorization } }: SignedPayment): PaymentKey => ({
  payer: authorization.from,
  nonce: authorization.nonce,
});

const SIGNATURE: NotTaken = { refused: 'invalid_exact_evm_payload_signature' };
const PRESENTED: NotTaken = { refused: 'already_presented' };

/** Compares with the offer, checks the times and the signer: everything that needs no other service. */
const checkBid = async ({ payment, offers }: Bid, { chain }: DeskDeps): Promise<Offer | NotTaken> => {
  const offer = matchOffer(payment, offers);
  if (typeof offer === 'string') return { refused: offer };
  const fault = findAuthorizationFault(payment, offer, Date.now());
  if (fault !== null) return { refused: fault };
  const signer = await checkSigner(payment, offer);
  if (signer === 'nobody') return SIGNATURE;
  // The signature of a contract wallet may look like any other: then the facilitator queries the contract.
  if (signer === 'stranger' && !(await chain.isContract(toPaymentKey(payment).payer))) return SIGNATURE;
  return offer;
};

const insertBid = ({ store }: DeskDeps, { payment, receiptId }: Bid, offer: Offer): Promise<boolean> => {
  const { extra } = offer;
  return store.insert({
    ...toPaymentKey(payment),
    ...{ receiptId, offer, payload: payment.payload },
    class: extra.kind === 'call' ? toLedgerClass(extra.class) : null,
    plan: extra.kind === 'plan' ? extra.plan : null,
    validBefore: Number(payment.payload.authorization.validBefore),
  });
};

/** The facilitator's verification, then a place among the payer's unsettled payments. */
const verify = async (deps: DeskDeps, { payment, receiptId }: Bid, offer: Offer): Promise<NotTaken | null> => {
  const { store, facilitator, log, count } = deps;
  const verdict = await facilitator.verify({ payload: payment.payload, offer });
  if (verdict !== null) {
    await store.remove(receiptId);
    if (verdict === 'misconfigured')
      log.error({ receipt_id: receiptId }, 'the facilitator does not know what we offer');
    return typeof verdict === 'string' ? 'away' : verdict;
  }
  const became = await store.verify(receiptId);
  if (became === 'verified') count('verified');
  if (became === 'gone') return PRESENTED;
  return became === 'limit' ? 'limit' : null;
};

/** Its lease counts no longer after this time. */
const RELEASE_MS = 15_000;

/**
 * Nothing was served: the row goes before the caller reads so and repeats the payment, or as soon as the database answers. Resolves after the first
 * attempt, rejects never. A statement that was given up may be executed late, so even a row that is not there is looked for again.
 */
const releasePayment = async ({ store, settlement }: DeskDeps, receiptId: string): Promise<void> => {
  settlement.held.delete(receiptId);
  const untilMs = performance.now() + RELEASE_MS;
  const backoff = createBackoff({ minMs: 250, maxMs: 4_000 });
  const isRemoved = (): Promise<boolean> => store.remove(receiptId).catch(() => false);
  const removeLater = async (): Promise<void> => {
    do await pause(backoff.next(), undefined, { ref: false });
    while (!(await isRemoved()) && performance.now() < untilMs);
  };
  if (!(await isRemoved())) void removeLater();
};

const take = async (deps: DeskDeps, bid: Bid): Promise<NotTaken | null> => {
  const { held } = deps.settlement;
  let isPresented = false;
  try {
    const offer = await checkBid(bid, deps);
    if (typeof offer === 'string' || 'refused' in offer) return offer;
    isPresented = true;
    if (!(await insertBid(deps, bid, offer))) return PRESENTED;
    held.add(bid.receiptId);
    const refused = await verify(deps, bid, offer);
    if (refused !== null) held.delete(bid.receiptId);
    return refused;
  } catch (err) {
    if (isPresented) await releasePayment(deps, bid.receiptId);
    deps.log.warn({ err, receipt_id: bid.receiptId }, 'a payment could not be checked');
    return 'away';
  }
};

/** A served payment is recorded before it is settled, however long the database is unavailable, up to the end of its validity. */
const serve = async ({ store, settlement, count, log }: DeskDeps, { payment, receiptId }: Bid): Promise<void> => {
  const untilMs = Number(payment.payload.authorization.validBefore) * 1_000;
  count('served');
  do {
    try {
      if (await store.serve(receiptId)) return settlement.settle(receiptId);
      break;
    } catch {
      await pause(AGAIN_MS);
    }
  } while (Date.now() < untilMs);
  settlement.held.delete(receiptId);
  log.error({ receipt_id: receiptId }, 'an answer was served and cannot be charged');
};

const endBid = async (deps: DeskDeps, bid: Bid, left: AnswerEnd): Promise<void> => {
  if (left === 'whole') return serve(deps, bid);
  await releasePayment(deps, bid.receiptId);
};

/** Settled before it is answered; the chain decides about anything that is not recorded now (P-06). */
const buyPlan = async (deps: DeskDeps, bid: Bid): Promise<PlanOutcome> => {
  const { store, purchases, settlement, count, log } = deps;
  const refused = await take(deps, bid);
  if (refused !== null) return { is: 'refused', why: refused };
  const { receiptId } = bid;
  try {
    const open = await store.takeOne(receiptId);
    if (open === null) return { is: 'unknown' };
    const decision = await settlement.decide(open);
    count(decision.is);
    if (decision.is === 'settled') {
      const purchase = await purchases.settle(receiptId, decision.transaction, receiptId);
      return purchase === null ? { is: 'unknown' } : { is: 'bought', purchase };
    }
    // Not recorded: another process took it up after the lease had ended, and may have settled it or sent it again.
    if (decision.is === 'failed') return (await store.fail(receiptId, decision)) ? decision : { is: 'unknown' };
    await store.doubt(receiptId);
    return decision;
  } catch (err) {
    log.warn({ err, receipt_id: receiptId }, 'the purchase of a plan was not recorded, the chain will be queried');
    return { is: 'unknown' };
  } finally {
    settlement.held.delete(receiptId);
  }
};

export const openDesk = (deps: DeskDeps): PaymentDesk => ({
  standing: (payment) => deps.store.read(toPaymentKey(payment)),
  take: (bid) => take(deps, bid),
  end: (bid, left) => endBid(deps, bid, left),
  buyPlan: (bid) => buyPlan(deps, bid),
  claimKey: ({ payment, receiptId }) => deps.purchases.claim(toPaymentKey(payment), receiptId),
  endDelivery: ({ receiptId }, bid, left) =>
    deps.purchases
      .end(receiptId, bid.receiptId, left)
      // The claim expires automatically, and the same authorisation can be presented again.
      .catch((err: unknown) => deps.log.warn({ err, receipt_id: receiptId }, 'a delivered key was not recorded')),
});
