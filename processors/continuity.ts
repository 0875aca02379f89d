// What a task makes sure of before it applies a raw record: it can be read, none was skipped, and the one applied last is still in the log.
import { LogCut, type Message } from '../infra/runtime/kafka/kafka.ts';
import { AvroError, codecs } from '../schemas/avro/codec.ts';
import type { RawMessage } from '../schemas/topics.ts';
import type { TaskState } from './task/state.ts';

type Applied = Pick<TaskState, 'offset' | 'recordedAt' | 'startedAt'>;

/** `place` is the raw partition. A life ends at a hole: the next one finds its checkpoint behind the log's start, and records what was lost. */
export const refuseHole = (place: string, { offset, startedAt }: Applied, found: Message): void => {
  const next = offset + 1;
  if (found.offset <= next || startedAt === null) return;
  throw new RangeError(`${place}: ${next} to ${found.offset - 1} are gone`);
};

/**
 * A record at the applied offset that was appended after `recordedAt` is another one: the log was cut below it while no owner looked, and has
 * grown again. The task's `recordedAt` is never below the append time of what it applied.
 */
export const refuseOther = (place: string, { offset, recordedAt }: Applied, found: Message): void => {
  if (found.offset !== offset || found.timestampMs * 1000 <= recordedAt) return;
  throw new LogCut(
    `${place} has another record at ${offset} than the one that was applied: the log was cut. Use a new TOPIC_NAMESPACE.`,
  );
};

/** Null for bytes that are no raw message: somebody else wrote to the topic. */
export const readRaw = (value: Buffer): RawMessage | null => {
  try {
    return codecs.raw.decode(value);
  } catch (error) {
    if (error instanceof AvroError) return null;
    throw error;
  }
};
