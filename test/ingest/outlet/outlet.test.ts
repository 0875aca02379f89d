// Nothing is lost between socket and log while Kafka hangs, dies, or the collector is killed: against a broker of its own.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { compareFrames } from '../../../infra/dev/bench/soak/sent-frames.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import {
  createPublisher,
  ensureTopics,
  type KafkaHandle,
  openKafka,
  readToEnd,
} from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { Outlet } from '../../../ingest/outlet/outlet.ts';
import { createRawWriter } from '../../../ingest/outlet/raw-writer.ts';
import { Spool } from '../../../ingest/outlet/spool.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { LostBody, RawMessage } from '../../../schemas/topics.ts';
import { nameTopics } from '../../../schemas/topics.ts';
import { ownEngines } from '../../support/engines/engines.ts';
import { noSmallDisk, smallDisk } from '../../support/engines/small-disk.ts';
import { type Child, type Simulator, startChild, startSimulator, until } from '../../support/services/pipeline.ts';
import { readSent } from '../../support/venues/sent-frames.ts';

const log = createLog('test', process.env.TEST_LOG ?? 'silent');
const engines = await ownEngines(t, ['kafka']);
const brokers = engines.endpoints.kafka;
const handle = openKafka({ brokers: [brokers], clientId: 'test' }, log);
t.teardown(() => handle.close());
const LIMIT = { timeout: 600_000 };

/** The broker hangs: its sockets stay open and nothing answers. */
const hang = (t: Test): void => {
  process.kill(engines.pid('kafka') ?? 0, 'SIGSTOP');
  t.teardown(wake);
};
const wake = (): void => void process.kill(engines.pid('kafka') ?? 0, 'SIGCONT');

const folder = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'outlet-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

type Stored = RawMessage & { readonly partition: number; readonly timestampMs: number };

/** The messages a task would apply: without repeats of a connection's `seq`. */
const readRaw = async (topic: string): Promise<{ messages: Stored[]; repeats: number }> => {
  const messages: Stored[] = [];
  const last = new Map<string, number>();
  let repeats = 0;
  await readToEnd(handle, { topic, from: () => 'earliest' as const }, ({ value, timestampMs }, partition) => {
    if (value === null) return;
    const message = codecs.raw.decode(value);
    const place = `${partition}/${message.conn_id}`;
    if (message.seq > 0 && message.seq <= (last.get(place) ?? 0)) repeats += 1;
    else messages.push({ ...message, partition, timestampMs });
    if (message.seq > 0) last.set(place, Math.max(message.seq, last.get(place) ?? 0));
  });
  return { messages, repeats };
};

const openOutlet = async (handle: KafkaHandle, dir: string): Promise<Outlet> => {
  const spool = new Spool({ dir, maxBytes: 1 << 30, log });
  await spool.recover();
  return new Outlet({ publisher: createPublisher(handle), spool, topics: Promise.resolve(), log });
};

/** Writes `perSecond` frames of two connections, and ticks, until it is stopped. */
const feed = (outlet: Outlet, topic: string, perSecond: number) => {
  let skipped = 0;
  const writer = createRawWriter({ outlet, topic, meters: { tickSkipped: () => void skipped++ } });
  let seq = 0;
  const began = performance.now();
  const message = (given: Partial<RawMessage>): RawMessage => ({
    slot: 's',
    conn_id: 'a',
    seq,
    received_at: Date.now() * 1_000,
    kind: 'frame',
    request: null,
    payload: Buffer.from(`frame ${seq} ${'.'.repeat(300)}`),
    ...given,
  });
  const frames = setInterval(() => {
    const due = ((performance.now() - began) * perSecond) / 1_000 / 2;
    while (seq < due) {
      seq += 1;
      writer.write([0, 1], message({ conn_id: 'a' }));
      writer.write([1], message({ conn_id: 'b' }));
    }
  }, 5);
  const ticks = setInterval(() => writer.write([0], message({ kind: 'tick', seq: 0, conn_id: 'c' })), 100);
  return () => {
    clearInterval(frames);
    clearInterval(ticks);
    return { frames: seq, skipped };
  };
};

