// The metrics of a collector for one venue.
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';

export type VenueMeters = {
  /** `what`: data, ack, heartbeat, error; or `response`. */
  readonly message: (slot: string, what: string, bytes: number) => void;
  readonly connections: (open: number) => void;
  readonly lost: (cause: string) => void;
  readonly restAnswer: (status: string) => void;
  readonly restWeight: (weight: number) => void;
  readonly pollMissed: (slot: string) => void;
  readonly bookSnapshot: (why: string) => void;
  /** `kind`: candle or confirmation. */
  readonly fillIn: (kind: string) => void;
  readonly renewed: (subscriptions: number) => void;
  /** `change` is 1 when a socket is paused, -1 when it is read again. */
  readonly paused: (change: 1 | -1) => void;
  readonly tickSkipped: () => void;
};
export type Meters = {
  readonly venue: (venue: string) => VenueMeters;
  readonly clockOffset: (seconds: number) => void;
};

export const createMeters = (registry: Registry): Meters => {
  const { makeCounter, makeGauge } = bindMetrics(registry);
  const frames = makeCounter('ingest_messages_total', 'Messages written, by what the venue file says they are.', [
    'venue',
    'slot',
    'what',
  ]);
  const bytes = makeCounter('ingest_bytes_total', 'Payload bytes written.', ['venue']);
  const open = makeGauge('ingest_connections_open', 'Open connections (a poll slot counts as one).', ['venue']);
  const lost = makeCounter('ingest_connections_lost_total', 'Ends of connections and failed attempts, by cause.', [
    'venue',
    'cause',
  ]);
  const answers = makeCounter('ingest_rest_answers_total', 'REST responses by status; `none` means no response.', [
    'venue',
    'status',
  ]);
  const weight = makeCounter('ingest_rest_weight_total', "REST weight spent of the venue's limit.", ['venue']);
  const missed = makeCounter('ingest_poll_missed_total', 'Periods of a poll slot without an answer.', [
    'venue',
    'slot',
  ]);
  const snapshots = makeCounter(
    'ingest_book_snapshots_total',
    'Book snapshots requested: to start a book, to confirm a quiet one, to refresh an old one.',
    ['venue', 'why'],
  );
  const fillIns = makeCounter(
    'ingest_fill_ins_total',
    'Requests for data that sockets omitted: candle, confirmation.',
    ['venue', 'kind'],
  );
  const renewed = makeCounter('ingest_subscriptions_renewed_total', 'Subscriptions renewed after silence.', ['venue']);
  const paused = makeGauge('ingest_sockets_paused', 'Sockets that are not read because Kafka accepts no more.', [
    'venue',
  ]);
  const offset = makeGauge('ingest_clock_offset_seconds', "Collector's clock ahead of the broker's.");
  const skipped = makeCounter('ingest_ticks_skipped_total', 'Ticks not written because Kafka accepts no more.', []);
  return {
    venue: (venue) => ({
      message: (slot, what, size) => {
        frames.inc({ venue, slot, what });
        bytes.inc({ venue }, size);
      },
      connections: (count) => open.set({ venue }, count),
      lost: (cause) => lost.inc({ venue, cause }),
      restAnswer: (status) => answers.inc({ venue, status }),
      restWeight: (spent) => weight.inc({ venue }, spent),
      pollMissed: (slot) => missed.inc({ venue, slot }),
      bookSnapshot: (why) => snapshots.inc({ venue, why }),
      fillIn: (kind) => fillIns.inc({ venue, kind }),
      renewed: (subscriptions) => renewed.inc({ venue }, subscriptions),
      paused: (change) => paused.inc({ venue }, change),
      tickSkipped: () => skipped.inc(),
    }),
    clockOffset: (seconds) => offset.set(seconds),
  };
};
