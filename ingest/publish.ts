// Writes a venue's messages to its raw topic: encoded once, one record for each shard the message is about (design sections 4 and 5).
import type { Publisher } from '../infra/runtime/kafka.ts';
import { codecs } from '../schemas/avro/codec.ts';
import type { RawMessage } from '../schemas/topics.ts';

export type RawWriter = {
  /** Keeps the order of the calls in every partition; never blocks, so callers heed `isFull`. */
  readonly write: (shards: readonly number[], message: RawMessage) => void;
  /** Kafka takes less than comes in: stop reading until `ready` resolves (overflow policy `block`). */
  readonly isFull: () => boolean;
  readonly ready: () => Promise<void>;
};

export type RawWriterOptions = {
  readonly publisher: Publisher;
  readonly topic: string;
  /** Above so many queued bytes `isFull`. Below the publisher's own limit, so that what is in flight still fits. */
  readonly fullBytes: number;
};

export const createRawWriter = ({ publisher, topic, fullBytes }: RawWriterOptions): RawWriter => ({
  write: (shards, message) => {
    const value = codecs.raw.encode(message);
    for (const partition of shards) publisher.publish({ topic, partition, key: message.slot, value });
  },
  isFull: () => publisher.queuedBytes() >= fullBytes,
  ready: () => publisher.ready(),
});
