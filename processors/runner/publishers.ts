// The three publishers of a processor. Each has one request in flight, so that small urgent records do not wait behind large ones.
import {
  createPublisher,
  type KafkaHandle,
  type Publisher,
  type PublisherOptions,
} from '../../infra/runtime/kafka/kafka.ts';

export type Publishers = {
  /** `live`, and the records that keep the service moving: watermarks and ticks. */
  readonly live: Publisher;
  /** Everything that is stored: `md`, rows, versions, dead letters, state rounds. */
  readonly kept: Publisher;
  /** Megabytes of state. */
  readonly checkpoints: Publisher;
};

/** A backlog is limited by the broker's answers, one at a time: each request is filled as far as possible. */
const MAX_RECORDS = 5_000;

/** `md` alone has sixty partitions, each a batch of its own in a request: the more often a request, the fewer records share a batch. */
const KEPT_LINGER_MS = 200;
const LIVE_LINGER_MS = 2;

export const openPublishers = (handle: KafkaHandle): Publishers => {
  const open = (options: PublisherOptions): Publisher =>
    createPublisher(handle, { maxRecords: MAX_RECORDS, ...options });
  return {
    // Retained for a quarter of an hour; compression would take a tenth of the task's processor time.
    live: open({ lingerMs: LIVE_LINGER_MS, compresses: false }),
    kept: open({ lingerMs: KEPT_LINGER_MS }),
    // Each is read at most once, and a gigabyte of them is retained.
    checkpoints: open({ lingerMs: KEPT_LINGER_MS, compresses: false }),
  };
};

/** Resolves when the brokers have everything that readers may know. */
export const flushOutputs = async ({ live, kept }: Publishers): Promise<void> => {
  await Promise.all([live.flush(), kept.flush()]);
};

/** As `flushOutputs`, except that records wait for others of their request: tasks that publish at different times would each send their own. */
export const settleOutputs = async ({ live, kept }: Publishers): Promise<void> => {
  await Promise.all([live.settle(), kept.settle()]);
};

/** The longest wait of a publisher for an acknowledgement; 0 without one. */
export const findStalledMs = (publishers: Publishers): number =>
  Math.max(...Object.values(publishers).map((publisher) => publisher.stalledMs()));

export const closePublishers = async (publishers: Publishers): Promise<void> => {
  await Promise.all(Object.values(publishers).map((publisher) => publisher.close()));
};
