// Assembles the payments of a process, where they are enabled: store, facilitator, chain and settlement.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { Registry } from '../../infra/runtime/process/metrics.ts';
import { openPaymentChain } from './chain.ts';
import { openDesk, type PaymentDesk } from './desk.ts';
import { openFacilitator } from './facilitator.ts';
import { type CountPayment, createPaymentMetrics } from './metrics.ts';
import { openPurchases } from './purchases.ts';
import { startSettlement } from './settlement.ts';
import { openPaymentStore } from './store.ts';

export type DeskSettings = {
  readonly facilitator: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly rpcUrl: string;
};
export type DeskParts = { readonly pool: Pool; readonly registry: Registry; readonly log: Logger };
type OpenedDesk = { readonly desk: PaymentDesk; readonly count: CountPayment; readonly stop: () => Promise<void> };

/** Needs none of facilitator, chain and database to start. */
export const openSettledDesk = (
  { facilitator: { url, headers }, rpcUrl }: DeskSettings,
  { pool, registry, log }: DeskParts,
): OpenedDesk => {
  const store = openPaymentStore(pool);
  const purchases = openPurchases(pool);
  const facilitator = openFacilitator(url, headers);
  const chain = openPaymentChain(rpcUrl);
  const count = createPaymentMetrics(registry, store);
  const settlement = startSettlement({ store, purchases, facilitator, chain, count, log });
  const desk = openDesk({ store, purchases, facilitator, chain, settlement, count, log });
  return { desk, count, stop: settlement.stop };
};
