// Payments as the checks of access know them: challenges, and payments presented with a request (E-01 steps 3, 4, 9 and 11).
import type {
  Call,
  CallPayment,
  Payment,
  PaymentChecks,
  PlanAnswer,
  PlanPayment,
  Price,
  Refused,
} from '../access/call.ts';
import { describeLimit, makeLimitHeaders, type Refusal } from '../contract/limits.ts';
import { type ChallengeDeps, makeChallengeAnswer } from './challenge.ts';
import type { Bid, NotTaken, PaymentDesk } from './desk.ts';
import { encodeSettlement, readPayment, type SignedPayment } from './header.ts';
import { isForPlan } from './match.ts';
import type { CountPayment } from './metrics.ts';
import { listOffers } from './offers.ts';
import type { Purchase } from './purchases.ts';
import { MOST_UNSETTLED, type Standing } from './store.ts';

const RETRY_S = 5;

type ChecksDeps = ChallengeDeps & {
  /** Null: payments are off. */
  readonly desk: PaymentDesk | null;
  readonly count?: CountPayment;
};

const refuseUnavailable = (message: string, hint: string): Refused => ({
  status: 503,
  headers: { 'retry-after': String(RETRY_S) },
  body: { errors: [{ code: 'UNAVAILABLE', message, hint }] },
});
const AWAY = refuseUnavailable(
  'The payment cannot be verified now; nothing was charged.',
  'Repeat the call with the same payment in a few seconds.',
);
const OFF = refuseUnavailable('Payments cannot be verified now; nothing was charged.', 'Send a key.');
/** Never a new challenge for the same authorisation: the caller would pay twice (P-04). */
const PENDING = refuseUnavailable(
  'The payment is being settled; its outcome is not known yet.',
  'Repeat the call with the same payment, and sign no new one.',
);

const LIMIT: Refusal = {
  limit: 'x402_unpaid_in_flight_per_payer',
  figure: MOST_UNSETTLED,
  retryAfterS: RETRY_S,
};
const TOO_MANY: Refused = {
  status: 429,
  headers: makeLimitHeaders(LIMIT),
  body: { errors: [{ code: 'RATE_LIMITED', ...describeLimit('A payer', LIMIT) }] },
};

const refuseMalformed = (message: string): Refused => ({
  status: 400,
  headers: {},
  body: {
    errors: [{ code: 'PAYMENT_MALFORMED', message, hint: 'Sign an entry of accepts with x402 version 2.' }],
  },
});

/** A payment with the call for which it was sent, for refusals that quote the price again. */
type PaidCall = { readonly call: Call; readonly price: Price; readonly bid: Bid };

const openKey = ({ plan, key, keyId, expiresAt, transaction, network, payer, receiptId }: Purchase) => {
  const settlement = { success: true, transaction, network, payer };
  return {
    headers: { 'payment-response': encodeSettlement(settlement) },
    body: {
      purchase: { plan, key, key_id: keyId, expires_at: expiresAt.toISOString() },
      settlement,
      receipt_id: receiptId,
    },
  };
};

/** The obstacle to a payment before its request is read (P-11); `claim`: its plan waits to be delivered. */
const findHindrance = (
  standing: Standing,
  { payload }: SignedPayment,
): 'known' | 'pending' | 'claim' | 'blocked' | 'limit' | null => {
  const { state, plan, purchase, signature, isBlocked, unsettled } = standing;
  if (purchase !== null) return !purchase.isDelivered && purchase.signature === payload.signature ? 'claim' : 'known';
  const isBuying = plan !== null && state !== 'failed' && signature === payload.signature;
  if (state !== null) return isBuying ? 'pending' : 'known';
  if (isBlocked) return 'blocked';
  return unsettled >= MOST_UNSETTLED ? 'limit' : null;
};

type Refusals = {
  /** The price again, and the reason why this payment is not accepted. */
  readonly refuse: (asked: Omit<PaidCall, 'bid'>, error: string) => Refused;
  readonly refuseNotTaken: (asked: PaidCall, why: NotTaken) => Refused;
  /** Of a payment for a plan: another request may have come with it since it was looked at. */
  readonly refusePlan: (asked: PaidCall, open: PaymentDesk, why: NotTaken) => Promise<Refused>;
};

