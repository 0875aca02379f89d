// The only place where kafkajs sends: one attempt for a whole batch, which every partition of it acknowledges or which has failed.
import type { ICustomPartitioner, Message as KafkaMessage, Producer, RecordMetadata } from 'kafkajs';
import { hashTextKey } from '../../../schemas/shards.ts';
import type { KafkaHandle } from './client.ts';
import { formatPartition } from './delivery.ts';
import kafkajs from './patches/kafkajs.ts';

type SentRecord = { readonly topic: string; readonly message: KafkaMessage };

type PartitionAck = {
  /** Offset after the last record of the batch. */
  readonly next: number;
  /** Broker time of the append, milliseconds; null unless the topic has LogAppendTime. */
  readonly appendedMs: number | null;
};
/** By `topic/partition`. */
export type BatchAck = ReadonlyMap<string, PartitionAck>;

export type Sender = {
  /**
   * Sends the records in their order, once. Rejects when any partition of the batch did not acknowledge: then some records may be
   * in the log, and only a repeat of the whole batch stores all of them for certain. Calls must not overlap.
   */
  readonly attempt: (records: readonly SentRecord[]) => Promise<BatchAck>;
  /** Drops connections and leaders, so that the next attempt looks them up. */
  readonly renew: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Brokers responded, but not for every partition of the batch. */
export class Unanswered extends RangeError {
  override readonly name = 'Unanswered';
}

/** Keys are listings and tasks and recur; beyond this many the cache is cleared. */
const KNOWN_KEYS = 20_000;

/** murmur2 of the key, as in the JVM client; the choice is stored in the message, so that a repeat uses the partition of the first attempt. */
const createPartitioner: ICustomPartitioner = () => {
  const chooseAny = kafkajs.Partitioners.DefaultPartitioner();
  const hashes = new Map<string, number>();
  const findHash = (key: string): number => {
    const known = hashes.get(key);
    if (known !== undefined) return known;
    if (hashes.size >= KNOWN_KEYS) hashes.clear();
    const hash = hashTextKey(key);
    hashes.set(key, hash);
    return hash;
  };
  return (args) => {
    const { message, partitionMetadata } = args;
    const { key } = message;
    message.partition ??= typeof key === 'string' ? findHash(key) % partitionMetadata.length : chooseAny(args);
    return message.partition;
  };
};

const groupByTopic = (records: readonly SentRecord[]) => {
  const topics = new Map<string, KafkaMessage[]>();
  for (const { topic, message } of records) {
    const messages = topics.get(topic);
    if (messages === undefined) topics.set(topic, [message]);
    else messages.push(message);
  }
  return [...topics].map(([topic, messages]) => ({ topic, messages }));
};

/** kafkajs omits partitions that are missing in its metadata, and still resolves. */
const checkAnswers = (records: readonly SentRecord[], answers: readonly RecordMetadata[]): BatchAck => {
  const acks = new Map<string, { next: number; appendedMs: number | null }>();
  for (const { topicName, partition, baseOffset, logAppendTime = '-1' } of answers) {
    const appendedMs = Number(logAppendTime) < 0 ? null : Number(logAppendTime);
    acks.set(formatPartition({ topic: topicName, partition }), { next: Number(baseOffset), appendedMs });
  }
  for (const { topic, message } of records) {
    const place = formatPartition({ topic, partition: message.partition ?? -1 });
    const ack = acks.get(place);
    if (ack === undefined) throw new Unanswered(`${place} does not exist: no broker answered for it`);
    ack.next += 1;
  }
  return acks;
};

type SenderOptions = { readonly compresses: boolean };

/**
 * kafkajs repeats only the requests of brokers that have not responded. A partition that moves meanwhile from a failed broker to one that has
 * responded is never sent, and the send resolves (kafkajs issues 1303 and 1798): kafkajs's own retries are disabled.
 */
export const openSender = ({ kafka }: KafkaHandle, { compresses }: SenderOptions): Sender => {
  const options = { createPartitioner, maxInFlightRequests: 1, allowAutoTopicCreation: false, retry: { retries: 0 } };
  const producer: Producer = kafka.producer(options);
  // The first record does not wait for this; a send connects again when it fails.
  const connecting = producer.connect().catch(() => undefined);
  const compression = compresses ? kafkajs.CompressionTypes.GZIP : kafkajs.CompressionTypes.None;
  return {
    attempt: async (records) => {
      await producer.connect();
      return checkAnswers(
        records,
        await producer.sendBatch({ topicMessages: groupByTopic(records), acks: -1, compression }),
      );
    },
    renew: () => producer.disconnect().catch(() => undefined),
    close: async () => {
      await connecting;
      await producer.disconnect();
    },
  };
};

const isHopeless = (error: unknown): boolean =>
  error instanceof kafkajs.KafkaJSProtocolError && !error.retriable && error.type !== 'UNKNOWN_TOPIC_OR_PARTITION';

/** A repeat cannot succeed: no right to write, record too large. kafkajs may wrap the cause in its own error. */
export const isFinal = (error: unknown): boolean =>
  isHopeless(error) || (error instanceof Error && isHopeless(error.cause));

/** After every other failure kafkajs itself looks up the leaders again. */
export const needsRenewal = (error: unknown): boolean =>
  error instanceof Unanswered || (error instanceof Error && error.cause instanceof kafkajs.KafkaJSRequestTimeoutError);
