// Everything is killed, one at a time and at random, under load: what was sent is in raw or inside a recorded loss, and replays give the same rows.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { EngineName } from '../../infra/engines/engines.ts';
import { openKafka } from '../../infra/runtime/kafka.ts';
import { createLog } from '../../infra/runtime/log.ts';
import { openQuestdbReader } from '../../infra/runtime/questdb.ts';
import { type OwnEngines, ownEngines } from '../support/engines.ts';
import {
  type Api,
  type Child,
  type PipelineSpec,
  type Simulator,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
  until,
} from '../support/pipeline.ts';
import {
  checkCoverage,
  checkSent,
  copyRaw,
  hashesOf,
  killAtRandom,
  type LoggedWorld,
  prepareReplay,
  QUIET,
  reached,
  replay,
  replayTwice,
  sameHashes,
  shares,
} from '../support/replays.ts';
import { readSent } from '../support/sent-frames.ts';

/** The full show is ten minutes at 1,000 messages a second: CHAOS_SECONDS=600 CHAOS_RATE=1000 CHAOS_LISTINGS=50. */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 60);
const RATE = process.env['CHAOS_RATE'] ?? '300';
const LISTINGS = process.env['CHAOS_LISTINGS'] ?? '16';
const SEED = Number(process.env['CHAOS_SEED'] ?? 11);
const SHARDS = 2;
/** 100 s after their end windows are sealed (N-11). */
const SEAL_MS = 115_000;

type Victim = 'ingest' | 'processors' | 'api' | EngineName;
/** The sink is a part of the processors. */
const VICTIMS: readonly Victim[] = ['ingest', 'processors', 'api', 'kafka', 'questdb'];

type Service = {
  readonly engines: OwnEngines;
  readonly spec: PipelineSpec;
  readonly simulator: Simulator;
  readonly database: string;
  ingest: Child;
  processors: Child;
  api: Api;
};

const start = async (t: Test): Promise<Service> => {
  const engines = await ownEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: SHARDS };
  const simulator = await startSimulator({ SIM_SEED: String(SEED), SIM_LISTINGS: LISTINGS, SIM_RATE: RATE });
  const service: Service = {
    engines,
    spec,
    simulator,
    database,
    ingest: startIngest(spec, simulator.endpoints),
    processors: startProcessors(spec),
    api: await startApi(spec, database),
  };
  t.teardown(() => {
    const { ingest, processors, api } = service;
    return Promise.all([simulator.child, ingest, processors, api.child].map((child) => child.kill()));
  });
  return service;
};

/** kill -9; what no supervisor brings back here is started again at once. */
const kill = async (service: Service, victim: Victim): Promise<void> => {
  const { spec, simulator, database, engines } = service;
  switch (victim) {
    case 'ingest':
      await service.ingest.kill('SIGKILL');
      service.ingest = startIngest(spec, simulator.endpoints);
      return;
    case 'processors':
      await service.processors.kill('SIGKILL');
      service.processors = startProcessors(spec);
      return;
    case 'api':
      await service.api.child.kill('SIGKILL');
      service.api = await startApi(spec, database);
      return;
    default:
      await engines.kill(victim);
      await engines.ready(victim);
  }
};

/** Kills without a hand for what follows; each victim at least once, then at random. */
const disturb = async (t: Test, service: Service): Promise<void> => {
  const next = shares(SEED);
  const began = performance.now();
  const stepMs = Math.max(6_000, (SECONDS * 1_000) / 40);
  const killed: Victim[] = [];
  await pause(stepMs);
  while (performance.now() - began < SECONDS * 1_000) {
    const victim = VICTIMS[killed.length] ?? VICTIMS[Math.floor(next() * VICTIMS.length)] ?? 'ingest';
    await kill(service, victim);
    killed.push(victim);
    await pause(stepMs * (0.5 + next()));
  }
  t.comment(`killed: ${VICTIMS.map((v) => `${killed.filter((k) => k === v).length} ${v}`).join(', ')}`);
};

type Snapshot = { readonly items: readonly { readonly layers: Readonly<Record<string, { status: string }>> }[] };

/** Everything is served again by itself. */
const recovered = (service: Service): Promise<unknown> =>
  until('every mark and book is present again', 120_000, async () => {
    const answer = await service.api.post<Snapshot>('/v2/snapshots', { layers: ['mark', 'book'] }).catch(() => null);
    const states = answer?.items.flatMap(({ layers }) => Object.values(layers)) ?? [];
    return states.length > 0 && states.every(({ status }) => status === 'present') ? states.length : null;
  });

t.setTimeout(3_600_000);

t.test('whatever is killed, what was received is accounted for', { timeout: 3_600_000 }, async (t) => {
  const service = await start(t);
  const { engines, spec, simulator } = service;
  const { endpoints: stores } = engines;
  const log = createLog('chaos', 'silent');
  const handle = openKafka({ brokers: [stores.kafka], clientId: 'chaos' }, log);
  const auth = { user: stores.questdb_user, password: stores.questdb_password };
  const reader = openQuestdbReader(stores.questdb_pg, { max: 1, timeoutMs: 30_000, auth, log });
  t.teardown(async () => {
    await reader.close();
    await handle.close();
  });
  const world: LoggedWorld = {
    stores,
    handle,
    reader,
    base: spec.namespace,
    venues: ['binance'],
    shards: SHARDS,
  };

  await recovered(service);
  await disturb(t, service);
  t.ok(await recovered(service), 'everything is served again without a hand');

  await service.ingest.kill('SIGTERM');
  const sent = await readSent(simulator);
  await simulator.child.kill('SIGTERM');
  await service.api.child.kill('SIGTERM');
  const { repeats } = await checkSent(t, world, { venue: 'binance', sent });
  t.comment(`${repeats} messages a broker had taken before it died were written again; readers drop them by seq`);

  // The owner's ticks move the log on until the windows of the run are sealed.
  await pause(SEAL_MS);
  await service.processors.kill('SIGKILL');
  service.processors = startProcessors(spec, QUIET);
  await reached(world, spec.namespace);
  await service.processors.kill('SIGTERM');
  const live = await hashesOf(world, spec.namespace);
  t.ok((live['mark']?.rows ?? 0) > 0 && (live['book']?.rows ?? 0) > 0, 'the live run made rows');
  const layers = ['mark', 'funding', 'book', 'venue_depth'] as const;
  await checkCoverage(t, world, { layers, listings: Number(LISTINGS) });

  const variants = [
    ['two processes', (n: string) => replay(world, n, 2)],
    ['every batch delivered twice', (n: string) => replayTwice(world, n)],
    ['killed and restarted at random moments', (n: string) => replay(world, n, 1, killAtRandom(2, SEED))],
  ] as const;
  for (const [index, [name, run]] of variants.entries()) {
    const namespace = await prepareReplay(world, String(index));
    await copyRaw(world, namespace);
    sameHashes(t, name, await run(namespace), live);
  }
});
