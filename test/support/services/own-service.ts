// The whole service over its own engines, which a test may kill or take away; readers are outside of them.
import type { Test } from 'tap';
import { copyRaw, type LoggedWorld, prepareReplay, waitForReached } from '../../../infra/dev/bench/soak/raw-copy.ts';
import { openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { type OwnEngines, ownEngines } from '../engines/engines.ts';
import { QUIET } from '../tasks/purity.ts';
import { waitFor } from '../wait.ts';
import {
  type Api,
  type Child,
  type PipelineSpec,
  type Simulator,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
} from './pipeline.ts';

export type OwnService = {
  readonly engines: OwnEngines;
  readonly spec: PipelineSpec;
  readonly simulator: Simulator;
  readonly database: string;
  ingest: Child;
  processors: Child;
  api: Api;
};

type OwnServiceSpec = {
  readonly seed: number;
  readonly listings: string;
  readonly rate: string;
  readonly shards: number;
};

/** Starts everything; all of it ends with the test. */
export const startOwnService = async (
  t: Test,
  { seed, listings, rate, shards }: OwnServiceSpec,
): Promise<OwnService> => {
  const engines = await ownEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards };
  const simulator = await startSimulator({ SIM_SEED: String(seed), SIM_LISTINGS: listings, SIM_RATE: rate });
  const service: OwnService = {
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

/** Log and stores of a service as replays want them. */
export const openWorld = (t: Test, { spec }: Pick<OwnService, 'spec'>): LoggedWorld => {
  const { stores } = spec;
  const log = createLog('test', 'silent');
  const handle = openKafka({ brokers: stores.kafka.split(','), clientId: 'test' }, log);
  const auth = { user: stores.questdb_user, password: stores.questdb_password };
  const reader = openQuestdbReader(stores.questdb_pg, { max: 1, timeoutMs: 30_000, auth, log });
  t.teardown(async () => {
    await reader.close();
    await handle.close();
  });
  return { stores, handle, reader, base: spec.namespace, venues: ['binance'], shards: spec.shards };
};

type ReplayedService = { readonly api: Api; readonly namespace: string; readonly stop: () => Promise<unknown> };

/** The raw log worked through into empty tables, and an API of its own before them; ends with the test. */
export const replayElsewhere = async (
  t: Test,
  { spec, database }: OwnService,
  world: LoggedWorld,
): Promise<ReplayedService> => {
  const namespace = await prepareReplay(world, 'empty');
  await copyRaw(world, namespace);
  const processors = startProcessors({ ...spec, namespace }, QUIET);
  t.teardown(() => processors.kill());
  await waitForReached(world, namespace);
  const api = await startApi({ ...spec, namespace }, database);
  t.teardown(() => api.child.kill());
  return { api, namespace, stop: () => Promise.all([processors, api.child].map((child) => child.kill())) };
};

type SnapshotsOf = {
  readonly items: readonly {
    readonly layers: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>;
  }[];
};

/** Statuses of mark and book of every listing, or null when the API does not answer. */
export const readStatuses = async ({
  api,
}: OwnService): Promise<readonly { status: string; reason?: string }[] | null> => {
  const answer = await api.post<SnapshotsOf>('/v2/snapshots', { layers: ['mark', 'book'] }).catch(() => null);
  return answer?.items.flatMap(({ layers }) => Object.values(layers)) ?? null;
};

/** Everything is served, or served again, without help; how many values. Rejects with some of those that are not. */
export const recovered = async (service: OwnService): Promise<number> => {
  let states: Awaited<ReturnType<typeof readStatuses>> = null;
  const look = async (): Promise<typeof states> => {
    states = await readStatuses(service);
    const isServed = states?.every(({ status }) => status === 'present') ?? false;
    return isServed && states?.length ? states : null;
  };
  const seen = (): unknown => states?.filter(({ status }) => status !== 'present').slice(0, 5) ?? 'no answer';
  return (await waitFor('every mark and book is present', look, { everyMs: 100, seen })).length;
};
