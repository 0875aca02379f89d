// A collector's topics at its start: what passes is tried again, what only a person can mend ends the start.
import { pino } from 'pino';
import t from 'tap';
import { type KafkaHandle, openKafka, TopicMismatch, TopicRightMissing } from '../../infra/runtime/kafka/kafka.ts';
import { makeTopics } from '../../ingest/make-topics.ts';

/** The wait between two tries holds no process, so that a collector ends in time. */
const held = setInterval(() => undefined, 1_000);
t.teardown(() => clearInterval(held));
const SPECS = [{ topic: 'raw.binance', partitions: 1, config: {} }];

/** A handle whose broker gives these answers to the first question, one a try; the last one stays. */
type Answering = { readonly handle: KafkaHandle; readonly asked: () => number; readonly lines: readonly string[] };
const answering = (...answers: readonly Error[]): Answering => {
  let asked = 0;
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const admin = async (): Promise<never> => {
    asked += 1;
    throw answers[Math.min(asked, answers.length) - 1];
  };
  return { handle: { ...openKafka({ brokers: [], clientId: 'test' }, log), admin }, asked: () => asked, lines };
};

t.test('a right that is missing ends the start at once, with the right and the topics', async (t) => {
  const { handle, asked } = answering(new TopicRightMissing('CREATE', ['raw.binance']));
  await t.rejects(makeTopics(handle, SPECS, new AbortController().signal), {
    message: "the user of this process lacks the right CREATE on raw.binance: add it to Kafka's ACLs",
  });
  t.equal(asked(), 1);
});

t.test('brokers that are away are asked again, and a fault that is found later still ends the start', async (t) => {
  for (const fault of [new TopicRightMissing('CREATE', ['raw.binance']), new TopicMismatch('other partitions')]) {
    const away = new Error('connect ECONNREFUSED');
    const { handle, asked, lines } = answering(away, away, fault);
    await t.rejects(makeTopics(handle, SPECS, new AbortController().signal), fault);
    t.equal(asked(), 3);
    t.equal(lines.length, 1, 'one line for the outage');
  }
});

t.test('after a stop nothing is reported', async (t) => {
  const stopping = new AbortController();
  const { handle } = answering(new TopicRightMissing('CREATE', ['raw.binance']));
  const making = makeTopics(handle, SPECS, stopping.signal);
  stopping.abort();
  await t.resolves(making);
});
