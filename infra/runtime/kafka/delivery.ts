// Converts fetch responses into records to deliver; reports a log that lacks records we have read.
import type { IHeaders } from 'kafkajs';
import { isReplay } from '../../../schemas/topics.ts';
import type { PartitionAnswer, RawMessage } from './cluster.ts';

export type TopicPartition = { readonly topic: string; readonly partition: number };
/** `topic/partition`: the key of maps and the name in errors. */
export const formatPartition = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

export type Message = {
  readonly offset: number;
  /** Keys and values share the memory of their whole fetch: copy what you keep. */
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Append time of the broker or time of the producer, as configured for the topic. */
  readonly timestampMs: number;
  readonly headers: IHeaders;
};

/** Where to begin; a number that retention has passed means the oldest record. */
export type Start = number | 'earliest' | 'latest';

export type Delivery = {
  /** Empty when compaction or retention removed all records of the range. */
  readonly messages: readonly Message[];
  /** Offset of the next fetch. */
  readonly next: number;
  /** Offset after the last record of the partition at the time of the read. */
  readonly highWatermark: number;
};
const toMessage = ({ offset, key, value, timestamp, headers }: RawMessage): Message => ({
  offset: Number(offset),
  key,
  value,
  timestampMs: Number(timestamp),
  headers,
});

/** Null when there is no new record. Batches may begin below the requested offset, and end in offsets that compaction removed. */
export const toDelivery = (answer: PartitionAnswer, from: number): Delivery | null => {
  const last = answer.messages.at(-1);
  if (last === undefined) return null;
  const next = Math.max(from, Number(last.batchContext.firstOffset) + last.batchContext.lastOffsetDelta + 1);
  const messages = answer.messages.filter((m) => !m.isControlRecord && Number(m.offset) >= from).map(toMessage);
  return next === from ? null : { messages, next, highWatermark: Number(answer.highWatermark) };
};

export const readEpoch = ({ batchContext }: RawMessage): number => batchContext.partitionLeaderEpoch;

/** Leader epoch of the first record from `from` on; of its batch when compaction removed the record. */
export const findFirstEpoch = ({ messages }: PartitionAnswer, from: number): number | null => {
  const first = messages.find(({ offset }) => Number(offset) >= from) ?? messages.at(-1);
  return first === undefined ? null : readEpoch(first);
};

/** A new namespace would begin without the history that is stored (D-563). */
const BEGIN_AGAIN =
  'Stop all processes, then delete all topics of the service: it continues with its history (docs/deployment.md, Backups).';
/** The history of a replay is its recordings, and topics of the service may lie beside its own. */
const REPLAY_AGAIN = 'Replay again in another TOPIC_NAMESPACE, and do not change the topics of other namespaces.';

/** The log lacks records that were read from it: it was truncated or recreated, which an operator must judge. */
export class LogCut extends RangeError {
  override readonly name = 'LogCut';

  /** `found` begins with the name of the topic. */
  constructor(found: string) {
    super(`${found}: the log was truncated or recreated. ${isReplay(found) ? REPLAY_AGAIN : BEGIN_AGAIN}`);
  }
}

export const cutBefore = (place: string, offset: number, found: string): LogCut =>
  new LogCut(`${place} ends before offset ${offset}, which was read (${found})`);
