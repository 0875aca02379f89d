// kafkajs 2.2.4 with five of its parts replaced; whoever runs it takes it from here, so that they are in place before it is loaded.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

const replace = (path: string, part: unknown): void => {
  require(path);
  const loaded = require.cache[require.resolve(path)];
  if (loaded === undefined) throw new Error(`${path} is not kafkajs 2.2.4's`);
  loaded.exports = part;
};

// ---- memory ----

type Encoder = { buf: Buffer; offset: number; readonly buffer: Buffer };
type EncoderClass = { new (initialSize?: number): Encoder; nextPowerOfTwo(value: number): number };

const LARGE = 4_096;
const SOME_MORE = 64;
const ENCODER = 'kafkajs/src/protocol/encoder';
const OwnEncoder = require(ENCODER) as EncoderClass;

/** kafkajs's own takes fresh memory for each part of a request and writes zeros into it. Nothing is read here that was not written. */
export class UnzeroedEncoder extends OwnEncoder {
  constructor(initialSize = 511) {
    super(0);
    this.buf = Buffer.allocUnsafe(OwnEncoder.nextPowerOfTwo(initialSize));
  }

  ensureAvailable(length: number): void {
    const needed = this.offset + length;
    if (needed <= this.buf.length) return;
    // What is large comes in one piece and last: doubled memory would stay empty. Small pieces double it, or each would copy all before it.
    const isLarge = length >= LARGE && length > this.buf.length;
    const larger = Buffer.allocUnsafe(isLarge ? needed + SOME_MORE : OwnEncoder.nextPowerOfTwo(needed));
    this.buf.copy(larger, 0, 0, this.offset);
    this.buf = larger;
  }
}
replace(ENCODER, UnzeroedEncoder);

// ---- records ----

const RECORD = 'kafkajs/src/protocol/recordBatch/record/v0';

export type RecordIn = {
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Buffer | string | null;
  readonly value?: Buffer | string | null;
  readonly headers?: Readonly<Record<string, unknown>>;
};
/** What kafkajs reads of its own encoder. */
export type EncodedRecord = { readonly buf: Buffer; readonly buffer: Buffer };

const encodeAny = require(RECORD) as (record: RecordIn) => EncodedRecord;

const WIDEST = 2 ** 30;
const isNarrow = (n: number): boolean => Number.isInteger(n) && n > -WIDEST && n < WIDEST;
const zigZag = (n: number): number => ((n << 1) ^ (n >> 31)) >>> 0;
const bytesOfVarInt = (u: number): number =>
  u < 0x80 ? 1 : u < 0x4000 ? 2 : u < 0x200000 ? 3 : u < 0x10000000 ? 4 : 5;

const putVarInt = (into: Buffer, at: number, u: number): number => {
  let [rest, end] = [u, at];
  for (; rest >= 0x80; rest >>>= 7) into[end++] = (rest & 0x7f) | 0x80;
  into[end++] = rest;
  return end;
};

type Bytes = Buffer | string | null;

const lengthOf = (bytes: Bytes): number =>
  bytes === null ? -1 : typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;

const putBytes = (into: Buffer, at: number, bytes: Bytes, length: number): number => {
  const start = putVarInt(into, at, zigZag(length));
  if (bytes === null) return start;
  if (typeof bytes === 'string') into.write(bytes, start);
  else bytes.copy(into, start);
  return start + length;
};

/**
 * The bytes kafkajs's own writer gives, at a tenth of the cost: that one takes a fresh half kilobyte for each record, longs as objects and a
 * buffer for each number. Records with headers, or numbers that need more than 31 bits, are left to it.
 */
export const encodeRecord = (record: RecordIn): EncodedRecord => {
  const { offsetDelta = 0, timestampDelta = 0, headers } = record;
  const [key, value]: [Bytes, Bytes] = [record.key ?? null, record.value ?? null];
  const isPlain = headers === undefined || Object.keys(headers).length === 0;
  if (!isPlain || !isNarrow(timestampDelta) || !isNarrow(offsetDelta)) return encodeAny(record);
  const [time, offset] = [zigZag(timestampDelta), zigZag(offsetDelta)];
  const [keyBytes, valueBytes] = [lengthOf(key), lengthOf(value)];
  const body =
    // One for the attributes, one for the number of headers.
    2 +
    bytesOfVarInt(time) +
    bytesOfVarInt(offset) +
    bytesOfVarInt(zigZag(keyBytes)) +
    Math.max(0, keyBytes) +
    bytesOfVarInt(zigZag(valueBytes)) +
    Math.max(0, valueBytes);
  const length = zigZag(body);
  const buf = Buffer.allocUnsafe(bytesOfVarInt(length) + body);
  let at = putVarInt(buf, 0, length);
  buf[at++] = 0;
  at = putVarInt(buf, at, time);
  at = putVarInt(buf, at, offset);
  at = putBytes(buf, at, key, keyBytes);
  at = putBytes(buf, at, value, valueBytes);
  buf[at] = 0;
  return { buf, buffer: buf };
};
replace(RECORD, encodeRecord);

