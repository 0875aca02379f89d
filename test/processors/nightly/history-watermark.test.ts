// How far stored history has come for the nightly steps: by the tasks of the venues that are processed (D-1045).
import t from 'tap';
import { createPublisher, ensureTopics, openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { readHistoryWatermark } from '../../../processors/nightly/history-watermark.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { nameTopics, type WatermarkEntry } from '../../../schemas/topics.ts';
import { useEngines } from '../../support/engines/engines.ts';

const engines = await useEngines(t, ['kafka']);
const namespace = `replay.${engines.namespace()}.`;
const log = createLog('history-watermark-test', 'silent');
const kafka = openKafka({ brokers: [engines.endpoints.kafka], clientId: 'history-watermark-test' }, log);
t.teardown(() => kafka.close());
const { watermark: topic } = nameTopics(namespace);
await ensureTopics(
  kafka,
  listTopicSpecs({ venues: [], shards: 1, namespace, replay: true }).filter((spec) => spec.topic === topic),
);

const publish = async (entries: readonly Pick<WatermarkEntry, 'task' | 'kind' | 'watermark'>[]): Promise<void> => {
  const publisher = createPublisher(kafka);
  for (const { task, kind, watermark } of entries) {
    const key = kind === 'task' ? task : `${task}|${kind}`;
    const value = codecs.watermark.encode({ task, kind, watermark, offset: 1, positions: {} });
    publisher.publish({ topic, partition: 0, key, value });
  }
  await publisher.close();
};

const read = (venues: readonly string[] | null) => readHistoryWatermark(kafka, { namespace, venues });

t.test('the least of the tasks of the venues; nothing is known before their first rows', async (t) => {
  t.equal(await read(['binance']), 0);
  await publish([
    { task: 'binance/0', kind: 'task', watermark: 900 },
    { task: 'okx/0', kind: 'task', watermark: 900 },
    { task: 'binance/0', kind: 'history', watermark: 700 },
  ]);
  t.equal(await read(['binance', 'okx']), 0, 'a task has no rows yet');
  t.equal(await read(null), 0);
});

t.test('a venue that is not processed any more holds up no day', async (t) => {
  await publish([
    { task: 'okx/0', kind: 'history', watermark: 500 },
    { task: 'binance/0', kind: 'history', watermark: 800 },
    { task: 'binance/1', kind: 'history', watermark: 790 },
  ]);
  t.equal(await read(['binance', 'okx']), 500);
  t.equal(await read(null), 500, 'without the setting every venue is waited for');
  t.equal(await read(['binance']), 790);
});

t.test('a venue that processors have no task of holds up every day, as one that is misspelt', async (t) => {
  t.equal(await read(['binance', 'gate']), 0);
  t.equal(await read(['binanse', 'okx']), 0);
});
