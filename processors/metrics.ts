// Metrics of the processors, in Prometheus form.
import { bindMetrics, type Registry } from '../infra/runtime/process/metrics.ts';
import { type MeterStep, meterSteps } from '../infra/runtime/process/steps.ts';
import type { Unexpected } from '../ingest/venues/contract/listings.ts';

export type ProcessorMetrics = {
  recordApplied(task: string, kind: string): void;
  deadLetter(code: string): void;
  /** Counts a message, or a part of one, that its venue's file does not know. */
  unexpected(venue: string, kind: Unexpected): void;
  checkpointSaved(task: string): void;
  /** Alarm: the task started at its log's start. */
  checkpointUnusable(task: string, reason: string): void;
  /** Alarm: a row records windows that the service itself lost. */
  windowsLost(task: string): void;
  /** Share of listings with a present value, and whether it has been too low for too long. */
  presence(venue: string, layer: string, now: { readonly share: number; readonly isAlarm: boolean }): void;
  presenceLow(venue: string, layer: string): void;
  watermarkPublished(task: string, micros: number): void;
  lag(task: string, records: number): void;
  readonly meterStep: MeterStep;
};

export const createProcessorMetrics = (registry: Registry): ProcessorMetrics => {
  const { makeCounter, makeGauge } = bindMetrics(registry);
  const applied = makeCounter('processor_records_applied_total', 'Raw records applied by a task.', ['task', 'kind']);
  const dead = makeCounter('processor_dead_letters_total', 'Messages that could not be read.', ['code']);
  const unexpected = makeCounter(
    'processor_unexpected_total',
    'What a venue sent that its file does not know, by kind.',
    ['venue', 'kind'],
  );
  const saved = makeCounter('processor_checkpoints_total', 'Complete checkpoint rounds.', ['task']);
  const unusable = makeCounter(
    'processor_checkpoint_unusable_total',
    "Starts at the log's beginning because no checkpoint could be used (alarm).",
    ['task', 'reason'],
  );
  const lost = makeCounter(
    'processor_storage_failure_rows_total',
    'Gap rows of windows that the service itself lost (alarm).',
    ['task'],
  );
  const watermark = makeGauge(
    'processor_watermark_seconds',
    'Watermark W that a task has published after its outputs were acknowledged, in seconds since 1970.',
    ['task'],
  );
  const presence = makeGauge('processor_present_share', "Share of this process's listings whose value is present.", [
    'venue',
    'layer',
  ]);
  const presenceAlarm = makeGauge('processor_present_alarm', '1 while that share has been too low for a minute.', [
    'venue',
    'layer',
  ]);
  const presenceAlarms = makeCounter(
    'processor_present_alarms_total',
    'Times that the share of present values stayed too low (alarm).',
    ['venue', 'layer'],
  );
  const lag = makeGauge('processor_lag_records', 'Raw records between a task and the end of its partition.', ['task']);
  return {
    recordApplied: (task, kind) => applied.inc({ task, kind }),
    deadLetter: (code) => dead.inc({ code }),
    unexpected: (venue, kind) => unexpected.inc({ venue, kind }),
    checkpointSaved: (task) => saved.inc({ task }),
    checkpointUnusable: (task, reason) => unusable.inc({ task, reason }),
    windowsLost: (task) => lost.inc({ task }),
    presence: (venue, layer, { share, isAlarm }) => {
      presence.set({ venue, layer }, share);
      presenceAlarm.set({ venue, layer }, isAlarm ? 1 : 0);
    },
    presenceLow: (venue, layer) => presenceAlarms.inc({ venue, layer }),
    watermarkPublished: (task, micros) => watermark.set({ task }, micros / 1e6),
    lag: (task, records) => lag.set({ task }, records),
    meterStep: meterSteps(registry),
  };
};
