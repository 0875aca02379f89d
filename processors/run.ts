// Shares the tasks of all raw partitions among the processes of a group and runs those assigned to this one.

import { createPublisher, joinGroup, type KafkaHandle, type TopicPartition } from '../infra/runtime/kafka.ts';
import type { Logger } from '../infra/runtime/log.ts';
import type { Venue } from '../ingest/venue.ts';
import { topics } from '../schemas/topics.ts';
import type { ProcessorMetrics } from './metrics.ts';
import { TaskRunner } from './runner.ts';

export type TasksSpec = {
  readonly handle: KafkaHandle;
  readonly venues: readonly Venue[];
  readonly namespace: string;
  readonly groupId: string;
  readonly ticks: boolean;
  /** This process has a name of its own: its dead predecessor is taken out of the group. */
  readonly named?: boolean;
  readonly metrics: ProcessorMetrics;
  readonly log: Logger;
};

export type Tasks = {
  /** Watermarks of the tasks this process owns, by task. */
  readonly watermarks: () => ReadonlyMap<string, number>;
  readonly stop: () => Promise<void>;
};

/** Partitions of each raw topic: the number of shards a listing's symbol is spread over. */
const shardsOf = async (handle: KafkaHandle, names: readonly string[]): Promise<Map<string, number>> => {
  const admin = await handle.admin();
  const { topics: found } = await admin.fetchTopicMetadata({ topics: [...names] });
  return new Map(found.map(({ name, partitions }) => [name, partitions.length]));
};

/** Joins the group and works until stopped; `stop` leaves complete checkpoints behind. */
export const startTasks = async (spec: TasksSpec): Promise<Tasks> => {
  const names = topics(spec.namespace);
  const byTopic = new Map(spec.venues.map((venue) => [names.raw(venue.id), venue]));
  const shards = await shardsOf(spec.handle, [...byTopic.keys()]);
  const publisher = createPublisher(spec.handle, {});
  const runners = new Map<string, TaskRunner>();
  const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

  const startRunner = async (at: TopicPartition): Promise<TaskRunner> => {
    const venue = byTopic.get(at.topic);
    if (!venue) throw new Error(`no venue for topic ${at.topic}`);
    const { handle, namespace, ticks, metrics, log } = spec;
    const sharded = { partition: at.partition, shards: shards.get(at.topic) ?? 1 };
    return TaskRunner.start({ handle, venue, ...sharded, namespace, ticks, publisher, metrics, log });
  };

  const member = await joinGroup(spec.handle, {
    groupId: spec.groupId,
    replacesPredecessor: spec.named ?? false,
    topics: [...byTopic.keys()],
    onAssigned: (partitions) =>
      Promise.all(
        partitions.map(async (at) => {
          const runner = await startRunner(at);
          runners.set(keyOf(at), runner);
          return { ...at, from: runner.next };
        }),
      ),
    onRevoked: async (partitions) => {
      for (const at of partitions) {
        const runner = runners.get(keyOf(at));
        runners.delete(keyOf(at));
        await runner?.stop(false);
      }
    },
    onBatch: async (topic, partition, messages, logEnd) => {
      await runners.get(keyOf({ topic, partition }))?.apply(messages, logEnd);
    },
  });

  return {
    watermarks: () => new Map([...runners].map(([key, runner]) => [key, runner.watermark])),
    stop: async () => {
      await member.stop();
      for (const runner of runners.values()) await runner.stop(true);
      await publisher.close();
    },
  };
};
