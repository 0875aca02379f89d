// Avro codecs of every topic in Confluent framing: `00`, the schema's id in four bytes, the value (design section 4).
import { readFileSync } from 'node:fs';
import avro from 'avsc';
import type { ReadingLayer } from '../layers/index.ts';
import { describeError } from '../thrown.ts';
import {
  type CapabilityVersion,
  type CheckpointEntry,
  type DeadLetter,
  type ListingVersion,
  type LiveEntry,
  MD_LAYERS,
  type MdLayer,
  type MdRecord,
  type Place,
  type RawMessage,
  type RowEntry,
  type StateEntry,
  type WatermarkEntry,
} from '../topics.ts';
import { writeLevels } from './write-levels.ts';
import './read-names.ts';
import './write-text.ts';
import ids from './ids.json' with { type: 'json' };

export type Codec<T> = {
  readonly subject: string;
  /** Id of the newest version, which is used for writing. */
  readonly id: number;
  /** Throws `AvroError` for a value that does not match the schema. */
  readonly encode: (value: T) => Buffer;
  /** Throws `AvroError` for bytes that are not this subject's. */
  readonly decode: (bytes: Buffer) => T;
};

/** The bytes are no value of the subject. */
export class AvroError extends Error {
  override readonly name: string = 'AvroError';
}

/** A later version of the service wrote the bytes: this one must not take them for garbage. */
export class LaterSchema extends AvroError {
  override readonly name = 'LaterSchema';
}

const MAGIC = 0;
const HEADER_BYTES = 5;

/** Ids of a subject's versions, oldest first. Append-only: a written id identifies its schema permanently. */
export const SUBJECT_IDS: Readonly<Record<string, readonly number[]>> = ids;

const NEWEST_ID = Math.max(...Object.values(SUBJECT_IDS).flat());
/** Ids are given one after the other; a far higher number is no id of ours. */
const LATER_IDS = 1_000;

/** The schema text of a version, 1-based. */
export const readSchemaText = (subject: string, version: number): string =>
  readFileSync(new URL(`./${subject}/${version}.avsc`, import.meta.url), 'utf8');

/** A version of a subject: the id it is written under and its schema. */
type SchemaVersion = { readonly id: number; readonly schema: avro.Schema };

const loadVersions = (subject: string): readonly SchemaVersion[] =>
  (SUBJECT_IDS[subject] ?? []).map((id, i) => ({
    id,
    get schema() {
      return JSON.parse(readSchemaText(subject, i + 1)) as avro.Schema;
    },
  }));

const compileType = (schema: avro.Schema): avro.Type =>
  avro.Type.forSchema(schema, { wrapUnions: 'never', typeHook: writeLevels });

type Decode = (body: Buffer) => unknown;
/** By the id of the version. */
type Decoders = Map<number, () => Decode>;

/** The types of a subject take some 10 ms to make, and a process uses few of them: each is made for its first value. */
const makeOnce = <T extends object>(make: () => T): (() => T) => {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
};

/** Decoders of every version, each resolved to the reader's schema. */
const createDecoders = (versions: readonly SchemaVersion[], getReader: () => avro.Type): Decoders =>
  new Map(
    versions.map((version) => {
      const getDecode = makeOnce((): Decode => {
        const reader = getReader();
        const resolver = reader.createResolver(compileType(version.schema));
        return (body) => reader.fromBuffer(body, resolver);
      });
      return [version.id, getDecode];
    }),
  );

const refuseId = (subject: string, decoders: Decoders, found: number): AvroError => {
  if (found > NEWEST_ID && found <= NEWEST_ID + LATER_IDS)
    return new LaterSchema(
      `${subject}: schema id ${found} is of a later version of the service (this one knows ${NEWEST_ID} of them): update this process first`,
    );
  return new AvroError(`${subject}: schema id ${found} is not one of its ${[...decoders.keys()].join(', ')}`);
};

/** Throws `AvroError` for bytes that are not this subject's. */
const decodeFramed = (subject: string, decoders: Decoders, bytes: Buffer): unknown => {
  if (bytes.length < HEADER_BYTES || bytes[0] !== MAGIC) throw new AvroError(`${subject}: not in Confluent framing`);
  const found = bytes.readInt32BE(1);
  const decode = decoders.get(found)?.();
  if (!decode) throw refuseId(subject, decoders, found);
  try {
    return decode(bytes.subarray(HEADER_BYTES));
  } catch (error) {
    throw new AvroError(`${subject}: ${describeError(error)}`);
  }
};

/** Writes framed values into one reused buffer, which grows to the largest value, and returns copies. */
const createEncoder = <T>(subject: string, id: number, type: avro.Type): ((value: T) => Buffer) => {
  let scratch = Buffer.allocUnsafe(16_384);
  const write = (value: T): number => {
    try {
      return type.encode(value, scratch, HEADER_BYTES);
    } catch (error) {
      throw new AvroError(`${subject}: ${describeError(error)}`);
    }
  };
  return (value) => {
    let end = write(value);
    if (end < 0) {
      scratch = Buffer.allocUnsafe(scratch.length - end + HEADER_BYTES);
      end = write(value);
    }
    const bytes = Buffer.allocUnsafe(end);
    scratch.copy(bytes, 0, 0, end);
    bytes[0] = MAGIC;
    bytes.writeInt32BE(id, 1);
    return bytes;
  };
};

