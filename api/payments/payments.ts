// Payments of one process put together: store, facilitator, chain and settlement behind the checks of access.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/log.ts';
import type { Registry } from '../../infra/runtime/metrics.ts';
import type { PaymentChecks } from '../access/call.ts';
import { openPaymentChain } from './chain.ts';
import { ChallengeMeter } from './challenge-meter.ts';
import { openPaymentChecks } from './checks.ts';
import { openDesk } from './desk.ts';
import { openFacilitator } from './facilitator.ts';
import { createPaymentMetrics } from './metrics.ts';
import type { PaymentTerms } from './offers.ts';
import { openPurchases } from './purchases.ts';
import { startSettlement } from './settlement.ts';
import { openPaymentStore } from './store.ts';

export type PaymentSettings = {
  readonly terms: PaymentTerms;
  readonly baseUrl: string;
  /** Null: payments are off. */
  readonly facilitator: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | null;
  readonly rpcUrl: string | null;
};

export type Payments = { readonly checks: PaymentChecks; readonly stop: () => Promise<void> };

/** Needs none of facilitator, chain and database to start. */
export const startPayments = (
  { terms, baseUrl, facilitator: settings, rpcUrl }: PaymentSettings,
  { pool, registry, log }: { readonly pool: Pool; readonly registry: Registry; readonly log: Logger },
): Payments => {
  const challenges = new ChallengeMeter();
  if (settings === null || rpcUrl === null) {
    return { checks: openPaymentChecks({ terms, baseUrl, challenges, desk: null }), stop: async () => undefined };
  }
  const store = openPaymentStore(pool);
  const purchases = openPurchases(pool);
  const facilitator = openFacilitator(settings.url, settings.headers);
  const chain = openPaymentChain(rpcUrl);
  const count = createPaymentMetrics(registry, store);
  const settlement = startSettlement({ store, purchases, facilitator, chain, count, log });
  const desk = openDesk({ store, purchases, facilitator, chain, settlement, count, log });
  return { checks: openPaymentChecks({ terms, baseUrl, challenges, desk, count }), stop: settlement.stop };
};
