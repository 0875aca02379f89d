// Publisher, readers and group members against a real broker of their own, which is killed in the middle.
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import {
  createPublisher,
  ensureTopics,
  fetchEndOffsets,
  joinGroup,
  type KafkaHandle,
  type Message,
  openKafka,
  QueueFull,
  readPartitions,
  readToEnd,
  TopicMismatch,
} from '../../../../infra/runtime/kafka/kafka.ts';
import { LIMITS, listTopicSpecs } from '../../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../../infra/runtime/process/log.ts';
import { toShard } from '../../../../schemas/shards.ts';
import { ownEngines } from '../../../support/engines/engines.ts';
import { waitFor } from '../../../support/wait.ts';

const require = createRequire(import.meta.url);
const Cluster = require('kafkajs/src/cluster') as {
  readonly prototype: { findGroupCoordinatorMetadata: () => Promise<unknown> };
};
const { KafkaJSGroupCoordinatorNotFound: NotFound } = require('kafkajs/src/errors.js') as {
  readonly KafkaJSGroupCoordinatorNotFound: new (message: string) => Error;
};
const PARTITIONS = 3;
// A loaded machine takes its time to start a broker or a database again.
t.setTimeout(900_000);
const engines = await ownEngines(t, ['kafka']);
const brokers = [engines.endpoints.kafka];
const log = createLog('runtime-test', 'silent');
const handle: KafkaHandle = openKafka({ brokers, clientId: 'runtime-test' }, log);
t.teardown(() => handle.close());

const until = (done: () => boolean | Promise<boolean>): Promise<boolean> => waitFor(String(done), done);
let made = 0;
const newTopic = async (partitions = PARTITIONS, config: Record<string, string> = {}): Promise<string> => {
  made += 1;
  const topic = `topic-${made}`;
  await ensureTopics(handle, [{ topic, partitions, config }]);
  return topic;
};
const numbered = (n: number): Buffer => Buffer.from(String(n));
const toNumber = ({ value }: Message): number => Number(value?.toString());
const countTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

t.test('topics are created once, with their retention, and never with another number of partitions', async (t) => {
  const specs = listTopicSpecs({ venues: ['binance'], shards: 2, namespace: 'once.' });
  await ensureTopics(handle, specs);
  await ensureTopics(handle, specs);
  const admin = await handle.admin();
  t.strictSame(
    (await admin.listTopics()).filter((name) => name.startsWith('once.')).sort(),
    specs.map((s) => s.topic).sort(),
  );
  const raw = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: 2, name: 'once.raw.binance' }],
  });
  const value = (name: string) =>
    raw.resources[0]?.configEntries.find((entry) => entry.configName === name)?.configValue;
  t.equal(value('message.timestamp.type'), 'LogAppendTime');
  t.equal(value('retention.ms'), String(26 * 3_600_000));
  const more = listTopicSpecs({ venues: ['binance'], shards: 4, namespace: 'once.' });
  await t.rejects(ensureTopics(handle, more), TopicMismatch);
});

t.test('a topic that was made takes records at once: none is refused in part and sent again', async (t) => {
  const partitions = 30;
  for (const _ of countTo(8)) {
    const topic = await newTopic(partitions);
    const publisher = createPublisher(handle);
    for (const n of countTo(300))
      publisher.publish({ topic, partition: n % partitions, key: null, value: numbered(n) });
    await publisher.close();
    const positions = countTo(partitions).map((p) => publisher.position(topic, p));
    t.strictSame(positions, Array(partitions).fill(10));
  }
});

t.test('records arrive in the order of the calls, and positions are the brokers own', async (t) => {
  const topic = await newTopic();
  const publisher = createPublisher(handle, { maxRecords: 50 });
  t.equal(publisher.position(topic, 0), null, 'no position before the first answer');
  for (const n of countTo(3_000))
    publisher.publish({ topic, partition: n % PARTITIONS, key: null, value: numbered(n) });
  await publisher.flush();
  t.strictSame(
    countTo(PARTITIONS).map((p) => publisher.position(topic, p)),
    [1_000, 1_000, 1_000],
  );
  t.equal(publisher.queuedBytes(), 0);
  const seen = new Map<number, number[]>(countTo(PARTITIONS).map((p) => [p, []]));
  await readToEnd(handle, { topic, from: () => 'earliest' }, (message, partition) => {
    seen.get(partition)?.push(toNumber(message));
  });
  for (const p of countTo(PARTITIONS))
    t.strictSame(
      seen.get(p),
      countTo(1_000).map((n) => n * PARTITIONS + p),
    );
  await publisher.close();
});

