// Payments of one process behind the checks of access.
import type { PaymentChecks } from '../access/call.ts';
import { ChallengeMeter } from './challenge-meter.ts';
import { openPaymentChecks } from './checks.ts';
import type { PaymentTerms } from './offers.ts';
import type { DeskParts, DeskSettings } from './open-desk.ts';

export type PaymentSettings = {
  readonly terms: PaymentTerms;
  readonly baseUrl: string;
  /** Null: payments are off. */
  readonly facilitator: DeskSettings['facilitator'] | null;
  readonly rpcUrl: string | null;
};

type Payments = { readonly checks: PaymentChecks; readonly stop: () => Promise<void> };

/** Needs none of facilitator, chain and database to start. */
export const startPayments = async (
  { terms, baseUrl, facilitator, rpcUrl }: PaymentSettings,
  parts: DeskParts,
): Promise<Payments> => {
  const challenges = new ChallengeMeter();
  if (facilitator === null || rpcUrl === null) {
    return { checks: openPaymentChecks({ terms, baseUrl, challenges, desk: null }), stop: async () => undefined };
  }
  // The library that reads a chain is a sixth of what the process loads: nobody needs it where payments are off.
  const { openSettledDesk } = await import('./open-desk.ts');
  const { desk, count, stop } = openSettledDesk({ facilitator, rpcUrl }, parts);
  return { checks: openPaymentChecks({ terms, baseUrl, challenges, desk, count }), stop };
};
