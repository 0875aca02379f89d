// The replaced parts of kafkajs against its own: byte for byte, group for group.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { lacksCoordinator } from '../../../../infra/runtime/kafka/group.ts';
import { computeCrc32c } from '../../../../infra/runtime/kafka/patches/crc32c.ts';
import { UnzeroedEncoder } from '../../../../infra/runtime/kafka/patches/encoder.ts';
import { groupMessages } from '../../../../infra/runtime/kafka/patches/group-messages.ts';
import '../../../../infra/runtime/kafka/patches/kafkajs.ts';
import { type BatchOut, decodeRecord } from '../../../../infra/runtime/kafka/patches/read-record.ts';
import { type EncodedRecord, encodeRecord, type RecordIn } from '../../../../infra/runtime/kafka/patches/record.ts';
import { type BatchIn, encodeBatch, encodeSentBatch } from '../../../../infra/runtime/kafka/patches/record-batch.ts';
import { refuseOtherVersion } from '../../../../infra/runtime/kafka/patches/replace.ts';

const require = createRequire(import.meta.url);

/** kafkajs's own part, loaded beside the one that took its place. */
const requireOwn = <T>(path: string): T => {
  const file = require.resolve(path);
  const replaced = require.cache[file];
  delete require.cache[file];
  const own = require(path) as T;
  if (replaced !== undefined) require.cache[file] = replaced;
  return own;
};

const bytes = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.uint8Array({ maxLength: 9_000 }).map((array) => Buffer.from(array)),
);
const number = fc.oneof(fc.nat(300), fc.nat(40_000), fc.integer(), fc.integer({ min: -(2 ** 40), max: 2 ** 40 }));
const records: fc.Arbitrary<RecordIn> = fc.record(
  {
    offsetDelta: fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1)),
    timestampDelta: number,
    key: bytes,
    value: bytes,
    headers: fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
  },
  { requiredKeys: [] },
);

t.test('a checksum is CRC-32C', (t) => {
  const own = requireOwn<(bytes: Buffer) => number>('kafkajs/src/protocol/recordBatch/crc32C');
  // RFC 3720, B.4
  const known: [Buffer, number][] = [
    [Buffer.alloc(32), 0x8a9136aa],
    [Buffer.alloc(32, 0xff), 0x62a8ab43],
    [Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
    [Buffer.from('123456789'), 0xe3069283],
  ];
  for (const [bytes, sum] of known) t.equal(computeCrc32c(bytes), sum);
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      (array) => computeCrc32c(Buffer.from(array)) === own(Buffer.from(array)),
    ),
    { numRuns: 2_000 },
  );
  t.end();
});

t.test('a record has the bytes of kafkajs’s own writer', (t) => {
  const own = requireOwn<(record: RecordIn) => EncodedRecord>('kafkajs/src/protocol/recordBatch/record/v0');
  t.not(own, encodeRecord);
  let plain = 0;
  const isSame = fc.property(records, (record) => {
    if (Object.keys(record.headers ?? {}).length === 0) plain += 1;
    const { buf, buffer } = encodeRecord(record);
    return Buffer.isBuffer(buf) && buffer.equals(own(record).buffer);
  });
  fc.assert(isSame, { numRuns: 5_000 });
  t.ok(plain > 500, `${plain} without headers`);
  for (const length of [0, 1, 63, 64, 65, 8_191, 8_192, 1_048_575, 1_048_576]) {
    const record = { offsetDelta: length, timestampDelta: -length, key: 'k', value: Buffer.alloc(length, 7) };
    t.ok(encodeRecord(record).buffer.equals(own(record).buffer), `a value of ${length} bytes`);
  }
  t.end();
});

