// One running service over a simulated market whose truth is known: started, watched once a second, compared with that truth.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { type KafkaHandle, openKafka } from '../../infra/runtime/kafka.ts';
import { createLog } from '../../infra/runtime/log.ts';
import type { TruthBook, TruthRow } from '../../infra/simulator/truth-log.ts';
import { useEngines } from './engines.ts';
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
} from './pipeline.ts';
import {
  bandDifferences,
  bandMembers,
  differencesOf,
  microsOf,
  type Seen,
  type Snapshots,
  seenOf,
  stateOf,
  TRUE_LAYERS,
  TruthIndex,
} from './truth.ts';

export const LISTINGS = 50;
export const SHARDS = 2;
export const SEED = process.env.TRUTH_SEED ?? '7';
/** Layer objects of one answer. */
export const PAIRS = LISTINGS * TRUE_LAYERS.length;

export type World = {
  readonly spec: PipelineSpec;
  readonly handle: KafkaHandle;
  readonly simulator: Simulator;
  readonly api: Api;
  readonly processors: Child;
  ingest: Child;
  readonly truth: TruthIndex;
  /** Contract sizes of inverse listings; null where sizes are base. */
  readonly contractSizes: ReadonlyMap<string, number | null>;
};

export const nowMicros = (): number => Date.now() * 1_000;

const look = ({ api }: World): Promise<Snapshots> =>
  api.post('/v2/snapshots', { layers: [...TRUE_LAYERS], number_format: 'string', allow_stale: true });

export const isPresent = ({ object }: Seen): boolean => object.status === 'present';
export const isBook = ({ layer }: Seen): boolean => layer === 'book' || layer === 'venue_depth';

/** Counts by state, the commonest first. */
export const tally = (names: Iterable<string>): string => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
};

/** The first answer of which `holds` is true, and how long it took; rejects with what the last one said. */
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
    last = seenOf(await look(world));
    return holds(last) ? last : null;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; last answer: ${tally(last.map((s) => `${s.layer} ${stateOf(s.object)}`))}`);
  });
  return { seen: found, before, ms: performance.now() - began };
};

/** The child ends with the test, however the test ends. */
const endWith = (t: Test, child: Child): Child => {
  t.teardown(() => child.kill());
  return child;
};

const startProcesses = async (t: Test, spec: PipelineSpec, truthFile: string, database: string) => {
  const simulator = await startSimulator({ SIM_SEED: SEED, SIM_LISTINGS: String(LISTINGS), SIM_LOG: truthFile });
  endWith(t, simulator.child);
  const ingest = endWith(t, startIngest(spec, simulator.endpoints));
  const processors = endWith(t, startProcessors(spec));
  const api = await startApi(spec, database);
  endWith(t, api.child);
  return { simulator, ingest, processors, api };
};

const contractSizesOf = async (simulator: Simulator): Promise<World['contractSizes']> => {
  const listed = await simulator.get<{ symbol: string; contractSize: number | null }[]>('/listings');
  return new Map(listed.map(({ symbol, contractSize }) => [symbol, contractSize]));
};

/** Starts everything in a namespace of its own; resolves once the API is ready. */
export const startWorld = async (t: Test): Promise<World> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const folder = await mkdtemp(join(tmpdir(), 'truth-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const truthFile = join(folder, 'truth.ndjson');
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: SHARDS };
  const processes = await startProcesses(t, spec, truthFile, database);
  const handle = openKafka({ brokers: [spec.stores.kafka], clientId: 'truth' }, createLog('truth', 'warn'));
  t.teardown(() => handle.close());
  const contractSizes = await contractSizesOf(processes.simulator);
  await until('the API is ready', 60_000, async () => {
    const answer = await fetch(`${processes.api.baseUrl}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    return answer?.ok ? answer : null;
  });
  return { spec, handle, ...processes, truth: new TruthIndex(truthFile), contractSizes };
};

/** Starts the killed collector again, as its supervisor would. */
export const restartIngest = (t: Test, world: World): void => {
  world.ingest = endWith(t, startIngest(world.spec, world.simulator.endpoints));
};

// ---- comparison over time ----

export type Watch = {
  readonly seen: readonly Seen[];
  readonly answers: number;
  readonly bands: number;
  readonly wrong: readonly string[];
};

