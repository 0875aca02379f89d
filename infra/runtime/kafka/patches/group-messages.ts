// Groups messages by partition in linear time. Upstream: tulios/kafkajs pull request 1576 (open).
import { replacePart } from './replace.ts';

type Grouping<M> = {
  readonly topic: string;
  readonly partitionMetadata: readonly unknown[];
  readonly messages: readonly M[];
  readonly partitioner: (args: {
    readonly topic: string;
    readonly partitionMetadata: readonly unknown[];
    readonly message: M;
  }) => number;
};

/** Same result as kafkajs, which copies a partition's messages for each one added. */
export const groupMessages = <M>({ topic, partitionMetadata, messages, partitioner }: Grouping<M>) => {
  const groups: Record<number, M[]> = {};
  if (partitionMetadata.length === 0) return groups;
  for (const message of messages) {
    const partition = partitioner({ topic, partitionMetadata, message });
    const group = groups[partition];
    if (group === undefined) groups[partition] = [message];
    else group.push(message);
  }
  return groups;
};
replacePart('kafkajs/src/producer/groupMessagesPerPartition', groupMessages);
