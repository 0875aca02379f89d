// The 402 answer: what a call costs, what plans cost, how to pay, and what was wrong with the payment that was presented (P-01, P-03, P-05).
import type { Call, Price, Refused } from '../access/call.ts';
import { formatCount } from '../contract/counts.ts';
import { makeLimitHeaders } from '../contract/limits.ts';
import { makeBazaar } from './bazaar.ts';
import { CHALLENGES_PER_MINUTE, type ChallengeMeter } from './challenge-meter.ts';
import { ATOMIC_PER_USD, listOffers, type PaymentTerms } from './offers.ts';

export type ChallengeDeps = {
  readonly terms: PaymentTerms;
  readonly baseUrl: string;
  readonly challenges: ChallengeMeter;
};

const NONE_SENT = 'PAYMENT-SIGNATURE header is required';
const RETRY = 'Sign a new payment and repeat the call.';
/** Where a new payment by the same payer would be wrong, or refused too (P-03, P-04). */
const HINTS: Readonly<Record<string, string>> = {
  already_presented:
    'This payment has been used or is in use. Use its answer, and sign a new payment only for another call.',
  payer_blocked: 'Send a key, or pay from another address: this payer is refused for up to 24 hours.',
  insufficient_funds: 'Add USDC to the payer, then sign a new payment and repeat the call.',
};

/** `error` names the fault of a payment; null: no payment was sent. */
const makeBody = (
  { operation }: Call,
  price: Price,
  { error, deps }: { error: string | null; deps: ChallengeDeps },
) => {
  const { terms, baseUrl } = deps;
  const first =
    terms.payTo === null ? 'Send a key.' : `Send a key, or sign accepts[0] and retry with PAYMENT-SIGNATURE.`;
  return {
    x402Version: 2,
    error: error ?? NONE_SENT,
    resource: {
      url: `${baseUrl}${price.path}`,
      description: `${operation.summary} Charged only on a 200/302 answer.`,
      mimeType: 'application/json',
    },
    accepts: listOffers(terms, price),
    errors: [
      {
        code: 'PAYMENT_REQUIRED' as const,
        message: error ?? `This call costs ${price.amount / ATOMIC_PER_USD} USDC.`,
        hint: error === null ? first : (HINTS[error] ?? RETRY),
      },
    ],
    extensions: { bazaar: makeBazaar(operation) },
  };
};

/** The same object in header and body, or a 429 when the address has had its share of them. */
export const makeChallengeAnswer = (
  call: Call,
  price: Price,
  { error, deps }: { readonly error: string | null; readonly deps: ChallengeDeps },
): Refused => {
  const wait = deps.challenges.admit(call.address, call.nowMs);
  if (wait !== null) return refuseTooMany(wait);
  const body = makeBody(call, price, { error, deps });
  const header = Buffer.from(JSON.stringify(body)).toString('base64');
  return { status: 402, headers: { 'payment-required': header }, body };
};

const refuseTooMany = (wait: number): Refused => ({
  status: 429,
  headers: makeLimitHeaders({
    limit: 'x402_challenges_per_minute',
    figure: CHALLENGES_PER_MINUTE,
    retryAfterS: wait,
  }),
  body: {
    errors: [
      {
        code: 'RATE_LIMITED',
        message: `More than ${CHALLENGES_PER_MINUTE} payment challenges a minute were asked for.`,
        hint: `Wait ${formatCount(wait, 'second')}, or send a key.`,
      },
    ],
  },
});