t.test('reading a topic that does not exist waits for it, until its signal ends the reading', async (t) => {
  const stop = new AbortController();
  const reading = readToEnd(
    handle,
    { topic: 'made-by-nobody', from: () => 'earliest', signal: stop.signal },
    () => undefined,
  );
  stop.abort(new Error('waited long enough'));
  await t.rejects(reading, /waited long enough/);
});

t.test('of two processes that make the same topics neither continues before they take records', async (t) => {
  const other = openKafka({ brokers, clientId: 'runtime-test-other' }, log);
  t.teardown(() => other.close());
  const producer = handle.kafka.producer({ retry: { retries: 0 } });
  await producer.connect();
  const refused: unknown[] = [];
  const writeEach = async (
    specs: readonly { readonly topic: string; readonly partitions: number }[],
  ): Promise<void> => {
    const topicMessages = specs.map(({ topic, partitions }) => ({
      topic,
      messages: countTo(partitions).map((partition) => ({ partition, value: 'first' })),
    }));
    await producer.sendBatch({ topicMessages }).catch((error: unknown) => refused.push(error));
  };
  for (const round of countTo(6)) {
    const specs = countTo(12).map((n) => ({ topic: `raced-${round}-${n}`, partitions: 4, config: {} }));
    const names = specs.map(({ topic }) => topic);
    const admin = await other.admin();
    const making = ensureTopics(handle, specs);
    await until(async () => {
      const known = new Set(await admin.listTopics());
      return names.every((name) => known.has(name));
    });
    await ensureTopics(other, specs);
    await writeEach(specs);
    await making;
  }
  t.strictSame(refused, []);
  await producer.disconnect();
});

t.test('a record lingers also behind a request under way, until it is flushed', async (t) => {
  const topic = await newTopic();
  const publisher = createPublisher(handle, { lingerMs: 600_000 });
  publisher.publish({ topic, partition: 0, key: null, value: numbered(0) });
  const first = publisher.flush();
  publisher.publish({ topic, partition: 0, key: null, value: numbered(1) });
  await first;
  t.equal(publisher.position(topic, 0), 1, 'a flush waits for what was published before it');
  t.ok(publisher.queuedBytes() > 0);
  t.equal(publisher.stalledMs(), 0, 'nothing is under way');
  publisher.send();
  await until(() => publisher.position(topic, 0) === 2);
  publisher.publish({ topic, partition: 0, key: null, value: numbered(2) });
  await publisher.close();
  t.equal(publisher.position(topic, 0), 3, 'the last ones go out before it closes');
});

t.test('a key without a partition goes to the one of murmur2, and all of a record arrives', async (t) => {
  const topic = await newTopic();
  const publisher = createPublisher(handle);
  const keys = ['BTCUSDT', 'ETHUSDT', '1000PEPEUSDT', 'BTCUSD_PERP'];
  const timestamp = Date.now() - 60_000;
  for (const key of keys) publisher.publish({ topic, key, value: null, timestamp, headers: { source: key } });
  await publisher.close();
  const found: Record<string, unknown> = {};
  await readToEnd(handle, { topic, from: () => 'earliest' }, ({ key, value, timestampMs, headers }, partition) => {
    found[String(key)] = [value, partition, timestampMs, headers.source?.toString()];
  });
  t.same(found, Object.fromEntries(keys.map((key) => [key, [null, toShard(key, PARTITIONS), timestamp, key]])));
});

