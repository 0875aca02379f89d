// Rows are a pure function of the log: a live run with faults and kills, then replays of its raw topics in other ways, give equal tables.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  copyRaw,
  type Hashes,
  hashNamespace,
  type LoggedWorld,
  prepareReplay,
  waitForReached,
} from '../../infra/dev/bench/soak/raw-copy.ts';
import type { SentFrames } from '../../infra/dev/bench/soak/sent-frames.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { useEngines } from '../support/engines/engines.ts';
import { openWorld } from '../support/services/own-service.ts';
import { type PipelineSpec, startIngest, startProcessors, startSimulator } from '../support/services/pipeline.ts';
import {
  checkCoverage,
  checkSent,
  killAtRandom,
  QUIET,
  replay,
  replayTwice,
  SEAL_MS,
  sameHashes,
} from '../support/tasks/purity.ts';
import { readSent } from '../support/venues/sent-frames.ts';

/** The full run is ten minutes: PURITY_SECONDS=600. */
const SECONDS = Number(process.env['PURITY_SECONDS'] ?? 60);
const LISTINGS = process.env['PURITY_LISTINGS'] ?? '24';
const RATE = process.env['PURITY_RATE'] ?? '400';
const SHARDS = 4;
/** Two kills of a run, and every random choice, come from here so that a failure can be run again. */
const SEED = Number(process.env['PURITY_SEED'] ?? 7);

type Ran = {
  /** Frames that the venue sent. */
  readonly sent: SentFrames;
  /** Messages that Kafka did not accept at once: only then may raw contain messages twice. */
  readonly spooledBytes: number;
};

const readSpooledBytes = async (metricsPort: number): Promise<number> => {
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^ingest_spool_written_bytes_total (\d+)$/m.exec(metrics)?.[1]);
};

/** The live run: disconnects, sequence holes, two kill -9 of the processors; ends with the log at rest and worked through. */
const runLive = async (t: Test, world: LoggedWorld, spec: PipelineSpec): Promise<Ran> => {
  const metricsPort = await findFreePort();
  const simulator = await startSimulator({
    SIM_PORT: '0',
    SIM_SEED: String(SEED),
    SIM_LISTINGS: LISTINGS,
    SIM_RATE: RATE,
  });
  const ingest = startIngest(spec, simulator.endpoints, 'collector', { METRICS_PORT: String(metricsPort) });
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
  const spooledBytes = await readSpooledBytes(metricsPort);
  await ingest.kill('SIGTERM');
  const sent = await readSent(simulator);
  await simulator.child.kill('SIGTERM');
  // The owner's ticks move the log on until the windows of the run are sealed, the first ones of the silence too.
  await pause(SEAL_MS);
  await processors.kill('SIGKILL');
  processors = startProcessors(spec, QUIET);
  await waitForReached(world, spec.namespace);
  await processors.kill('SIGTERM');
  return { sent, spooledBytes };
};

/** One partition of the log comes later than the others. */
const replayHeld = async (world: LoggedWorld, namespace: string, heldMs: number): Promise<Hashes> => {
  const copied = copyRaw(world, namespace, { heldPartition: 2, heldMs });
  await pause(1_000);
  const processor = startProcessors({ stores: world.stores, namespace, shards: SHARDS }, QUIET);
  await copied;
  await waitForReached(world, namespace);
  await processor.kill('SIGTERM');
  return hashNamespace(world, namespace);
};

t.setTimeout(3_600_000);

t.test('the same raw log gives the same tables however it is worked through', { timeout: 3_600_000 }, async (t) => {
  const engines = await useEngines(t, ['kafka', 'questdb']);
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: SHARDS };
  const world = openWorld(t, { spec });

  const { sent, spooledBytes } = await runLive(t, world, spec);
  const live = await hashNamespace(world, world.base);
  for (const [table, { rows }] of Object.entries(live)) t.comment(`live ${table}: ${rows} rows`);
  t.ok((live['mark']?.rows ?? 0) > 0 && (live['book']?.rows ?? 0) > 0, 'the live run made rows');
  const layers = ['mark', 'funding', 'book', 'venue_depth'] as const;
  await checkCoverage(t, world, { layers, listings: Number(LISTINGS) });
  const { repeats } = await checkSent(t, world, { venue: 'binance', sent });
  t.ok(
    repeats === 0 || spooledBytes > 0,
    `${repeats} messages are in raw twice, ${spooledBytes} bytes were not taken at once`,
  );

  const heldMs = Math.min(60_000, SECONDS * 1000);
  const held = replayHeld(world, await prepareReplay(world, 'held'), heldMs);

  const variants: [string, (namespace: string) => Promise<Hashes>][] = [
    ['one process', (n) => replay(world, n, 1)],
    ['two processes', (n) => replay(world, n, 2)],
    ['four processes', (n) => replay(world, n, 4)],
    ['every batch delivered twice', (n) => replayTwice(world, n)],
    ['killed and restarted at random moments', (n) => replay(world, n, 1, killAtRandom(3, SEED))],
  ];
  for (const [index, [name, run]] of variants.entries()) {
    const namespace = await prepareReplay(world, String(index));
    await copyRaw(world, namespace);
    const began = performance.now();
    sameHashes(t, name, await run(namespace), live);
    t.comment(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
  sameHashes(t, `partition 2 held back ${heldMs / 1000} s`, await held, live);
});