const createRefusals = (deps: ChecksDeps): Refusals => {
  const { count = () => undefined } = deps;
  const refuse = ({ call, price }: Omit<PaidCall, 'bid'>, error: string): Refused => {
    count('refused');
    return makeChallengeAnswer(call, price, { error, deps });
  };
  const refuseNotTaken = (asked: PaidCall, why: NotTaken): Refused => {
    if (why === 'away') return AWAY;
    return why === 'limit' ? TOO_MANY : refuse(asked, why.refused);
  };
  const refusePlan = async (asked: PaidCall, open: PaymentDesk, why: NotTaken): Promise<Refused> => {
    const { payment } = asked.bid;
    if (typeof why === 'string' || why.refused !== 'already_presented') return refuseNotTaken(asked, why);
    const standing = await open.standing(payment).catch(() => null);
    if (standing === null) return AWAY;
    const hindrance = findHindrance(standing, payment);
    return hindrance === 'pending' || hindrance === 'claim' ? PENDING : refuseNotTaken(asked, why);
  };
  return { refuse, refuseNotTaken, refusePlan };
};

/** What a bid buys, once it has no obstacle. */
const createPayments = ({ challenges, terms }: ChecksDeps, { refuse, refuseNotTaken, refusePlan }: Refusals) => {
  const callPayment = (asked: PaidCall, open: PaymentDesk): CallPayment => {
    let isOpen = false;
    return {
      buys: 'call',
      payer: asked.bid.payment.payload.authorization.from.toLowerCase(),
      async take() {
        const why = await open.take(asked.bid);
        isOpen = why === null;
        return why === null ? null : refuseNotTaken(asked, why);
      },
      async end(left) {
        if (!isOpen) return;
        isOpen = false;
        if (left === 'whole') challenges.giveBack(asked.call.address);
        await open.end(asked.bid, left);
      },
    };
  };

  const deliver = (asked: PaidCall, open: PaymentDesk, purchase: Purchase): PlanAnswer => ({
    status: 200,
    ...openKey(purchase),
    end(left) {
      if (left === 'whole') challenges.giveBack(asked.call.address);
      return open.endDelivery(purchase, asked.bid, left);
    },
  });

  const claimPayment = (asked: PaidCall, open: PaymentDesk): PlanPayment => ({
    buys: 'plan',
    async buy() {
      const purchase = await open.claimKey(asked.bid).catch(() => null);
      return purchase === null ? PENDING : deliver(asked, open, purchase);
    },
  });

  const planPayment = (asked: PaidCall, open: PaymentDesk): PlanPayment => ({
    buys: 'plan',
    async buy() {
      const bought = await open.buyPlan(asked.bid);
      if (bought.is === 'bought') return deliver(asked, open, bought.purchase);
      if (bought.is === 'unknown') return PENDING;
      if (bought.is === 'refused') return refusePlan(asked, open, bought.why);
      const refused = refuse(asked, bought.reason);
      const payer = asked.bid.payment.payload.authorization.from;
      const settlement = { success: false, errorReason: bought.reason, transaction: '', network: terms.network, payer };
      return { ...refused, headers: { ...refused.headers, 'payment-response': encodeSettlement(settlement) } };
    },
  });

  return { callPayment, claimPayment, planPayment };
};

export const openPaymentChecks = (deps: ChecksDeps): PaymentChecks => {
  const { desk, terms, count = () => undefined } = deps;
  const refusals = createRefusals(deps);
  const { refuse } = refusals;
  const { callPayment, claimPayment, planPayment } = createPayments(deps, refusals);

  const present = async (asked: PaidCall, open: PaymentDesk): Promise<Payment | Refused> => {
    const { payment, offers } = asked.bid;
    const standing = await open.standing(payment).catch(() => null);
    if (standing === null) return AWAY;
    switch (findHindrance(standing, payment)) {
      case 'claim':
        return claimPayment(asked, open);
      case 'pending':
        return PENDING;
      case 'known':
        return refuse(asked, 'already_presented');
      case 'blocked':
        return refuse(asked, 'payer_blocked');
      case 'limit':
        return TOO_MANY;
      case null:
        return isForPlan(payment, offers) ? planPayment(asked, open) : callPayment(asked, open);
    }
  };

  return {
    challenge(call, price) {
      count('offered');
      return makeChallengeAnswer(call, price, { error: null, deps });
    },
    async present(call, price) {
      if (desk === null) return OFF;
      const payment = readPayment(call.headers);
      if ('malformed' in payment) return refuseMalformed(payment.malformed);
      const bid = { payment, offers: listOffers(terms, price), receiptId: call.receiptId };
      return present({ call, price, bid }, desk);
    },
  };
};