t.test('a reader begins at an offset, at the end, or at the oldest record retention left', async (t) => {
  const topic = await newTopic();
  const publisher = createPublisher(handle);
  for (const n of countTo(100)) publisher.publish({ topic, partition: 0, key: null, value: numbered(n) });
  await publisher.flush();
  const admin = await handle.admin();
  // kafkajs's admin only deletes from topics it has looked at.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '40' }] });
  t.same((await fetchEndOffsets(handle, topic)).get(0), { earliest: 40, latest: 100 });
  const read = async (start: number | 'earliest' | 'latest', enough: number): Promise<number[]> => {
    const seen: number[] = [];
    const reader = await readPartitions(handle, {
      topic,
      partitions: [0],
      from: () => start,
      onBatch: (_, messages) => void seen.push(...messages.map((m) => m.offset)),
    });
    if (start === 'latest') {
      publisher.publish({ topic, partition: 0, key: null, value: numbered(100) });
      await publisher.flush();
    }
    await until(() => seen.length >= enough);
    await reader.stop();
    return seen;
  };
  t.strictSame(await read(97, 3), [97, 98, 99]);
  t.strictSame((await read('earliest', 60)).at(0), 40);
  t.strictSame((await read(10, 60)).at(0), 40, 'an offset that is gone means the oldest there is');
  t.strictSame(await read('latest', 1), [100]);
  const rest: number[] = [];
  await readToEnd(handle, { topic, partitions: [0], from: () => 99 }, ({ offset }) => void rest.push(offset));
  t.strictSame(rest, [99, 100]);
  await publisher.close();
});

t.test('reading to the end reaches it also when retention passes the reader meanwhile', async (t) => {
  const topic = await newTopic(1);
  const publisher = createPublisher(handle, { compresses: false });
  // More than the fetcher holds: a batch in its handler and one that waits.
  const value = Buffer.alloc(500_000);
  for (const _ of countTo(20)) publisher.publish({ topic, partition: 0, key: null, value });
  await publisher.close();
  const admin = await handle.admin();
  await admin.fetchTopicOffsets(topic);
  const seen: number[] = [];
  await readToEnd(handle, { topic, from: () => 'earliest' }, async ({ offset }) => {
    if (seen.push(offset) > 1) return;
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] });
  });
  t.ok(seen.length < 20, `${seen.length} had been fetched`);
  t.same(seen, countTo(seen.length));
});

t.test('a slow partition holds up no other, and its own batches wait for it', async (t) => {
  const topic = await newTopic();
  const gate = Promise.withResolvers<void>();
  const seen: number[][] = [[], [], []];
  let atWork = 0;
  const reader = await readPartitions(handle, {
    topic,
    from: () => 'earliest',
    onBatch: async (partition, messages) => {
      if (partition === 0) {
        atWork += 1;
        t.equal(atWork, 1, 'one call at a time');
        await gate.promise;
        atWork -= 1;
      }
      seen[partition]?.push(...messages.map(toNumber));
    },
  });
  const publisher = createPublisher(handle);
  for (const n of countTo(20)) {
    for (const partition of countTo(PARTITIONS)) publisher.publish({ topic, partition, key: null, value: numbered(n) });
    await publisher.flush();
  }
  await until(() => seen[1]?.length === 20 && seen[2]?.length === 20);
  t.strictSame(seen[0], []);
  gate.resolve();
  await until(() => seen[0]?.length === 20);
  t.strictSame(seen[0], countTo(20));
  await reader.stop();
  await publisher.close();
});

t.test('a reader waits for its topic, and ends with its signal', async (t) => {
  const ended = new AbortController();
  const seen: number[] = [];
  const opening = readPartitions(handle, {
    topic: `topic-${made + 1}`,
    from: () => 'earliest',
    onBatch: (_, messages) => void seen.push(...messages.map(toNumber)),
    signal: ended.signal,
  });
  const topic = await newTopic();
  const publisher = createPublisher(handle);
  publisher.publish({ topic, partition: 0, key: null, value: numbered(1) });
  await publisher.flush();
  await opening;
  await until(() => seen.length === 1);
  ended.abort();
  publisher.publish({ topic, partition: 0, key: null, value: numbered(2) });
  await publisher.close();
  t.strictSame(seen, [1]);
  const never = { topic: 'never', from: () => 0, onBatch: () => undefined };
  await t.rejects(readPartitions(handle, { ...never, signal: ended.signal }), { name: 'AbortError' });
  const soon = new AbortController();
  const waiting = readPartitions(handle, { ...never, signal: soon.signal });
  soon.abort();
  await t.rejects(waiting, { name: 'AbortError' });
});

