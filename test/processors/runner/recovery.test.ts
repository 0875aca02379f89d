// A task with an unusable checkpoint, on a real Kafka: published messages stay, a loss is a gap with its cause, nothing is published twice.
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import {
  createPublisher,
  ensureTopics,
  fetchEndOffsets,
  LogCut,
  openKafka,
  readToEnd,
} from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import { createProcessorMetrics } from '../../../processors/metrics.ts';
import type { CheckpointPace } from '../../../processors/runner/checkpoint-pace.ts';
import { closePublishers, openPublishers } from '../../../processors/runner/publishers.ts';
import { TaskRunner } from '../../../processors/runner/task-runner.ts';
import type { LogRecord } from '../../../processors/task/task.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import { type CheckpointEntry, type LiveEntry, nameTopics, type Reading, type Row } from '../../../schemas/topics.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { listRows, runTask } from '../../support/tasks/task-driver.ts';
import { busyLog, findGapFaults, SPEC } from '../../support/tasks/task-logs.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['kafka']);
const log = createLog('recovery-test', 'silent');
const handle = openKafka({ brokers: [engines.endpoints.kafka], clientId: 'recovery-test' }, log);
t.teardown(() => handle.close());

/** A life leaves the number of checkpoints it is given, however long it takes. */
const NO_CHECKPOINTS: CheckpointPace = {
  countRecord: () => undefined,
  begin: () => undefined,
  end: () => undefined,
  isDue: () => false,
};
const RECORDS = busyLog().records;
const WHOLE = runTask(SPEC, RECORDS).outputs;

/** Identity of a row in QuestDB. */
const toKey = (row: Row): string =>
  [
    row.table,
    row.at,
    row.texts['listing'] ?? row.texts['conn'] ?? '',
    row.texts['price_type'],
    row.texts['timeframe'],
    row.integers['src_offset'],
  ].join('|');
const byKey = (rows: readonly Row[]): Record<string, Row> =>
  Object.fromEntries(rows.map((row) => [toKey(row), row] as const).sort(([a], [b]) => (a < b ? -1 : 1)));

/** A namespace with a log in it, and the lives of the one task that works on it. */
const openWorld = async (t: Test, records: readonly LogRecord[] = RECORDS) => {
  const namespace = `replay.${engines.namespace()}.`;
  const names = nameTopics(namespace);
  await ensureTopics(handle, listTopicSpecs({ venues: ['binance'], shards: 1, namespace, replay: true }));
  const publisher = createPublisher(handle);
  t.teardown(() => publisher.close());
  for (const { message, timestampMs } of records) {
    const value = message && codecs.raw.encode(message);
    publisher.publish({ topic: names.raw('binance'), partition: 0, key: null, value, timestamp: timestampMs });
    await publisher.ready();
  }
  await publisher.flush();
  const registry = new Registry();
  const metrics = createProcessorMetrics(registry);
  const publishers = openPublishers(handle);
  t.teardown(() => closePublishers(publishers));
  const task = { handle, venue: binance, partition: 0, shards: 1, namespace, ticks: false };
  const spec = { ...task, pace: NO_CHECKPOINTS, publishers, metrics, log };

  const read = async <T>(topic: string, decode: (bytes: Buffer) => T): Promise<T[]> => {
    const found: T[] = [];
    await readToEnd(handle, { topic, partitions: [0], from: () => 'earliest' }, ({ value }) => {
      if (value) found.push(decode(value));
    });
    return found;
  };
  return {
    names,
    spec,
    publisher,
    /** One life: works on the log up to `to` and ends, with a checkpoint or without. */
    live: async (to: number, ending: 'saved' | 'unsaved' = 'unsaved'): Promise<number> => {
      const runner = await TaskRunner.start(spec);
      const began = runner.next;
      let batch: Parameters<TaskRunner['apply']>[0][number][] = [];
      await readToEnd(handle, { topic: names.raw('binance'), from: () => began }, async (message) => {
        if (message.offset >= to) return;
        batch.push({ ...message, value: message.value && Buffer.from(message.value) });
        if (batch.length < 50) return;
        await runner.apply(batch, to);
        batch = [];
      });
      await runner.apply(batch, to);
      await runner.stop(ending);
      return began;
    },
    truncate: async (to: number): Promise<void> => {
      const admin = await handle.admin();
      const topic = names.raw('binance');
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(to) }] });
    },
    rows: async (): Promise<Row[]> =>
      (await read(names.rows('binance'), codecs.rows.decode)).flatMap(({ row }) => (row ? [row] : [])),
    liveEntries: () => read(names.live('binance'), codecs.live.decode),
    watermarks: () => read(names.watermark, codecs.watermark.decode),
    checkpoints: () => read(names.checkpoints('binance'), codecs.checkpoints.decode),
    save: (entry: CheckpointEntry): void =>
      publisher.publish({
        topic: names.checkpoints('binance'),
        partition: 0,
        key: entry.key,
        value: codecs.checkpoints.encode(entry),
      }),
    alarm: async (reason: string): Promise<boolean> =>
      (await registry.metrics()).includes(`processor_checkpoint_unusable_total{task="binance/0",reason="${reason}"} 1`),
  };
};
type World = Awaited<ReturnType<typeof openWorld>>;

