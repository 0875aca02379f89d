// Rows are a pure function of the log: a live run with faults and kills, then replays of its raw topics in other ways, give equal tables.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  createPublisher,
  endOffsets,
  ensureTopics,
  type KafkaHandle,
  openKafka,
  readToEnd,
} from '../../infra/runtime/kafka.ts';
import { createLog } from '../../infra/runtime/log.ts';
import { createMetrics } from '../../infra/runtime/metrics.ts';
import { openQuestdbReader, type QuestdbReader } from '../../infra/runtime/questdb.ts';
import { topicSpecs } from '../../infra/runtime/topics.ts';
import { hashTables, type TableHash } from '../../infra/tools/hash-tables.ts';
import { historyReached } from '../../infra/tools/history-reached.ts';
import { venues } from '../../ingest/venues/index.ts';
import { createProcessorMetrics } from '../../processors/metrics.ts';
import { TaskRunner } from '../../processors/runner.ts';
import { ensureTables } from '../../processors/sinks/ensure-tables.ts';
import { LAYERS } from '../../schemas/layers.ts';
import { topics } from '../../schemas/topics.ts';
import { useEngines } from '../support/engines.ts';
import {
  type Child,
  type PipelineSpec,
  type Stores,
  startIngest,
  startProcessors,
  startSimulator,
} from '../support/pipeline.ts';
import { accountFrames, readSent, type SentFrames } from '../support/sent-frames.ts';

/** The full run is ten minutes: PURITY_SECONDS=600. */
const SECONDS = Number(process.env['PURITY_SECONDS'] ?? 60);
const LISTINGS = process.env['PURITY_LISTINGS'] ?? '24';
const RATE = process.env['PURITY_RATE'] ?? '400';
const SHARDS = 4;
/** 100 s after their end windows are sealed (N-11). */
const SEAL_MS = 115_000;
/** Two kills of a run, and every random choice, come from here so that a failure can be run again. */
const SEED = Number(process.env['PURITY_SEED'] ?? 7);
const QUIET = { OWNER_TICKS: 'false' };

const random = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

type World = {
  readonly stores: Stores;
  readonly handle: KafkaHandle;
  readonly reader: QuestdbReader;
  readonly base: string;
};
type Hashes = Record<string, TableHash>;

const authOf = ({ stores }: World) => ({ user: stores.questdb_user, password: stores.questdb_password });

const hashesOf = (world: World, namespace: string): Promise<Hashes> =>
  hashTables({ url: world.stores.questdb_http, auth: authOf(world), namespace });

const reached = (world: World, namespace: string): Promise<void> =>
  historyReached(world.handle, {
    venues: ['binance'],
    namespace,
    sinkGroup: `${namespace}processors.sink`,
    timeoutMs: 300_000,
  });

/** The live run: disconnects, sequence holes, two kill -9 of the processors; ends with the log at rest and worked through. Answers what the venue sent. */
const runLive = async (t: Test, world: World, spec: PipelineSpec): Promise<SentFrames> => {
  const simulator = await startSimulator({
    SIM_PORT: '0',
    SIM_SEED: String(SEED),
    SIM_LISTINGS: LISTINGS,
    SIM_RATE: RATE,
  });
  const ingest = startIngest(spec, simulator.endpoints);
  let processors = startProcessors(spec);
  t.teardown(() => Promise.all([simulator.child, ingest, processors].map((c) => c.kill())));
  const step = (SECONDS * 1000) / 10;
  for (let i = 0; i < 10; i++) {
    await pause(step);
    if (i % 3 === 1) await simulator.fault({ kind: 'disconnect', durationMs: 2_000 });
    if (i % 2 === 0) await simulator.fault({ kind: 'sequence_hole', count: 3 });
    if (i === 3) await simulator.fault({ kind: 'crossed_book', durationMs: 3_000 });
    if (i === 5) await simulator.fault({ kind: 'malformed', count: 20 });
    if (i !== 4 && i !== 7) continue;
    await processors.kill('SIGKILL');
    processors = startProcessors(spec);
  }
  await ingest.kill('SIGTERM');
  const sent = await readSent(simulator);
  await simulator.child.kill('SIGTERM');
  // The owner's ticks move the log on until the windows of the run are sealed, the first ones of the silence too.
  await pause(SEAL_MS);
  await processors.kill('SIGKILL');
  processors = startProcessors(spec, QUIET);
  await reached(world, spec.namespace);
  await processors.kill('SIGTERM');
  return sent;
};

