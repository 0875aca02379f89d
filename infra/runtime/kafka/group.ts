// Membership in a consumer group: the group assigns partitions, the fetcher reads them, the caller chooses the offsets.
import { setTimeout as pause } from 'node:timers/promises';
import type { Consumer } from 'kafkajs';
import { failProcess } from '../process/fail-process.ts';
import { createOutageLog, type OutageLog } from '../process/outage-log.ts';
import { createBackoff } from '../time/backoff.ts';
import type { KafkaHandle } from './client.ts';
import { formatPartition, type Message, type Start, type TopicPartition } from './delivery.ts';
import { PartitionFetcher } from './fetch.ts';
import kafkajs from './patches/kafkajs.ts';
import { evictPredecessors } from './predecessor.ts';
import { createCuttableSockets } from './security.ts';

type Assigned = TopicPartition & {
  /** `committed`: after the group's last commit, or the oldest record without one. */
  readonly from: Start | 'committed';
};
/** The next records of a partition. `highWatermark`: the end of its log. */
export type GroupBatch = TopicPartition & {
  readonly messages: readonly Message[];
  readonly highWatermark: number;
};

type GroupOptions = {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** The handle's client id belongs to one living process: another member under it is dead and is removed before joining. */
  readonly replacesPredecessor?: boolean;
  /** New partitions, before any of their records is delivered; returns the starting offsets. Without a result: `committed`. */
  readonly onAssigned?: (
    partitions: readonly TopicPartition[],
  ) => readonly Assigned[] | undefined | Promise<readonly Assigned[] | undefined>;
  /** Partitions that were assigned to another member; their handlers have returned. The other member may have begun already. */
  readonly onRevoked?: (partitions: readonly TopicPartition[]) => void | Promise<void>;
  /** As in readPartitions: one call at a time a partition, partitions in parallel. A throw ends the process. */
  readonly onBatch: (batch: GroupBatch) => void | Promise<void>;
};

export type GroupMember = {
  /** Stores the next offset to read; `committed` begins there. False when it could not be stored now: commit again later. */
  readonly commit: (offsets: readonly (TopicPartition & { readonly offset: number })[]) => Promise<boolean>;
  readonly assigned: () => readonly TopicPartition[];
  readonly stop: () => Promise<void>;
};

/** The shortest that brokers accept by default. For this time nobody works on the partitions of a killed process. */
const SESSION_TIMEOUT_MS = 6_000;
const REBALANCE_TIMEOUT_MS = 15_000;
const HEARTBEAT_MS = 1_000;
/** kafkajs checks its heartbeat between fetches, and while every partition is paused a fetch is a sleep of this length. */
const IDLE_MS = 250;
/** A consumer that is joining stops only after it has joined; after this time its connections are cut instead. */
const LEAVE_MS = 2_000;
const COORDINATOR_RETRY_MS = 1_000;

const toPartitions = (assignment: Readonly<Record<string, readonly number[]>>): TopicPartition[] =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })));

/** Committed offset of each partition; `earliest` without one. */
const fetchCommitted = async (
  handle: KafkaHandle,
  groupId: string,
  wanted: readonly TopicPartition[],
): Promise<Map<string, Start>> => {
  if (wanted.length === 0) return new Map();
  const admin = await handle.admin();
  const answers = await admin.fetchOffsets({ groupId, topics: [...new Set(wanted.map(({ topic }) => topic))] });
  const known = new Map<string, Start>();
  for (const { topic, partitions } of answers)
    for (const { partition, offset } of partitions)
      known.set(formatPartition({ topic, partition }), Number(offset) < 0 ? 'earliest' : Number(offset));
  return known;
};

const isPassing = (error: unknown): boolean =>
  !(error instanceof kafkajs.KafkaJSProtocolError) || error.retriable || error.type === 'UNKNOWN_TOPIC_OR_PARTITION';

/** Whether a member crashed because no broker knew the group's coordinator, which passes. kafkajs wraps that error where it gives up. */
export const lacksCoordinator = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'KafkaJSGroupCoordinatorNotFound' || lacksCoordinator(error.cause));

class Membership implements GroupMember {
  readonly #handle: KafkaHandle;
  readonly #options: GroupOptions;
  readonly #consumer: Consumer;
  readonly #sockets = createCuttableSockets();
  readonly #fetcher: PartitionFetcher;
  readonly #outages: OutageLog;
  readonly #held = new Map<string, TopicPartition>();
  /** Assignments are processed one after another, in their order. */
  #turn: Promise<void> = Promise.resolve();
  readonly #joined = Promise.withResolvers<void>();
  #isJoined = false;
  #stopped = false;

