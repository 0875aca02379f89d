// Metrics of the nightly runner, in Prometheus form.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { AnchorStatus } from '../../schemas/anchor-chain.ts';

/** Events of a transaction that posts a day root. */
export type TransactionEvent = 'signed' | 'sent' | 'fee_raised' | 'mined' | 'reverted' | 'nonce_lost';

export type NightlyMetrics = {
  readonly ended: (step: string, result: 'done' | 'failed', seconds: number) => void;
  readonly missing: (step: string, days: number) => void;
  readonly rechecked: (result: 'equal' | 'different' | 'refused') => void;
  readonly compared: (result: 'equal' | 'different') => void;
  readonly openIncidents: (count: number) => void;
  readonly transaction: (event: TransactionEvent) => void;
  readonly anchorDays: (status: AnchorStatus, days: number) => void;
  readonly lateAnchors: (days: number) => void;
};

export const createNightlyMetrics = (registry: Registry): NightlyMetrics => {
  const registers = [registry];
  const runs = new Counter({
    name: 'nightly_steps_total',
    help: 'Ended attempts at a step.',
    labelNames: ['step', 'result'],
    registers,
  });
  const took = new Gauge({
    name: 'nightly_step_seconds',
    help: 'Duration of the last attempt.',
    labelNames: ['step'],
    registers,
  });
  const missing = new Gauge({
    name: 'nightly_missing_days',
    help: 'Days whose step is due and not done; more than one for hours is an alarm.',
    labelNames: ['step'],
    registers,
  });
  const rechecked = new Counter({
    name: 'nightly_rechecked_requests_total',
    help: 'Settled requests asked again; anything but equal is an alarm.',
    labelNames: ['result'],
    registers,
  });
  const compared = new Counter({
    name: 'nightly_compared_partitions_total',
    help: 'Partitions of closed days compared with their leaves; different is an alarm.',
    labelNames: ['result'],
    registers,
  });
  const incidents = new Gauge({
    name: 'nightly_open_incidents',
    help: 'Open incidents; above 0 is an alarm.',
    registers,
  });
  const transactions = new Counter({
    name: 'nightly_anchor_transactions_total',
    help: 'What became of transactions that post day roots; reverted and nonce_lost are alarms.',
    labelNames: ['event'],
    registers,
  });
  const anchorDays = new Gauge({
    name: 'nightly_anchor_days',
    help: 'Closed days by the status of their anchor; failed above 0 is an alarm.',
    labelNames: ['status'],
    registers,
  });
  const late = new Gauge({
    name: 'nightly_late_anchor_days',
    help: 'Closed days that are not confirmed a day after they were due; above 0 is an alarm.',
    registers,
  });
  return {
    ended: (step, result, seconds) => {
      runs.inc({ step, result });
      took.set({ step }, seconds);
    },
    missing: (step, days) => missing.set({ step }, days),
    rechecked: (result) => rechecked.inc({ result }),
    compared: (result) => compared.inc({ result }),
    openIncidents: (count) => incidents.set(count),
    transaction: (event) => transactions.inc({ event }),
    anchorDays: (status, days) => anchorDays.set({ status }, days),
    lateAnchors: (days) => late.set(days),
  };
};
