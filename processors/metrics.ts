// Metrics of the processors, in Prometheus form.
import { Counter, Gauge, type Registry } from 'prom-client';
import { type MeterStep, meterSteps } from '../infra/runtime/steps.ts';
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
  const registers = [registry];
  const applied = new Counter({
    name: 'processor_records_applied_total',
    help: 'Raw records applied by a task.',
    labelNames: ['task', 'kind'],
    registers,
  });
  const dead = new Counter({
    name: 'processor_dead_letters_total',
    help: 'Messages that could not be read.',
    labelNames: ['code'],
    registers,
  });
  const unexpected = new Counter({
    name: 'processor_unexpected_total',
    help: 'What a venue sent that its file does not know, by kind.',
    labelNames: ['venue', 'kind'],
    registers,
  });
  const saved = new Counter({
    name: 'processor_checkpoints_total',
    help: 'Complete checkpoint rounds.',
    labelNames: ['task'],
    registers,
  });
  const unusable = new Counter({
    name: 'processor_checkpoint_unusable_total',
    help: "Starts at the log's beginning because no checkpoint could be used (alarm).",
    labelNames: ['task', 'reason'],
    registers,
  });
  const lost = new Counter({
    name: 'processor_storage_failure_rows_total',
    help: 'Gap rows of windows that the service itself lost (alarm).',
    labelNames: ['task'],
    registers,
  });
  const watermark = new Gauge({
    name: 'processor_watermark_seconds',
    help: 'W that a task has published, its outputs acknowledged: seconds since 1970.',
    labelNames: ['task'],
    registers,
  });
  const presence = new Gauge({
    name: 'processor_present_share',
    help: "Share of this process's listings whose value is present.",
    labelNames: ['venue', 'layer'],
    registers,
  });
  const presenceAlarm = new Gauge({
    name: 'processor_present_alarm',
    help: '1 while that share has been too low for a minute.',
    labelNames: ['venue', 'layer'],
    registers,
  });
  const presenceAlarms = new Counter({
    name: 'processor_present_alarms_total',
    help: 'Times that the share of present values stayed too low (alarm).',
    labelNames: ['venue', 'layer'],
    registers,
  });
  const lag = new Gauge({
    name: 'processor_lag_records',
    help: 'Raw records between a task and the end of its partition.',
    labelNames: ['task'],
    registers,
  });
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
