// Kafka starts empty over a QuestDB with history: listings are known as before, the lost time is a gap, and stored rows stay.
import { Registry } from 'prom-client';
import t from 'tap';
import { createPublisher, ensureTopics, openKafka, readToEnd } from '../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../infra/runtime/questdb/row-sender.ts';
import { binance } from '../../ingest/venues/binance/index.ts';
import { bybit } from '../../ingest/venues/bybit/index.ts';
import { createProcessorMetrics } from '../../processors/metrics.ts';
import { type LostTopics, restoreTopics } from '../../processors/restore-topics.ts';
import { closePublishers, openPublishers } from '../../processors/runner/publishers.ts';
import { TaskRunner } from '../../processors/runner/task-runner.ts';
import { ensureTables } from '../../processors/sinks/ensure-tables.ts';
import { makeCapabilityRow, makeGapRow, makeListingRow } from '../../processors/task/rows.ts';
import { type Codec, codecs } from '../../schemas/avro/codec.ts';
import { toShard } from '../../schemas/shards.ts';
import { toTableName } from '../../schemas/tables.ts';
import { nameTopics, type Row } from '../../schemas/topics.ts';
import { toSealInstant } from '../../schemas/windows.ts';
import { capability, LISTED, listing, listingValues } from '../support/apps/live-fixture.ts';
import { useEngines } from '../support/engines/engines.ts';
import { listRows, runTask } from '../support/tasks/task-driver.ts';
import { busyLog, findGapFaults, SPEC } from '../support/tasks/task-logs.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['kafka', 'questdb']);
const { kafka, questdb_pg: pg, questdb_http: http, questdb_user: user, questdb_password: password } = engines.endpoints;
const log = createLog('restore-topics-test', 'silent');
const handle = openKafka({ brokers: [kafka], clientId: 'restore-topics-test' }, log);
const reader = openQuestdbReader(pg, { max: 1, timeoutMs: 15_000, auth: { user, password }, log });
const sender = createRowSender(http, { auth: { user, password }, log });
t.teardown(async () => {
  await sender.close();
  await reader.close();
  await handle.close();
});

const RECORDS = busyLog().records;
/** The log that is lost ends here, and the next one begins some seconds later. */
const [LOST, AGAIN] = [1_000, 1_100];
const BEFORE = runTask(SPEC, RECORDS.slice(0, LOST)).outputs;

const openSpec = (venues: LostTopics['venues'] = [binance]): LostTopics => {
  const namespace = `replay.${engines.namespace()}.`;
  const topics = listTopicSpecs({ venues: venues.map(({ id }) => id), shards: 1, namespace, replay: true });
  return { handle, reader, sender, venues, shards: 1, namespace, topics, log };
};

/** The same listings and windows, of another venue. */
const moveTo = (venue: string, rows: readonly Row[]): Row[] =>
  rows.flatMap((row) => {
    const { listing } = row.texts;
    if (listing === undefined) return [];
    return [{ ...row, texts: { ...row.texts, listing: listing.replace('binance:', `${venue}:`), venue } }];
  });

const store = async ({ namespace }: LostTopics, rows: readonly Row[]): Promise<void> => {
  await ensureTables((text) => reader.query({ text }), { namespace });
  const tables = Map.groupBy(rows, ({ table }) => toTableName(namespace, table));
  for (const [table, of] of tables) await sender.send(table, of);
  await sender.waitVisible([...tables.keys()]);
};

const readAll = async <T>(topic: string, decode: (bytes: Buffer) => T): Promise<T[]> => {
  const found: T[] = [];
  await readToEnd(handle, { topic, from: () => 'earliest' }, ({ value }) => {
    if (value) found.push(decode(value));
  });
  return found;
};

/** A life over the whole log, without a checkpoint at its end. */
const work = async ({ namespace }: LostTopics): Promise<void> => {
  const publishers = openPublishers(handle);
  const pace = { countRecord: () => undefined, begin: () => undefined, end: () => undefined, isDue: () => false };
  const task = { handle, venue: binance, partition: 0, shards: 1, namespace, ticks: false };
  const runner = await TaskRunner.start({
    ...task,
    pace,
    publishers,
    metrics: createProcessorMetrics(new Registry()),
    log,
  });
  await readToEnd(handle, { topic: nameTopics(namespace).raw('binance'), from: () => runner.next }, (message) =>
    runner.apply([{ ...message, value: message.value && Buffer.from(message.value) }], RECORDS.length),
  );
  await runner.stop('unsaved');
  await closePublishers(publishers);
};

