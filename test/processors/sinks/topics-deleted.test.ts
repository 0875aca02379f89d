// All topics are deleted, as a cut log asks for: the sink, whose group has committed offsets beyond the new ones, writes what comes next.
import { Registry } from 'prom-client';
import t from 'tap';
import { createPublisher, ensureTopics, openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { createSinkMetrics } from '../../../processors/sinks/metrics.ts';
import { startSink } from '../../../processors/sinks/sink.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { nameTopics, type Row } from '../../../schemas/topics.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['kafka', 'questdb']);
const { kafka, questdb_pg: pg, questdb_http: http, questdb_user: user, questdb_password: password } = engines.endpoints;
const log = createLog('topics-deleted-test', 'silent');
const handle = openKafka({ brokers: [kafka], clientId: 'topics-deleted-test' }, log);
const reader = openQuestdbReader(pg, { max: 2, timeoutMs: 15_000, auth: { user, password }, log });
t.teardown(async () => {
  await reader.close();
  await handle.close();
});
const namespace = `${engines.namespace()}.`;
const names = nameTopics(namespace);
const topics = listTopicSpecs({ venues: ['binance'], shards: 1, namespace });
const START = 1_768_478_400_000_000;

const makeRow = (n: number): Row => ({
  ...{ table: 'mark', at: START + n * 10_000_000 },
  texts: { listing: 'binance:BTCUSDT', venue: 'binance', status: 'present', anchor: 'venue' },
  instants: { from_at: START + (n - 1) * 10_000_000, received_at: START + n * 10_000_000 - 1_000 },
  ...{ integers: { src_offset: n }, figures: { mark: '1' }, flags: { late: false } },
});

const TABLE = toTableName(namespace, 'mark');

/** None while the sink, which makes its tables itself, has not made this one. */
const countRows = async (): Promise<number> => {
  const made = await reader.query({ text: `SELECT table_name FROM tables() WHERE table_name = '${TABLE}'` });
  return made.length === 0 ? 0 : Number((await reader.query({ text: `SELECT count() FROM '${TABLE}'` }))[0]?.[0]);
};

/** A life of the sink over so many rows more. */
const writeRows = async (from: number, to: number): Promise<void> => {
  await ensureTopics(handle, topics);
  const sender = createRowSender(http, { auth: { user, password }, log });
  const publisher = createPublisher(handle);
  const groupId = `${namespace}sink`;
  const metrics = createSinkMetrics(new Registry());
  const spec = { handle, sender, reader, venues: ['binance'], namespace, groupId, metrics, log, flushEveryMs: 100 };
  const sink = await startSink(spec);
  for (let n = from; n < to; n++) {
    const entry = { offset: n - from, index: 0, watermark: null } as const;
    const value = codecs.rows.encode({ ...entry, kind: 'row', row: makeRow(n) });
    publisher.publish({ topic: names.rows('binance'), partition: 0, key: null, value });
  }
  await publisher.close();
  await waitFor(`${to} rows`, async () => (await countRows()) === to);
  await sink.stop();
  await sender.close();
};

t.test('rows are written from the start of the new topics', async () => {
  await writeRows(0, 50);
  const admin = await handle.admin();
  await admin.deleteTopics({ topics: topics.map(({ topic }) => topic) });
  await waitFor('the topics are gone', async () => {
    const left = new Set(await admin.listTopics());
    return topics.every(({ topic }) => !left.has(topic));
  });
  await writeRows(50, 60);
  await writeRows(60, 70);
});
