// Everything is killed, one at a time and at random, under load: what was sent is in raw or inside a recorded loss, and replays give the same rows.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { copyRaw, hashNamespace, prepareReplay, waitForReached } from '../../infra/dev/bench/soak/raw-copy.ts';
import type { EngineName } from '../../infra/dev/engines/engines.ts';
import { type OwnService, openWorld, recovered, startOwnService } from '../support/services/own-service.ts';
import { startApi, startIngest, startProcessors } from '../support/services/pipeline.ts';
import {
  checkCoverage,
  checkSent,
  killAtRandom,
  QUIET,
  replay,
  replayTwice,
  sameHashes,
  shares,
} from '../support/tasks/purity.ts';
import { readSent } from '../support/venues/sent-frames.ts';

/** The full show is ten minutes at 1,000 messages a second: CHAOS_SECONDS=600 CHAOS_RATE=1000 CHAOS_LISTINGS=50. */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 40);
const RATE = process.env['CHAOS_RATE'] ?? '300';
const LISTINGS = process.env['CHAOS_LISTINGS'] ?? '16';
const SEED = Number(process.env['CHAOS_SEED'] ?? 11);
const SHARDS = 2;
/** 100 s after their end windows are sealed (N-11). */
const SEAL_MS = 115_000;

type Victim = 'ingest' | 'processors' | 'api' | EngineName;
/** The sink is a part of the processors. */
const VICTIMS: readonly Victim[] = ['ingest', 'processors', 'api', 'kafka', 'questdb'];

/** kill -9; what no supervisor brings back here is started again at once. */
const kill = async (service: OwnService, victim: Victim): Promise<void> => {
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
const disturb = async (t: Test, service: OwnService): Promise<void> => {
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

t.setTimeout(3_600_000);

t.test('whatever is killed, what was received is accounted for', { timeout: 3_600_000 }, async (t) => {
  const service = await startOwnService(t, { seed: SEED, listings: LISTINGS, rate: RATE, shards: SHARDS });
  const { spec, simulator } = service;
  const world = openWorld(t, service);

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
  await waitForReached(world, spec.namespace);
  await service.processors.kill('SIGTERM');
  const live = await hashNamespace(world, spec.namespace);
  t.ok((live['mark']?.rows ?? 0) > 0 && (live['book']?.rows ?? 0) > 0, 'the live run made rows');
  const layers = ['mark', 'funding', 'book', 'venue_depth'] as const;
  await checkCoverage(t, world, { layers, listings: Number(LISTINGS) });

  const variants = [
    ['two processes', (n: string) => replay(world, n, 2)],
    ['every batch delivered twice', (n: string) => replayTwice(world, n)],
    ['killed and restarted at random moments', (n: string) => replay(world, n, 1, killAtRandom(2, SEED))],
  ] as const;
  // The others are the purity test's own; here they are for the full show.
  for (const [index, [name, run]] of variants.slice(0, SECONDS < 300 ? 1 : undefined).entries()) {
    const namespace = await prepareReplay(world, String(index));
    await copyRaw(world, namespace);
    sameHashes(t, name, await run(namespace), live);
  }
});
