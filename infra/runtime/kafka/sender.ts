// The only place where kafkajs sends: one attempt at a whole batch, which every partition of it acknowledges or which has failed.
import type { ICustomPartitioner, Message as KafkaMessage, Producer, RecordMetadata } from 'kafkajs';
import { keyHash } from '../../../schemas/shards.ts';
import type { KafkaHandle } from './client.ts';
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
   * in the log, and only the repeat of the whole batch makes sure of all. Calls must not overlap.
   */
  readonly attempt: (records: readonly SentRecord[]) => Promise<BatchAck>;
  /** Forgets connections and leaders, so that the next attempt asks for them. */
  readonly renew: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Brokers answered, and not for every partition of the batch. */
export class Unanswered extends RangeError {
  override readonly name = 'Unanswered';
}

/** Keys are listings and tasks, told again and again; past so many what is known of them is forgotten. */
const KNOWN_KEYS = 20_000;

/** murmur2 of the key, as the JVM client chooses; the choice is kept in the message, so that a repeat goes where the first try went. */
const createPartitioner: ICustomPartitioner = () => {
  const chooseAny = kafkajs.Partitioners.DefaultPartitioner();
  const hashes = new Map<string, number>();
  const hashOf = (key: string): number => {
    const known = hashes.get(key);
    if (known !== undefined) return known;
    if (hashes.size >= KNOWN_KEYS) hashes.clear();
    const hash = keyHash(key);
    hashes.set(key, hash);
    return hash;
  };
  return (args) => {
    const { message, partitionMetadata } = args;
    const { key } = message;
    message.partition ??= typeof key === 'string' ? hashOf(key) % partitionMetadata.length : chooseAny(args);
    return message.partition;
  };
};

export const placeOf = (topic: string, partition: number): string => `${topic}/${partition}`;

const byTopic = (records: readonly SentRecord[]) => {
  const topics = new Map<string, KafkaMessage[]>();
  for (const { topic, message } of records) {
    const messages = topics.get(topic);
    if (messages === undefined) topics.set(topic, [message]);
    else messages.push(message);
  }
  return [...topics].map(([topic, messages]) => ({ topic, messages }));
};

/** kafkajs leaves out partitions that its metadata do not name, and resolves all the same. */
const checkAnswers = (records: readonly SentRecord[], answers: readonly RecordMetadata[]): BatchAck => {
  const acks = new Map<string, { next: number; appendedMs: number | null }>();
  for (const { topicName, partition, baseOffset, logAppendTime = '-1' } of answers) {
    const appendedMs = Number(logAppendTime) < 0 ? null : Number(logAppendTime);
    acks.set(placeOf(topicName, partition), { next: Number(baseOffset), appendedMs });
  }
  for (const { topic, message } of records) {
    const place = placeOf(topic, message.partition ?? -1);
    const ack = acks.get(place);
    if (ack === undefined) throw new Unanswered(`${place} does not exist: no broker answered for it`);
    ack.next += 1;
  }
  return acks;
};

type SenderOptions = { readonly compresses: boolean };

/**
 * kafkajs repeats only the requests of brokers that have not answered. A partition that moves meanwhile from a failed broker to one that has
 * answered is never sent, and the send resolves (kafkajs issues 1303 and 1798): no repeat of its own is allowed.
 */
export const openSender = ({ kafka }: KafkaHandle, { compresses }: SenderOptions): Sender => {
  const options = { createPartitioner, maxInFlightRequests: 1, allowAutoTopicCreation: false, retry: { retries: 0 } };
  const producer: Producer = kafka.producer(options);
  // The first record need not wait for it; sending connects again when this fails.
  const connecting = producer.connect().catch(() => undefined);
  const compression = compresses ? kafkajs.CompressionTypes.GZIP : kafkajs.CompressionTypes.None;
  return {
    attempt: async (records) => {
      await producer.connect();
      return checkAnswers(
        records,
        await producer.sendBatch({ topicMessages: byTopic(records), acks: -1, compression }),
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

/** No repeat can succeed: no right to write, record too large. kafkajs may give the cause inside its own error. */
export const isFinal = (error: unknown): boolean =>
  isHopeless(error) || (error instanceof Error && isHopeless(error.cause));

/** kafkajs itself asks for the leaders again after every other failure. */
export const needsRenewal = (error: unknown): boolean =>
  error instanceof Unanswered || (error instanceof Error && error.cause instanceof kafkajs.KafkaJSRequestTimeoutError);