/** Codec over the versions of a subject, oldest first: writes the newest, reads them all. */
export const createVersionedCodec = <T>(subject: string, versions: readonly SchemaVersion[]): Codec<T> => {
  const newest = versions.at(-1);
  if (newest === undefined) throw new AvroError(`no schema id for subject "${subject}"`);
  const getType = makeOnce(() => compileType(newest.schema));
  const decoders = createDecoders(versions, getType);
  // The newest version needs no resolution.
  decoders.set(
    newest.id,
    makeOnce((): Decode => {
      const type = getType();
      return (body) => type.fromBuffer(body);
    }),
  );
  const getEncode = makeOnce(() => createEncoder<T>(subject, newest.id, getType()));
  return {
    subject,
    id: newest.id,
    encode: (value) => getEncode()(value),
    decode: (bytes) => decodeFramed(subject, decoders, bytes) as T,
  };
};

const createCodec = <T>(subject: string): Codec<T> => createVersionedCodec(subject, loadVersions(subject));

type Field = { readonly name: string; readonly type: unknown };
type RecordSchema = { readonly fields: readonly Field[] };
/** Members to read; for a member that is a record or null, its own members. */
type Wanted = { readonly [member: string]: true | Wanted };

const narrowSchema = (schema: RecordSchema, wanted: Wanted): RecordSchema => ({
  ...schema,
  fields: schema.fields.flatMap((field) => {
    const of = wanted[field.name];
    if (of === undefined) return [];
    if (of === true) return [field];
    const [none, record] = field.type as readonly [string, RecordSchema];
    return [{ ...field, type: [none, narrowSchema(record, of)] }];
  }),
});

/** Reads some members of a subject's values and skips the rest, at a tenth of the cost. Throws `AvroError` as `decode` does. */
const createGlance = <T>(subject: string, wanted: Wanted): ((bytes: Buffer) => T) => {
  const versions = loadVersions(subject);
  const getType = makeOnce(() => {
    const newest = versions.at(-1)?.schema as unknown as RecordSchema;
    return compileType(narrowSchema(newest, wanted) as unknown as avro.Schema);
  });
  const decoders = createDecoders(versions, getType);
  return (bytes) => decodeFramed(subject, decoders, bytes) as T;
};

/** Avro's `bytes` accepts Buffers only; other byte arrays are viewed, not copied. */
const withPayload = <T extends { readonly payload: Uint8Array }>(codec: Codec<T>): Codec<T> => ({
  ...codec,
  encode: (value) => {
    const { payload } = value;
    if (Buffer.isBuffer(payload)) return codec.encode(value);
    return codec.encode({ ...value, payload: Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength) });
  },
});

type Pair = readonly [string, string];
type WireLevel = { readonly price: string; readonly size: string };
const toPair = ({ price, size }: WireLevel): Pair => [price, size];

type WithReading = { readonly reading: LiveEntry['reading'] };

/** Levels are `[price, size]` in code and records on the wire (`writeLevels` writes them). */
const withLevels = <T extends WithReading>(codec: Codec<T>): Codec<T> => ({
  ...codec,
  decode: (bytes) => {
    const value = codec.decode(bytes);
    const book = value.reading?.book;
    if (!book) return value;
    const [bids, asks] = [book.bids, book.asks] as unknown as readonly (readonly WireLevel[])[];
    const levels = { ...book, bids: bids?.map(toPair), asks: asks?.map(toPair) };
    return { ...value, reading: { ...value.reading, book: levels } };
  },
});

export const codecs = {
  raw: withPayload<RawMessage>(createCodec('raw')),
  live: withLevels<LiveEntry>(createCodec('live')),
  state: withLevels<StateEntry>(createCodec('state')),
  rows: createCodec<RowEntry>('rows'),
  checkpoints: createCodec<CheckpointEntry>('checkpoints'),
  watermark: createCodec<WatermarkEntry>('watermark'),
  deadLetter: withPayload<DeadLetter>(createCodec('dead-letters')),
  listing: createCodec<ListingVersion>('listings'),
  capability: createCodec<CapabilityVersion>('capabilities'),
} as const;

const toBookCodec = (codec: Codec<MdRecord>): Codec<MdRecord> => ({
  ...codec,
  decode: (bytes) => {
    const record = codec.decode(bytes);
    const values = record.values as { bids: WireLevel[]; asks: WireLevel[] };
    return { ...record, values: { ...values, bids: values.bids.map(toPair), asks: values.asks.map(toPair) } };
  },
});

const mdCodecs = new Map(
  MD_LAYERS.map((layer) => {
    const codec = createCodec<MdRecord>(`md.${layer}`);
    return [layer, layer === 'book' ? toBookCodec(codec) : codec];
  }),
);

/** Codec of `md.<layer>`. */
export const makeMdCodec = (layer: MdLayer): Codec<MdRecord> => {
  const codec = mdCodecs.get(layer);
  if (!codec) throw new AvroError(`no topic md.${layer}`);
  return codec;
};

type LiveGlance = Place & Pick<LiveEntry, 'recorded_at' | 'kind' | 'symbol'>;
/** Place and subject of an entry of `live`; `layer`: for a reading. */
export type LiveHead = LiveGlance & { readonly layer: ReadingLayer | null };

const glanceAtLive = createGlance<LiveGlance & { readonly reading: { readonly layer: ReadingLayer } | null }>('live', {
  offset: true,
  index: true,
  recorded_at: true,
  kind: true,
  symbol: true,
  reading: { layer: true },
});

/** The head of an entry of `live`, without its bodies. Throws `AvroError`. */
export const decodeLiveHead = (bytes: Buffer): LiveHead => {
  const { reading, ...head } = glanceAtLive(bytes);
  return { ...head, layer: reading?.layer ?? null };
};
