// The service on three brokers that are killed one after another under load: every frame is in raw once or in a recorded loss, tables equal a replay.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  copyRaw,
  type Hashes,
  hashNamespace,
  prepareReplay,
  waitForReached,
} from '../../infra/dev/bench/soak/raw-copy.ts';
import { startKafka } from '../../infra/dev/engines/kafka.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { createPublisher, ensureTopics, type KafkaHandle, openKafka } from '../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { nameTopics } from '../../schemas/topics.ts';
import { busiestBroker, inStep, type OwnCluster, ownCluster } from '../support/engines/own-cluster.ts';
import { type ProgressWatch, watchProgress } from '../support/run/progress-watch.ts';
import { openWorld } from '../support/services/own-service.ts';
import {
  type Child,
  type PipelineSpec,
  type Simulator,
  startIngest,
  startProcessors,
  startSimulator,
  until,
} from '../support/services/pipeline.ts';
import { checkCoverage, checkSent, QUIET, SEAL_MS, sameHashes } from '../support/tasks/purity.ts';
import { readSent } from '../support/venues/sent-frames.ts';

/** The long run, alone: BROKERS_SECONDS=600 BROKERS_RATE=1000 BROKERS_LISTINGS=50 node test/e2e/brokers.test.ts */
const SECONDS = Number(process.env['BROKERS_SECONDS'] ?? 90);
const RATE = process.env['BROKERS_RATE'] ?? '300';
const LISTINGS = process.env['BROKERS_LISTINGS'] ?? '16';
const KILL_EVERY_MS = Number(process.env['BROKERS_KILL_EVERY'] ?? 20) * 1_000;
const SHARDS = 2;
const NAMESPACE = 'brokers.';
const PATIENCE_MS = 1_800_000;

const log = createLog('brokers-test', 'silent');
t.setTimeout(7_200_000);

const RECORDS = 60_000;

/** Records a second that one publisher gets acknowledged, and seconds of processor time for a hundred thousand of them. */
const measure = async (handle: KafkaHandle, name: string): Promise<{ perS: number; cpuS: number }> => {
  const topic = `measured-${name}`;
  await ensureTopics(handle, [{ topic, partitions: 6, config: {} }]);
  const publisher = createPublisher(handle);
  const value = Buffer.alloc(350, 'mark price update ');
  const [began, before] = [performance.now(), process.cpuUsage()];
  for (let n = 0; n < RECORDS; n++) {
    publisher.publish({ topic, partition: n % 6, key: String(n), value });
    if (n % 1_000 === 0) await publisher.ready();
  }
  await publisher.close();
  const { user, system } = process.cpuUsage(before);
  return {
    perS: Math.round((RECORDS * 1_000) / (performance.now() - began)),
    cpuS: (user + system) / 1e6 / (RECORDS / 100_000),
  };
};

const compareThroughput = async (t: Test, { engines, cluster }: OwnCluster): Promise<void> => {
  const ports = { broker: await findFreePort(), controller: await findFreePort() };
  const single = await startKafka(engines.supervisor, engines.dataDir, { ports });
  for (const [name, endpoint] of [
    ['one broker', `127.0.0.1:${ports.broker}`],
    ['three brokers', cluster.endpoint],
  ] as const) {
    const handle = openKafka({ brokers: endpoint.split(','), clientId: 'measure' }, log);
    for (const round of ['warm', 'hot']) {
      const { perS, cpuS } = await measure(handle, round);
      t.comment(`${name}, ${round}: ${perS} records/s, ${cpuS.toFixed(2)} s of processor time for 100,000`);
    }
    await handle.close();
  }
  await single.stop();
};

type Kill = { readonly broker: number; readonly wiped: boolean; readonly atMs: number; wholeMs: number };

/** One broker every `KILL_EVERY_MS`, once all copies are in step again; once in the middle with an empty disk. */
const killInTurn = async (handle: KafkaHandle, { cluster }: OwnCluster): Promise<readonly Kill[]> => {
  const kills: Kill[] = [];
  const began = performance.now();
  while (performance.now() - began < SECONDS * 1_000 - KILL_EVERY_MS / 2) {
    const due = (kills.at(-1)?.atMs ?? began) + KILL_EVERY_MS;
    await pause(Math.max(0, due - performance.now()));
    // A copy may have fallen behind meanwhile: the broker may then have the only whole one, and its disk must not go.
    await inStep(handle);
    const isHalf = performance.now() - began > SECONDS * 500;
    const wiped = isHalf && !kills.some((kill) => kill.wiped);
    const index = await busiestBroker(handle, nameTopics(NAMESPACE).raw('binance'));
    const kill: Kill = { broker: index + 1, wiped, atMs: performance.now(), wholeMs: 0 };
    kills.push(kill);
    await cluster.brokers[index]?.crash();
    await (wiped ? cluster.brokers[index]?.restartEmpty() : cluster.brokers[index]?.restart());
    await inStep(handle);
    kill.wholeMs = performance.now() - kill.atMs;
  }
  return kills;
};

