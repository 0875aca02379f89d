// Tasks in many processes: owners that stop, come back, join and leave change no row and no word; a pipeline that stands still is said to.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type KafkaHandle, openKafka } from '../../infra/runtime/kafka.ts';
import { createLog } from '../../infra/runtime/log.ts';
import { openQuestdbReader } from '../../infra/runtime/questdb.ts';
import { hashTables, type TableHash } from '../../infra/tools/hash-tables.ts';
import { ensureTables } from '../../processors/sinks/ensure-tables.ts';
import { busyShards, liveFaults, makeTopics, rowsReached, writeLogs } from '../support/busy-shards.ts';
import { useEngines } from '../support/engines.ts';
import { type Child, type Stores, startProcessors } from '../support/pipeline.ts';
import { answerWhen, isPresent, PAIRS, startWorld } from '../support/true-world.ts';
import { stateOf } from '../support/truth.ts';

const SHARDS = 4;
/** An owner that stands still so long has lost its place in the group three times over. */
const STOPPED_MS = 20_000;
const LOGS = busyShards(SHARDS);

t.setTimeout(900_000);

type World = { readonly stores: Stores; readonly handle: KafkaHandle; readonly base: string };
type Hashes = Record<string, TableHash>;
type Disturbance = (children: Child[], start: () => Child) => Promise<void>;

const openWorld = async (t: Test): Promise<World> => {
  const engines = await useEngines(t, ['kafka', 'questdb']);
  const stores = engines.endpoints;
  const handle = openKafka({ brokers: [stores.kafka], clientId: 'owners' }, createLog('owners', 'warn'));
  t.teardown(() => handle.close());
  return { stores, handle, base: engines.namespace() };
};

const authOf = ({ stores }: World) => ({ user: stores.questdb_user, password: stores.questdb_password });

const makeTables = async (world: World, namespace: string): Promise<void> => {
  const log = createLog('owners', 'warn');
  const reader = openQuestdbReader(world.stores.questdb_pg, { max: 1, timeoutMs: 30_000, auth: authOf(world), log });
  await ensureTables((text) => reader.query({ text }), { namespace });
  await reader.close();
};

/** `processes` work on the logs while they are written over `ms`, and something happens to them. */
const workThrough = async (
  t: Test,
  world: World,
  run: { readonly name: string; readonly processes: number; readonly ms: number; readonly disturb?: Disturbance },
): Promise<Hashes> => {
  const namespace = `replay.${world.base}${run.name}.`;
  await makeTables(world, namespace);
  await makeTopics(world.handle, namespace, SHARDS);
  const start = (nth: number): Child => {
    const spec = { stores: world.stores, namespace, shards: SHARDS };
    // Each writer of a table holds a hundred files of the database that all tests share.
    const sink = String(nth === 0 || nth === run.processes);
    const child = startProcessors(spec, { OWNER_TICKS: 'false', SINK: sink });
    t.teardown(() => child.kill());
    return child;
  };
  const children = Array.from({ length: run.processes }, (_, nth) => start(nth));
  const written = writeLogs(world.handle, namespace, LOGS, run.ms);
  await Promise.all([written, run.disturb?.(children, () => start(run.processes))]);
  await rowsReached(world.handle, namespace);
  await Promise.all(children.map((child) => child.kill('SIGTERM')));
  t.same(
    (await liveFaults(world.handle, namespace, SHARDS)).slice(0, 3),
    [],
    `${run.name}: rev rises by one, no value goes back`,
  );
  return hashTables({ url: world.stores.questdb_http, auth: authOf(world), namespace });
};

/** One owner stands still for 20 s while the others take over, and then goes on where it thinks it was. */
const stopOne: Disturbance = async (children) => {
  await pause(8_000);
  const owner = children[0]?.process;
  owner?.kill('SIGSTOP');
  await pause(STOPPED_MS);
  owner?.kill('SIGCONT');
};

/** The same, while one more joins and another leaves in order. */
const stopJoinLeave: Disturbance = async (children, start) => {
  const stopped = stopOne(children, start);
  await pause(14_000);
  children.push(start());
  await pause(12_000);
  await children[1]?.kill('SIGTERM');
  await stopped;
};

t.test('owners that stop, come back, join and leave change no row and no word', async (t) => {
  const world = await openWorld(t);
  const alone = await workThrough(t, world, { name: 'one', processes: 1, ms: 0 });
  t.ok((alone['mark']?.rows ?? 0) > 0 && (alone['book']?.rows ?? 0) > 0, 'rows were made');
  for (const [name, processes, disturb] of [
    ['two', 2, stopOne],
    ['four', 4, stopJoinLeave],
  ] as const) {
    const hashes = await workThrough(t, world, { name, processes, ms: 40_000, disturb });
    for (const [table, hash] of Object.entries(alone))
      t.same(hashes[table], hash, `${name}: ${table} (${hash.rows} rows)`);
  }
});

t.test('while the processors stand still values are stale with state_lag, and back when they go on', async (t) => {
  const world = await startWorld(t);
  const { api, processors } = world;
  const ready = async (): Promise<boolean> => (await fetch(`${api.baseUrl}/readyz`)).ok;
  const mostly = (seen: Parameters<Parameters<typeof answerWhen>[2]>[0]): boolean =>
    seen.filter(isPresent).length >= 0.99 * PAIRS;
  const { seen: before } = await answerWhen(world, '99 % present', mostly, 90_000);
  const wasPresent = new Set(before.filter(isPresent).map(({ symbol, layer }) => `${symbol} ${layer}`));
  processors.process.kill('SIGSTOP');
  const { seen, ms } = await answerWhen(world, 'nothing present', (all) => !all.some(isPresent));
  t.ok(ms > 4_000 && ms < 9_000, `nothing was present ${Math.round(ms)} ms after the stop`);
  const others = seen.filter(({ symbol, layer, object }) => {
    return wasPresent.has(`${symbol} ${layer}`) && stateOf(object) !== 'stale state_lag';
  });
  t.same(
    others.slice(0, 3).map(({ symbol, layer, object }) => `${symbol} ${layer} ${stateOf(object)}`),
    [],
  );
  t.notOk(await ready(), '/readyz says that the state is behind');
  await pause(10_000);
  processors.process.kill('SIGCONT');
  const back = await answerWhen(world, '99 % present again', mostly, 60_000);
  t.comment(`present again ${Math.round(back.ms)} ms after the processors went on`);
  t.ok(await ready());
});