t.test('what cannot be handled ends the reader or the publisher with an error', async (t) => {
  const topic = await newTopic();
  const ended = Promise.withResolvers<unknown>();
  const reader = await readPartitions(handle, {
    topic,
    from: () => 'earliest',
    onBatch: () => Promise.reject(new Error('no')),
    onFatal: ended.resolve,
  });
  const failures: unknown[] = [];
  const publisher = createPublisher(handle, { maxQueuedBytes: 1_000, onFatal: (error) => void failures.push(error) });
  publisher.publish({ topic, partition: 0, key: null, value: numbered(1) });
  t.match(await ended.promise, { message: 'no' });
  await reader.stop();
  // A reader may have a record before its publisher receives the acknowledgement.
  await publisher.flush();

  const tooLarge = Buffer.alloc(LIMITS.messageBytes + 1);
  t.throws(() => publisher.publish({ topic, partition: 0, key: null, value: tooLarge }), RangeError);
  const publishOne = () => publisher.publish({ topic, partition: 0, key: null, value: Buffer.alloc(600) });
  for (const _ of countTo(4)) publishOne();
  t.throws(publishOne, QueueFull, 'twice the limit is the end of patience');
  await publisher.ready();
  t.ok(publisher.queuedBytes() < 1_000, 'ready waits for room');
  await publisher.flush();

  publisher.publish({ topic, partition: PARTITIONS, key: null, value: numbered(2) });
  await t.rejects(publisher.flush(), /does not exist/);
  t.equal(failures.length, 1);
});

t.test('a large record that does not compress passes', async (t) => {
  const topic = await newTopic(1, { 'max.message.bytes': String(LIMITS.batchBytes) });
  const publisher = createPublisher(handle);
  const value = Buffer.alloc(LIMITS.frameBytes, 0);
  for (let i = 0; i < value.length; i += 4) value.writeUInt32LE(Math.imul(i, 2_654_435_761) >>> 0, i);
  publisher.publish({ topic, partition: 0, key: 'large', value });
  await publisher.close();
  let same = false;
  await readToEnd(handle, { topic, from: () => 'earliest' }, (message) => {
    same = message.value?.equals(value) ?? false;
  });
  t.ok(same);
});

t.test('members of a group share the partitions, take over a leaver and continue from commits', async (t) => {
  const topic = await newTopic();
  const groupId = `group-${topic}`;
  const publisher = createPublisher(handle);
  const publish = async (from: number, to: number): Promise<void> => {
    for (const n of countTo(to).slice(from))
      publisher.publish({ topic, partition: n % PARTITIONS, key: null, value: numbered(n) });
    await publisher.flush();
  };
  const seen = new Map<string, number[]>([
    ['first', []],
    ['second', []],
  ]);
  const join = (name: string) => {
    const numbers = seen.get(name) ?? [];
    return joinGroup(handle, {
      groupId,
      topics: [topic],
      onBatch: ({ messages }) => void numbers.push(...messages.map(toNumber)),
    });
  };
  const all = () => [...seen.values()].flat().sort((a, b) => a - b);

  const first = await join('first');
  t.equal(first.assigned().length, PARTITIONS);
  await publish(0, 300);
  await until(() => all().length === 300);
  t.ok(await first.commit(countTo(PARTITIONS).map((partition) => ({ topic, partition, offset: 100 }))));
  const second = await join('second');
  await until(() => first.assigned().length + second.assigned().length === PARTITIONS);
  await publish(300, 600);
  await until(() => all().length >= 600);
  t.strictSame(all(), countTo(600), 'each record once while both stay');
  t.ok((seen.get('second')?.length ?? 0) > 0);
  t.ok(await second.commit(second.assigned().map(({ partition }) => ({ topic, partition, offset: 200 }))));
  t.ok(await first.commit(first.assigned().map(({ partition }) => ({ topic, partition, offset: 200 }))));
  await first.stop();
  await until(() => second.assigned().length === PARTITIONS);
  await publish(600, 900);
  await until(() => all().length >= 900);
  t.strictSame(all(), countTo(900), 'the one left continues after the commits');
  await second.stop();
  await publisher.close();
});

