// Metrics of the sink, in Prometheus form.
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';

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
  const { makeCounter, makeGauge, makeHistogram, watchGauge } = bindMetrics(registry);
  const written = makeCounter('sink_rows_written_total', 'Rows acknowledged by QuestDB.', ['table']);
  const flush = makeHistogram('sink_flush_seconds', 'Time of a flush of all tables.', { buckets: SECONDS });
  const visible = makeHistogram('sink_visible_seconds', 'Time from a flush to its rows being readable.', {
    buckets: SECONDS,
  });
  const failures = makeCounter('sink_failures_total', 'Batches that QuestDB refused and that wait.');
  let problem = (): string | null => null;
  watchGauge('sink_questdb_away', '1 while rows wait for QuestDB.', () => (problem() === null ? 0 : 1));
  const buffered = makeGauge('sink_buffered_rows', 'Rows read from Kafka and not yet being written.');
  const lag = makeGauge('sink_lag_records', 'Records of `rows` that have not been read yet.', ['task']);
  const watermark = makeGauge('sink_history_watermark_seconds', 'History W of a task, seconds since 1970.', ['task']);
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
