// Tasks in many processes: owners that stop, return, join and leave change no row and no message.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  copyRaw,
  hashNamespace,
  type LoggedWorld,
  prepareReplay,
  waitForReached,
} from '../../infra/dev/bench/soak/raw-copy.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { useEngines } from '../support/engines/engines.ts';
import { freeMachine } from '../support/run/machine-free.ts';
import { openWorld } from '../support/services/own-service.ts';
import {
  type Api,
  apiReady,
  type Child,
  type PipelineSpec,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
} from '../support/services/pipeline.ts';
import { ResumingClient } from '../support/services/resuming-client.ts';
import { QUIET, replay, SEAL_MS, sameHashes } from '../support/tasks/purity.ts';
import { liveFaults } from '../support/truth/live-faults.ts';
import { listSeen, type Snapshots, toMicros } from '../support/truth/truth.ts';

/** The full show: OWNERS_PROCESSES=2,4,5 OWNERS_ROUNDS=5. */
const PROCESSES = (process.env.OWNERS_PROCESSES ?? '4').split(',').map(Number);
const ROUNDS = Number(process.env.OWNERS_ROUNDS ?? 1);
const SHARDS = 4;
const LISTINGS = 16;
const CLIENTS = 4;
const LAYERS_ASKED = READING_LAYERS.map((layer) => (layer === 'venue_depth' ? 'book_bands' : layer)).join();
const ROUND_MS = 30_000;
/** An owner that is stopped this long has lost its place in the group three times over. */
const STOPPED_MS = 20_000;
const TIMEOUT_MS = (600 + PROCESSES.length * (120 + 45 * ROUNDS)) * 1_000;

t.setTimeout(TIMEOUT_MS);

type World = LoggedWorld & { readonly spec: PipelineSpec; readonly ingest: Child; readonly api: Api };

/** A market of its own, collected and served; the processors are the test's. */
const openMarket = async (t: Test): Promise<World> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: SHARDS };
  const world = openWorld(t, { spec });
  const simulator = await startSimulator({ SIM_PORT: '0', SIM_SEED: '7', SIM_LISTINGS: String(LISTINGS) });
  t.teardown(() => simulator.child.kill());
  const ingest = startIngest(spec, simulator.endpoints);
  t.teardown(() => ingest.kill());
  const api = await startApi(spec, await engines.database());
  t.teardown(() => api.child.kill());
  return { ...world, spec, ingest, api };
};

/** Every 30 s one owner is stopped for 20 s while the others take over, and then continues at its old position; one joins; one leaves in order. */
const disturb = async (children: Child[], start: () => Child): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) {
    await pause(4_000);
    const [stopped, leaving, ...others] = children;
    if (stopped === undefined || leaving === undefined) throw new Error('two processes are the least');
    stopped.process.kill('SIGSTOP');
    await pause(6_000);
    const joined = start();
    await pause(9_000);
    await leaving.kill('SIGTERM');
    await pause(STOPPED_MS - 15_000);
    stopped.process.kill('SIGCONT');
    // The next round is about others.
    children.splice(0, children.length, ...others, joined, stopped);
    await pause(ROUND_MS - 4_000 - STOPPED_MS);
  }
};

type Asking = { readonly answers: number; readonly readings: number; readonly faults: readonly string[] };

/** Requests everything repeatedly; the stamp of a listing and layer in answers never decreases. */
const askOften = ({ api }: World): (() => Promise<Asking>) => {
  const stamps = new Map<string, number>();
  const faults: string[] = [];
  let [answers, readings, isOver] = [0, 0, false];
  const ask = async (): Promise<void> => {
    const body = { layers: [...READING_LAYERS], number_format: 'string', allow_stale: true };
    for (const { symbol, layer, object } of listSeen(await api.post<Snapshots>('/v2/snapshots', body))) {
      const stamp = toMicros(object.venue_ts ?? object.received_at);
      if (Number.isNaN(stamp)) continue;
      const key = `${symbol} ${layer}`;
      const before = stamps.get(key) ?? 0;
      if (stamp < before) faults.push(`${key}: ${stamp} after ${before}`);
      stamps.set(key, stamp);
      readings += 1;
    }
    answers += 1;
  };
  const asking = (async (): Promise<void> => {
    for (; !isOver; await pause(200)) await ask();
  })();
  // The function that ends the requests throws it.
  asking.catch(() => undefined);
  return async () => {
    isOver = true;
    await asking;
    return { answers, readings, faults };
  };
};

const openClients = (t: Test, { api }: World): readonly ResumingClient[] =>
  Array.from({ length: CLIENTS }, () => {
    const headers = { authorization: `Bearer ${api.keys.pro_plus}` };
    const client = new ResumingClient(`layers=${LAYERS_ASKED}&number_format=string`, headers, () => [api.baseUrl]);
    t.teardown(() => client.close());
    return client;
  });

/** The collector ends, ticks move the log on until the run's windows are sealed, and one process that writes none works through what is left. */
const comeToRest = async (world: World, children: readonly Child[]): Promise<void> => {
  await world.ingest.kill('SIGTERM');
  await pause(SEAL_MS);
  await Promise.all(children.map((child) => child.kill('SIGTERM')));
  const last = startProcessors(world.spec, QUIET);
  await waitForReached(world, world.base);
  await last.kill('SIGTERM');
};

const checkWatched = (t: Test, asked: Asking, clients: readonly ResumingClient[]): void => {
  t.same(asked.faults.slice(0, 3), [], `${asked.readings} readings of ${asked.answers} answers, none goes back`);
  const updates = clients.reduce((sum, client) => sum + client.updates, 0);
  const faults = clients.flatMap((client) => client.faults);
  t.same(faults.slice(0, 3), [], `${updates} updates of ${CLIENTS} streams, none twice, none goes back`);
  t.ok(asked.readings > 0 && clients.every((client) => client.updates > 0), 'all of them were sent');
};

/** A live run by several processes that come and go, then the same log by one. */
const checkProcesses = async (t: Test, processes: number): Promise<void> => {
  const world = await openMarket(t);
  const start = (): Child => {
    const child = startProcessors(world.spec);
    t.teardown(() => child.kill());
    return child;
  };
  const children = Array.from({ length: processes }, start);
  await apiReady(world.api);
  const clients = openClients(t, world);
  const endAsking = askOften(world);
  await disturb(children, start);
  checkWatched(t, await endAsking(), clients);
  await Promise.all(clients.map((client) => client.close()));
  freeMachine();
  await comeToRest(world, children);
  t.same(
    (await liveFaults(world.handle, world.base, SHARDS)).slice(0, 3),
    [],
    'live: rev rises by one, none goes back',
  );
  const hashes = await hashNamespace(world, world.base);
  const namespace = await prepareReplay(world, 'alone');
  await copyRaw(world, namespace);
  const alone = await replay(world, namespace, 1);
  t.ok((alone.mark?.rows ?? 0) > 0 && (alone.book?.rows ?? 0) > 0, 'rows were made');
  sameHashes(t, 'as one process', hashes, alone);
};

for (const processes of PROCESSES) {
  const name = `${processes} processes that stop, join and leave change no row and no word`;
  t.test(name, { timeout: TIMEOUT_MS }, (t) => checkProcesses(t, processes));
}