  constructor(handle: KafkaHandle, options: GroupOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#fetcher = new PartitionFetcher(handle, this.#onFatal);
    this.#outages = createOutageLog(handle.log, 'the group cannot be joined, trying again');
    const kafka = new kafkajs.Kafka({ ...handle.settings, socketFactory: this.#sockets.factory });
    this.#consumer = kafka.consumer({
      groupId: options.groupId,
      sessionTimeout: SESSION_TIMEOUT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: IDLE_MS,
      allowAutoTopicCreation: false,
      retry: { retries: 8, restartOnFailure: () => Promise.resolve(!this.#stopped) },
    });
  }

  /** Resolves when the group was joined and the first partitions are read. */
  async join(): Promise<void> {
    const consumer = this.#consumer;
    const options = this.#options;
    if (options.replacesPredecessor) await evictPredecessors(this.#handle, options.groupId);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#outages.noteSuccess();
      this.#onJoin(toPartitions(payload.memberAssignment));
    });
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart, groupId } }) => {
      const isPassing = restart || lacksCoordinator(error);
      if (!isPassing) return this.#onFatal(error);
      if (!this.#stopped) this.#outages.noteFailure(error, { groupId });
      if (!restart) void this.#runAgain();
    });
    await this.#run();
    // run() also resolves when the first attempt failed and another is scheduled.
    await this.#joined.promise;
  }

  async #run(): Promise<void> {
    const consumer = this.#consumer;
    const options = this.#options;
    await consumer.connect();
    await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: () => Promise.resolve() });
  }

  /** kafkajs ends on a missing coordinator; a broker that has just started has none for some seconds, and one that is away takes no connection. */
  async #runAgain(): Promise<void> {
    for (;;) {
      await pause(COORDINATOR_RETRY_MS);
      if (this.#stopped) return;
      try {
        return await this.#run();
      } catch (error) {
        if (!isPassing(error)) return this.#onFatal(error);
        if (!this.#stopped) this.#outages.noteFailure(error, { groupId: this.#options.groupId });
      }
    }
  }

  async commit(offsets: readonly (TopicPartition & { readonly offset: number })[]): Promise<boolean> {
    try {
      await this.#consumer.commitOffsets(
        offsets.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })),
      );
      return true;
    } catch (error) {
      this.#handle.log.info({ err: error, groupId: this.#options.groupId }, 'offsets not committed');
      return false;
    }
  }

  assigned(): readonly TopicPartition[] {
    return [...this.#held.values()];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#fetcher.stop();
    const left = this.#consumer.disconnect().catch(() => undefined);
    await Promise.race([left, pause(LEAVE_MS, undefined, { ref: false })]);
    this.#sockets.cut();
  }

  readonly #onFatal = (error: unknown): void => {
    if (this.#stopped) return;
    if (this.#isJoined) failProcess(error);
    else this.#joined.reject(error);
  };

  /** The consumer only keeps the membership: its own fetching is paused before it begins. */
  #onJoin(partitions: readonly TopicPartition[]): void {
    this.#consumer.pause(partitions.map(({ topic, partition }) => ({ topic, partitions: [partition] })));
    this.#turn = this.#turn.then(() => this.#take(partitions)).catch(this.#onFatal);
  }

  async #take(partitions: readonly TopicPartition[]): Promise<void> {
    if (this.#stopped) return;
    const wanted = new Set(partitions.map(formatPartition));
    const revoked = this.assigned().filter((held) => !wanted.has(formatPartition(held)));
    const added = partitions.filter((partition) => !this.#held.has(formatPartition(partition)));
    for (const partition of revoked) this.#held.delete(formatPartition(partition));
    for (const partition of added) this.#held.set(formatPartition(partition), partition);
    await Promise.all(revoked.map(({ topic, partition }) => this.#fetcher.unassign(topic, partition)));
    if (revoked.length > 0) await this.#options.onRevoked?.(revoked);
    if (added.length > 0) await this.#begin(added);
    this.#isJoined = true;
    this.#joined.resolve();
  }

  async #begin(added: readonly TopicPartition[]): Promise<void> {
    const answers = (await this.#options.onAssigned?.(added)) ?? [];
    const chosen = new Map(answers.map((answer) => [formatPartition(answer), answer.from]));
    const undecided = added.filter(
      (partition) => (chosen.get(formatPartition(partition)) ?? 'committed') === 'committed',
    );
    const committed = await this.#readCommitted(undecided);
    await Promise.all(
      added.map((partition) => {
        const from = chosen.get(formatPartition(partition)) ?? 'committed';
        return this.#read(
          partition,
          from === 'committed' ? (committed.get(formatPartition(partition)) ?? 'earliest') : from,
        );
      }),
    );
  }

  /** A coordinator that moves to another broker responds some seconds later. */
  async #readCommitted(wanted: readonly TopicPartition[]): Promise<ReadonlyMap<string, Start>> {
    const backoff = createBackoff({ minMs: 100, maxMs: COORDINATOR_RETRY_MS });
    for (;;) {
      try {
        return await fetchCommitted(this.#handle, this.#options.groupId, wanted);
      } catch (error) {
        if (this.#stopped || !isPassing(error)) throw error;
        this.#handle.log.warn(
          { err: error, groupId: this.#options.groupId },
          'committed offsets not known, trying again',
        );
        await pause(backoff.next());
      }
    }
  }

  async #read({ topic, partition }: TopicPartition, start: Start): Promise<void> {
    const { onBatch } = this.#options;
    await this.#fetcher.assign({ topic, partition }, { start }, ({ messages, highWatermark }) =>
      messages.length === 0 ? undefined : onBatch({ topic, partition, messages, highWatermark }),
    );
  }
}

/**
 * Joins a group; rejects when it is refused, or when the first `onAssigned` throws. kafkajs's eager protocol moves partitions without waiting for
 * handlers, so two members may briefly work on one partition: outputs must tolerate repeats, as ours do by their place (design section 4).
 */
export const joinGroup = async (handle: KafkaHandle, options: GroupOptions): Promise<GroupMember> => {
  const membership = new Membership(handle, options);
  try {
    await membership.join();
  } catch (error) {
    await membership.stop();
    throw error;
  }
  return membership;
};
