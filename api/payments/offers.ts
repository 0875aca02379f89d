// The offers for a request: the price of the call first, then the plans in ascending price (P-01). Pure.
import { PLANS, type Plan, type PlanCode } from '../contract/plans.ts';

export type PaymentTerms = {
  /** CAIP-2 name of an EVM chain: `eip155:8453`. */
  readonly network: string;
  readonly asset: string;
  /** Receiver's address; null: nothing can be bought, and the challenge offers nothing. */
  readonly payTo: string | null;
  /** EIP-712 domain of the token. */
  readonly token: { readonly name: string; readonly version: string };
};

export type Offer = {
  readonly scheme: 'exact';
  readonly network: string;
  /** Atomic units of the asset, decimal. */
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: { readonly name: string; readonly version: string } & Bought;
};
type Bought = { readonly kind: 'call'; readonly class: string } | { readonly kind: 'plan'; readonly plan: PlanCode };

export const ATOMIC_PER_USD = 1_000_000;
const MAX_TIMEOUT_S = 60;
/** One rule of agent state, in atomic USDC. */
const RULE_PRICE = 10_000;

const makeOffer = (
  terms: PaymentTerms,
  payTo: string,
  { amount, bought }: { amount: number; bought: Bought },
): Offer => ({
  scheme: 'exact',
  network: terms.network,
  amount: String(amount),
  asset: terms.asset,
  payTo,
  maxTimeoutSeconds: MAX_TIMEOUT_S,
  extra: { ...terms.token, ...bought },
});

/** Entries of `accepts` for a call of this price. */
export const listOffers = (
  terms: PaymentTerms,
  { amount, class: of }: { readonly amount: number; readonly class: string },
): readonly Offer[] => {
  const { payTo } = terms;
  if (payTo === null) return [];
  const sold: Plan[] = Object.values(PLANS).filter((plan) => plan.price_usd > 0);
  return [
    makeOffer(terms, payTo, { amount, bought: { kind: 'call', class: of } }),
    ...sold.map(({ code, price_usd }) =>
      makeOffer(terms, payTo, { amount: price_usd * ATOMIC_PER_USD, bought: { kind: 'plan', plan: code } }),
    ),
  ];
};

/** Price of agent state by the distinct rules named, in atomic USDC; with none named one rule is quoted (E-01, AG-05). */
export const computePriceOfRules = (ruleIds: readonly string[]): number =>
  Math.max(1, new Set(ruleIds).size) * RULE_PRICE;

/** Class of the ledger: both tiers of the archive are one (P-07). */
export const toLedgerClass = (of: string): string => (of === 'archive_top100' ? 'archive' : of);
