// Exports of the Kafka runtime: one part a file.
export { type KafkaHandle, openKafka } from './client.ts';
export { formatPartition, LogCut, type TopicPartition } from './delivery.ts';
export { ensureTopics, TopicMismatch, TopicRightMissing } from './ensure-topics.ts';
export { countForeignRecords } from './foreign-records.ts';
export { type GroupBatch, type GroupMember, joinGroup } from './group.ts';
export {
  createPublisher,
  type Publication,
  type Publisher,
  type PublisherOptions,
  QueueFull,
} from './publisher.ts';
export {
  fetchEndOffsets,
  fetchOffsetsSince,
  type Message,
  type PartitionRange,
  type Reader,
  readPartitions,
  readToEnd,
  readTopics,
  readValues,
  type Start,
  type TopicReading,
} from './reader.ts';
export { openSender } from './sender.ts';
