// Metrics of the processors, in Prometheus form.
import { Counter, Gauge, type Registry } from 'prom-client';

export type ProcessorMetrics = {
  recordApplied(task: string, kind: string): void;
  deadLetter(code: string): void;
  checkpointSaved(task: string): void;
  taskState(task: string, state: { readonly watermarkMicros: number; readonly lag: number }): void;
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
  const saved = new Counter({
    name: 'processor_checkpoints_total',
    help: 'Complete checkpoint rounds.',
    labelNames: ['task'],
    registers,
  });
  const watermark = new Gauge({
    name: 'processor_watermark_seconds',
    help: 'W of a task, seconds since 1970.',
    labelNames: ['task'],
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
    checkpointSaved: (task) => saved.inc({ task }),
    taskState: (task, state) => {
      watermark.set({ task }, state.watermarkMicros / 1e6);
      lag.set({ task }, state.lag);
    },
  };
};
