// Copies a raw log into a namespace of its own, to be processed again, and hashes a namespace's tables for comparison.
import { setTimeout as pause } from 'node:timers/promises';
import { ensureTables } from '../../../../processors/sinks/ensure-tables.ts';
import { nameTopics } from '../../../../schemas/topics.ts';
import {
  createPublisher,
  ensureTopics,
  fetchEndOffsets,
  type KafkaHandle,
  readToEnd,
} from '../../../runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../runtime/kafka/topics.ts';
import type { QuestdbReader } from '../../../runtime/questdb/reader.ts';
import type { Stores } from '../../local/endpoints.ts';
import { hashTables, type TableHash } from '../../tools/hash-tables.ts';
import { waitForHistory } from '../../tools/history-reached.ts';

/** A log in a namespace, and the stores it is replayed in. */
export type LoggedWorld = {
  readonly stores: Stores;
  readonly handle: KafkaHandle;
  readonly reader: QuestdbReader;
  /** Namespace of the live run. */
  readonly base: string;
  readonly venues: readonly string[];
  readonly shards: number;
};
export type Hashes = Record<string, TableHash>;

export const hashNamespace = ({ stores }: LoggedWorld, namespace: string): Promise<Hashes> => {
  const auth = { user: stores.questdb_user, password: stores.questdb_password };
  return hashTables({ url: stores.questdb_http, auth, namespace });
};

/** Resolves when everything in the log of a namespace is visible in its tables. */
export const waitForReached = (
  { handle, venues }: LoggedWorld,
  namespace: string,
  timeoutMs = 300_000,
): Promise<void> => waitForHistory(handle, { venues, namespace, sinkGroup: `${namespace}processors.sink`, timeoutMs });

type CopyOptions = { readonly heldPartition?: number; readonly heldMs?: number };

/** The end of the log at the time of the read, by partition: a running service continues to write. */
type Ends = Map<number, number>;

/** Rows contain raw offsets: a copy with other offsets cannot give the same tables. */
const checkCopied = async (handle: KafkaHandle, topic: string, read: Ends): Promise<void> => {
  for (const [partition, { latest }] of await fetchEndOffsets(handle, topic)) {
    const expected = read.get(partition) ?? 0;
    if (latest !== expected)
      throw new Error(`${topic}/${partition} ends at ${latest}, its log was read to ${expected}`);
  }
};

/** Copies the raw topics with their offsets and times into another namespace. One partition of each may be copied later. */
export const copyRaw = async (world: LoggedWorld, to: string, options: CopyOptions = {}): Promise<void> => {
  const { handle, base, venues, shards } = world;
  await ensureTopics(handle, listTopicSpecs({ venues, shards, namespace: to, replay: true }));
  // A request with a partition that has no leader is sent again whole: records that other partitions accepted would be stored twice.
  for (const venue of venues) await fetchEndOffsets(handle, nameTopics(to).raw(venue));
  const publisher = createPublisher(handle, {});
  const ends = new Map(venues.map((venue) => [venue, new Map() as Ends] as const));
  const copy = async (venue: string, partitions: readonly number[]): Promise<void> => {
    const topic = nameTopics(to).raw(venue);
    const from = { topic: nameTopics(base).raw(venue), partitions, from: () => 'earliest' as const };
    await readToEnd(handle, from, async ({ key, value, timestampMs, offset }, partition) => {
      ends.get(venue)?.set(partition, offset + 1);
      const copied = value === null ? null : Buffer.from(value);
      publisher.publish({ topic, partition, key, value: copied, timestamp: timestampMs });
      await publisher.ready();
    });
    await publisher.flush();
  };
  const { heldPartition, heldMs = 0 } = options;
  const all = Array.from({ length: shards }, (_, p) => p);
  for (const venue of venues) {
    await copy(
      venue,
      all.filter((p) => p !== heldPartition),
    );
  }
  if (heldPartition !== undefined) {
    await pause(heldMs);
    for (const venue of venues) await copy(venue, [heldPartition]);
  }
  await publisher.close();
  for (const [venue, read] of ends) await checkCopied(handle, nameTopics(to).raw(venue), read);
};

/** Makes the tables and the raw topics of a replay; returns its namespace. */
export const prepareReplay = async (world: LoggedWorld, name: string): Promise<string> => {
  const namespace = `replay.${world.base}${name}.`;
  await ensureTables((text) => world.reader.query({ text }), { namespace });
  return namespace;
};