type CopyOptions = { readonly heldPartition?: number; readonly heldMs?: number };

/** Copies the raw topic, offsets and times as they were, into another namespace. One partition may come later. */
const copyRaw = async (world: World, from: string, to: string, options: CopyOptions = {}): Promise<void> => {
  await ensureTopics(world.handle, topicSpecs({ venues: ['binance'], shards: SHARDS, namespace: to, replay: true }));
  const publisher = createPublisher(world.handle, {});
  const topic = topics(to).raw('binance');
  const copy = async (partitions: readonly number[]): Promise<void> => {
    await readToEnd(
      world.handle,
      { topic: topics(from).raw('binance'), partitions, from: () => 'earliest' as const },
      async (message, partition) => {
        const { key, value, timestampMs } = message;
        publisher.publish({
          topic,
          partition,
          key,
          value: value === null ? null : Buffer.from(value),
          timestamp: timestampMs,
        });
        await publisher.ready();
      },
    );
    await publisher.flush();
  };
  const all = Array.from({ length: SHARDS }, (_, p) => p);
  await copy(all.filter((p) => p !== options.heldPartition));
  if (options.heldPartition !== undefined) {
    await pause(options.heldMs ?? 0);
    await copy([options.heldPartition]);
  }
  await publisher.close();
};

/** Replays with whole processes; `disturb` may kill and restart them while they work. */
const replay = async (
  world: World,
  namespace: string,
  processes: number,
  disturb?: (children: Child[], start: () => Child) => Promise<void>,
): Promise<Hashes> => {
  const spec = { stores: world.stores, namespace, shards: SHARDS };
  const start = (): Child => startProcessors(spec, QUIET);
  const children = Array.from({ length: processes }, start);
  if (disturb) await disturb(children, start);
  await reached(world, namespace);
  await Promise.all(children.map((c) => c.kill('SIGTERM')));
  return hashesOf(world, namespace);
};

/** Kills the process at random moments while it works, until it has had `times` of them. */
const killAtRandom =
  (times: number) =>
  async (children: Child[], start: () => Child): Promise<void> => {
    const next = random(SEED);
    for (let i = 0; i < times; i++) {
      await pause(2_500 + next() * 4_000);
      await children[0]?.kill('SIGKILL');
      children[0] = start();
    }
  };

/** Each batch of each partition is handed to the task twice, in this process; the sink is an ordinary one. */
const replayTwice = async (world: World, namespace: string): Promise<Hashes> => {
  const venue = venues.get('binance');
  if (!venue) throw new Error('no venue binance');
  const publisher = createPublisher(world.handle, {});
  const metrics = createProcessorMetrics(createMetrics());
  const log = createLog('twice', 'warn');
  const topic = topics(namespace).raw('binance');
  for (let partition = 0; partition < SHARDS; partition++) {
    const spec = {
      handle: world.handle,
      venue,
      partition,
      shards: SHARDS,
      namespace,
      ticks: false,
      publisher,
      metrics,
      log,
    };
    const runner = await TaskRunner.start(spec);
    const end = (await endOffsets(world.handle, topic)).get(partition)?.latest ?? 0;
    let batch: Parameters<TaskRunner['apply']>[0][number][] = [];
    const deliver = async (): Promise<void> => {
      const messages = batch;
      batch = [];
      await runner.apply(messages, end);
      await runner.apply(messages, end);
    };
    await readToEnd(
      world.handle,
      { topic, partitions: [partition], from: () => 'earliest' as const },
      async (message) => {
        batch.push({ ...message, value: message.value === null ? null : Buffer.from(message.value) });
        if (batch.length >= 200) await deliver();
      },
    );
    await deliver();
    await runner.stop(true);
  }
  await publisher.close();
  // A process that owns the group finds everything applied; its sink writes the rows.
  return replay(world, namespace, 1);
};

const sameHashes = (t: Test, name: string, found: Hashes, wanted: Hashes): void => {
  for (const [table, hash] of Object.entries(wanted))
    t.same(found[table], hash, `${name}: ${table} (${hash.rows} rows)`);
};

