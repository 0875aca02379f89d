// The facilitator over HTTP: verifies a payment, sends it to the chain. An unclear answer is distinguished from a refusal.
import { HTTPFacilitatorClient } from '@x402/core/server';
import {
  FacilitatorResponseError,
  type PaymentPayload,
  type PaymentRequirements,
  SettleError,
  VerifyError,
} from '@x402/core/types';
import type { SignedPayment } from './header.ts';
import type { Offer } from './offers.ts';
import { isBeforeSending, readReason, toReason, type Verdict } from './reasons.ts';

const VERIFY_MS = 5_000;
/** A block and its receipt; the longest that a settlement may take before its outcome is unknown. */
const SETTLE_MS = 30_000;
const TRANSACTION = /^0x[0-9a-f]{64}$/;

/** A payment matched to our own offer; the caller's `accepted` is not forwarded. */
export type Settleable = { readonly payload: SignedPayment['payload']; readonly offer: Offer };
/** `refused`: nothing was sent to the chain. `unknown`: something may have been. */
export type Settled =
  | { readonly is: 'settled'; readonly transaction: string }
  | { readonly is: 'refused'; readonly reason: string }
  | { readonly is: 'unknown'; readonly why: string };

export type Facilitator = {
  /** Null: the payment is good. Rejects never. */
  readonly verify: (payment: Settleable) => Promise<Verdict | null>;
  /** Rejects never. */
  readonly settle: (payment: Settleable) => Promise<Settled>;
};

/** The library's names for both; its networks are a template type. */
const toRequest = ({ payload, offer }: Settleable): [PaymentPayload, PaymentRequirements] => {
  const requirements = offer as unknown as PaymentRequirements;
  return [{ x402Version: 2, accepted: requirements, payload }, requirements];
};

/** Of an error the library passes on what the facilitator sent, whatever its type. */
type Settlement = {
  readonly success: boolean;
  readonly errorReason?: unknown;
  readonly transaction?: unknown;
  readonly network?: unknown;
  readonly payer?: unknown;
  readonly amount?: unknown;
};

const toText = (given: unknown): string => (typeof given === 'string' ? given : '');

/** In lower case; null is none, and what is no text is something that we do not know. */
const toWord = (given: unknown): string =>
  typeof (given ?? '') === 'string' ? toText(given).toLowerCase() : 'unknown';

/** Whether the answer names something else than ours; facilitators leave out or leave empty what they do not say. */
const isOther = (told: unknown, ours: string): boolean => !['', ours.toLowerCase()].includes(toWord(told));

/** An answer about another payer, network or amount says nothing about this payment. */
const isOfAnother = ({ network, payer, amount }: Settlement, { payload, offer }: Settleable): boolean =>
  isOther(network, offer.network) || isOther(payer, payload.authorization.from) || isOther(amount, offer.amount);

const readOutcome = (told: Settlement, payment: Settleable): Settled => {
  if (isOfAnother(told, payment)) return { is: 'unknown', why: 'the answer is of another payment' };
  const errorReason = toText(told.errorReason);
  const hash = toWord(told.transaction);
  if (told.success)
    return TRANSACTION.test(hash) ? { is: 'settled', transaction: hash } : { is: 'unknown', why: 'no hash' };
  const reason = toReason(errorReason);
  const isSent = hash !== '' || !isBeforeSending(reason);
  return isSent ? { is: 'unknown', why: errorReason } : { is: 'refused', reason };
};

/** The kind of failure, without the texts of the facilitator and its node. */
const findCause = (error: unknown): string =>
  error instanceof FacilitatorResponseError ? error.name : error instanceof Error ? error.name : 'no answer';

/** `headers` go with every request, for a facilitator that identifies its callers. */
export const openFacilitator = (url: string, headers: Readonly<Record<string, string>>): Facilitator => {
  const createAuthHeaders = async () => ({ verify: { ...headers }, settle: { ...headers }, supported: { ...headers } });
  const makeClient = (timeoutMs: number) => new HTTPFacilitatorClient({ url, timeoutMs, createAuthHeaders });
  const [verifier, settler] = [makeClient(VERIFY_MS), makeClient(SETTLE_MS)];
  return {
    async verify(payment) {
      try {
        const { isValid, invalidReason } = await verifier.verify(...toRequest(payment));
        return isValid ? null : readReason(toText(invalidReason));
      } catch (error) {
        return error instanceof VerifyError && error.statusCode < 500
          ? readReason(toText(error.invalidReason))
          : 'away';
      }
    },
    async settle(payment) {
      try {
        return readOutcome(await settler.settle(...toRequest(payment)), payment);
      } catch (error) {
        if (!(error instanceof SettleError) || error.statusCode >= 500) return { is: 'unknown', why: findCause(error) };
        const { errorReason, transaction, network, payer } = error;
        return readOutcome({ success: false, errorReason, transaction, network, payer }, payment);
      }
    },
  };
};
