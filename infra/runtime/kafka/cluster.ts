// The parts of kafkajs 2.2.4 behind its consumer that we use (src/cluster, src/broker): they find the leaders of partitions and send them requests.
import { createRequire } from 'node:module';
import type { IHeaders, ISocketFactory, KafkaConfig } from 'kafkajs';
import type { KafkaHandle } from './client.ts';

export type RawMessage = {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestamp: string;
  readonly headers: IHeaders;
  readonly isControlRecord: boolean;
  readonly batchContext: {
    readonly firstOffset: string;
    readonly lastOffsetDelta: number;
    /** Counts the leaders of the partition; the leader writes its own into each batch. */
    readonly partitionLeaderEpoch: number;
  };
};
export type PartitionAnswer = {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly RawMessage[];
};
export type FetchRequest = {
  readonly isolationLevel: number;
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
};
/** The parts of kafkajs's encoder and decoder that we use. */
export type EncodedBytes = {
  writeInt32(value: number): EncodedBytes;
  writeString(value: string): EncodedBytes;
  writeArray(values: readonly EncodedBytes[]): EncodedBytes;
};
export type ReadableBytes = {
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readString(): string;
  readArray<T>(read: (decoder: ReadableBytes) => T): T[];
};
export type Broker = {
  readonly connectionPool: {
    readonly send: (call: {
      readonly request: {
        readonly apiKey: number;
        readonly apiVersion: number;
        readonly apiName: string;
        readonly encode: () => Promise<EncodedBytes>;
      };
      readonly response: {
        readonly decode: (bytes: Buffer) => Promise<unknown>;
        readonly parse: (decoded: unknown) => Promise<unknown>;
      };
    }) => Promise<unknown>;
  };
  readonly fetch: (request: FetchRequest) => Promise<{
    readonly responses: readonly { readonly topicName: string; readonly partitions: readonly PartitionAnswer[] }[];
  }>;
};
type OffsetQuery = {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number }[];
  readonly fromBeginning?: boolean;
  /** Milliseconds; takes precedence over `fromBeginning`. */
  readonly fromTimestamp?: number;
};
type Coordinator = { readonly leaveGroup: (left: { groupId: string; memberId: string }) => Promise<unknown> };
export type Cluster = {
  readonly connect: () => Promise<void>;
  readonly disconnect: () => Promise<void>;
  readonly refreshMetadata: () => Promise<void>;
  readonly refreshMetadataIfNecessary: () => Promise<void>;
  readonly addMultipleTargetTopics: (topics: readonly string[]) => Promise<void>;
  readonly findBroker: (node: { readonly nodeId: string }) => Promise<Broker>;
  readonly findGroupCoordinator: (group: { readonly groupId: string }) => Promise<Coordinator>;
  readonly findLeaderForPartitions: (topic: string, partitions: readonly number[]) => Record<string, readonly number[]>;
  readonly findTopicPartitionMetadata: (topic: string) => readonly { readonly partitionId: number }[];
  readonly fetchTopicsOffset: (
    queries: readonly OffsetQuery[],
  ) => Promise<readonly { readonly partitions: readonly { readonly partition: number; readonly offset: string }[] }[]>;
};
type ClusterOptions = KafkaConfig & {
  readonly logger: unknown;
  readonly socketFactory: ISocketFactory;
  readonly metadataMaxAge: number;
  readonly allowAutoTopicCreation: boolean;
  readonly enforceRequestTimeout: boolean;
};

const require = createRequire(import.meta.url);
const ClusterClass = require('kafkajs/src/cluster') as new (options: ClusterOptions) => Cluster;

const METADATA_AGE_MS = 60_000;

export const createCluster = ({ kafka, settings }: KafkaHandle, socketFactory: ISocketFactory): Cluster =>
  new ClusterClass({
    ...settings,
    logger: kafka.logger(),
    socketFactory,
    metadataMaxAge: METADATA_AGE_MS,
    allowAutoTopicCreation: false,
    enforceRequestTimeout: true,
  });
