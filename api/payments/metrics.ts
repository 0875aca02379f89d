// Metrics of payments: how many came how far, and how long what is not settled waits.
import { Counter, Gauge } from 'prom-client';
import type { Registry } from '../../infra/runtime/metrics.ts';
import type { PaymentStore } from './store.ts';

export const PAYMENT_EVENTS = ['offered', 'refused', 'verified', 'served', 'settled', 'failed', 'unknown'] as const;
export type PaymentEvent = (typeof PAYMENT_EVENTS)[number];
export type CountPayment = (event: PaymentEvent) => void;

export const createPaymentMetrics = (registry: Registry, store: Pick<PaymentStore, 'overdue'>): CountPayment => {
  const registers = [registry];
  const payments = new Counter({
    name: 'perp_payments_total',
    help: 'Payments by how far they came; offered: 402 answers.',
    labelNames: ['event'],
    registers,
  });
  for (const event of PAYMENT_EVENTS) payments.inc({ event }, 0);
  const overdue = new Gauge({
    name: 'perp_payments_overdue',
    help: 'Payments that were served and are unsettled past their validity.',
    registers,
  });
  new Gauge({
    name: 'perp_payments_unknown_seconds',
    help: 'Age of the oldest settlement whose outcome is unknown; 0: there is none.',
    registers,
    async collect() {
      // While the database is unavailable the last figures remain.
      const now = await store.overdue().catch(() => null);
      if (now === null) return;
      this.set(now.unknownS);
      overdue.set(now.overdue);
    },
  });
  return (event) => payments.inc({ event });
};
