// Format of the spool's files: consecutive records with length and CRC, so that a torn end is detected and dropped.
import { crc32 } from 'node:zlib';

export type SpoolRecord = {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly value: Buffer;
};

// Length of the body (4 bytes), CRC-32 of the body (4). Body: length of the topic (2), topic, partition (4), length of the key (2), key, value.
const HEADER_BYTES = 8;
const FIXED_BYTES = 2 + 4 + 2;

/** Two buffers, so that the value is not copied. */
export const encodeRecord = ({ topic, partition, key, value }: SpoolRecord): readonly [Buffer, Buffer] => {
  const topicBytes = Buffer.byteLength(topic);
  const keyBytes = Buffer.byteLength(key);
  const head = Buffer.allocUnsafe(HEADER_BYTES + FIXED_BYTES + topicBytes + keyBytes);
  let at = head.writeUInt16LE(topicBytes, HEADER_BYTES);
  at += head.write(topic, at);
  at = head.writeUInt32LE(partition, at);
  at = head.writeUInt16LE(keyBytes, at);
  head.write(key, at);
  head.writeUInt32LE(head.length - HEADER_BYTES + value.length, 0);
  head.writeUInt32LE(crc32(value, crc32(head.subarray(HEADER_BYTES))), 4);
  return [head, value];
};

type Decoded = {
  readonly records: readonly SpoolRecord[];
  /** Bytes up to the first incomplete record; less than the input when its end is torn. */
  readonly wholeBytes: number;
};

/** Reads records up to the end or the first incomplete one. The values are views of `bytes`. */
export const decodeRecords = (bytes: Buffer): Decoded => {
  const records: SpoolRecord[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + HEADER_BYTES + bytes.readUInt32LE(at);
    const body = bytes.subarray(at + HEADER_BYTES, end);
    // A file system may leave zeros where a write was cut: an empty body has the CRC 0, and is no record.
    if (end > bytes.length || body.length < FIXED_BYTES || crc32(body) !== bytes.readUInt32LE(at + 4)) break;
    records.push(decodeBody(body));
    at = end;
  }
  return { records, wholeBytes: at };
};

const decodeBody = (body: Buffer): SpoolRecord => {
  const topicEnd = 2 + body.readUInt16LE(0);
  const keyStart = topicEnd + 4 + 2;
  const keyEnd = keyStart + body.readUInt16LE(topicEnd + 4);
  return {
    topic: body.toString('utf8', 2, topicEnd),
    partition: body.readUInt32LE(topicEnd),
    key: body.toString('utf8', keyStart, keyEnd),
    value: body.subarray(keyEnd),
  };
};
