// The three ways out of a processor to Kafka. Each has one request in flight, so what is small and awaited does not stand behind what is large.
import {
  createPublisher,
  type KafkaHandle,
  type Publisher,
  type PublisherOptions,
} from '../infra/runtime/kafka/kafka.ts';

export type Outlets = {
  /** `live`, and what keeps the service moving: watermarks and ticks. */
  readonly live: Publisher;
  /** Everything that is kept: `md`, rows, versions, dead letters, state rounds. */
  readonly kept: Publisher;
  /** Megabytes of state. */
  readonly checkpoints: Publisher;
};

/** A backlog is limited by the broker's answers, one at a time: each takes along as much as a request may hold. */
const MAX_RECORDS = 5_000;

/** `md` alone has sixty partitions, and each one in a request is a batch of its own: a request every 5 ms would be batches of one record. */
const KEPT_LINGER_MS = 100;
const LIVE_LINGER_MS = 2;

export const openOutlets = (handle: KafkaHandle): Outlets => {
  const open = (options: PublisherOptions): Publisher =>
    createPublisher(handle, { maxRecords: MAX_RECORDS, ...options });
  return {
    // Kept for a quarter of an hour, and packing it takes a tenth of the task's processor time.
    live: open({ lingerMs: LIVE_LINGER_MS, compresses: false }),
    kept: open({ lingerMs: KEPT_LINGER_MS }),
    // Each is read once, at most; a gigabyte of them is kept.
    checkpoints: open({ lingerMs: KEPT_LINGER_MS, compresses: false }),
  };
};

/** Everything readers may know of is with the brokers. */
export const flushOutputs = async ({ live, kept }: Outlets): Promise<void> => {
  await Promise.all([live.flush(), kept.flush()]);
};

/** Longest time one of them has waited for an acknowledgement; 0 when none does. */
export const stalledMs = (outlets: Outlets): number =>
  Math.max(...Object.values(outlets).map((publisher) => publisher.stalledMs()));

export const closeOutlets = async (outlets: Outlets): Promise<void> => {
  await Promise.all(Object.values(outlets).map((publisher) => publisher.close()));
};