// ---- checksums ----

/** The polynomial of CRC-32C (RFC 3720), its bits reversed. */
const CASTAGNOLI = 0x82f63b78;
const SLICES = 8;
/** Remainders of a byte with `slice` zero bytes behind it. */
const REMAINDERS = new Int32Array(256 * SLICES);
const remainderOf = (slice: number, byte: number): number => REMAINDERS[slice * 256 + byte] as number;

for (let byte = 0; byte < 256; byte++) {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ CASTAGNOLI : rest >>> 1;
  REMAINDERS[byte] = rest;
}
for (let at = 256; at < REMAINDERS.length; at++) {
  const shorter = REMAINDERS[at - 256] as number;
  REMAINDERS[at] = (shorter >>> 8) ^ remainderOf(0, shorter & 255);
}

/** CRC-32C, eight bytes at a time: three times as fast as kafkajs's, byte by byte. */
export const crc32c = (bytes: Buffer): number => {
  const at = (i: number): number => bytes[i] as number;
  let [rest, i] = [-1, 0];
  for (; i + SLICES <= bytes.length; i += SLICES) {
    const four = rest ^ (at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24));
    rest =
      remainderOf(7, four & 255) ^
      remainderOf(6, (four >>> 8) & 255) ^
      remainderOf(5, (four >>> 16) & 255) ^
      remainderOf(4, four >>> 24) ^
      remainderOf(3, at(i + 4)) ^
      remainderOf(2, at(i + 5)) ^
      remainderOf(1, at(i + 6)) ^
      remainderOf(0, at(i + 7));
  }
  for (; i < bytes.length; i++) rest = remainderOf(0, (rest ^ at(i)) & 255) ^ (rest >>> 8);
  return ~rest >>> 0;
};

// ---- batches of records ----

const BATCH = 'kafkajs/src/protocol/recordBatch/v0';
const MAGIC = 2;
/** Bits of the attributes: the codec in the lowest three. */
const CODEC = 7;
const TRANSACTIONAL = 16;
/** Offset, length, leader epoch, magic, checksum; then attributes, last delta, two timestamps, producer, its epoch, sequence, count. */
const PREFIX_BYTES = 21;
const HEAD_BYTES = PREFIX_BYTES + 40;
const LENGTH_FROM = 12;

const { lookupCodec } = require('kafkajs/src/protocol/message/compression') as {
  readonly lookupCodec: (codec: number) => { compress(records: { readonly buffer: Buffer }): Promise<Buffer> } | null;
};

/** kafkajs gives numbers, texts of digits and its own long integers. */
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

/** The bytes of kafkajs's own batch in one piece of memory of their length: that one copies each batch four times, into twice its length. */
export const encodeBatch = async (batch: BatchIn): Promise<Encoder> => {
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
  whole.writeUInt32BE(crc32c(whole.subarray(PREFIX_BYTES)), 17);
  const encoded = new UnzeroedEncoder(0);
  encoded.buf = whole;
  encoded.offset = whole.length;
  return encoded;
};
replace(BATCH, { RecordBatch: encodeBatch, MAGIC_BYTE: MAGIC });

// ---- messages by partition ----

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

/** As kafkajs groups them, which copies a partition's messages for each one added. */
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
replace('kafkajs/src/producer/groupMessagesPerPartition', groupMessages);

// ---- the timer of a connection ----

type RequestQueue = {
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly throttledUntil: number;
  readonly pending: readonly unknown[];
  checkPendingRequests: () => void;
  scheduleCheckPendingRequests: () => void;
};

/**
 * kafkajs 2.2.4 re-arms a timer of -1 ms for ever on each connection, four per cent of a core when idle
 * (github.com/tulios/kafkajs/issues/1556, pull request 1667). This asks for a timer only when something waits.
 */
const repairTimer = (): void => {
  const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
  prototype.scheduleCheckPendingRequests = function schedule(this: RequestQueue) {
    if (this.throttleCheckTimeoutId !== null) return;
    const wait = this.throttledUntil - Date.now();
    if (this.pending.length === 0 && wait <= 0) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      wait > 0 ? wait : 10,
    );
  };
};
repairTimer();

const kafkajs = require('kafkajs') as typeof import('kafkajs');
export default kafkajs;