/** Bands of one listing of the answer, against the simulator's whole book of that stamp; null when no diff has it. */
const checkBands = async (
  { simulator, contractSizes }: World,
  { symbol, object }: Seen,
): Promise<readonly string[] | null> => {
  const ts = microsOf(object.venue_ts);
  const rows = await simulator.get<TruthRow[]>(`/truth?symbol=${symbol}&layer=book&ts=${ts}`);
  const diff = rows.find(({ values }) => values.source === 'diff');
  if (diff === undefined) return null;
  const book = await simulator.get<TruthBook>(`/truth/book?symbol=${symbol}&u=${String(diff.values.update_id)}`);
  return bandDifferences(object, bandMembers(book, contractSizes.get(symbol) ?? null));
};

const BANDS_A_LOOK = 3;

/** Looks once a second for `seconds`, everything at once, and some bands each time. */
export const watch = async (world: World, seconds: number): Promise<Watch> => {
  const seen: Seen[] = [];
  const wrong: string[] = [];
  const began = performance.now();
  let bands = 0;
  for (let n = 0; n < seconds; n++) {
    await pause(Math.max(0, began + n * 1_000 - performance.now()));
    const answer = seenOf(await look(world));
    seen.push(...answer);
    const whole = answer.filter((s) => s.layer === 'venue_depth' && isPresent(s));
    for (let k = 0; k < BANDS_A_LOOK && k < whole.length; k++) {
      const chosen = whole[(n * BANDS_A_LOOK + k) % whole.length];
      const differences = chosen === undefined ? null : await checkBands(world, chosen);
      if (differences === null) continue;
      bands += 1;
      if (differences.length > 0)
        wrong.push(`${chosen?.symbol} bands at ${chosen?.object.venue_ts}: ${differences.join('; ')}`);
    }
  }
  return { seen, answers: seconds, bands, wrong };
};

const isComparable = ({ object }: Seen): boolean =>
  object.status === 'present' || (object.status === 'stale' && object.withheld !== undefined);

/** Members of a reading whose last digit could change without the comparison noticing; bands are compared elsewhere. */
const unseenChanges = (s: Seen, truth: TruthIndex): readonly string[] => {
  const values = s.object.withheld?.values ?? s.object.values;
  const names = s.layer === 'venue_depth' ? ['mid'] : Object.keys(values);
  return names.filter((name) => {
    const digits = String(values[name]);
    const last = digits.at(-1) === '1' ? '2' : '1';
    const { withheld: _, ...object } = s.object;
    const changed = { ...object, values: { ...values, [name]: digits.slice(0, -1) + last } };
    return differencesOf({ ...s, object: changed }, truth)?.length === 0;
  });
};

/** Compares everything that carries numbers with the truth of its stamp; waits for rows the simulator has not written yet. */
export const compare = async (
  t: Test,
  { truth }: World,
  { seen, bands, wrong }: Watch,
  name: string,
): Promise<void> => {
  const carrying = seen.filter(isComparable);
  await until('the truth of every stamp', 10_000, () => {
    truth.read();
    return carrying.slice(-PAIRS).every((s) => differencesOf(s, truth) !== null) ? true : null;
  }).catch(() => null);
  const unknown: string[] = [];
  const different = [...wrong];
  let values = 0;
  for (const s of carrying) {
    const differences = differencesOf(s, truth);
    const where = `${s.symbol} ${s.layer} at ${s.object.venue_ts}`;
    if (differences === null) unknown.push(where);
    else if (differences.length > 0) different.push(`${where}: ${differences.join('; ')}`);
    values += Object.keys(s.object.withheld?.values ?? s.object.values).length;
  }
  t.comment(
    `${name}: ${carrying.length} readings with ${values} values compared, ${bands} whole sets of bands recomputed`,
  );
  t.ok(carrying.length > 0 && bands > 0, 'something was compared');
  t.same(unknown.slice(0, 5), [], `every stamp is one of the venue's (${unknown.length} are not)`);
  t.same(different.slice(0, 5), [], `every value is the truth at its stamp (${different.length} are not)`);
  const blind = carrying.slice(-PAIRS).flatMap((s) => unseenChanges(s, truth));
  t.same(blind.slice(0, 5), [], 'one changed digit anywhere would be a difference');
  const bare = seen.filter(
    ({ object }) => object.status === 'missing' && (object.withheld || Object.keys(object.values).length),
  );
  t.same(bare.slice(0, 3), [], 'what is missing carries no numbers');
};