t.test('a record is read as kafkajs’s own reader reads it', (t) => {
  type Reader = new (bytes: Buffer) => Parameters<typeof decodeRecord>[0];
  const Decoder = requireOwn<Reader>('kafkajs/src/protocol/decoder');
  const own = requireOwn<typeof decodeRecord>('kafkajs/src/protocol/recordBatch/record/v0/decoder');
  t.not(own, decodeRecord);
  const long = fc.oneof(fc.nat(2 ** 40), fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n })).map(String);
  const batch: fc.Arbitrary<BatchOut> = fc.record(
    {
      ...{ firstOffset: long, firstTimestamp: long, maxTimestamp: fc.oneof(long, fc.constant('')) },
      ...{ timestampType: fc.constantFrom(0, 1), magicByte: fc.constant(2), isControlBatch: fc.boolean() },
    },
    { requiredKeys: ['firstOffset', 'firstTimestamp', 'maxTimestamp', 'timestampType'], noNullPrototype: true },
  );
  const isSame = fc.property(records, batch, (record, of) => {
    // kafkajs reads the bytes of a record without their length.
    const framed = new Decoder(encodeRecord(record).buffer);
    const body = framed.readVarIntBytes() ?? Buffer.alloc(0);
    const [ours, theirs] = [new Decoder(body), new Decoder(body)];
    t.strictSame(decodeRecord(ours, of), own(theirs, of));
    return ours.offset === theirs.offset;
  });
  fc.assert(isSame, { numRuns: 2_000 });
  t.end();
});

t.test('messages are in the groups and the order of kafkajs’s own', (t) => {
  const own = requireOwn<typeof groupMessages>('kafkajs/src/producer/groupMessagesPerPartition');
  t.not(own, groupMessages);
  const isSame = fc.property(fc.array(fc.nat(5)), fc.nat(2), (messages, partitions) => {
    const grouping = {
      topic: 'any',
      partitionMetadata: Array.from({ length: partitions }, (_, n) => n),
      messages: messages.map((partition, n) => ({ partition, n })),
      partitioner: ({ message }: { readonly message: { readonly partition: number } }) => message.partition,
    };
    t.same(groupMessages(grouping), own(grouping));
  });
  fc.assert(isSame, { numRuns: 200 });
  t.end();
});

const integer = fc.integer({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 });
const batches: fc.Arbitrary<BatchIn> = fc.record(
  {
    ...{ firstOffset: fc.oneof(integer, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)) },
    ...{ firstTimestamp: integer, maxTimestamp: integer.map(String), producerId: integer },
    ...{ partitionLeaderEpoch: fc.integer(), lastOffsetDelta: fc.nat(2 ** 31 - 1), firstSequence: fc.nat(2 ** 31 - 1) },
    ...{ producerEpoch: fc.integer({ min: -1, max: 32_767 }), transactional: fc.boolean() },
    compression: fc.constantFrom(0, 1),
    records: fc.array(records.map(encodeRecord), { maxLength: 20 }),
  },
  { requiredKeys: ['firstTimestamp', 'maxTimestamp'] },
);

t.test('a batch has the bytes of kafkajs’s own writer, with each codec', async (t) => {
  const own = requireOwn<{ RecordBatch: (batch: BatchIn) => Promise<EncodedRecord> }>(
    'kafkajs/src/protocol/recordBatch/v0',
  );
  t.not(own.RecordBatch, encodeBatch);
  const isSame = fc.asyncProperty(batches, async (batch) => {
    const [ours, theirs] = [await encodeBatch(batch), await own.RecordBatch(batch)];
    return ours.buffer.equals(theirs.buffer);
  });
  await fc.assert(isSame, { numRuns: 1_000 });
});

t.test('a batch with few bytes is sent without its codec, and read as it was', async (t) => {
  type Reader = new (bytes: Buffer) => unknown;
  type Batch = { readonly records: readonly { readonly value: Buffer }[] };
  const Decoder = requireOwn<Reader>('kafkajs/src/protocol/decoder');
  const read = requireOwn<(bytes: unknown) => Promise<Batch>>('kafkajs/src/protocol/recordBatch/v0/decoder');
  const attributesAt = 22;
  // A record of this length without a key has nine bytes beside its value.
  for (const [length, codec] of [
    [0, 0],
    [502, 0],
    [503, 1],
    [5_000, 1],
  ] as const) {
    const value = Buffer.alloc(length, 7);
    const batch = await encodeSentBatch({ compression: 1, records: [encodeRecord({ value })] });
    t.equal(batch.buffer[attributesAt], codec, `${length} bytes`);
    const { records } = await read(new Decoder(batch.buffer));
    t.same(
      records.map((record) => record.value),
      [value],
    );
  }
});

