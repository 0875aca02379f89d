// Checks before a raw record is applied: it is readable, no record was skipped, and the last applied one is still in the log.
import { LogCut, type Message } from '../../infra/runtime/kafka/kafka.ts';
import { AvroError, codecs, LaterSchema } from '../../schemas/avro/codec.ts';
import type { RawMessage } from '../../schemas/topics.ts';
import type { TaskState } from '../task/state.ts';

type Applied = Pick<TaskState, 'offset' | 'recordedAt' | 'startedAt'>;

/** Throws at a gap in the offsets of the raw partition `place`. The next life finds its checkpoint before the log's start, and records the loss. */
export const refuseHole = (place: string, { offset, startedAt }: Applied, found: Message): void => {
  const next = offset + 1;
  if (found.offset <= next || startedAt === null) return;
  const gone = `${place}: offsets ${next} to ${found.offset - 1} are gone`;
  throw new RangeError(`${gone}: Kafka has deleted them before they were applied. The next start records the loss.`);
};

/**
 * Throws when the record at the applied offset was appended after `recordedAt`: the log was truncated below it while no owner ran, and has
 * grown again. The task's `recordedAt` is never below the append time of its applied records.
 */
export const refuseOther = (place: string, { offset, recordedAt }: Applied, found: Message): void => {
  if (found.offset !== offset || found.timestampMs * 1000 <= recordedAt) return;
  throw new LogCut(`${place} has another record at ${offset} than the one that was applied`);
};

/**
 * Null for bytes that are not a raw message: another producer wrote to the topic. Throws for a message of a later version of the service: skipping it
 * would be a permanent gap, but it can wait in Kafka for a process that can read it.
 */
export const readRaw = (value: Buffer): RawMessage | null => {
  try {
    return codecs.raw.decode(value);
  } catch (error) {
    if (error instanceof AvroError && !(error instanceof LaterSchema)) return null;
    throw error;
  }
};