/** A value as a reader of the topic has it. */
const sendAndRead = <T>({ encode, decode }: Codec<T>, value: T): T => decode(encode(value));

const toKey = ({ table, at, texts, integers }: Row): string =>
  [
    table,
    at,
    texts['listing'] ?? texts['conn'],
    texts['price_type'],
    texts['timeframe'],
    integers['src_offset'],
  ].join();

t.test(
  'versions of listings and how far windows are stored come from QuestDB, and the task continues there',
  async (t) => {
    const spec = openSpec();
    const names = nameTopics(spec.namespace);
    const stored = listRows(BEFORE);
    await store(spec, stored);
    await restoreTopics(spec);
    const versions = BEFORE.flatMap(({ listings }) => listings);
    const found = await readAll(names.listings, codecs.listing.decode);
    const bySymbol = (a: { venue_symbol: string }, b: { venue_symbol: string }) =>
      a.venue_symbol < b.venue_symbol ? -1 : 1;
    t.same(
      found.sort(bySymbol),
      versions.map((version) => sendAndRead(codecs.listing, { ...version, raw: null })).sort(bySymbol),
    );
    t.same(
      await readAll(names.capabilities, codecs.capability.decode),
      BEFORE.flatMap(({ capabilities }) => capabilities).map((version) => sendAndRead(codecs.capability, version)),
    );

    await ensureTopics(handle, spec.topics);
    const publisher = createPublisher(handle);
    for (const { message, timestampMs } of RECORDS.slice(AGAIN)) {
      const value = message && codecs.raw.encode(message);
      publisher.publish({ topic: names.raw('binance'), partition: 0, key: null, value, timestamp: timestampMs });
    }
    await publisher.close();
    await work(spec);
    const written = (await readAll(names.rows('binance'), codecs.rows.decode)).flatMap(({ row }) => row ?? []);
    t.same(findGapFaults([...stored, ...written]), [], 'every window once, over both logs');
    const lost = written.filter(({ texts }) => texts['gap_cause'] === 'storage_failure');
    t.ok(lost.length > 0, `${lost.length} rows of lost windows`);
    t.same(
      written.filter(({ table }) => table === 'listings'),
      [],
      'no listing is told of as of a new one',
    );
    t.same(await readAll(names.listings, codecs.listing.decode).then(({ length }) => length), versions.length);

    await work(spec);
    const again = (await readAll(names.rows('binance'), codecs.rows.decode)).flatMap(({ row }) => row ?? []);
    t.same(
      findGapFaults([
        ...stored,
        ...again.filter((row, i) => again.findIndex((one) => toKey(one) === toKey(row)) === i),
      ]),
      [],
    );
    await restoreTopics(spec);
    t.equal(
      (await readAll(names.listings, codecs.listing.decode)).length,
      versions.length,
      'only where Kafka has nothing',
    );
  },
);

/** A reader that keeps what it is asked, and which topics there were then, with the tables whose rows were waited for. */
const watchReader = () => {
  const asked: string[] = [];
  const topics = new Set<string>();
  const visible = new Set<string>();
  const waitVisible = async (tables: readonly string[]): Promise<void> => {
    await sender.waitVisible(tables);
    for (const table of tables) visible.add(table);
  };
  const query: LostTopics['reader']['query'] = async (question) => {
    asked.push(question.text);
    for (const topic of await (await handle.admin()).listTopics()) topics.add(topic);
    return reader.query(question);
  };
  return { asked, topics, visible, store: { reader: { query }, sender: { waitVisible } } };
};

t.test('all is read before anything is written: by an index, and of the layers that have a table', async (t) => {
  const spec = openSpec([binance, bybit]);
  await store(spec, [...listRows(BEFORE), ...moveTo('bybit', listRows(BEFORE))]);
  const toName = (table: string): string => toTableName(spec.namespace, table);
  for (const view of ['v_gaps', 'v_stats']) await reader.query({ text: `DROP VIEW '${toName(view)}'` });
  await reader.query({ text: `DROP TABLE '${toName('stats')}'` });
  const { asked, topics, visible, store: watched } = watchReader();
  await restoreTopics({ ...spec, ...watched });
  t.notOk(
    [...topics].some((topic) => topic.startsWith(spec.namespace)),
    'a try that QuestDB ends at any venue leaves nothing',
  );
  const found = await readAll(nameTopics(spec.namespace).listings, codecs.listing.decode);
  t.same([...new Set(found.map(({ venue }) => venue))].sort(), ['binance', 'bybit']);
  // A statement that only asks whether a table is there reads no rows.
  const reads = asked.filter((text) => !text.endsWith('LIMIT 0'));
  const tables = reads.flatMap((text) => /FROM '([^']+)'/.exec(text)?.[1] ?? []);
  t.same(
    tables.filter((table) => !visible.has(table)),
    [],
    'no rows that QuestDB has not applied yet are left out',
  );
  const newest = asked.filter((text) => text.includes('LATEST ON'));
  t.ok(newest.length > 0);
  for (const text of newest) {
    const plan = (await reader.query({ text: `EXPLAIN ${text}` })).join('\n');
    t.match(plan, /Index backward scan on: listing/, `not every row of years: ${text}`);
  }
});

