// The Kafka client of a process: connection settings, logging, topics.
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip as deflate, gunzipSync, gzipSync, gunzip as inflate, type ZlibOptions } from 'node:zlib';
import type { Admin, ISocketFactory, Kafka as KafkaClient, KafkaConfig, logCreator } from 'kafkajs';
import type { Logger } from '../process/log.ts';
import kafkajs from './patches/kafkajs.ts';
import { createSocketFactory, toConnection } from './security.ts';
import type { KafkaSecurity } from './settings.ts';
import type { TopicSpec } from './topics.ts';

const gzip = promisify(deflate);
const gunzip = promisify(inflate);

/** Up to this size the transfer to another thread costs more than the work, a millisecond: 100 us a batch, and a turn of a busy loop. */
const AT_ONCE_BYTES = 128 * 1024;
const [LEAST_BITS, MOST_BITS] = [9, 15];
/** The window must hold more than the look-ahead (zlib). */
const LOOK_AHEAD = 262;

/**
 * Level 1 costs a third of kafkajs's default and our records still shrink several times. Memory follows the length of a batch: zlib's default
 * of 270 kB each fits any length, and most of our batches have less than 4 kB.
 */
const chooseGzipOptions = (bytes: number): ZlibOptions => {
  const windowBits = Math.min(MOST_BITS, Math.max(LEAST_BITS, Math.ceil(Math.log2(bytes + LOOK_AHEAD))));
  return { level: 1, windowBits, memLevel: Math.max(1, windowBits - 7), chunkSize: Math.max(1_024, bytes >> 2) };
};

const MOST_CHUNK = 1024 * 1024;

/** Gzip data ends with its uncompressed length (RFC 1952); a buffer of that size needs no window. A wrong length only costs time. */
const chooseGunzipOptions = (packed: Buffer): ZlibOptions => {
  const length = packed.length < 4 ? 0 : packed.readUInt32LE(packed.length - 4);
  return { chunkSize: Math.min(MOST_CHUNK, Math.max(1_024, length + 1)) };
};

kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP] = () => ({
  compress: async ({ buffer }: { readonly buffer: Buffer }) => {
    const options = chooseGzipOptions(buffer.length);
    return buffer.length <= AT_ONCE_BYTES ? gzipSync(buffer, options) : gzip(buffer, options);
  },
  decompress: async (buffer: Buffer) => {
    const options = chooseGunzipOptions(buffer);
    return buffer.length <= AT_ONCE_BYTES ? gunzipSync(buffer, options) : gunzip(buffer, options);
  },
});

/** A factory whose sockets can be cut permanently: kafkajs continues to work in a client that was stopped while it connected. */
export const createCuttableSockets = (): { readonly factory: ISocketFactory; readonly cut: () => void } => {
  const create = createSocketFactory();
  const open = new Set<Socket>();
  let isCut = false;
  const factory: ISocketFactory = (args) => {
    const socket = create(args);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (isCut) socket.destroy(new Error('this Kafka client was stopped'));
    return socket;
  };
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return { factory, cut };
};

/** kafkajs logs each attempt that fails, some ten a second while no broker answers; our own code logs the outage. */
const createLogCreator =
  (log: Logger): logCreator =>
  () =>
  ({ namespace, log: { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...rest } }) => {
    log.debug({ kafkajs: namespace, detail: rest }, message);
  };

type KafkaSettings = {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Plain text and no authentication without it. */
  readonly security?: KafkaSecurity;
};

export type KafkaHandle = {
  readonly kafka: KafkaClient;
  /** For clients created beside kafkajs's own (fetch.ts). */
  readonly settings: KafkaConfig;
  readonly log: Logger;
  /** One connected admin, shared. */
  readonly admin: () => Promise<Admin>;
  /** Closes the admin; the creators of publishers, readers and members close them before this. */
  readonly close: () => Promise<void>;
};

const OPEN: KafkaSecurity = { tls: null, sasl: null };

/** Connects to nothing yet: each part connects on first use and retries without limit. */
export const openKafka = ({ brokers, clientId, security = OPEN }: KafkaSettings, log: Logger): KafkaHandle => {
  const settings: KafkaConfig = {
    brokers: [...brokers],
    clientId,
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 8 },
    logCreator: createLogCreator(log),
    ...toConnection(security),
  };
  const kafka = new kafkajs.Kafka(settings);
  let shared: Promise<Admin> | null = null;
  const connectAdmin = async (): Promise<Admin> => {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  };
  return {
    kafka,
    settings,
    log,
    admin: () => {
      shared ??= connectAdmin().catch((error: unknown) => {
        shared = null;
        throw error;
      });
      return shared;
    },
    close: async () => {
      const admin = await shared?.catch(() => null);
      shared = null;
      await admin?.disconnect();
    },
  };
};

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

/** The default of an `onFatal`: nothing handles the error where it occurred, so the process ends by its lifecycle. */
export const endProcess = (error: unknown): void => {
  queueMicrotask(() => {
    throw error;
  });
};
