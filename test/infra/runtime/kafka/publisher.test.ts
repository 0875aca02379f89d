// The publisher against brokers that fail in every way an attempt can: whole batches, one after the other, until every partition answered.
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { createPublisher, openSender, QueueFull } from '../../../../infra/runtime/kafka/kafka.ts';
import { Abandoned } from '../../../../infra/runtime/kafka/publisher.ts';
import { LIMITS } from '../../../../infra/runtime/kafka/topics.ts';
import { hashTextKey } from '../../../../schemas/shards.ts';
import { type Fate, holdAttempts, openCluster, PARTITIONS, PASSING } from '../../../support/engines/paper-cluster.ts';

const TOPICS = ['a', 'b'];

/** Numbers from 0 to 1 that a failure can be run again with. */
const shares = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** First times of each record, as a reader keeps them that drops what is not above the highest so far. */
const readOnce = (values: readonly string[]): number[] => {
  const seen: number[] = [];
  for (const n of values.map(Number)) if (n > (seen.at(-1) ?? -1)) seen.push(n);
  return seen;
};

t.test(
  'whatever becomes of the attempts, each partition has every record in order once repeats are dropped',
  async (t) => {
    for (let seed = 1; seed <= 4; seed += 1) {
      const next = shares(seed);
      let halves = 0;
      const { handle, log, attempts } = openCluster(() => {
        const fate = next() < 0.5 ? 'taken' : (PASSING[Math.floor(next() * PASSING.length)] ?? 'refused');
        // A partition that is never answered for does not exist: that is another test.
        halves = fate === 'half' ? halves + 1 : 0;
        return halves > 2 ? 'refused' : fate;
      });
      const publisher = createPublisher(handle, { maxRecords: 10, lingerMs: 0 });
      const records = 60;
      for (let n = 0; n < records; n += 1) {
        const topic = TOPICS[Math.floor(next() * TOPICS.length)] ?? 'a';
        publisher.publish({
          topic,
          partition: Math.floor(next() * PARTITIONS),
          key: null,
          value: Buffer.from(String(n)),
        });
      }
      await publisher.close();
      const all = [...log.values()].flatMap(readOnce).sort((a, b) => a - b);
      t.strictSame(
        all,
        Array.from({ length: records }, (_, n) => n),
        `seed ${seed}: ${attempts.length} attempts`,
      );
      for (const [place, values] of log) {
        const [topic = '', partition = ''] = place.split('/');
        t.equal(publisher.position(topic, Number(partition)), values.length, `${place} is known to its end`);
      }
      for (const [index, { records: sent, fate }] of attempts.entries())
        if (fate !== 'taken')
          t.strictSame(attempts[index + 1]?.records, sent, 'the next attempt is the same batch, whole');
    }
  },
);

const FAULTS = { 'too large': /MESSAGE_TOO_LARGE/, 'no right': /TOPIC_AUTHORIZATION_FAILED/, half: /does not exist/ };

t.test('what can never succeed is reported once and is not repeated', async (t) => {
  for (const [fate, tries] of [
    ['too large', 1],
    ['no right', 1],
    ['half', 3],
  ] as const) {
    const { handle, attempts } = openCluster(() => fate);
    const failures: unknown[] = [];
    const publisher = createPublisher(handle, { onFatal: (error) => void failures.push(error) });
    for (const partition of [0, 1]) publisher.publish({ topic: 'a', partition, key: null, value: Buffer.from('0') });
    await t.rejects(publisher.flush(), FAULTS[fate]);
    t.equal(attempts.length, tries, fate);
    t.equal(failures.length, 1);
  }
});

t.test('what passes is repeated, on new connections where those in use lead nowhere', async (t) => {
  // Four times in all, and never three times in a row.
  const fates: Fate[] = ['half', 'half', 'refused', 'half', 'half', 'no answer', 'no such topic', 'taken'];
  const next = fates.values();
  const { handle, attempts, renewedAfter } = openCluster(() => next.next().value ?? 'taken');
  const publisher = createPublisher(handle);
  for (const partition of [0, 1]) publisher.publish({ topic: 'a', partition, key: null, value: Buffer.from('0') });
  await publisher.flush();
  t.same(
    attempts.map(({ fate }) => fate),
    fates,
  );
  t.same(renewedAfter, [1, 2, 4, 5, 6], 'after an answer that lacks a partition, or none');
});