t.test('an encoder holds what was written to it, whatever memory it was given', (t) => {
  const Own = requireOwn<typeof UnzeroedEncoder>('kafkajs/src/protocol/encoder') as unknown as typeof UnzeroedEncoder;
  t.not(Own, UnzeroedEncoder);
  type Writer = Record<
    'writeInt8' | 'writeInt64' | 'writeString' | 'writeBytes' | 'writeUVarInt',
    (value: unknown) => unknown
  >;
  const writes = fc.oneof(
    fc.tuple(fc.constant('writeInt8' as const), fc.integer({ min: -128, max: 127 })),
    fc.tuple(fc.constant('writeInt64' as const), integer),
    fc.tuple(fc.constant('writeUVarInt' as const), fc.nat(2 ** 31 - 1)),
    fc.tuple(fc.constant('writeString' as const), fc.string({ unit: 'grapheme', maxLength: 2_000 })),
    fc.tuple(
      fc.constant('writeBytes' as const),
      fc.uint8Array({ maxLength: 9_000 }).map((array) => Buffer.from(array)),
    ),
  );
  const isSame = fc.property(
    fc.array(writes, { maxLength: 30 }),
    fc.option(fc.nat(600), { nil: undefined }),
    (all, size) => {
      const [ours, theirs] = [new UnzeroedEncoder(size), new Own(size)];
      for (const [write, value] of all) {
        (ours as unknown as Writer)[write](value);
        (theirs as unknown as Writer)[write](value);
      }
      return ours.buffer.equals(theirs.buffer);
    },
  );
  fc.assert(isSame, { numRuns: 1_000 });
  t.end();
});

t.test('the client in use has the replaced parts', (t) => {
  t.equal(require('kafkajs/src/protocol/encoder'), UnzeroedEncoder);
  t.equal(require('kafkajs/src/protocol/recordBatch/v0').RecordBatch, encodeSentBatch);
  t.equal(require('kafkajs/src/protocol/recordBatch/record/v0'), encodeRecord);
  t.equal(require('kafkajs/src/protocol/recordBatch/record/v0/decoder'), decodeRecord);
  t.equal(require('kafkajs/src/producer/groupMessagesPerPartition'), groupMessages);
  t.end();
});

t.test('another version of kafkajs is refused with what to do', (t) => {
  t.doesNotThrow(() => refuseOtherVersion('2.2.4'));
  for (const version of ['2.2.3', '2.2.5', '3.0.0'])
    t.throws(() => refuseOtherVersion(version), /is written for 2\.2\.4: pin "kafkajs": "2\.2\.4" in package\.json/);
  t.equal(require('../../../../package.json').dependencies.kafkajs, '2.2.4', 'pinned exactly');
  t.end();
});

type Member = {
  memberId: string;
  coordinator: unknown;
  readonly heartbeat: (o: { interval: number }) => Promise<void>;
};

t.test('a member goes on with its heartbeats when the wall clock was set back', async (t) => {
  const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup') as new (options: object) => Member;
  const logger = { namespace: () => logger };
  const member = new ConsumerGroup({ logger, instrumentationEmitter: { emit: () => undefined } });
  let beats = 0;
  Object.assign(member, { memberId: 'm', coordinator: { heartbeat: async () => void beats++ } });
  const wallMs = Date.now;
  let aheadMs = 1_000;
  Date.now = () => wallMs() + aheadMs;
  t.teardown(() => {
    Date.now = wallMs;
  });
  await member.heartbeat({ interval: 1_000 });
  t.equal(beats, 1);
  aheadMs = -3_600_000;
  await member.heartbeat({ interval: 1_000 });
  t.equal(beats, 1, 'not at each call');
  aheadMs += 1_000;
  await member.heartbeat({ interval: 1_000 });
  t.equal(beats, 2, 'a second later, not in an hour');
  aheadMs += 999;
  await member.heartbeat({ interval: 1_000_000 });
  t.equal(beats, 2);
});

const PATCHES = new URL('../../../../infra/runtime/kafka/patches/', import.meta.url);
const NO_PATCH = ['kafkajs.ts', 'replace.ts'];

