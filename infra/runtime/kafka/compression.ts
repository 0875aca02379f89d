// Batches of kafkajs are compressed with gzip by the cost of our records; small ones on this thread.
import { promisify } from 'node:util';
import { gzip as deflate, gunzipSync, gzipSync, gunzip as inflate, type ZlibOptions } from 'node:zlib';
import kafkajs from './patches/kafkajs.ts';

const gzip = promisify(deflate);
const gunzip = promisify(inflate);

/** Up to this size the transfer to another thread costs more than the work, a millisecond: 100 us a batch, and a turn of a busy loop. */
const AT_ONCE_BYTES = 128 * 1024;
const [LEAST_BITS, MOST_BITS] = [9, 15];
/** The window must hold more than the look-ahead (zlib). */
const LOOK_AHEAD = 262;

/**
 * Level 1 costs a third of kafkajs's default and our records still shrink several times. Memory follows the length of a batch: zlib's default
 * of 270 kB each fits any length, and most of our batches have less than 4 kB.
 */
const chooseGzipOptions = (bytes: number): ZlibOptions => {
  const windowBits = Math.min(MOST_BITS, Math.max(LEAST_BITS, Math.ceil(Math.log2(bytes + LOOK_AHEAD))));
  return { level: 1, windowBits, memLevel: Math.max(1, windowBits - 7), chunkSize: Math.max(1_024, bytes >> 2) };
};

const MOST_CHUNK = 1024 * 1024;

/** Gzip data ends with its uncompressed length (RFC 1952); a buffer of that size needs no window. A wrong length only costs time. */
const chooseGunzipOptions = (packed: Buffer): ZlibOptions => {
  const length = packed.length < 4 ? 0 : packed.readUInt32LE(packed.length - 4);
  return { chunkSize: Math.min(MOST_CHUNK, Math.max(1_024, length + 1)) };
};

kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP] = () => ({
  compress: async ({ buffer }: { readonly buffer: Buffer }) => {
    const options = chooseGzipOptions(buffer.length);
    return buffer.length <= AT_ONCE_BYTES ? gzipSync(buffer, options) : gzip(buffer, options);
  },
  decompress: async (buffer: Buffer) => {
    const options = chooseGunzipOptions(buffer);
    return buffer.length <= AT_ONCE_BYTES ? gunzipSync(buffer, options) : gunzip(buffer, options);
  },
});