/** Every sealed window of a published layer within the listing's life is covered by exactly one row. */
const checkCoverage = async (t: Test, world: World): Promise<void> => {
  for (const layer of ['mark', 'funding', 'book', 'venue_depth'] as const) {
    const { table, windowMs } = LAYERS[layer];
    const text = `SELECT listing, at::long, from_at::long FROM '${world.base.replaceAll('.', '_')}${table}' WHERE late = false ORDER BY listing, at`;
    const rows = await world.reader.query({ text });
    const last = new Map<string, number>();
    let faults = 0;
    let windows = 0;
    for (const [listing, at, from] of rows) {
      const before = last.get(listing ?? '');
      const whole = (Number(at) - Number(from)) % (windowMs * 1000) === 0 && Number(at) > Number(from);
      if (!whole || (before !== undefined && before !== Number(from))) faults += 1;
      windows += (Number(at) - Number(from)) / (windowMs * 1000);
      last.set(listing ?? '', Number(at));
    }
    t.equal(faults, 0, `${layer}: ${windows} windows of ${last.size} listings, ${rows.length} rows`);
    t.equal(last.size, Number(LISTINGS), `${layer} has rows of every listing`);
  }
};

/** Every frame the simulator sent stands in raw once or inside a recorded loss. */
const checkRaw = async (t: Test, world: World, sent: SentFrames): Promise<void> => {
  const account = await accountFrames(world.handle, topics(world.base).raw('binance'), sent);
  const { connections, stored, lost, earliestLostMs, repeats } = account;
  t.ok(account.sent > 0, `${account.sent} frames sent over ${connections} connections`);
  t.same(
    account.unaccounted,
    [],
    `${stored} stored, ${lost} inside recorded losses (the first ${earliestLostMs} ms before its loss)`,
  );
  t.equal(repeats, 0, 'no message stands in raw twice');
};

t.setTimeout(3_600_000);

t.test('the same raw log gives the same tables however it is worked through', { timeout: 3_600_000 }, async (t) => {
  const engines = await useEngines(t, ['kafka', 'questdb']);
  const stores = engines.endpoints;
  const log = createLog('purity', 'warn');
  const handle = openKafka({ brokers: [stores.kafka], clientId: 'purity' }, log);
  const base = `${engines.namespace()}.`;
  const auth = { user: stores.questdb_user, password: stores.questdb_password };
  const reader = openQuestdbReader(stores.questdb_pg, { max: 1, timeoutMs: 30_000, auth, log });
  const world: World = { stores, handle, reader, base };
  t.teardown(async () => {
    await reader.close();
    await handle.close();
  });

  const sent = await runLive(t, world, { stores, namespace: base, shards: SHARDS });
  const live = await hashesOf(world, base);
  for (const [table, { rows }] of Object.entries(live)) t.comment(`live ${table}: ${rows} rows`);
  t.ok((live['mark']?.rows ?? 0) > 0 && (live['book']?.rows ?? 0) > 0, 'the live run made rows');
  await checkCoverage(t, world);
  await checkRaw(t, world, sent);

  const variants: [string, (namespace: string) => Promise<Hashes>, CopyOptions?][] = [
    ['one process', (n) => replay(world, n, 1)],
    ['two processes', (n) => replay(world, n, 2)],
    ['four processes', (n) => replay(world, n, 4)],
    ['every batch delivered twice', (n) => replayTwice(world, n)],
    ['killed and restarted at random moments', (n) => replay(world, n, 1, killAtRandom(3))],
  ];
  for (const [index, [name, run]] of variants.entries()) {
    const namespace = `replay.${base}${index}.`;
    await ensureTables((text) => reader.query({ text }), { namespace });
    await copyRaw(world, base, namespace);
    const began = performance.now();
    sameHashes(t, name, await run(namespace), live);
    t.comment(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }

  const held = `replay.${base}held.`;
  await ensureTables((text) => reader.query({ text }), { namespace: held });
  const heldMs = Math.min(60_000, SECONDS * 1000);
  const copied = copyRaw(world, base, held, { heldPartition: 2, heldMs });
  await pause(1_000);
  const processor = startProcessors({ stores, namespace: held, shards: SHARDS }, QUIET);
  await copied;
  await reached(world, held);
  await processor.kill('SIGTERM');
  sameHashes(t, `partition 2 held back ${heldMs / 1000} s`, await hashesOf(world, held), live);
});