t.test(
  'every version comes back in its order and with its end, and each shard goes on after its own windows',
  async (t) => {
    const spec = { ...openSpec(), shards: 2 };
    const names = nameTopics(spec.namespace);
    const place = { venue: 'binance', task: 'binance/0', srcOffset: 1, recordedAt: LISTED };
    const ends = Object.entries({ BTCUSDT: 40, ETHUSDT: 10, SOLUSDT: 30, XRPUSDT: 20 });
    const versions = ends.flatMap(([symbol]) => {
      const values = listingValues({ venue_symbol: symbol });
      return [
        listing('binance', values),
        listing('binance', { ...values, tick_size: '0.5' }, { writtenAt: LISTED + 1 }),
        listing('binance', values, { writtenAt: LISTED + 2, delistedAt: LISTED + 2 }),
      ];
    });
    const capabilities = [1, 2].map((n) => ({ ...capability('binance'), name: binance.name, written_at: LISTED + n }));
    const toEnd = (seconds: number): number => LISTED + seconds * 1_000_000;
    const windows = ends.flatMap(([symbol, seconds]) =>
      (['mark', 'funding'] as const).map((layer, back) =>
        makeGapRow(
          { venue: 'binance', symbol, layer },
          { from: LISTED, at: toEnd(seconds - back), srcOffset: 1, late: false },
          'no_update',
        ),
      ),
    );
    await store(spec, [
      ...versions.map((version) => makeListingRow(place, version)),
      ...capabilities.map((version) => makeCapabilityRow(place, version)),
      ...windows,
    ]);
    await restoreTopics(spec);
    const found = await readAll(names.listings, codecs.listing.decode);
    for (const [symbol] of ends)
      t.same(
        found.filter(({ venue_symbol }) => venue_symbol === symbol),
        versions.filter(({ venue_symbol }) => venue_symbol === symbol).map((one) => sendAndRead(codecs.listing, one)),
      );
    t.same(
      await readAll(names.capabilities, codecs.capability.decode),
      capabilities.map((one) => sendAndRead(codecs.capability, one)),
    );
    const sealed = new Map<string, number>();
    for (const [symbol, seconds] of ends) {
      const task = `binance/${toShard(symbol, 2)}`;
      sealed.set(task, Math.max(sealed.get(task) ?? 0, toSealInstant(toEnd(seconds))));
    }
    const entries = await readAll(names.watermark, codecs.watermark.decode);
    t.equal(sealed.size, 2);
    t.same(new Map(entries.map(({ task, watermark }) => [task, watermark])), sealed);
  },
);

t.test('a new venue and a new service have nothing to fill in', async (t) => {
  const spec = openSpec();
  await t.resolves(restoreTopics(spec), 'no tables');
  await store(spec, []);
  await restoreTopics(spec);
  const topics = await (await handle.admin()).listTopics();
  t.notOk(topics.some((topic) => topic.startsWith(spec.namespace)));
});

t.test('where tasks have worked on this Kafka, a topic that is not seen is not lost', async (t) => {
  const spec = openSpec();
  const names = nameTopics(spec.namespace);
  await store(spec, listRows(BEFORE));
  await ensureTopics(
    handle,
    spec.topics.filter(({ topic }) => topic === names.watermark),
  );
  const publisher = createPublisher(handle);
  const entry = { task: 'binance/0', kind: 'task', watermark: 1, offset: 5, positions: {} } as const;
  publisher.publish({ topic: names.watermark, partition: 0, key: 'binance/0', value: codecs.watermark.encode(entry) });
  await publisher.close();
  await restoreTopics(spec);
  t.notOk((await (await handle.admin()).listTopics()).includes(names.listings));
  t.same(await readAll(names.watermark, codecs.watermark.decode).then(({ length }) => length), 1);
});
