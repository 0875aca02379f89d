// How far stored history has come for the nightly steps: by the tasks of the venues that are processed (D-1045).
import t from 'tap';
import { createPublisher, ensureTopics, openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { readHistoryWatermark, refuseUnsealed } from '../../../processors/nightly/history-watermark.ts';
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
  t.same(await read(['binance']), { at: 0, of: 'binance' });
  t.same(await read(null), { at: 0, of: 'every venue' });
  await publish([
    { task: 'binance/0', kind: 'task', watermark: 900 },
    { task: 'okx/0', kind: 'task', watermark: 900 },
    { task: 'binance/0', kind: 'history', watermark: 700 },
  ]);
  t.same(await read(['binance', 'okx']), { at: 0, of: 'okx/0' }, 'a task has no rows yet');
  t.same(await read(null), { at: 0, of: 'okx/0' });
});

t.test('a venue that is not processed any more holds up no day', async (t) => {
  await publish([
    { task: 'okx/0', kind: 'history', watermark: 500 },
    { task: 'binance/0', kind: 'history', watermark: 800 },
    { task: 'binance/1', kind: 'history', watermark: 790 },
  ]);
  t.same(await read(['binance', 'okx']), { at: 500, of: 'okx/0' });
  t.same(await read(null), { at: 500, of: 'okx/0' }, 'without the setting every venue is waited for');
  t.same(await read(['binance']), { at: 790, of: 'binance/1' });
});

t.test('a venue that processors have no task of holds up every day, as one that is misspelt', async (t) => {
  t.same(await read(['binance', 'gate']), { at: 0, of: 'gate' });
  t.same(await read(['binanse', 'okx']), { at: 0, of: 'binanse' });
});

t.test('a day that is held up says by which task, and which setting decides that it is waited for', async (t) => {
  await publish([{ task: 'nowhere/3', kind: 'task', watermark: 900 }]);
  await t.rejects(
    refuseUnsealed('2026-01-15', { historyWatermark: () => read(null) }),
    /^stored history of nowhere\/3 has reached 1970-01-01T00:00:00.000000Z, not the end of 2026-01-15 with its last window; VENUES names the venues that are waited for$/,
  );
  t.same(await read(['binance', 'okx']), { at: 500, of: 'okx/0' }, 'with the setting it is passed over');
});
