// What a fetch answered, as records to deliver; and the fault of a log that lacks what was read of it.
import type { IHeaders } from 'kafkajs';
import type { PartitionAnswer, RawMessage } from './cluster.ts';

export type TopicPartition = { readonly topic: string; readonly partition: number };
/** `topic/partition`, as maps are keyed and errors name it. */
export const formatPartition = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

export type Message = {
  readonly offset: number;
  /** Keys and values share the memory of their whole fetch: copy what is kept. */
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Append time of the broker or time of the producer, as the topic says. */
  readonly timestampMs: number;
  readonly headers: IHeaders;
};

/** Where to begin; a number that retention has passed means the oldest record there is. */
export type Start = number | 'earliest' | 'latest';

export type Delivery = {
  /** Empty when compaction took all that was read. */
  readonly messages: readonly Message[];
  /** Offset to go on from. */
  readonly next: number;
  /** Offset after the last record of the partition when this was read. */
  readonly highWatermark: number;
};
const toMessage = ({ offset, key, value, timestamp, headers }: RawMessage): Message => ({
  offset: Number(offset),
  key,
  value,
  timestampMs: Number(timestamp),
  headers,
});

/** Null when nothing new came. Batches may begin below the asked offset, and end in offsets that compaction removed. */
export const toDelivery = (answer: PartitionAnswer, from: number): Delivery | null => {
  const last = answer.messages.at(-1);
  if (last === undefined) return null;
  const next = Math.max(from, Number(last.batchContext.firstOffset) + last.batchContext.lastOffsetDelta + 1);
  const messages = answer.messages.filter((m) => !m.isControlRecord && Number(m.offset) >= from).map(toMessage);
  return next === from ? null : { messages, next, highWatermark: Number(answer.highWatermark) };
};

export const epochOf = ({ batchContext }: RawMessage): number => batchContext.partitionLeaderEpoch;

/** Of the first record from `from` on; of the batch that held it when compaction took it. */
export const firstEpochOf = ({ messages }: PartitionAnswer, from: number): number | null => {
  const first = messages.find(({ offset }) => Number(offset) >= from) ?? messages.at(-1);
  return first === undefined ? null : epochOf(first);
};

/** The log lacks what was read of it: it was cut or made anew, which only a person can judge. */
export class LogCut extends RangeError {
  override readonly name = 'LogCut';
}

export const cutBefore = (place: string, offset: number, found: string): LogCut =>
  new LogCut(
    `${place} ends before offset ${offset}, which was read: ${found}. The log was cut or made anew. Use a new TOPIC_NAMESPACE.`,
  );