/** The view of a reader of `live`: repeats and late messages of an earlier life are dropped by their place. */
const withoutRepeats = (entries: readonly LiveEntry[]): LiveEntry[] => {
  let [offset, index] = [-1, -1];
  return entries.filter((entry) => {
    if (entry.offset < offset || (entry.offset === offset && entry.index <= index)) return false;
    [offset, index] = [entry.offset, entry.index];
    return true;
  });
};

const readingsBySeries = (entries: readonly LiveEntry[]): Map<string, Reading[]> => {
  const series = new Map<string, Reading[]>();
  for (const { symbol, reading } of withoutRepeats(entries)) {
    if (!reading) continue;
    const key = `${symbol} ${reading.layer}`;
    series.set(key, [...(series.get(key) ?? []), reading]);
  }
  return series;
};

const checkRevs = async (t: Test, world: World): Promise<void> => {
  const holes: string[] = [];
  for (const [series, readings] of readingsBySeries(await world.liveEntries())) {
    for (const [i, { rev }] of readings.entries()) if (rev !== i + 1) holes.push(`${series}: ${i + 1} is ${rev}`);
  }
  t.same(holes.slice(0, 3), [], 'rev rises by one from reading to reading, over all lives');
};

/** Every window of every listing and layer is covered once, from the first window on. */
const checkCoverage = async (t: Test, world: World): Promise<void> => {
  const faults = findGapFaults(Object.values(byKey(await world.rows())));
  t.same(faults.slice(0, 3), [], 'every window is covered exactly once');
};

t.test('lost checkpoints and a whole log: the same rows and the same words, only later', async (t) => {
  const world = await openWorld(t);
  await world.live(1000);
  t.equal(await world.live(RECORDS.length), 0, "begins at the log's start");
  t.ok(await world.alarm('lost'));
  t.same(byKey(await world.rows()), byKey(listRows(WHOLE)));
  await checkRevs(t, world);
});

t.test(
  'a life that ends leaves the watermark of its last outputs, which the next does not publish again',
  async (t) => {
    const world = await openWorld(t);
    await world.live(1000);
    const last = WHOLE.findLast(({ offset, watermark }) => offset < 1000 && watermark !== null);
    if (!last) return t.fail('no output has a watermark');
    const newest = (await world.watermarks()).at(-1);
    t.ok((newest?.offset ?? -1) >= last.offset, `${newest?.offset} and ${last.offset}`);
    t.equal(newest?.watermark, last.watermark);
    const published = (await world.liveEntries()).length;
    await world.live(last.offset + 1);
    t.equal((await world.liveEntries()).length, published);
  },
);

t.test('the first life of all is no alarm, wherever its log begins', async (t) => {
  const world = await openWorld(t);
  await world.truncate(300);
  t.equal(await world.live(RECORDS.length), 300);
  for (const reason of ['lost', 'corrupt', 'version', 'behind']) t.notOk(await world.alarm(reason));
  const causes = new Set((await world.rows()).map((row) => row.texts['gap_cause']));
  t.notOk(causes.has('storage_failure'));
});

t.test('a checkpoint that cannot be read: the one before it is as good', async (t) => {
  const world = await openWorld(t);
  await world.live(700, 'saved');
  const before = await world.checkpoints();
  for (const entry of before) {
    const round = entry.round + 50;
    world.save({ ...entry, round, offset: round, body: entry.body === null ? null : '{"torn' });
  }
  await world.publisher.flush();
  t.equal(await world.live(1100), 700, 'continues after the older round');
  t.notOk(await world.alarm('corrupt'));
  await world.live(RECORDS.length);
  t.same(byKey(await world.rows()), byKey(listRows(WHOLE)));
});

