// One running service over simulated markets whose truth is known: started, queried, its collector killed and started again.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type KafkaHandle, openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { useEngines } from '../engines/engines.ts';
import { fetchFrom } from '../engines/http.ts';
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
} from '../services/pipeline.ts';
import type { Worth } from './true-values.ts';
import { formatState, listSeen, type Seen, type Snapshots, TruthIndex } from './truth.ts';

export const SHARDS = 2;
export const SEED = process.env.TRUTH_SEED ?? '7';

type Market = {
  readonly venues: readonly string[];
  /** A venue. */
  readonly listings: number;
  /** Frames a second of one listing, about. */
  readonly framesPerListing?: number;
};
const ONE_VENUE: Market = { venues: ['binance'], listings: 50 };
/** Layer objects of one answer about `ONE_VENUE`. */
export const PAIRS = ONE_VENUE.listings * READING_LAYERS.length;
const FRAMES_PER_LISTING = 10;

type Listed = Worth & { readonly venue: string; readonly symbol: string };

export type World = {
  readonly spec: PipelineSpec;
  /** URL of its PostgreSQL database. */
  readonly database: string;
  readonly market: Market;
  readonly handle: KafkaHandle;
  readonly simulator: Simulator;
  readonly api: Api;
  readonly processors: Child;
  ingest: Child;
  readonly truth: TruthIndex;
  /** As the markets began, by `venue:symbol`. */
  readonly listed: ReadonlyMap<string, Listed>;
};

export const nowMicros = (): number => Date.now() * 1_000;
export const toName = ({ venue, symbol }: Pick<Seen, 'venue' | 'symbol'>): string => `${venue}:${symbol}`;

export const look = ({ api }: World): Promise<Snapshots> =>
  api.post('/v2/snapshots', { layers: [...READING_LAYERS], number_format: 'string', allow_stale: true });

export const isPresent = ({ object }: Seen): boolean => object.status === 'present';
export const isBook = ({ layer }: Seen): boolean => layer === 'book' || layer === 'venue_depth';

/** Counts by state, the commonest first. */
export const tally = (names: Iterable<string>): string => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
};

/** The first answer of which `holds` is true, and how long it took; rejects with the content of the last one. */
export const answerWhen = async (
  world: World,
  what: string,
  holds: (seen: readonly Seen[]) => boolean,
  timeoutMs = 60_000,
) => {
  const began = performance.now();
  let last: readonly Seen[] = [];
  let before: readonly Seen[] = [];
  const found = await until(what, timeoutMs, async () => {
    before = last;
    last = listSeen(await look(world));
    return holds(last) ? last : null;
  }).catch((error: unknown) => {
    const states = last.map(({ venue, layer, object }) => `${venue} ${layer} ${formatState(object)}`);
    throw new Error(`${String(error)}; last answer: ${tally(states)}`);
  });
  return { seen: found, before, ms: performance.now() - began };
};

/** The child ends with the test, however the test ends. */
const endWith = (t: Test, child: Child): Child => {
  t.teardown(() => child.kill());
  return child;
};

type Starting = {
  readonly spec: PipelineSpec;
  readonly market: Market;
  readonly truthFile: string;
  readonly database: string;
};

const startProcesses = async (t: Test, { spec, market, truthFile, database }: Starting) => {
  const { venues, listings, framesPerListing = FRAMES_PER_LISTING } = market;
  const simulator = await startSimulator({
    SIM_VENUES: venues.join(),
    SIM_SEED: SEED,
    SIM_LISTINGS: String(listings),
    SIM_RATE: String(venues.length * listings * framesPerListing),
    SIM_LOG: truthFile,
  });
  endWith(t, simulator.child);
  const ingest = endWith(t, startIngest(spec, simulator.endpoints));
  const processors = endWith(t, startProcessors(spec));
  const api = await startApi(spec, database);
  endWith(t, api.child);
  return { simulator, ingest, processors, api };
};

const readListed = async (simulator: Simulator): Promise<World['listed']> => {
  const listed = await simulator.get<Listed[]>('/listings');
  return new Map(listed.map((listing) => [toName(listing), listing]));
};

/** Starts everything in a namespace of its own; resolves once the API is ready. */
export const startWorld = async (t: Test, market: Market = ONE_VENUE): Promise<World> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const folder = await mkdtemp(join(tmpdir(), 'truth-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const truthFile = join(folder, 'truth.ndjson');
  const namespace = `${engines.namespace()}.`;
  const spec = { stores: engines.endpoints, namespace, shards: SHARDS, venues: market.venues };
  const processes = await startProcesses(t, { spec, market, truthFile, database });
  const handle = openKafka({ brokers: [spec.stores.kafka], clientId: 'truth' }, createLog('truth', 'warn'));
  t.teardown(() => handle.close());
  const listed = await readListed(processes.simulator);
  const { ingest, processors, api } = processes;
  await until('the API is ready', 60_000, async () => {
    for (const [name, { process }] of Object.entries({ ingest, processors, api: api.child }))
      if (process.exitCode !== null) throw new Error(`${name} ended unexpectedly with ${process.exitCode}`);
    const answer = await fetchFrom(`${processes.api.baseUrl}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    return answer?.ok ? answer : null;
  });
  return { spec, market, database, handle, ...processes, truth: new TruthIndex(truthFile), listed };
};

/** Starts the killed collector again, as its supervisor would. */
export const restartIngest = (t: Test, world: World): void => {
  world.ingest = endWith(t, startIngest(world.spec, world.simulator.endpoints));
};
