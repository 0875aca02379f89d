// Requests from a leader whether its log still holds the records of an earlier leader (KIP-320). kafkajs 2.2.4 lacks it and fetches without epochs.
import { createRequire } from 'node:module';
import type { Broker, EncodedBytes, ReadableBytes } from './cluster.ts';

const require = createRequire(import.meta.url);
const Encoder = require('kafkajs/src/protocol/encoder') as new () => EncodedBytes;
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => ReadableBytes;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  readonly createErrorFromCode: (code: number) => Error;
};

const OFFSET_FOR_LEADER_EPOCH = 23;
/** The newest version without tagged fields; brokers from 2.3 accept it. */
const VERSION = 3;
const CONSUMER = -1;
const NOT_CHECKED = -1;

type EpochQuery = { readonly topic: string; readonly partition: number; readonly epoch: number };
type EpochEnd = {
  /** The largest epoch of the log that is not above the requested one; -1 when the log begins above it or ends below it. */
  readonly epoch: number;
  /** Offset after its last record. */
  readonly end: number;
};

const encode = ({ topic, partition, epoch }: EpochQuery): EncodedBytes => {
  const ofPartition = new Encoder().writeInt32(partition).writeInt32(NOT_CHECKED).writeInt32(epoch);
  const ofTopic = new Encoder().writeString(topic).writeArray([ofPartition]);
  return new Encoder().writeInt32(CONSUMER).writeArray([ofTopic]);
};

type Answer = EpochEnd & { readonly errorCode: number };

const decode = (bytes: Buffer): Answer | undefined => {
  const decoder = new Decoder(bytes);
  decoder.readInt32(); // throttle time
  const topics = decoder.readArray((ofTopic) => {
    ofTopic.readString();
    return ofTopic.readArray((ofPartition) => {
      const errorCode = ofPartition.readInt16();
      ofPartition.readInt32(); // partition
      return { errorCode, epoch: ofPartition.readInt32(), end: Number(ofPartition.readInt64().toString()) };
    });
  });
  return topics[0]?.[0];
};

/** Offset after the last record of an epoch in the log of this broker. Rejects when the broker does not lead the partition. */
export const fetchEpochEnd = async (broker: Broker, query: EpochQuery): Promise<EpochEnd> => {
  const answer = await broker.connectionPool.send({
    request: {
      apiKey: OFFSET_FOR_LEADER_EPOCH,
      apiVersion: VERSION,
      apiName: 'OffsetForLeaderEpoch',
      encode: async () => encode(query),
    },
    response: { decode: async (bytes: Buffer) => decode(bytes), parse: async (decoded: unknown) => decoded },
  });
  const found = answer as Answer | undefined;
  if (found === undefined) throw new Error(`${query.topic}/${query.partition}: no answer about its leaders' epochs`);
  if (found.errorCode !== 0) throw createErrorFromCode(found.errorCode);
  return { epoch: found.epoch, end: found.end };
};