t.test('while Kafka hangs and dies everything goes to disk, and all of it follows in order', LIMIT, async (t) => {
  const topic = nameTopics(`${engines.namespace()}.`).raw('paper');
  await ensureTopics(handle, [{ topic, partitions: 2, config: { 'message.timestamp.type': 'LogAppendTime' } }]);
  const outlet = await openOutlet(handle, join(folder(t), 'c1'));
  const stop = feed(outlet, topic, 600);
  await pause(1_000);
  // A young broker on a busy machine may stall without a cause of ours.
  await until('with Kafka at hand the disk is not used', 20_000, () => (outlet.state().spooling ? null : true));
  hang(t);
  await until('messages go to disk', 5_000, () => (outlet.state().spooling ? true : null));
  await pause(3_000);
  t.ok(outlet.state().behindMs > 3_000);
  wake();
  let since = performance.now();
  const seconds = (): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;
  await until('the spool is empty', 30_000, () => (outlet.state().spooling ? null : true));
  t.comment(`after the hang: ${seconds()} until the spool was empty`);
  await pause(500);
  await engines.kill('kafka');
  await until('messages go to disk', 5_000, () => (outlet.state().spooling ? true : null));
  await engines.ready('kafka');
  since = performance.now();
  await until('the spool is empty again', 30_000, () => (outlet.state().spooling ? null : true));
  t.comment(`after the broker was ready: ${seconds()} until the spool was empty`);
  await pause(300);
  const { frames, skipped } = stop();
  const { drained } = outlet.state();
  await outlet.close();

  const { messages, repeats } = await readRaw(topic);
  const numbers = (partition: number, connId: string): number[] =>
    messages.filter((m) => m.partition === partition && m.conn_id === connId).map(({ seq }) => seq);
  const all = Array.from({ length: frames }, (_, i) => i + 1);
  t.same(numbers(0, 'a'), all, `${frames} frames of a in shard 0, once and in order`);
  t.same(numbers(1, 'a'), all, 'and in shard 1');
  t.same(numbers(1, 'b'), all, 'and those of b');
  t.ok(drained > 1_000 && skipped > 30, `${drained} messages came over the disk, ${skipped} ticks were left out`);
  t.comment(`${drained} of ${3 * frames} records over the disk, ${repeats} repeats`);
  const old = messages.filter(
    ({ kind, received_at, timestampMs }) => kind === 'tick' && timestampMs - received_at / 1_000 > 5_000,
  );
  t.ok(old.length <= 1 + 10, `${old.length} ticks were under way when Kafka went: no others claim life that is over`);
});

t.test('a stop without Kafka leaves the rest on disk, and the next process sends it', LIMIT, async (t) => {
  const topic = nameTopics(`${engines.namespace()}.`).raw('paper');
  await ensureTopics(handle, [{ topic, partitions: 2, config: {} }]);
  const dir = join(folder(t), 'c1');
  const outlet = await openOutlet(handle, dir);
  const stop = feed(outlet, topic, 400);
  await pause(500);
  hang(t);
  await pause(300);
  const { frames } = stop();
  const began = performance.now();
  await outlet.close();
  t.ok(performance.now() - began < 10_000, 'within the deadline of a stop');
  t.ok(readdirSync(dir).length > 0);
  wake();
  const next = await openOutlet(handle, dir);
  await until('the spool is empty', 30_000, () => (next.state().spooling ? null : true));
  await next.close();
  t.notOk(existsSync(dir), 'nothing is left behind');
  const { messages } = await readRaw(topic);
  const ofB = messages.filter((m) => m.partition === 1 && m.conn_id === 'b');
  t.equal(ofB.filter(({ kind }) => kind === 'frame').length, frames);
  t.equal(ofB.at(-1)?.kind, 'lost', 'a connection that was not ended is now');
});

type Collector = { readonly child: Child; readonly get: (path: string) => Promise<{ status: number; text: string }> };