t.test(
  'a record keeps its partition: the one it names, that of its key, or the one of its first attempt',
  async (t) => {
    const fates: Fate[] = ['refused', 'half', 'refused', 'taken'];
    const next = fates.values();
    const { handle, attempts, log } = openCluster(() => next.next().value ?? 'taken');
    const publisher = createPublisher(handle);
    for (let n = 0; n < 6; n += 1) publisher.publish({ topic: 'a', key: null, value: Buffer.from(String(n)) });
    publisher.publish({ topic: 'a', key: 'k', value: Buffer.from('6') });
    publisher.publish({ topic: 'a', key: 'k', partition: 3, value: Buffer.from('7') });
    await publisher.close();
    t.equal(attempts.length, fates.length);
    const places = [...log].flatMap(([place, values]) => [...new Set(values)].map((value) => `${value} ${place}`));
    t.equal(places.length, 8, 'each is in one partition, however often it was sent');
    t.ok(places.includes(`6 a/${hashTextKey('k') % PARTITIONS}`));
    t.ok(places.includes('7 a/3'));
  },
);

t.test('an acknowledgement has the time of the append where the topic has it', async (t) => {
  const { handle } = openCluster(() => 'taken');
  const sender = openSender(handle, { compresses: false });
  const messages = [{ topic: 'a' }, { topic: 'b' }].map(({ topic }) => ({
    topic,
    message: { partition: 1, value: 'x' },
  }));
  const acks = await sender.attempt(messages);
  t.same(
    [...acks],
    [
      ['a/1', { next: 1, appendedMs: null }],
      ['b/1', { next: 1, appendedMs: 1_700_000_000_123 }],
    ],
  );
});

/** A publisher whose attempts wait until the test takes them, one by one. */
const openHeld = (options: Parameters<typeof createPublisher>[1] = {}) => {
  const { fates, underWay, take } = holdAttempts();
  const cluster = openCluster(fates);
  const failures: unknown[] = [];
  const publisher = createPublisher(cluster.handle, { onFatal: (error) => void failures.push(error), ...options });
  let made = 0;
  return {
    ...{ ...cluster, publisher, failures, underWay, take },
    publish: (bytes = 1): void =>
      publisher.publish({ topic: 'a', partition: 0, key: null, value: Buffer.alloc(bytes, String(made++)) }),
  };
};

/** Whether a promise is settled by now. */
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  const pending = {};
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
};

t.test('a flush waits for what was published before it, and for nothing else', async (t) => {
  const { publisher, publish, underWay, take } = openHeld();
  publish();
  const first = publisher.flush();
  await underWay();
  publish();
  const second = publisher.flush();
  publish();
  t.equal(await isSettled(first), false);
  await take();
  t.equal(await isSettled(first), true);
  t.equal(await isSettled(second), false, 'a batch was acknowledged, another is under way');
  await underWay();
  await take();
  await second;
  t.equal(publisher.position('a', 0), 3);
  t.equal(await isSettled(publisher.flush()), true, 'everything is acknowledged');
});

t.test('who waits without hurry leaves the records their linger', async (t) => {
  const { publisher, publish, underWay, take, attempts } = openHeld({ lingerMs: 60_000 });
  t.equal(await isSettled(publisher.settle()), true, 'nothing is published');
  publish();
  const settled = publisher.settle();
  await nextTurn();
  t.equal(attempts.length, 0, 'the record waits for others');
  publish();
  const flushed = publisher.flush();
  publish();
  const later = publisher.settle();
  await underWay();
  await take();
  await Promise.all([settled, flushed]);
  t.equal(await isSettled(later), false, 'the third record has its own linger');
  const { waiting } = publisher.withdraw();
  t.equal(waiting.length, 1);
  await later;
  publish();
  const abandoned = publisher.settle();
  await Promise.all([t.rejects(abandoned, Abandoned), publisher.abandon()]);
});