t.test('each patch names in its first line what upstream knows of it', (t) => {
  const patches = readdirSync(PATCHES).filter((name) => !NO_PATCH.includes(name));
  t.ok(patches.length >= 6, patches.join());
  for (const name of patches) {
    const [first = ''] = readFileSync(new URL(name, PATCHES), 'utf8').split('\n');
    t.match(first, /Upstream: .*((issue|issues|pull request) \d+|no (upstream )?issue found)/, name);
  }
  t.end();
});

type Retry = (options: {
  readonly retries: number;
}) => (work: (bail: (error: Error) => void) => Promise<unknown>) => Promise<unknown>;
type Errors = Readonly<Record<string, new (message: string) => Error>>;

t.test('a member that found no coordinator joins again, however often kafkajs wraps what it found', async (t) => {
  const createRetry = require('kafkajs/src/retry/index.js') as Retry;
  const { KafkaJSGroupCoordinatorNotFound: NotFound, KafkaJSNonRetriableError: Other } =
    require('kafkajs/src/errors.js') as Errors;
  const giveUp = (error: Error): Promise<unknown> =>
    createRetry({ retries: 1 })(() => Promise.reject(error)).catch((thrown: unknown) => thrown);
  const found = new (NotFound as NonNullable<typeof NotFound>)('no coordinator');
  const wrapped = (await giveUp(found)) as Error;
  t.not(wrapped.name, found.name, 'as a member crashes with it');
  for (const error of [found, wrapped, await giveUp(wrapped)]) t.ok(lacksCoordinator(error), String(error));
  const refused = new (Other as NonNullable<typeof Other>)('not authorised');
  for (const error of [refused, await giveUp(refused), null, undefined])
    t.notOk(lacksCoordinator(error), String(error));
});

type Broker = {
  readonly connect: () => Promise<void>;
  readonly disconnect: () => Promise<void>;
  readonly metadata: (topics: readonly string[]) => Promise<unknown>;
};

/** kafkajs's own client of a broker that takes requests and answers none. */
const openMuteBroker = async (t: Test) => {
  const sockets: Socket[] = [];
  let isDead = false;
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).resume();
    if (isDead) socket.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const BrokerClass = require('kafkajs/src/broker') as new (options: unknown) => Broker;
  const ConnectionPool = require('kafkajs/src/network/connectionPool') as new (options: unknown) => unknown;
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const logger: Readonly<Record<string, unknown>> = { ...log, namespace: () => logger };
  const { port } = server.address() as AddressInfo;
  return {
    connect: async (): Promise<Broker> => {
      const connectionPool = new ConnectionPool({
        ...{ host: '127.0.0.1', port, logger, requestTimeout: 600_000, connectionTimeout: 10_000 },
        socketFactory: require('kafkajs/src/network/socketFactory')(),
      });
      const broker = new BrokerClass({ connectionPool, logger, versions: { 3: { minVersion: 0, maxVersion: 5 } } });
      await broker.connect();
      return broker;
    },
    die: (): void => {
      isDead = true;
      for (const socket of sockets) socket.end();
    },
  };
};

/** More turns than a request takes until it is sent. */
const TURNS = 30;

t.test('a request ends with its connection, at whichever moment that closes', async (t) => {
  const { connect, die } = await openMuteBroker(t);
  const outcomes = Array.from({ length: TURNS }, async (_, turns) => {
    const broker = await connect();
    const sent = broker.metadata([]).then(
      () => 'answered',
      ({ message }: Error) => message,
    );
    for (let turn = 0; turn < turns; turn += 1) await null;
    const closed = broker.disconnect();
    return { sent, closed };
  });
  const begun = await Promise.all(outcomes);
  die();
  const ends = await Promise.all(begun.map(({ sent }) => sent));
  await Promise.all(begun.map(({ closed }) => closed));
  t.equal(ends[0], 'Not connected', 'before it was sent');
  t.match(ends.at(-1), /^(Closed connection|Connection error: )/, 'in flight');
  for (const end of ends) t.match(end, /^(Not connected|Closed connection|Connection error: )/);
});
