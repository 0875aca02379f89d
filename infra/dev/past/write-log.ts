// Writes the past into the raw topics before any other writer: with virtual record times, under a topic type that keeps them.
import { nameTopics } from '../../../schemas/topics.ts';
import { createPublisher, ensureTopics, type KafkaHandle } from '../../runtime/kafka/kafka.ts';
import { listRawTopicSpecs, type TopicSpec } from '../../runtime/kafka/topics.ts';
import type { PastRecord } from './virtual-log.ts';

/** `kafkajs` exports no constant for it outside its enum. */
const TOPIC_RESOURCE = 2;

export type Target = { readonly handle: KafkaHandle; readonly venues: readonly string[]; readonly shards: number };

/** Raw topics as they are permanently: the broker's time, with retention. */
const listRawSpecs = ({ venues, shards }: Target): readonly TopicSpec[] =>
  listRawTopicSpecs({ venues, shards, namespace: '' });

/** One segment that retention does not delete: its records are older than it allows, and the tasks have yet to read them. */
const KEPT = { 'retention.ms': '-1', 'segment.ms': String(400 * 86_400_000) };

const configure = async (handle: KafkaHandle, specs: readonly TopicSpec[]): Promise<void> => {
  const admin = await handle.admin();
  const resources = specs.map(({ topic, config }) => ({
    type: TOPIC_RESOURCE,
    name: topic,
    configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
  }));
  await admin.alterConfigs({ validateOnly: false, resources });
};

const withConfig = (specs: readonly TopicSpec[], config: TopicSpec['config']): readonly TopicSpec[] =>
  specs.map((spec) => ({ ...spec, config: { ...spec.config, ...config } }));

/** Resolves when every record is acknowledged and the topics use the broker's time again. */
export const writePastLog = async (
  target: Target,
  recordsOf: (venue: string) => readonly PastRecord[],
): Promise<number> => {
  const { handle, venues } = target;
  const specs = withConfig(listRawSpecs(target), KEPT);
  await ensureTopics(handle, withConfig(specs, { 'message.timestamp.type': 'CreateTime' }));
  const publisher = createPublisher(handle, { maxRecords: 2_000 });
  let written = 0;
  for (const venue of venues) {
    const topic = nameTopics().raw(venue);
    for (const { timestampMs, ...record } of recordsOf(venue)) {
      publisher.publish({ topic, ...record, timestamp: timestampMs });
      await publisher.ready();
      written += 1;
    }
  }
  await publisher.close();
  await configure(handle, specs);
  return written;
};

/** Once the past has been read, retention may delete it. */
export const endKeeping = (target: Target): Promise<void> => configure(target.handle, listRawSpecs(target));