const startCollector = async (
  simulator: Simulator,
  namespace: string,
  settings: Readonly<Record<string, string>>,
): Promise<Collector> => {
  const port = await findFreePort();
  const child = startChild(`${namespace}ingest`, 'ingest/main.ts', {
    KAFKA_BROKERS: brokers,
    VENUES: 'binance',
    COLLECTOR_ID: 'c1',
    VENUE_ENDPOINTS: simulator.endpoints,
    METRICS_PORT: String(port),
    TOPIC_NAMESPACE: namespace,
    ...settings,
  });
  return {
    child,
    get: async (path) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
      return answer === null ? { status: 0, text: '' } : { status: answer.status, text: await answer.text() };
    },
  };
};

const numberIn = (metrics: string, name: string): number =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);

const metric = async (collector: Collector, name: string): Promise<number> =>
  numberIn((await collector.get('/metrics')).text, name);

type World = { readonly simulator: Simulator; readonly namespace: string; readonly topic: string };

const startWorld = async (t: Test, rate: number): Promise<World> => {
  const simulator = await startSimulator({ SIM_LISTINGS: '10', SIM_RATE: String(rate), SIM_LEVELS: '30' });
  t.teardown(() => simulator.child.kill());
  const namespace = `${engines.namespace()}.`;
  await ensureTopics(handle, listTopicSpecs({ venues: ['binance'], shards: 1, namespace }));
  return { simulator, namespace, topic: nameTopics(namespace).raw('binance') };
};

const says = async (collector: Collector, what: RegExp): Promise<true | null> =>
  what.test((await collector.get('/readyz')).text) ? true : null;
const isReady = async (collector: Collector): Promise<true | null> =>
  (await collector.get('/readyz')).status === 200 ? true : null;
const isFlowing = async (collector: Collector, frames: number): Promise<true | null> => {
  const { text } = await collector.get('/metrics');
  const counts = [...text.matchAll(/^ingest_messages_total\{.*what="data"\} (\d+)$/gm)].map(([, n]) => Number(n));
  return counts.reduce((sum, n) => sum + n, 0) > frames ? true : null;
};

t.test(
  'a collector killed with a filled spool: the next one brings it to Kafka first and ends its connections',
  LIMIT,
  async (t) => {
    const { simulator, namespace, topic } = await startWorld(t, 400);
    const settings = { SPOOL_DIR: folder(t) };
    const first = await startCollector(simulator, namespace, settings);
    await until('frames flow', 20_000, () => isFlowing(first, 500));
    await until('it is ready', 20_000, () => isReady(first));
    hang(t);
    await until('messages go to disk', 10_000, async () =>
      (await metric(first, 'ingest_spool_written_bytes_total')) > 300_000 ? true : null,
    );
    const { status, text } = await first.get('/readyz');
    t.equal(status, 503);
    t.match(text, /Kafka lacks messages of the last \d+\.\d s: \d+ bytes in memory, \d+ in the spool/);
    t.equal((await first.get('/healthz')).status, 200, 'a restart would not bring Kafka back');
    await first.child.kill('SIGKILL');
    const killedAt = Date.now() * 1_000;

    const second = await startCollector(simulator, namespace, settings);
    await until('it collects although Kafka is away', 20_000, () => isFlowing(second, 300));
    t.ok((await metric(second, 'ingest_spooling')) === 1);
    wake();
    await until('it is ready', 40_000, () => isReady(second));
    await until('the spool is empty', 20_000, async () =>
      (await metric(second, 'ingest_spool_bytes')) === 0 ? true : null,
    );
    await pause(500);
    await second.child.kill('SIGTERM');
    t.equal(await second.child.exited, 0);

    const account = await compareFrames(handle, topic, await readSent(simulator));
    t.comment(account);
    t.same(account.unaccounted, [], 'every frame sent is stored once or inside a recorded loss');
    t.ok(account.stored > 1_000);
    const { messages } = await readRaw(topic);
    const starts = [...new Set(messages.filter(({ seq }) => seq > 0).map(({ conn_id }) => conn_id.split('.').at(-1)))];
    t.equal(starts.length, 2, 'two processes wrote');
    const ofFirst = messages.findLastIndex(({ conn_id }) => conn_id.endsWith(`.${starts[0]}`));
    const ofSecond = messages.findIndex(({ conn_id }) => conn_id.endsWith(`.${starts[1]}`));
    t.ok(ofFirst < ofSecond, 'all records of the first precede those of the second');
    const ofDead = messages.filter((m) => m.seq > 0 && m.slot !== 'reference' && m.conn_id.endsWith(`.${starts[0]}`));
    // Connections that no record names after the kill count as lost by the rule on the log, three seconds after their last record.
    const named = new Set(
      ofDead.filter(({ timestampMs }) => timestampMs * 1_000 > killedAt).map(({ conn_id }) => conn_id),
    );
    const lost = ofDead.filter(({ kind }) => kind === 'lost');
    t.ok(named.size >= 4);
    t.same(new Set(lost.map(({ conn_id }) => conn_id)), named, 'each connection the drained messages name has its end');
    for (const { payload } of lost) {
      const { cause, lost_at } = JSON.parse(Buffer.from(payload).toString()) as LostBody;
      t.equal(cause, 'collector_down');
      t.ok(lost_at <= killedAt && lost_at > killedAt - 5_000_000, 'at its last message on disk');
    }
  },
);

