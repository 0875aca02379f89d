// Finds the offer that a payment is for, and how the payment differs from it (P-02, P-03). Pure; signed data is checked separately from claimed data.
import type { Accepted, SignedPayment } from './header.ts';
import type { Offer } from './offers.ts';
import type { Reason } from './reasons.ts';

/** The longest answer and its settlement fit in it. */
const LEAST_AHEAD_S = 20n;
/** `maxTimeoutSeconds` and an allowance of 300 s for the caller's clock; it bounds how long a nonce is remembered. */
const MOST_AHEAD_S = 360n;

const VALUE: Reason = 'invalid_exact_evm_payload_authorization_value_mismatch';
const RECIPIENT: Reason = 'invalid_exact_evm_payload_recipient_mismatch';
const EARLY: Reason = 'invalid_exact_evm_payload_authorization_valid_after';
const LATE: Reason = 'invalid_exact_evm_payload_authorization_valid_before';

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Without `kind` the amount alone distinguishes a plan from a call: no class costs what a plan does. */
const isMeant = ({ amount, extra }: Accepted, entry: Offer): boolean => {
  if (amount !== entry.amount) return false;
  if (extra?.kind === undefined) return true;
  return extra.kind === entry.extra.kind && extra.plan === (entry.extra.kind === 'plan' ? entry.extra.plan : undefined);
};

/** Whether the payment is for a plan: its request is not looked at (P-06). */
export const isForPlan = ({ accepted }: SignedPayment, offers: readonly Offer[]): boolean =>
  accepted.extra?.kind === 'plan' || offers.some((entry) => entry.extra.kind === 'plan' && isMeant(accepted, entry));

/** The current entry that `accepted` equals, or what differs. */
export const matchOffer = ({ accepted }: SignedPayment, offers: readonly Offer[]): Offer | Reason => {
  const [first] = offers;
  // All entries have one network, asset and receiver.
  if (first === undefined || accepted.network !== first.network) return 'invalid_network';
  if (!isSame(accepted.asset, first.asset)) return 'invalid_asset';
  if (!isSame(accepted.payTo, first.payTo)) return RECIPIENT;
  return offers.find((entry) => isMeant(accepted, entry)) ?? VALUE;
};

/** The part of the signed authorisation that does not fit the offer now; null when all does. */
export const findAuthorizationFault = ({ payload }: SignedPayment, offer: Offer, nowMs: number): Reason | null => {
  const { to, value, validAfter, validBefore } = payload.authorization;
  const now = BigInt(Math.floor(nowMs / 1_000));
  if (!isSame(to, offer.payTo)) return RECIPIENT;
  if (BigInt(value) !== BigInt(offer.amount)) return VALUE;
  if (BigInt(validAfter) > now) return EARLY;
  const ahead = BigInt(validBefore) - now;
  return ahead < LEAST_AHEAD_S || ahead > MOST_AHEAD_S ? LATE : null;
};
