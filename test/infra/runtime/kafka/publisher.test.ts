// The publisher against brokers that fail in every way an attempt can: whole batches, one after the other, until every partition answered.
import type { Kafka, ProducerBatch, RecordMetadata } from 'kafkajs';
import t from 'tap';
import { createPublisher, type KafkaHandle } from '../../../../infra/runtime/kafka/kafka.ts';
import kafkajs from '../../../../infra/runtime/kafka/patches/kafkajs.ts';
import { createLog } from '../../../../infra/runtime/log.ts';

const PARTITIONS = 4;
const TOPICS = ['a', 'b'];

/** The outcome of one attempt. */
type Fate = 'taken' | 'refused' | 'half' | 'half and refused' | 'no answer' | 'too large';
const PASSING: readonly Fate[] = ['refused', 'half', 'half and refused', 'no answer'];

const protocolError = (type: string, retriable: boolean): Error =>
  new kafkajs.KafkaJSProtocolError(Object.assign(new Error(type), { type, code: 0, retriable }));
const gaveUp = (cause: Error): Error =>
  new kafkajs.KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 0, retryTime: 0 });

/** A cluster in memory: what its log took, attempt by attempt, and a client that answers as kafkajs does. */
const openCluster = (fates: () => Fate) => {
  const log = new Map<string, string[]>();
  const attempts: { readonly records: readonly string[]; readonly fate: Fate }[] = [];
  let underWay = 0;
  const append = (topic: string, partition: number, values: readonly string[]): RecordMetadata => {
    const records = log.get(`${topic}/${partition}`) ?? [];
    log.set(`${topic}/${partition}`, records);
    const baseOffset = String(records.length);
    records.push(...values);
    return { topicName: topic, partition, errorCode: 0, baseOffset };
  };
  const sendBatch = async ({ topicMessages = [] }: ProducerBatch): Promise<RecordMetadata[]> => {
    underWay += 1;
    if (underWay > 1) throw new Error('two attempts at once');
    await new Promise(setImmediate);
    underWay -= 1;
    const fate = fates();
    const records = topicMessages.flatMap(({ topic, messages }) => messages.map(({ value }) => `${topic} ${value}`));
    attempts.push({ records, fate });
    const places = topicMessages.flatMap(({ topic, messages }) =>
      [...Map.groupBy(messages, ({ partition }) => partition ?? 0)].map(([partition, found]) => ({
        topic,
        partition,
        found,
      })),
    );
    const taken =
      fate === 'refused' || fate === 'too large' ? 0 : fate === 'taken' ? places.length : places.length >> 1;
    const answers = places.slice(0, taken).map(({ topic, partition, found }) =>
      append(
        topic,
        partition,
        found.map(({ value }) => String(value)),
      ),
    );
    if (fate === 'too large') throw protocolError('MESSAGE_TOO_LARGE', false);
    if (fate === 'refused' || fate === 'half and refused')
      throw gaveUp(protocolError('NOT_LEADER_FOR_PARTITION', true));
    if (fate === 'no answer') throw gaveUp(new kafkajs.KafkaJSRequestTimeoutError('timed out', {} as never));
    return answers;
  };
  const nothing = async (): Promise<void> => undefined;
  const kafka = { producer: () => ({ connect: nothing, disconnect: nothing, sendBatch }) } as unknown as Kafka;
  const handle = { kafka, log: createLog('publisher-test', 'silent') } as KafkaHandle;
  return { handle, log, attempts };
};

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

t.test('what can never succeed is reported once and is not repeated', async (t) => {
  for (const [fate, tries] of [
    ['too large', 1],
    ['half', 3],
  ] as const) {
    const { handle, attempts } = openCluster(() => fate);
    const failures: unknown[] = [];
    const publisher = createPublisher(handle, { onFatal: (error) => void failures.push(error) });
    for (const partition of [0, 1]) publisher.publish({ topic: 'a', partition, key: null, value: Buffer.from('0') });
    await t.rejects(publisher.flush(), fate === 'half' ? /does not exist/ : /MESSAGE_TOO_LARGE/);
    t.equal(attempts.length, tries, fate);
    t.equal(failures.length, 1);
  }
});