t.test('the caller chooses where an assigned partition begins', async (t) => {
  const topic = await newTopic(1);
  const publisher = createPublisher(handle);
  for (const n of countTo(10)) publisher.publish({ topic, partition: 0, key: null, value: numbered(n) });
  await publisher.close();
  const seen: number[] = [];
  const member = await joinGroup(handle, {
    groupId: `group-${topic}`,
    topics: [topic],
    onAssigned: (partitions) => partitions.map((partition) => ({ ...partition, from: 7 })),
    onBatch: ({ messages, highWatermark }) => {
      t.equal(highWatermark, 10);
      seen.push(...messages.map(toNumber));
    },
  });
  await until(() => seen.length === 3);
  t.strictSame(seen, [7, 8, 9]);
  await member.stop();
});

t.test('a broker killed in mid-stream: nothing acknowledged or queued is lost, nothing is read twice', async (t) => {
  const topic = await newTopic();
  const publisher = createPublisher(handle);
  const groupOffsets = new Map<number, number[]>(countTo(PARTITIONS).map((p) => [p, []]));
  const offsets = new Map<number, number[]>(countTo(PARTITIONS).map((p) => [p, []]));
  const numbers = new Map<number, number[]>(countTo(PARTITIONS).map((p) => [p, []]));
  const reader = await readPartitions(handle, {
    topic,
    from: () => 'earliest',
    onBatch: (partition, messages) => {
      offsets.get(partition)?.push(...messages.map((m) => m.offset));
      numbers.get(partition)?.push(...messages.map(toNumber));
    },
  });
  const member = await joinGroup(handle, {
    groupId: `group-${topic}`,
    topics: [topic],
    onBatch: ({ partition, messages }) => void groupOffsets.get(partition)?.push(...messages.map((m) => m.offset)),
  });
  const total = 6_000;
  let killed: Promise<void> | null = null;
  let killedAt = 0;
  for (const n of countTo(total)) {
    publisher.publish({ topic, partition: n % PARTITIONS, key: null, value: numbered(n) });
    if (n === 3_000) {
      killedAt = performance.now();
      killed = engines.kill('kafka');
    }
    if (n % 100 === 0) await pause(2);
  }
  await killed;
  await publisher.flush();
  const acknowledged = performance.now();
  const ends = countTo(PARTITIONS).map((p) => publisher.position(topic, p) ?? 0);
  await until(() => countTo(PARTITIONS).every((p) => offsets.get(p)?.length === ends[p]));
  const read = performance.now();
  await until(() => countTo(PARTITIONS).every((p) => groupOffsets.get(p)?.length === ends[p]));
  for (const p of countTo(PARTITIONS)) {
    t.strictSame(offsets.get(p), countTo(ends[p] ?? 0), `each offset of partition ${p} once and in order`);
    t.strictSame(groupOffsets.get(p), countTo(ends[p] ?? 0), 'the group member too');
    const distinct = [...new Set(numbers.get(p))];
    t.strictSame(
      distinct,
      countTo(total).filter((n) => n % PARTITIONS === p),
      'every record, first times in order',
    );
  }
  const seconds = (ms: number) => `${((ms - killedAt) / 1000).toFixed(1)} s`;
  t.comment(
    `after the kill: acknowledged ${seconds(acknowledged)}, read ${seconds(read)}, member ${seconds(performance.now())}`,
  );
  t.comment(`repeats: ${ends.reduce((a, b) => a + b, 0) - total}`);
  await member.stop();
  await reader.stop();
  await publisher.close();
});

