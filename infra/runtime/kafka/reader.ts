// Readers of a topic outside any consumer group: they follow it from given offsets, or read it to its present end.
import { failProcess } from '../process/fail-process.ts';
import type { KafkaHandle } from './client.ts';
import type { Message, Start } from './delivery.ts';
import { PartitionFetcher } from './fetch.ts';

export type { Message, Start };

export type TopicReading = {
  readonly topic: string;
  /** All of the topic's partitions when absent. */
  readonly partitions?: readonly number[] | undefined;
  readonly from: (partition: number) => Start;
  /**
   * Called in offset order, one call at a time a partition; while it runs at most one further batch of the partition is
   * held. `highWatermark` is the offset of the next record at the time of the read. A throw ends the reader (`onFatal`).
   */
  readonly onBatch: (partition: number, messages: readonly Message[], highWatermark: number) => void | Promise<void>;
};
type ReaderOptions = {
  readonly signal?: AbortSignal;
  /** A handler threw, or the log ends before our position; default: the process ends. */
  readonly onFatal?: (error: unknown) => void;
};
type ReadOptions = TopicReading & ReaderOptions;
export type Reader = {
  /** Resolves when the running handlers have returned, so a handler must not await it. */
  readonly stop: () => Promise<void>;
};

/**
 * Follows partitions without end. Resolves when the starting offsets are known, so a reader from `latest` receives everything published
 * afterwards. It waits for brokers that are away; no offset is delivered twice or out of order.
 */
export const readPartitions = (handle: KafkaHandle, options: ReadOptions): Promise<Reader> =>
  readTopics(handle, [options], options);

/** As readPartitions, of several topics with one request to each broker at a time: a broker answers what came to any of them. */
export const readTopics = async (
  handle: KafkaHandle,
  readings: readonly TopicReading[],
  { signal, onFatal = failProcess }: ReaderOptions = {},
): Promise<Reader> => {
  signal?.throwIfAborted();
  const fetcher = new PartitionFetcher(handle, onFatal);
  const stop = (): Promise<void> => fetcher.stop();
  signal?.addEventListener('abort', () => void stop(), { once: true });
  await Promise.all(readings.map((reading) => assignTopic(fetcher, reading)));
  return { stop };
};

const assignTopic = async (fetcher: PartitionFetcher, reading: TopicReading): Promise<void> => {
  const { topic, from, onBatch } = reading;
  const partitions = reading.partitions ?? (await fetcher.listPartitions(topic));
  await Promise.all(
    partitions.map((partition) =>
      fetcher.assign({ topic, partition }, { start: from(partition) }, ({ messages, highWatermark }) =>
        messages.length === 0 ? undefined : onBatch(partition, messages, highWatermark),
      ),
    ),
  );
};

export type PartitionRange = { readonly earliest: number; readonly latest: number };

/** First offset and that of the next record, by partition. */
export const fetchEndOffsets = async (handle: KafkaHandle, topic: string): Promise<Map<number, PartitionRange>> => {
  const fetcher = new PartitionFetcher(handle, failProcess);
  try {
    return await fetchRanges(fetcher, topic, await fetcher.listPartitions(topic));
  } finally {
    await fetcher.stop();
  }
};

const fetchRanges = async (fetcher: PartitionFetcher, topic: string, partitions: readonly number[]) => {
  const [latest, earliest] = await Promise.all([
    fetcher.fetchOffsets(topic, partitions, 'latest'),
    fetcher.fetchOffsets(topic, partitions, 'earliest'),
  ]);
  return new Map(partitions.map((p) => [p, { earliest: earliest.get(p) ?? 0, latest: latest.get(p) ?? 0 }]));
};

/** Per partition the first record made at or after its instant (milliseconds), or the end when there is none. */
export const fetchOffsetsSince = async (
  handle: KafkaHandle,
  topic: string,
  sinceMs: (partition: number) => number,
): Promise<Map<number, number>> => {
  const fetcher = new PartitionFetcher(handle, failProcess);
  const offsetSince = async (partition: number): Promise<number> =>
    (await fetcher.fetchOffsets(topic, [partition], { sinceMs: sinceMs(partition) })).get(partition) ?? -1;
  try {
    const partitions = await fetcher.listPartitions(topic);
    // The end first: records appended between the two requests are then read.
    const latest = await fetcher.fetchOffsets(topic, partitions, 'latest');
    const since = await Promise.all(partitions.map(offsetSince));
    return new Map(partitions.map((p, i) => [p, (since[i] ?? -1) < 0 ? (latest.get(p) ?? 0) : (since[i] as number)]));
  } finally {
    await fetcher.stop();
  }
};

type ReadToEndOptions = Pick<ReadOptions, 'topic' | 'partitions'> & {
  readonly from: (partition: number, range: PartitionRange) => Start;
  /** Aborts the read with its reason. Without a signal it waits for a missing topic and for a Kafka that is away. */
  readonly signal?: AbortSignal;
};

/** Reads up to the end at the time of the call and resolves; handles empty and compacted partitions. Rejects when `onMessage` throws. */
export const readToEnd = async (
  handle: KafkaHandle,
  { topic, partitions, from, signal }: ReadToEndOptions,
  onMessage: (message: Message, partition: number) => void | Promise<void>,
): Promise<void> => {
  const failed = Promise.withResolvers<never>();
  const fetcher = new PartitionFetcher(handle, failed.reject);
  signal?.addEventListener('abort', () => failed.reject(signal.reason), { once: true });
  const readOne = (partition: number, { earliest, latest }: PartitionRange): Promise<void> => {
    const wanted = from(partition, { earliest, latest });
    const start = wanted === 'latest' ? latest : wanted === 'earliest' ? earliest : Math.max(wanted, earliest);
    if (start >= latest) return Promise.resolve();
    return new Promise((resolve) => {
      void fetcher.assign({ topic, partition }, { start, end: latest }, async ({ messages, next }) => {
        for (const message of messages) if (message.offset < latest) await onMessage(message, partition);
        if (next >= latest) resolve();
      });
    });
  };
  const readAll = async (): Promise<void> => {
    const ranges = await fetchRanges(fetcher, topic, partitions ?? (await fetcher.listPartitions(topic)));
    await Promise.all([...ranges].map(([partition, range]) => readOne(partition, range)));
  };
  try {
    await Promise.race([readAll(), failed.promise]);
  } finally {
    await fetcher.stop();
  }
};

type ReadValuesOptions<T> = ReadToEndOptions & { readonly decode: (bytes: Buffer) => T };

/** As readToEnd, with the decoded value of each record. Records without a value and those of other producers are passed over (`ForeignRecords`). */
export const readValues = <T>(
  handle: KafkaHandle,
  { decode, ...options }: ReadValuesOptions<T>,
  onValue: (value: T, at: { readonly partition: number; readonly offset: number }) => void,
): Promise<void> =>
  readToEnd(handle, options, ({ value, offset }, partition) => {
    if (value === null) return;
    const read = handle.foreign.passOver({ topic: options.topic, partition, offset }, () => decode(value));
    if (read !== null) onValue(read, { partition, offset });
  });
