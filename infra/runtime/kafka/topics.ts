// Every topic with its partitions, retention and limits, ready for ensureTopics (design section 4).
import { MD_LAYERS, nameTopics } from '../../../schemas/topics.ts';

/** Size limits of every message, defined only here. */
export const LIMITS = {
  /** A venue's frame or response as received. */
  frameBytes: 8 * 1024 * 1024,
  /** The same after decompression. */
  decompressedFrameBytes: 8 * 1024 * 1024,
  /** Value of one Kafka record, before the producer's compression: a frame and its envelope. */
  messageBytes: 9 * 1024 * 1024,
  /** A record batch as the broker stores it; room for one record that does not compress. */
  batchBytes: 10 * 1024 * 1024,
} as const;

export type TopicSpec = {
  readonly topic: string;
  readonly partitions: number;
  /** Copies of each partition; the brokers' own default without it. */
  readonly replication?: number;
  readonly config: Readonly<Record<string, string>>;
};

type TopicPlan = {
  readonly venues: readonly string[];
  readonly shards: number;
  readonly namespace: string;
  /** As TopicSpec; `min.insync.replicas` is the cluster's. */
  readonly replication?: number;
  /** A replay keeps its producer's time and all its records. */
  readonly replay?: boolean;
};

const SPREAD = 6;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CHECKPOINT_BYTES = 1024 ** 3;

/** Kafka deletes whole segments, so a segment closes well before its retention ends. */
const keepFor = (ms: number): Record<string, string> => ({
  'cleanup.policy': 'delete',
  'retention.ms': String(ms),
  'segment.ms': String(Math.max(MINUTE_MS, Math.round(ms / 4))),
});
/**
 * A broker keeps a file and two memory maps open for each segment. With the broker's own period, which may be an hour, their number would grow without
 * limit in a topic that is kept for ever.
 */
const SELDOM = { 'segment.ms': String(400 * 24 * HOUR_MS) };
const FOREVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1', ...SELDOM };
const CHECKPOINTS = {
  'cleanup.policy': 'delete',
  ...SELDOM,
  'retention.ms': '-1',
  'retention.bytes': String(CHECKPOINT_BYTES),
  'segment.bytes': String(CHECKPOINT_BYTES / 8),
};
const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.ms': String(10 * MINUTE_MS),
  'min.cleanable.dirty.ratio': '0.1',
};

export const listTopicSpecs = ({
  venues,
  shards,
  namespace,
  replication,
  replay = false,
}: TopicPlan): readonly TopicSpec[] => {
  const names = nameTopics(namespace);
  const keep = (ms: number) => (replay ? FOREVER : keepFor(ms));
  // Of a producer whose clock is ahead a broker would refuse each record, and of one whose clock is behind it would delete them at once.
  const time = { 'message.timestamp.type': replay ? 'CreateTime' : 'LogAppendTime' };
  const spec = (topic: string, partitions: number, config: Record<string, string>): TopicSpec => ({
    topic,
    partitions,
    ...(replication === undefined ? {} : { replication }),
    config: { 'max.message.bytes': String(LIMITS.batchBytes), ...time, ...config },
  });
  const ofVenue = (venue: string): TopicSpec[] => [
    spec(names.raw(venue), shards, keep(26 * HOUR_MS)),
    spec(names.live(venue), shards, keep(15 * MINUTE_MS)),
    spec(names.state(venue), shards, keep(15 * MINUTE_MS)),
    spec(names.rows(venue), shards, keep(48 * HOUR_MS)),
    spec(names.checkpoints(venue), shards, CHECKPOINTS),
  ];
  return [
    ...venues.flatMap(ofVenue),
    ...MD_LAYERS.map((layer) => spec(names.md(layer), SPREAD, keep(48 * HOUR_MS))),
    spec(names.listings, SPREAD, FOREVER),
    spec(names.capabilities, SPREAD, FOREVER),
    spec(names.watermark, 1, COMPACTED),
    spec(names.deadLetters, SPREAD, keep(14 * 24 * HOUR_MS)),
  ];
};

/** The topics of a collector, which writes to no others. */
export const listRawTopicSpecs = (plan: TopicPlan): readonly TopicSpec[] => {
  const raw = new Set(plan.venues.map(nameTopics(plan.namespace).raw));
  return listTopicSpecs(plan).filter(({ topic }) => raw.has(topic));
};