t.test('a member that finds no coordinator outlasts an absence of its broker', async (t) => {
  const topic = await newTopic(1);
  const failures: string[] = [];
  const noteLine = (line: string): void => {
    const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
    if (msg === 'the group cannot be joined, trying again') failures.push(err?.message ?? '');
  };
  const fails = (reason: string): Promise<boolean> => until(() => failures.some((message) => message.includes(reason)));
  const outlasting = openKafka({ brokers, clientId: 'outlasting' }, pino({ level: 'warn' }, { write: noteLine }));
  t.teardown(() => outlasting.close());
  // What kafkajs throws when a broker that shuts down cuts the connection while its coordinator is looked up.
  const { findGroupCoordinatorMetadata } = Cluster.prototype;
  Cluster.prototype.findGroupCoordinatorMetadata = () => Promise.reject(new NotFound('no coordinator'));
  const seen: number[] = [];
  const joining = joinGroup(outlasting, {
    groupId: `group-${topic}`,
    topics: [topic],
    onBatch: ({ messages }) => void seen.push(...messages.map(toNumber)),
  });
  await fails('no coordinator');
  await engines.hold('kafka');
  Cluster.prototype.findGroupCoordinatorMetadata = findGroupCoordinatorMetadata;
  await Promise.race([fails('ECONNREFUSED'), joining]);
  await engines.restart('kafka');
  const member = await joining;
  const publisher = createPublisher(outlasting);
  publisher.publish({ topic, partition: 0, key: null, value: numbered(1) });
  await publisher.close();
  await until(() => seen.length === 1);
  t.strictSame(seen, [1]);
  await member.stop();
});

t.test('one publisher and one reader keep up with far more than the service needs', async (t) => {
  const topic = await newTopic();
  const publisher = createPublisher(handle);
  const records = 60_000;
  const value = Buffer.alloc(350, 'mark price update ');
  const begun = performance.now();
  for (const n of countTo(records)) {
    publisher.publish({ topic, partition: n % PARTITIONS, key: String(n), value });
    if (n % 1_000 === 0) await publisher.ready();
  }
  await publisher.close();
  const published = performance.now();
  const keys: string[] = [];
  await readToEnd(handle, { topic, from: () => 'earliest' }, ({ key }) => void keys.push(String(key)));
  const held = countTo(PARTITIONS).reduce((sum, p) => sum + (publisher.position(topic, p) ?? 0), 0);
  t.equal(keys.length, held, 'every offset the brokers acknowledged, once');
  t.equal(new Set(keys).size, records, 'every record');
  t.equal(keys.length, records, 'and none of them twice');
  const rate = (ms: number) => `${Math.round(records / ms)}k/s`;
  t.comment(`published ${rate(published - begun)}, read ${rate(performance.now() - published)}`);
});

t.test('reading to the end passes empty partitions and the holes of compaction', async (t) => {
  const config = { 'cleanup.policy': 'compact', 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.01' };
  const topic = await newTopic(2, config);
  const publisher = createPublisher(handle, { maxRecords: 10 });
  const publish = (key: string, n: number) => publisher.publish({ topic, partition: 0, key, value: numbered(n) });
  for (const n of countTo(200)) publish(`k${n % 5}`, n);
  let offsets: number[] = [];
  // Each round closes a segment; the broker's cleaner comes by every fifteen seconds.
  await until(async () => {
    await pause(200);
    publish('round', 0);
    await publisher.flush();
    offsets = [];
    await readToEnd(handle, { topic, from: () => 'earliest' }, ({ offset }) => void offsets.push(offset));
    // The cleaner works segment by segment, and a read may pass it.
    return (offsets[0] ?? 0) >= 195;
  });
  t.strictSame(offsets.slice(0, 5), [195, 196, 197, 198, 199], 'the newest record of each key');
  t.equal(offsets.at(-1), (publisher.position(topic, 0) ?? 0) - 1, 'up to the end');
  const fromHole: number[] = [];
  await readToEnd(handle, { topic, partitions: [0], from: () => 100 }, ({ offset }) => void fromHole.push(offset));
  t.equal(fromHole[0], 195, 'an offset in a hole means the next there is');
  await publisher.close();
});
