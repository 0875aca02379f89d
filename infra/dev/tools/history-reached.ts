// Waits until everything in the raw topics of a namespace is readable as rows.
import { setTimeout as pause } from 'node:timers/promises';
import { codecs } from '../../../schemas/avro/codec.ts';
import { formatTask, nameTopics } from '../../../schemas/topics.ts';
import { fetchEndOffsets, type KafkaHandle, readValues } from '../../runtime/kafka/kafka.ts';

type Reached = {
  readonly venues: readonly string[];
  readonly namespace: string;
  /** Consumer group of the sink that writes the rows. */
  readonly sinkGroup: string;
  readonly timeoutMs: number;
};

const POLL_MS = 500;

/** Raw offset up to which each task has applied and published its log. */
const readAppliedOffsets = async (handle: KafkaHandle, topic: string): Promise<Map<string, number>> => {
  const applied = new Map<string, number>();
  const { decode } = codecs.watermark;
  await readValues(handle, { topic, from: () => 'earliest', decode }, (entry) => {
    if (entry.kind === 'task') applied.set(entry.task, Math.max(applied.get(entry.task) ?? -1, entry.offset));
  });
  return applied;
};

/** A description of what is missing; null when nothing is. */
const describeMissing = async (handle: KafkaHandle, reached: Reached): Promise<string | null> => {
  const names = nameTopics(reached.namespace);
  const applied = await readAppliedOffsets(handle, names.watermark);
  for (const venue of reached.venues) {
    for (const [partition, { earliest, latest }] of await fetchEndOffsets(handle, names.raw(venue))) {
      const at = applied.get(formatTask(venue, partition)) ?? -1;
      if (latest > earliest && at < latest - 1)
        return `task ${formatTask(venue, partition)} has applied ${at} of ${latest - 1}`;
    }
  }
  const admin = await handle.admin();
  for (const venue of reached.venues) {
    const topic = names.rows(venue);
    const ends = await fetchEndOffsets(handle, topic);
    const [answer] = await admin.fetchOffsets({ groupId: reached.sinkGroup, topics: [topic] });
    for (const { partition, offset } of answer?.partitions ?? []) {
      const end = ends.get(partition);
      if (end && end.latest > end.earliest && Number(offset) < end.latest) {
        return `the sink has written ${offset} of ${end.latest} in ${topic}/${partition}`;
      }
    }
  }
  return null;
};

/** Resolves when all rows are readable; rejects at the timeout with what is missing. Nothing may write to the raw topics meanwhile. */
export const waitForHistory = async (handle: KafkaHandle, reached: Reached): Promise<void> => {
  const deadline = performance.now() + reached.timeoutMs;
  for (;;) {
    const reason = await describeMissing(handle, reached);
    if (reason === null) return;
    if (performance.now() > deadline) throw new Error(`history not reached: ${reason}`);
    await pause(POLL_MS);
  }
};