t.test('an unreadable checkpoint, or one of another version, is not used', async (t) => {
  for (const [reason, spoil] of [
    ['corrupt', (entry: CheckpointEntry) => ({ ...entry, body: entry.body === null ? null : 'torn' })],
    [
      'version',
      (entry: CheckpointEntry) => ({
        ...entry,
        marker: entry.marker === null ? null : { ...entry.marker, version: 999 },
      }),
    ],
  ] as const) {
    const world = await openWorld(t);
    await world.live(900);
    const source = await openWorld(t);
    await source.live(900, 'saved');
    for (const entry of await source.checkpoints()) world.save(spoil(entry));
    await world.publisher.flush();
    t.equal(await world.live(RECORDS.length), 0);
    t.ok(await world.alarm(reason), reason);
    t.same(byKey(await world.rows()), byKey(listRows(WHOLE)));
  }
});

t.test('a log cut before what was sealed last: the same rows, no window lost', async (t) => {
  const world = await openWorld(t);
  await world.live(250, 'saved');
  await world.live(1500);
  await world.truncate(420);
  t.equal(await world.live(900, 'saved'), 420);
  t.equal(await world.live(RECORDS.length), 900, 'a checkpoint taken on the way carries what is still to be gone past');
  t.ok(await world.alarm('behind'));
  const isSampled = ({ table }: Row): boolean => Object.values(LAYERS).some((layer) => layer.table === table);
  t.same(byKey((await world.rows()).filter(isSampled)), byKey(listRows(WHOLE).filter(isSampled)));
  await checkCoverage(t, world);
  await checkRevs(t, world);
});

for (const [name, cut] of [
  ['a log cut behind the last word', 1250],
  ['a log cut shortly before the last word', 1040],
] as const) {
  t.test(`${name}: lost windows are storage failures, and rev continues after a restart's gap`, async (t) => {
    const world = await openWorld(t);
    await world.live(700, 'saved');
    await world.live(1100);
    const keysBefore = (await world.rows()).map(toKey);
    await world.truncate(cut);
    t.equal(await world.live(1400, 'saved'), cut);
    await world.live(RECORDS.length, 'saved');
    t.ok(await world.alarm('behind'), 'the checkpoint lies before the log');
    await checkCoverage(t, world);
    await checkRevs(t, world);
    const rows = byKey(await world.rows());
    const lost = Object.values(rows).filter((row) => row.texts['gap_cause'] === 'storage_failure');
    t.ok(lost.length > 0, `${lost.length} rows of lost windows`);
    t.same(
      keysBefore.filter((key) => rows[key]?.texts['gap_cause'] === 'storage_failure'),
      [],
      'what was written before stays',
    );
    for (const [series, readings] of readingsBySeries(await world.liveEntries())) {
      const restarts = readings.filter(({ gap_cause }) => gap_cause === 'pipeline_restart');
      if (cut > 1100) t.equal(restarts.length, 1, `${series} publishes once that it begins again`);
    }
  });
}

t.test('retention that passes a running task ends its life: the next one reports what was lost', async (t) => {
  const world = await openWorld(t);
  const runner = await TaskRunner.start(world.spec);
  const messages = RECORDS.map(({ message, offset, timestampMs }) => ({
    offset,
    timestampMs,
    key: null,
    value: codecs.raw.encode(message),
    headers: {},
  }));
  await runner.apply(messages.slice(0, 700), RECORDS.length);
  await t.rejects(runner.apply(messages.slice(750), RECORDS.length), /700 to 749 are gone/);
  await runner.stop('saved');
  await world.truncate(750);
  t.equal(await world.live(RECORDS.length), 750);
  t.ok(await world.alarm('behind'));
  await checkCoverage(t, world);
  await checkRevs(t, world);
});

t.test('outputs with offsets beyond the log: an operator must look', async (t) => {
  const world = await openWorld(t);
  await world.live(700);
  await world.truncate(1);
  const [first] = await world.liveEntries();
  if (!first) return t.fail('nothing was published');
  const value = codecs.live.encode({ ...first, offset: 1_000_000 });
  world.publisher.publish({ topic: world.names.live('binance'), partition: 0, key: null, value });
  await world.publisher.flush();
  await t.rejects(world.live(RECORDS.length), /the log was truncated or recreated/);
});

