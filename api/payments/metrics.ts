// Metrics of payments: the number of payments by state, and the age of unsettled ones.
import { Gauge } from 'prom-client';
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';
import type { PaymentStore } from './store.ts';

const PAYMENT_EVENTS = ['offered', 'refused', 'verified', 'served', 'settled', 'failed', 'unknown'] as const;
type PaymentEvent = (typeof PAYMENT_EVENTS)[number];
export type CountPayment = (event: PaymentEvent) => void;

export const createPaymentMetrics = (registry: Registry, store: Pick<PaymentStore, 'overdue'>): CountPayment => {
  const { makeCounter, makeGauge } = bindMetrics(registry);
  const payments = makeCounter(
    'perp_payments_total',
    'Payments by the state that they reached; offered: 402 answers.',
    ['event'],
  );
  for (const event of PAYMENT_EVENTS) payments.inc({ event }, 0);
  const overdue = makeGauge(
    'perp_payments_overdue',
    'Payments that were served and are unsettled past their validity.',
  );
  new Gauge({
    name: 'perp_payments_unknown_seconds',
    help: 'Age of the oldest settlement whose outcome is unknown; 0: there is none.',
    registers: [registry],
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
