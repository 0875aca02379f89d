// Creates missing topics, and waits until every topic of a process accepts records.
import { setTimeout as pause } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type { KafkaHandle } from './client.ts';
import kafkajs from './patches/kafkajs.ts';
import type { TopicSpec } from './topics.ts';

const LEADERS_DEADLINE_MS = 120_000;
const LEADERS_POLL_MS = 100;
/** Value in CreateTopics that selects `default.replication.factor` of the brokers (KIP-464). */
const BROKERS_DEFAULT = -1;

/** The number of partitions determines the partition of a listing's messages, so it cannot change under a running service. */
export class TopicMismatch extends Error {
  override readonly name = 'TopicMismatch';
}

/** A right on topics that this user lacks: waiting does not help. */
export class TopicRightMissing extends Error {
  override readonly name = 'TopicRightMissing';
  constructor(right: string, topics: readonly string[]) {
    super(`the user of this process lacks the right ${right} on ${topics.join(', ')}: add it to Kafka's ACLs`);
  }
}

const isUnauthorised = (error: unknown): boolean =>
  error instanceof Error && 'type' in error && error.type === 'TOPIC_AUTHORIZATION_FAILED';

type Count = { readonly all: number; readonly led: number };

const countPartitions = async (admin: Admin, names: readonly string[]): Promise<Map<string, Count>> => {
  if (names.length === 0) return new Map();
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
  const count = (partitions: readonly { readonly leader: number }[]): Count => ({
    all: partitions.length,
    led: partitions.filter(({ leader }) => leader >= 0).length,
  });
  return new Map(topics.map(({ name, partitions }) => [name, count(partitions)]));
};

/** Throws TopicRightMissing when a right is missing; every other failure is temporary, while brokers start and stop. */
const passOver = async (admin: Admin, names: readonly string[], error: unknown): Promise<Map<string, Count>> => {
  if (!isUnauthorised(error)) return new Map();
  // The whole request is refused, and the refusal names no topic.
  const asked = names.map((name) =>
    countPartitions(admin, [name]).then(
      () => [],
      (why) => (isUnauthorised(why) ? name : []),
    ),
  );
  const refused = (await Promise.all(asked)).flat();
  if (refused.length > 0) throw new TopicRightMissing('DESCRIBE (READ and WRITE include it)', refused);
  return new Map();
};

/**
 * A broker reports the leader of a new partition before that leader accepts records, and kafkajs repeats a whole send when one of its partitions
 * was refused: records would be stored twice. A broker lists offsets only once it leads. kafkajs's own wait fails for a topic a broker lacks yet.
 * Topics are queried in parallel: one after the other, each with kafkajs's own retries, took five seconds on a busy machine.
 */
const waitForLeaders = async (admin: Admin, specs: readonly TopicSpec[]): Promise<void> => {
  const waiting = new Map(specs.map(({ topic, partitions }) => [topic, partitions]));
  const deadline = performance.now() + LEADERS_DEADLINE_MS;
  for (;;) {
    const names = [...waiting.keys()];
    const counts = await countPartitions(admin, names).catch((error: unknown) => passOver(admin, names, error));
    const led = [...waiting].filter(([topic, partitions]) => counts.get(topic)?.led === partitions);
    // In parallel: there are dozens of topics, and on a busy machine each request waits for its turn.
    const answered = led.map(async ([topic, partitions]) => {
      const offsets = await admin.fetchTopicOffsets(topic).catch(() => []);
      if (offsets.length === partitions) waiting.delete(topic);
    });
    await Promise.all(answered);
    if (waiting.size === 0) return;
    if (performance.now() > deadline) throw new Error(`no leaders for new topics: ${[...waiting.keys()].join(', ')}`);
    await pause(LEADERS_POLL_MS);
  }
};

/**
 * Creates missing topics and resolves when all accept records. Throws TopicMismatch when one exists with another number of partitions, and
 * TopicRightMissing without the right to create or describe them.
 */
export const ensureTopics = async (handle: KafkaHandle, specs: readonly TopicSpec[]): Promise<void> => {
  const admin = await handle.admin();
  const existing = new Set(await admin.listTopics());
  const present = specs.filter(({ topic }) => existing.has(topic));
  const missing = specs.filter(({ topic }) => !existing.has(topic));
  const found = await countPartitions(
    admin,
    present.map(({ topic }) => topic),
  );
  const faults = present
    .filter(({ topic, partitions }) => found.get(topic)?.all !== partitions)
    .map(
      ({ topic, partitions }) => `topic ${topic} has ${found.get(topic)?.all} partitions, configured are ${partitions}`,
    );
  if (faults.length > 0) throw new TopicMismatch(`${faults.join('; ')}: use the old number or a new namespace`);
  if (missing.length > 0) await createTopics(admin, missing);
  // Existing topics too: another process may be creating them at this moment.
  await waitForLeaders(admin, specs);
};

/** False when another process created them first, which is equally good. */
const createTopics = async (admin: Admin, specs: readonly TopicSpec[]): Promise<boolean> => {
  const topics = specs.map(({ topic, partitions, replication = BROKERS_DEFAULT, config }) => ({
    topic,
    numPartitions: partitions,
    replicationFactor: replication,
    configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
  }));
  try {
    return await admin.createTopics({ waitForLeaders: false, topics });
  } catch (error) {
    const faults = error instanceof kafkajs.KafkaJSAggregateError ? error.errors : [];
    const refused = faults.flatMap((fault) =>
      isUnauthorised(fault) && typeof fault === 'object' && 'topic' in fault ? String(fault.topic) : [],
    );
    if (refused.length > 0) throw new TopicRightMissing('CREATE', refused);
    throw error;
  }
};
