// The 402 challenge: what a call costs, what plans cost, how to pay (P-01, P-05). Payments themselves are not taken yet.
import type { Endpoint } from '../contract/endpoint.ts';
import { PLANS, type Plan } from '../contract/plans.ts';
import { bazaarOf } from './bazaar.ts';

export type PaymentTerms = {
  readonly network: string;
  readonly asset: string;
  /** Receiver's address; null: nothing can be bought, and the challenge says so by offering nothing. */
  readonly payTo: string | null;
  /** EIP-712 domain of the token. */
  readonly token: { readonly name: string; readonly version: string };
};

const ATOMIC_PER_USD = 1_000_000;
const MAX_TIMEOUT_S = 60;

const entry = (terms: PaymentTerms, amount: number, extra: Readonly<Record<string, string>>) => ({
  scheme: 'exact',
  network: terms.network,
  amount: String(amount),
  asset: terms.asset,
  payTo: terms.payTo ?? '',
  maxTimeoutSeconds: MAX_TIMEOUT_S,
  extra: { ...terms.token, ...extra },
});

const acceptsOf = (terms: PaymentTerms, operation: Endpoint, atomic: number) => {
  if (terms.payTo === null) return [];
  const sold: Plan[] = Object.values(PLANS).filter((plan) => plan.price_usd > 0);
  return [
    entry(terms, atomic, { kind: 'call', class: operation.class }),
    ...sold.map((plan) => entry(terms, plan.price_usd * ATOMIC_PER_USD, { kind: 'plan', plan: plan.code })),
  ];
};

/** The challenge body of a payable operation; the `PAYMENT-REQUIRED` header is the same object in base64. */
export const challengeOf = (
  operation: Endpoint,
  atomic: number,
  context: { readonly terms: PaymentTerms; readonly baseUrl: string },
) => {
  const { terms, baseUrl } = context;
  const usd = String(atomic / ATOMIC_PER_USD);
  const hint =
    terms.payTo === null ? 'Send a key.' : 'Send a key, or sign accepts[0] and retry with PAYMENT-SIGNATURE.';
  return {
    x402Version: 2,
    error: 'PAYMENT-SIGNATURE header is required',
    resource: {
      url: `${baseUrl}${operation.path}`,
      description: `${operation.summary} Charged only on a 200/302 answer.`,
      mimeType: 'application/json',
    },
    accepts: acceptsOf(terms, operation, atomic),
    errors: [{ code: 'PAYMENT_REQUIRED', message: `This call costs ${usd} USDC.`, hint }],
    extensions: { bazaar: bazaarOf(operation) },
  };
};

/** Challenges a source address may ask for in a minute (P-05). */
export const CHALLENGES_PER_MINUTE = 60;
/** `drop-oldest`. */
const MOST_SOURCES = 50_000;

/** IPv4 addresses count whole, IPv6 ones by their /64. */
const sourceOf = (address: string): string => {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter((g) => g !== '');
  const tailGroups = tail.split(':').filter((g) => g !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - tailGroups.length) }, () => '0');
  return [...groups, ...zeros, ...tailGroups].slice(0, 4).join(':');
};

export class ChallengeMeter {
  readonly #sources = new Map<string, { minute: number; used: number }>();

  /** Seconds to wait when the address has had its share of this minute, else null. */
  admit(address: string, nowMs: number): number | null {
    const source = sourceOf(address);
    const minute = Math.floor(nowMs / 60_000);
    let count = this.#sources.get(source);
    if (count === undefined || count.minute !== minute) {
      count = { minute, used: 0 };
      this.#sources.delete(source);
      this.#sources.set(source, count);
      if (this.#sources.size > MOST_SOURCES) this.#forgetOldest();
    }
    if (count.used >= CHALLENGES_PER_MINUTE) return Math.max(1, Math.ceil(60 - (nowMs % 60_000) / 1_000));
    count.used += 1;
    return null;
  }

  #forgetOldest(): void {
    for (const source of this.#sources.keys()) return void this.#sources.delete(source);
  }
}