t.test('a log that lacks what was applied or acknowledged ends the task with the reason', async (t) => {
  const world = await openWorld(t);
  const { names, spec, publisher } = world;
  await world.live(200, 'saved');

  await t.test('another record is at the offset that the task had reached', async (t) => {
    const runner = await TaskRunner.start(spec);
    t.equal(runner.start, runner.next - 1, 'the record applied last is read again');
    const at = (timestampMs: number) => ({ offset: runner.start, key: null, value: null, timestampMs, headers: {} });
    const { timestampMs = 0 } = RECORDS[runner.start] ?? {};
    await runner.apply([at(timestampMs)], runner.next);
    await t.rejects(runner.apply([at(timestampMs + 60_000)], runner.next), LogCut);
    await runner.stop('unsaved');
  });

  const publishWatermark = async (offset: number, positions: Record<string, number>): Promise<void> => {
    const value = codecs.watermark.encode({ task: 'binance/0', kind: 'task', watermark: 1, offset, positions });
    publisher.publish({ topic: names.watermark, partition: 0, key: 'binance/0', value });
    await publisher.flush();
  };
  for (const topic of [names.live('binance'), names.rows('binance'), names.state('binance')]) {
    await publishWatermark(200, { [topic]: 1_000_000 });
    await t.rejects(TaskRunner.start(spec), { name: 'LogCut', message: new RegExp(`^${topic}/0 ends at`) });
  }
  await publishWatermark(RECORDS.length, {});
  await t.rejects(
    TaskRunner.start(spec),
    { name: 'LogCut', message: new RegExp(`^${names.raw('binance')}/0 ends at ${RECORDS.length}`) },
    'also when the log begins at 0: a recreated log ends before the offsets in the outputs',
  );
});

t.test(
  'at the end of its log a task publishes everything, however far ahead the clock of its process is',
  async (t) => {
    const world = await openWorld(t);
    // The log is of months ago: by the clock of this process all of it is long past.
    const runner = await TaskRunner.start({ ...world.spec, ticks: true });
    const messages = RECORDS.map(({ message, offset, timestampMs }) => ({
      ...{ offset, timestampMs, key: null, headers: {} },
      value: codecs.raw.encode(message),
    }));
    await runner.apply(messages.slice(0, 700), 700);
    await runner.apply(messages.slice(700, 800), 1_000);
    await runner.apply(messages.slice(800, 900), 1_000);
    await runner.stop('unsaved');
    const published = await world.liveEntries();
    const countMoments = (entries: readonly LiveEntry[], from: number): number =>
      entries.filter(({ kind, offset }) => kind === 'watermark' && offset >= from && offset < from + 100).length;
    const whole = WHOLE.flatMap(({ live }) => live);
    t.ok([600, 700, 800].every((from) => countMoments(whole, from) > 0));
    t.equal(countMoments(published, 600), 0, 'a backlog');
    t.equal(countMoments(published, 700), countMoments(whole, 700), 'what came after the end');
    t.equal(countMoments(published, 800), 0, 'behind again');
  },
);

t.test('an owner writes no tick into a log that it has not followed to its end', async (t) => {
  const behind = await openWorld(t, RECORDS.slice(0, 50));
  const followed = await openWorld(t, RECORDS.slice(0, 50));
  const findEnd = async ({ names }: World): Promise<number> =>
    (await fetchEndOffsets(handle, names.raw('binance'))).get(0)?.latest ?? 0;
  const waiting = await TaskRunner.start({ ...behind.spec, ticks: true });
  const runner = await TaskRunner.start({ ...followed.spec, ticks: true });
  const raw = followed.names.raw('binance');
  await readToEnd(handle, { topic: raw, partitions: [0], from: () => 'earliest' }, (message) =>
    runner.apply([message], 50),
  );
  await waitFor('the owner ticks at the end', async () => (await findEnd(followed)) > 50);
  // The one that waits has been quiet for longer, and what it wrote is in the log once it has stopped.
  for (const one of [runner, waiting]) await one.stop('unsaved');
  t.equal(await findEnd(behind), 50);
});
