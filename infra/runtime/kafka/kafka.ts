// The door to Kafka: everything a process does with it, one part a file.
export {
  endProcess,
  ensureTopics,
  type KafkaHandle,
  type KafkaSettings,
  openKafka,
  TopicMismatch,
} from './client.ts';
export { LogCut } from './delivery.ts';
export { type GroupMember, type GroupOptions, joinGroup, type TopicPartition } from './group.ts';
export {
  Abandoned,
  createPublisher,
  type Publication,
  type Publisher,
  type PublisherOptions,
  QueueFull,
  type Withdrawn,
} from './publisher.ts';
export {
  endOffsets,
  type Message,
  type PartitionRange,
  type Reader,
  type ReadOptions,
  readPartitions,
  readToEnd,
  type Start,
} from './reader.ts';
export { openSender, type Sender } from './sender.ts';
