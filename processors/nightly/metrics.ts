// Metrics of the nightly runner, in Prometheus form.
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';
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
  const { makeCounter, makeGauge } = bindMetrics(registry);
  const runs = makeCounter('nightly_steps_total', 'Ended attempts at a step.', ['step', 'result']);
  const took = makeGauge('nightly_step_seconds', 'Duration of the last attempt.', ['step']);
  const missing = makeGauge(
    'nightly_missing_days',
    'Days whose step is due and not done; more than one for hours is an alarm.',
    ['step'],
  );
  const rechecked = makeCounter(
    'nightly_rechecked_requests_total',
    'Settled requests that were repeated, by result; any result other than `equal` is an alarm.',
    ['result'],
  );
  const compared = makeCounter(
    'nightly_compared_partitions_total',
    'Partitions of closed days compared with their leaves; different is an alarm.',
    ['result'],
  );
  const incidents = makeGauge('nightly_open_incidents', 'Open incidents; above 0 is an alarm.');
  const transactions = makeCounter(
    'nightly_anchor_transactions_total',
    'What became of transactions that post day roots; reverted and nonce_lost are alarms.',
    ['event'],
  );
  const anchorDays = makeGauge(
    'nightly_anchor_days',
    'Closed days by the status of their anchor; failed above 0 is an alarm.',
    ['status'],
  );
  const late = makeGauge(
    'nightly_late_anchor_days',
    'Closed days that are not confirmed a day after they were due; above 0 is an alarm.',
  );
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