const reportKills = (t: Test, kills: readonly Kill[], progress: ProgressWatch): number => {
  let longest = 0;
  for (const [index, { broker, wiped, atMs, wholeMs }] of kills.entries()) {
    const restMs = progress.longestMs(atMs, kills[index + 1]?.atMs ?? Number.POSITIVE_INFINITY);
    longest = Math.max(longest, restMs);
    const s = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
    t.comment(
      `kill ${index + 1}: broker ${broker}${wiped ? ' with its disk' : ''}, ${s(restMs)} without progress, whole after ${s(wholeMs)}`,
    );
  }
  return longest;
};

type Service = { readonly spec: PipelineSpec; readonly simulator: Simulator; ingest: Child; processors: Child };

const startService = async (t: Test, { engines, cluster }: OwnCluster): Promise<Service> => {
  const { questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
  const stores = {
    kafka: cluster.endpoint,
    questdb_http: questdb_http ?? '',
    questdb_pg: questdb_pg ?? '',
    questdb_user: questdb_user ?? '',
    questdb_password: questdb_password ?? '',
  };
  const spec = { stores, namespace: NAMESPACE, shards: SHARDS };
  const simulator = await startSimulator({ SIM_SEED: '31', SIM_LISTINGS: LISTINGS, SIM_RATE: RATE });
  const collector = `collector-${process.pid}`;
  const ingest = startIngest(spec, simulator.endpoints, collector);
  const service: Service = { spec, simulator, ingest, processors: startProcessors(spec) };
  t.teardown(() =>
    Promise.all([service.simulator.child, service.ingest, service.processors].map((child) => child.kill())),
  );
  return service;
};

const isAlive = ({ process: { exitCode, signalCode } }: Child): boolean => exitCode === null && signalCode === null;

t.test('brokers are killed one after another', { timeout: 7_200_000 }, async (t) => {
  const own = await ownCluster(t, { questdb: true });
  await compareThroughput(t, own);
  const service = await startService(t, own);
  const { spec, simulator } = service;
  const world = openWorld(t, { spec });
  const handle = openKafka({ brokers: own.cluster.endpoint.split(','), clientId: 'kills' }, log);
  t.teardown(() => handle.close());
  const progress = await watchProgress(handle, nameTopics(NAMESPACE).watermark);
  const beganMs = await until('a watermark', 120_000, () =>
    progress.longestMs(0, Number.POSITIVE_INFINITY) > 0 ? performance.now() : null,
  );
  await inStep(handle);

  const kills = await killInTurn(handle, own);
  await pause(KILL_EVERY_MS / 2);
  const untilMs = performance.now();
  t.ok(isAlive(service.ingest) && isAlive(service.processors), 'collector and processors went on by themselves');
  const longestMs = reportKills(t, kills, progress);
  t.comment(
    `${kills.length} kills in ${((untilMs - beganMs) / 1_000).toFixed(0)} s, longest without progress ${Math.round(longestMs)} ms`,
  );
  await progress.stop();

  await service.ingest.kill('SIGTERM');
  const sent = await readSent(simulator);
  await simulator.child.kill('SIGTERM');
  const account = await checkSent(t, world, { venue: 'binance', sent });
  t.comment(
    `${account.sent} frames sent, ${account.stored} stored, ${account.lost} in recorded losses, ${account.repeats} repeats, ${account.unaccounted.length} unaccounted`,
  );

  // The owner's ticks move the log on until the windows of the run are sealed.
  await pause(SEAL_MS);
  await service.processors.kill('SIGTERM');
  const workThrough = async (namespace: string): Promise<Hashes> => {
    service.processors = startProcessors({ ...spec, namespace }, QUIET);
    await waitForReached(world, namespace, PATIENCE_MS);
    await service.processors.kill('SIGTERM');
    return hashNamespace(world, namespace);
  };
  const live = await workThrough(NAMESPACE);
  t.ok((live['mark']?.rows ?? 0) > 0 && (live['book']?.rows ?? 0) > 0, 'the live run made rows');
  const layers = ['mark', 'funding', 'book', 'venue_depth'] as const;
  await checkCoverage(t, world, { layers, listings: Number(LISTINGS) });

  const namespace = await prepareReplay(world, 'again');
  await copyRaw(world, namespace);
  sameHashes(t, 'a replay', await workThrough(namespace), live);
});
