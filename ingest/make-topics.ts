// Creates the topics of a collector, and retries while Kafka is unavailable at its start.
import { setTimeout as pause } from 'node:timers/promises';
import { ensureTopics, type KafkaHandle, TopicMismatch, TopicRightMissing } from '../infra/runtime/kafka/kafka.ts';
import type { TopicSpec } from '../infra/runtime/kafka/topics.ts';
import { createOutageLog } from '../infra/runtime/process/outage-log.ts';

const AGAIN_MS = 1_000;

/** Only an operator can mend it: a collector that went on would fill its spool. */
const isLasting = (error: unknown): boolean => error instanceof TopicMismatch || error instanceof TopicRightMissing;

/** Retries until Kafka answers. Rejects with TopicMismatch and TopicRightMissing only (D-401), and never after `signal`. */
export const makeTopics = async (
  handle: KafkaHandle,
  specs: readonly TopicSpec[],
  signal: AbortSignal,
): Promise<void> => {
  const outages = createOutageLog(handle.log, 'the topics could not be read, trying again');
  while (!signal.aborted) {
    try {
      return await ensureTopics(handle, specs);
    } catch (error) {
      if (isLasting(error) && !signal.aborted) throw error;
      outages.noteFailure(error);
      await pause(AGAIN_MS, undefined, { ref: false });
    }
  }
};
