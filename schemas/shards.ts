// The shard (raw partition) of a listing: murmur2 of its symbol, as in Kafka's default partitioner.
const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** Kafka's murmur2 of the bytes, as a signed 32-bit integer. */
export const computeMurmur2 = (bytes: Uint8Array): number => {
  const length = bytes.length;
  let h = SEED ^ length;
  const at = (i: number): number => bytes[i] ?? 0;
  for (let i = 0; i + 4 <= length; i += 4) {
    let k = at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24);
    k = Math.imul(k, M);
    k ^= k >>> 24;
    h = Math.imul(h, M) ^ Math.imul(k, M);
  }
  const rest = length & ~3;
  if (length % 4 === 3) h ^= at(rest + 2) << 16;
  if (length % 4 >= 2) h ^= at(rest + 1) << 8;
  if (length % 4 >= 1) h = Math.imul(h ^ at(rest), M);
  h ^= h >>> 13;
  h = Math.imul(h, M);
  return h ^ (h >>> 15);
};

const encoder = new TextEncoder();

/** The hash of a text key in Kafka's default partitioner, before modulo the number of partitions. */
export const hashTextKey = (key: string): number => computeMurmur2(encoder.encode(key)) & 0x7fffffff;

/** Shard of a listing, 0 to `shards` − 1. */
export const toShard = (venueSymbol: string, shards: number): number => hashTextKey(venueSymbol) % shards;

/** All shards, ascending. */
export const listShards = (shards: number): readonly number[] => Array.from({ length: shards }, (_, shard) => shard);
