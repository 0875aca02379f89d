// A Kafka cluster in memory behind our publisher: each attempt ends as the test says, and what was taken is in its log.
import type { ICustomPartitioner, Kafka, Message as KafkaMessage, ProducerBatch, RecordMetadata } from 'kafkajs';
import type { KafkaHandle } from '../../../infra/runtime/kafka/kafka.ts';
import kafkajs from '../../../infra/runtime/kafka/patches/kafkajs.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';

export const PARTITIONS = 4;

/** The outcome of one attempt. */
export type Fate =
  | 'taken'
  | 'refused'
  | 'half'
  | 'half and refused'
  | 'no answer'
  | 'too large'
  | 'no such topic'
  | 'no right';
const PARTLY: readonly Fate[] = ['half', 'half and refused', 'no answer'];
export const PASSING: readonly Fate[] = ['refused', 'half', 'half and refused', 'no answer'];

const protocolError = (type: string, retriable: boolean): Error =>
  new kafkajs.KafkaJSProtocolError(Object.assign(new Error(type), { type, code: 0, retriable }));
const gaveUp = (cause: Error): Error =>
  new kafkajs.KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 0, retryTime: 0 });

/** A cluster in memory: what its log took, attempt by attempt, and a client that answers as kafkajs does. */
export const openCluster = (fates: () => Fate | Promise<Fate>) => {
  const log = new Map<string, string[]>();
  const attempts: { readonly records: readonly string[]; readonly fate: Fate }[] = [];
  const sent: KafkaMessage[] = [];
  let underWay = 0;
  const append = (topic: string, partition: number, values: readonly string[]): RecordMetadata => {
    const records = log.get(`${topic}/${partition}`) ?? [];
    log.set(`${topic}/${partition}`, records);
    const baseOffset = String(records.length);
    records.push(...values);
    const logAppendTime = topic === 'b' ? '1700000000123' : '-1';
    return { topicName: topic, partition, errorCode: 0, baseOffset, logAppendTime };
  };
  let choose: ReturnType<ICustomPartitioner> = () => 0;
  const sendBatch = async ({ topicMessages = [] }: ProducerBatch): Promise<RecordMetadata[]> => {
    const partitionMetadata = Array.from(
      { length: PARTITIONS },
      (_, partitionId) => ({ partitionId, leader: 1 }) as never,
    );
    for (const { topic, messages } of topicMessages)
      for (const message of messages) choose({ topic, message, partitionMetadata });
    underWay += 1;
    if (underWay > 1) throw new Error('two attempts at once');
    await new Promise(setImmediate);
    const fate = await fates();
    underWay -= 1;
    const records = topicMessages.flatMap(({ topic, messages }) => messages.map(({ value }) => `${topic} ${value}`));
    attempts.push({ records, fate });
    for (const { messages } of topicMessages) sent.push(...messages);
    const places = topicMessages.flatMap(({ topic, messages }) =>
      [...Map.groupBy(messages, ({ partition }) => partition ?? 0)].map(([partition, found]) => ({
        topic,
        partition,
        found,
      })),
    );
    const taken = fate === 'taken' ? places.length : PARTLY.includes(fate) ? places.length >> 1 : 0;
    const answers = places.slice(0, taken).map(({ topic, partition, found }) =>
      append(
        topic,
        partition,
        found.map(({ value }) => String(value)),
      ),
    );
    if (fate === 'too large') throw protocolError('MESSAGE_TOO_LARGE', false);
    if (fate === 'no such topic') throw protocolError('UNKNOWN_TOPIC_OR_PARTITION', false);
    if (fate === 'no right') throw gaveUp(protocolError('TOPIC_AUTHORIZATION_FAILED', false));
    if (fate === 'refused' || fate === 'half and refused')
      throw gaveUp(protocolError('NOT_LEADER_FOR_PARTITION', true));
    if (fate === 'no answer') throw gaveUp(new kafkajs.KafkaJSRequestTimeoutError('timed out', {} as never));
    return answers;
  };
  const nothing = async (): Promise<void> => undefined;
  const renewedAfter: number[] = [];
  const disconnect = async (): Promise<void> => void renewedAfter.push(attempts.length);
  const producer = ({ createPartitioner }: { createPartitioner: ICustomPartitioner }) => {
    choose = createPartitioner();
    return { connect: nothing, disconnect, sendBatch };
  };
  const kafka = { producer } as unknown as Kafka;
  const handle = { kafka, log: createLog('publisher-test', 'silent') } as KafkaHandle;
  return { handle, log, attempts, sent, renewedAfter };
};

/** Attempts wait until the test takes them, one by one. */
export const holdAttempts = () => {
  const waiting: ((fate: Fate) => void)[] = [];
  const begun: (() => void)[] = [];
  return {
    fates: (): Promise<Fate> =>
      new Promise((resolve) => {
        waiting.push(resolve);
        begun.shift()?.();
      }),
    /** Resolves once an attempt is under way. */
    underWay: (): Promise<void> =>
      waiting.length > 0 ? Promise.resolve() : new Promise((resolve) => begun.push(resolve)),
    take: async (fate: Fate = 'taken'): Promise<void> => {
      waiting.shift()?.(fate);
      await new Promise(setImmediate);
    },
  };
};
