// Distributes the tasks of all raw partitions over the processes of a group and runs those assigned to this one.
import {
  formatPartition,
  type GroupMember,
  joinGroup,
  type KafkaHandle,
  type TopicPartition,
} from '../../infra/runtime/kafka/kafka.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { MappedVenue } from '../../ingest/venues/contract/mapping.ts';
import { watchUnexpected } from '../../ingest/venues/shared/unexpected.ts';
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import { nameTopics } from '../../schemas/topics.ts';
import type { ProcessorMetrics } from '../metrics.ts';
import { type CheckpointPace, createCheckpointPace } from './checkpoint-pace.ts';
import { createPresenceWatch } from './presence-watch.ts';
import { closePublishers, findStalledMs, openPublishers, type Publishers } from './publishers.ts';
import { TaskRunner } from './task-runner.ts';

type TasksSpec = {
  readonly handle: KafkaHandle;
  readonly venues: readonly MappedVenue[];
  readonly namespace: string;
  readonly groupId: string;
  readonly ticks: boolean;
  /** This process has its own name: its crashed predecessor is removed from the group. */
  readonly replacesPredecessor?: boolean;
  /** Share of listings, 0 to 1, below which a layer of a venue raises an alarm; absent: no alarm. */
  readonly leastPresent?: number;
  readonly metrics: ProcessorMetrics;
  readonly log: Logger;
};

/** A publisher without an acknowledgement for this long is stalled. */
const STALLED_MS = 5_000;
const PRESENCE_EVERY_MS = 5_000;

type Tasks = {
  /** Watermarks of the tasks this process owns, by task. */
  readonly watermarks: () => ReadonlyMap<string, number>;
  /** Why tasks of this process lag, one reason each. */
  readonly problems: () => readonly string[];
  readonly stop: () => Promise<void>;
};

/** The tasks of this process and what they share. */
type Work = {
  readonly spec: TasksSpec;
  /** Venues by their raw topic. */
  readonly byTopic: ReadonlyMap<string, MappedVenue>;
  /** Partitions of each raw topic. */
  readonly shards: ReadonlyMap<string, number>;
  readonly publishers: Publishers;
  readonly pace: CheckpointPace;
  /** Running tasks by partition. */
  readonly runners: Map<string, TaskRunner>;
};

/** Partitions of each raw topic: the number of shards over which listings are spread. */
const readShards = async (handle: KafkaHandle, names: readonly string[]): Promise<Map<string, number>> => {
  const admin = await handle.admin();
  const { topics: found } = await admin.fetchTopicMetadata({ topics: [...names] });
  return new Map(found.map(({ name, partitions }) => [name, partitions.length]));
};

const watchPresence = (spec: TasksSpec, runners: ReadonlyMap<string, TaskRunner>): NodeJS.Timeout | undefined => {
  const { leastPresent, venues, metrics, log } = spec;
  if (leastPresent === undefined) return undefined;
  const watch = createPresenceWatch(leastPresent, metrics, log);
  const look = (): void => {
    for (const { id } of venues) {
      const ofVenue = [...runners.values()].filter(({ venue }) => venue === id);
      const presences = ofVenue.map((runner) => runner.presences());
      watch.look(id, presences, performance.now());
    }
  };
  return setInterval(look, PRESENCE_EVERY_MS);
};

const findBehind = (key: string, watermark: Micros): readonly string[] => {
  const lag = Date.now() * 1_000 - watermark;
  return lag > STATE_LAG ? [`the task of ${key} is ${Math.round(lag / 1_000)} ms behind`] : [];
};

/** Reads how the venues' partitions are sharded, and opens the publishers of all tasks. */
const openWork = async (spec: TasksSpec): Promise<Work> => {
  const names = nameTopics(spec.namespace);
  const byTopic = new Map(spec.venues.map((venue) => [names.raw(venue.id), venue]));
  const shards = await readShards(spec.handle, [...byTopic.keys()]);
  return {
    spec,
    byTopic,
    shards,
    publishers: openPublishers(spec.handle),
    pace: createCheckpointPace(),
    runners: new Map(),
  };
};

const startRunner = async (
  { spec, byTopic, shards, publishers, pace }: Work,
  { topic, partition }: TopicPartition,
): Promise<TaskRunner> => {
  const known = byTopic.get(topic);
  if (!known) throw new Error(`no venue for topic ${topic}`);
  const { handle, namespace, ticks, metrics, log } = spec;
  const venue = watchUnexpected(known, (kind) => metrics.unexpected(known.id, kind));
  const sharded = { partition, shards: shards.get(topic) ?? 1 };
  return TaskRunner.start({ handle, venue, ...sharded, namespace, ticks, publishers, pace, metrics, log });
};

/** Joins the group: a task runs while its partition is assigned to this process. */
const joinTasks = (work: Work): Promise<GroupMember> => {
  const { spec, byTopic, runners } = work;
  return joinGroup(spec.handle, {
    groupId: spec.groupId,
    replacesPredecessor: spec.replacesPredecessor ?? false,
    topics: [...byTopic.keys()],
    onAssigned: (partitions) =>
      Promise.all(
        partitions.map(async (at) => {
          const runner = await startRunner(work, at);
          runners.set(formatPartition(at), runner);
          return { ...at, from: runner.start };
        }),
      ),
    onRevoked: async (partitions) => {
      for (const at of partitions) {
        const runner = runners.get(formatPartition(at));
        runners.delete(formatPartition(at));
        await runner?.stop('unsaved');
      }
    },
    onBatch: async (batch) => {
      await runners.get(formatPartition(batch))?.apply(batch.messages, batch.highWatermark);
    },
  });
};

const listProblems = ({ spec, publishers, runners }: Work): readonly string[] => {
  const waitedMs = findStalledMs(publishers);
  const stalled = waitedMs > STALLED_MS ? [`Kafka has acknowledged nothing for ${Math.round(waitedMs)} ms`] : [];
  // A finished log that is processed again belongs to another time.
  const behind = spec.ticks ? [...runners].flatMap(([key, { watermark }]) => findBehind(key, watermark)) : [];
  return [...stalled, ...behind];
};

/** Joins the group and works until stopped; `stop` leaves complete checkpoints. */
export const startTasks = async (spec: TasksSpec): Promise<Tasks> => {
  const work = await openWork(spec);
  const { publishers, runners } = work;
  const member = await joinTasks(work);
  const timer = watchPresence(spec, runners);
  return {
    problems: () => listProblems(work),
    watermarks: () => new Map([...runners].map(([key, runner]) => [key, runner.watermark])),
    stop: async () => {
      clearInterval(timer);
      await member.stop();
      for (const runner of runners.values()) await runner.stop('saved');
      await closePublishers(publishers);
    },
  };
};
