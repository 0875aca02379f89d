// The virtual clock, and the log written by it: each record with the instant at which a broker would have appended it.
import type { RawWriter } from '../../../ingest/outlet/raw-writer.ts';
import { codecs } from '../../../schemas/avro/codec.ts';

/** Unix ms; advanced by the writer of the past, read by venue and collector. */
export type VirtualClock = { ms: number };

export type PastRecord = {
  readonly partition: number;
  readonly key: string;
  readonly value: Buffer;
  readonly timestampMs: number;
};

export type VirtualLog = {
  readonly writer: RawWriter;
  readonly records: PastRecord[];
  /** Kafka accepts nothing before that instant: messages wait on the collector's disk, ticks are never written. */
  readonly holdUntil: (ms: number) => void;
};

/** From a message's receipt to its append. */
const APPEND_MS = 2;

export const createVirtualLog = (): VirtualLog => {
  const records: PastRecord[] = [];
  let heldUntilMs = 0;
  let lastMs = 0;
  return {
    records,
    holdUntil: (ms) => {
      heldUntilMs = ms;
    },
    writer: {
      write: (shards, message) => {
        const appendedMs = Math.ceil(message.received_at / 1_000) + APPEND_MS;
        const isHeld = appendedMs < heldUntilMs;
        if (isHeld && message.kind === 'tick') return false;
        lastMs = Math.max(lastMs, appendedMs, heldUntilMs);
        const value = codecs.raw.encode(message);
        for (const partition of shards) records.push({ partition, key: message.slot, value, timestampMs: lastMs });
        return !isHeld;
      },
      isFull: () => false,
      ready: () => Promise.resolve(),
    },
  };
};