const readCauses = async (topic: string): Promise<string[]> => {
  const { messages } = await readRaw(topic);
  const lost = messages.filter(({ kind }) => kind === 'lost');
  return lost.map(({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as LostBody).cause);
};

/** Ends the collector in order and holds what was sent against the log. What is still on disk then would be the next process's. */
const checkAccount = async (t: Test, collector: Collector, { simulator, topic }: World): Promise<void> => {
  await until('Kafka has everything', 40_000, async () =>
    (await metric(collector, 'ingest_spooling')) === 0 ? true : null,
  );
  await collector.child.kill('SIGTERM');
  t.equal(await collector.child.exited, 0);
  const account = await compareFrames(handle, topic, await readSent(simulator));
  t.comment(account);
  t.same(account.unaccounted, [], 'every frame sent is stored once or inside a recorded loss');
  const causes = await readCauses(topic);
  t.ok(causes.filter((cause) => cause === 'storage_failure').length >= 2, 'the recorded gap has its cause');
};

t.test('a full spool ends the connections in the log, and it continues without a restart', LIMIT, async (t) => {
  const world = await startWorld(t, 400);
  const { simulator, namespace } = world;
  const collector = await startCollector(simulator, namespace, { SPOOL_DIR: folder(t), SPOOL_MAX_BYTES: '400000' });
  await until('frames flow', 20_000, () => isFlowing(collector, 300));
  hang(t);
  await until('it refuses', 20_000, () => says(collector, /connections are ended: the spool is full/));
  await pause(1_000);
  const bytes = await metric(collector, 'ingest_spool_bytes');
  t.ok(bytes < 1_000_000, `${bytes} bytes`);
  t.equal(await metric(collector, 'ingest_refusing'), 1);
  const before = (await readSent(simulator)).length;
  wake();
  await until('it is ready', 40_000, () => isReady(collector));
  await until('new connections', 20_000, async () => ((await readSent(simulator)).length > before ? true : null));
  await pause(1_500);
  await checkAccount(t, collector, world);
});

t.test(
  'a full disk ends them too, and room on it is enough to continue',
  { ...LIMIT, skip: noSmallDisk },
  async (t) => {
    const disk = smallDisk(t, '24m') ?? '';
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, Buffer.alloc(24 * 1024 * 1024 - 600_000));
    const world = await startWorld(t, 400);
    const { simulator, namespace } = world;
    const collector = await startCollector(simulator, namespace, { SPOOL_DIR: join(disk, 'spool') });
    await until('frames flow', 20_000, () => isFlowing(collector, 300));
    await until('it is ready: with Kafka at hand the disk does not matter', 20_000, () => isReady(collector));
    hang(t);
    await until('it refuses', 20_000, () => says(collector, /the spool cannot be written: ENOSPC/));
    const before = (await readSent(simulator)).length;
    rmSync(ballast);
    await until('new connections', 20_000, async () => ((await readSent(simulator)).length > before ? true : null));
    t.equal(await metric(collector, 'ingest_refusing'), 0);
    t.equal(await metric(collector, 'ingest_spooling'), 1, 'Kafka is still away');
    await pause(1_000);
    wake();
    await until('it is ready', 40_000, () => isReady(collector));
    await checkAccount(t, collector, world);
  },
);