t.test('records that are published in one run of code share a request, wherever it sends', async (t) => {
  const { publisher, publish, underWay, take, attempts } = openHeld({ lingerMs: 60_000 });
  for (let n = 0; n < 3; n += 1) {
    publish();
    publisher.send();
  }
  await underWay();
  await take();
  await publisher.flush();
  t.same(
    attempts.map(({ records }) => records.length),
    [3],
  );
});

t.test('what is withdrawn belongs to the caller; what is under way is awaited, and nothing else is', async (t) => {
  const { publisher, publish, underWay, take, attempts } = openHeld();
  publish(100);
  const before = publisher.flush();
  await underWay();
  const bytes = publisher.queuedBytes();
  publish(100);
  publish(100);
  const behind = publisher.flush();
  t.equal(publisher.queuedBytes(), 3 * bytes);
  const withdrawn = publisher.withdraw();
  const toFirst = (list: readonly { readonly value: Buffer | null }[]) => list.map(({ value }) => String(value)[0]);
  t.same([toFirst(withdrawn.underWay), toFirst(withdrawn.waiting)], [['0'], ['1', '2']]);
  t.equal(publisher.queuedBytes(), bytes);
  t.equal(await isSettled(behind), false, 'the one under way is still to be acknowledged');
  t.ok(publisher.stalledMs() > 0);
  await take();
  await Promise.all([before, behind]);
  t.equal(publisher.queuedBytes(), 0);
  t.equal(publisher.stalledMs(), 0);
  t.same(publisher.withdraw(), { underWay: [], waiting: [] });
  publish();
  const later = publisher.flush();
  await underWay();
  t.equal(await isSettled(later), false, 'what is published later is counted anew');
  await take();
  await later;
  t.same(
    attempts.map(({ records }) => records.length),
    [1, 1],
  );
});

t.test('above its bound it lets nobody go on, and at twice the bound it refuses', async (t) => {
  const { publisher, publish, underWay, take } = openHeld({ maxRecords: 1, maxQueuedBytes: 1_000 });
  publish(700 - 64);
  t.equal(await isSettled(publisher.ready()), true);
  for (let more = 0; more < 2; more += 1) publish(700 - 64);
  const ready = publisher.ready();
  t.equal(publisher.queuedBytes(), 2_100);
  t.throws(() => publish(), QueueFull);
  await underWay();
  await take();
  t.equal(await isSettled(ready), false, 'two thirds of it still wait');
  publish(100 - 64);
  await underWay();
  await take();
  t.equal(await isSettled(ready), true);
  for (let left = 0; left < 2; left += 1) {
    await underWay();
    await take();
  }
  await publisher.flush();
});

t.test('a request is bounded in bytes, a record by itself', async (t) => {
  const { publisher, publish, underWay, take, attempts } = openHeld();
  for (let n = 0; n < 3; n += 1) publish(600_000);
  const flushed = publisher.flush();
  for (let n = 0; n < 3; n += 1) {
    await underWay();
    await take();
  }
  await flushed;
  t.equal(attempts.length, 3);
  t.throws(() => publish(LIMITS.messageBytes), RangeError);
  t.equal(publisher.queuedBytes(), 0, 'the refused one is not held');
});

t.test('what is published while a batch is under way is sent without a flush, with its own time', async (t) => {
  const { publisher, publish, underWay, take, sent } = openHeld();
  publish();
  publisher.send();
  await underWay();
  publisher.publish({ topic: 'a', partition: 1, key: null, value: null, timestamp: 1_700_000_000_123 });
  await take();
  await underWay();
  await take();
  t.match(sent[1], { partition: 1, value: null, timestamp: '1700000000123' });
});

t.test('an abandoned publisher rejects those who wait, and is no failure', async (t) => {
  const { publisher, publish, underWay, take, failures } = openHeld();
  publish();
  const flushed = publisher.flush();
  await underWay();
  const abandoned = publisher.abandon();
  await t.rejects(flushed, Abandoned);
  await take('refused');
  await abandoned;
  await t.rejects(publisher.flush(), Abandoned);
  t.same(failures, []);
});
