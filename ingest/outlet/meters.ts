// Metrics of the path to Kafka.
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';
import type { OutletState } from './outlet.ts';
import type { Spool } from './spool.ts';

type Sources = { readonly outlet: { readonly state: () => OutletState }; readonly spool: Spool };

/** Read at each scrape, so that the values are current. */
export const registerOutletMeters = (registry: Registry, { outlet, spool }: Sources): void => {
  const { watchCounter, watchGauge } = bindMetrics(registry);
  watchGauge('ingest_queue_bytes', 'Bytes in memory that wait for Kafka.', () => outlet.state().queuedBytes);
  watchGauge('ingest_spooling', '1 while new messages are written to disk.', () => Number(outlet.state().spooling));
  watchGauge('ingest_kafka_behind_seconds', 'Age of the oldest message that Kafka does not have.', () =>
    toSeconds(outlet.state().behindMs),
  );
  watchGauge('ingest_refusing', '1 while connections are ended because no message can be stored.', () =>
    Number(outlet.state().refusal !== null),
  );
  watchGauge('ingest_spool_bytes', 'Bytes in the spool.', () => spool.bytes());
  watchGauge('ingest_spool_unwritten_bytes', 'Bytes of the spool that are not on disk yet.', () =>
    spool.pendingBytes(),
  );
  watchGauge('ingest_spool_age_seconds', 'Age of the oldest message in the spool.', () => toSeconds(spool.ageMs()));
  watchCounter('ingest_spool_written_bytes_total', 'Bytes written to the spool.', () => spool.counts().writtenBytes);
  watchCounter('ingest_spool_syncs_total', 'Writes to the spool, each with an fsync.', () => spool.counts().syncs);
  watchCounter('ingest_spool_drained_total', 'Messages brought from the spool to Kafka.', () => outlet.state().drained);
  watchCounter(
    'ingest_spool_dropped_bytes_total',
    'Bytes of incomplete records in spool files.',
    () => spool.counts().droppedBytes,
  );
};

const toSeconds = (ms: number): number => ms / 1_000;
