// Metrics of the sink, in Prometheus form.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type SinkMetrics = {
  readonly written: (table: string, rows: number) => void;
  readonly flushed: (took: { readonly seconds: number; readonly visibleSeconds: number }) => void;
  readonly failed: () => void;
  /** Source of the gauge `sink_questdb_away`, called at each read. */
  readonly watchProblem: (problem: () => string | null) => void;
  readonly buffered: (rows: number) => void;
  readonly lag: (task: string, records: number) => void;
  readonly historyWatermark: (task: string, micros: number) => void;
};

const SECONDS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10];

export const createSinkMetrics = (registry: Registry): SinkMetrics => {
  const registers = [registry];
  const written = new Counter({
    name: 'sink_rows_written_total',
    help: 'Rows acknowledged by QuestDB.',
    labelNames: ['table'],
    registers,
  });
  const flush = new Histogram({
    name: 'sink_flush_seconds',
    help: 'Time of a flush of all tables.',
    buckets: SECONDS,
    registers,
  });
  const visible = new Histogram({
    name: 'sink_visible_seconds',
    help: 'Time from a flush to its rows being readable.',
    buckets: SECONDS,
    registers,
  });
  const failures = new Counter({
    name: 'sink_failures_total',
    help: 'Batches that QuestDB refused and that wait.',
    registers,
  });
  let problem = (): string | null => null;
  new Gauge({
    name: 'sink_questdb_away',
    help: '1 while rows wait for QuestDB.',
    registers,
    collect() {
      this.set(problem() === null ? 0 : 1);
    },
  });
  const buffered = new Gauge({
    name: 'sink_buffered_rows',
    help: 'Rows read from Kafka and not yet being written.',
    registers,
  });
  const lag = new Gauge({
    name: 'sink_lag_records',
    help: 'Records not yet read from rows.',
    labelNames: ['task'],
    registers,
  });
  const watermark = new Gauge({
    name: 'sink_history_watermark_seconds',
    help: 'History W of a task, seconds since 1970.',
    labelNames: ['task'],
    registers,
  });
  return {
    written: (table, rows) => written.inc({ table }, rows),
    flushed: ({ seconds, visibleSeconds }) => {
      flush.observe(seconds);
      visible.observe(visibleSeconds);
    },
    failed: () => failures.inc(),
    watchProblem: (ask) => {
      problem = ask;
    },
    buffered: (rows) => buffered.set(rows),
    lag: (task, records) => lag.set({ task }, records),
    historyWatermark: (task, micros) => watermark.set({ task }, micros / 1e6),
  };
};
