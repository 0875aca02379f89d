// One running service over simulated markets whose truth is known: started, watched once a second, compared with that truth.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { type KafkaHandle, openKafka } from '../../infra/runtime/kafka.ts';
import { createLog } from '../../infra/runtime/log.ts';
import type { TruthBook, TruthRow } from '../../infra/simulator/truth-log.ts';
import { READING_LAYERS } from '../../schemas/layers.ts';
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
  figuresOf,
  microsOf,
  rowsFor,
  type Seen,
  type Snapshots,
  seenOf,
  stateOf,
  TruthIndex,
  type Worth,
} from './truth.ts';

export const SHARDS = 2;
export const SEED = process.env.TRUTH_SEED ?? '7';

export type Market = {
  readonly venues: readonly string[];
  /** A venue. */
  readonly listings: number;
  /** Frames a second of one listing, about. */
  readonly framesPerListing?: number;
};
const ONE_VENUE: Market = { venues: ['binance'], listings: 50 };
/** Layer objects of one answer about `ONE_VENUE`. */
export const PAIRS = ONE_VENUE.listings * READING_LAYERS.length;
const FRAMES_PER_LISTING = 6;

export type Listed = Worth & { readonly venue: string; readonly symbol: string };

export type World = {
  readonly spec: PipelineSpec;
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
export const nameOf = ({ venue, symbol }: Pick<Seen, 'venue' | 'symbol'>): string => `${venue}:${symbol}`;

const look = ({ api }: World): Promise<Snapshots> =>
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
    const states = last.map(({ venue, layer, object }) => `${venue} ${layer} ${stateOf(object)}`);
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
  return new Map(listed.map((listing) => [nameOf(listing), listing]));
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
      if (process.exitCode !== null) throw new Error(`${name} ended by itself with ${process.exitCode}`);
    const answer = await fetch(`${processes.api.baseUrl}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    return answer?.ok ? answer : null;
  });
  return { spec, market, handle, ...processes, truth: new TruthIndex(truthFile), listed };
};

/** Starts the killed collector again, as its supervisor would. */
export const restartIngest = (t: Test, world: World): void => {
  world.ingest = endWith(t, startIngest(world.spec, world.simulator.endpoints));
};

// ---- comparison over time ----

/** What each listing and layer was at each look: `states[n]` belongs to `looks[n]` (evaluation instants), undefined while it was not answered. */
export type Watch = {
  readonly looks: readonly number[];
  readonly states: ReadonlyMap<string, SeenStates>;
  /** First looks at listings, by `venue:symbol`. */
  readonly firstSeen: ReadonlyMap<string, number>;
  readonly compared: Compared;
};
export type SeenStates = Pick<Seen, 'venue' | 'symbol' | 'layer'> & { readonly states: (string | undefined)[] };
export type Compared = {
  readings: number;
  values: number;
  bands: number;
  readonly unknown: string[];
  readonly different: string[];
  readonly bare: string[];
};

/** Bands of one listing of the answer, against the simulator's whole book of that stamp; null when no diff has it, or several have. */
const checkBands = async ({ simulator, listed }: World, seen: Seen): Promise<readonly string[] | null> => {
  const { venue, symbol, object } = seen;
  const worth = listed.get(nameOf(seen));
  const ts = microsOf(object.venue_ts);
  const rows = await simulator.get<TruthRow[]>(`/truth?venue=${venue}&symbol=${symbol}&layer=book&ts=${ts}`);
  const diffs = rows.filter(({ values }) => values.source === 'diff');
  const [diff] = diffs;
  if (diff === undefined || diffs.length > 1 || worth === undefined) return null;
  const path = `/truth/book?venue=${venue}&symbol=${symbol}&u=${String(diff.values.update_id)}`;
  const book = await simulator.get<TruthBook>(path);
  return bandDifferences(object, bandMembers(book, worth));
};

const BANDS_A_LOOK = 3;

const compareBands = async (world: World, whole: readonly Seen[], n: number, compared: Compared): Promise<void> => {
  for (let k = 0; k < BANDS_A_LOOK && k < whole.length; k++) {
    const chosen = whole[(n * BANDS_A_LOOK + k) % whole.length];
    const differences = chosen === undefined ? null : await checkBands(world, chosen);
    if (chosen === undefined || differences === null) continue;
    compared.bands += 1;
    const where = `${nameOf(chosen)} bands at ${chosen.object.venue_ts}`;
    if (differences.length > 0) compared.different.push(`${where}: ${differences.join('; ')}`);
  }
};

const isComparable = ({ object }: Seen): boolean =>
  object.status === 'present' || (object.status === 'stale' && object.withheld !== undefined);

/** Compares what carries numbers; answers what the log has no truth of yet. */
const compareSeen = (pending: readonly Seen[], truth: TruthIndex, compared: Compared): Seen[] =>
  pending.filter((seen) => {
    const differences = differencesOf(seen, truth);
    if (differences === null) return true;
    compared.readings += 1;
    compared.values += Object.keys(figuresOf(seen.object)).length;
    const where = `${nameOf(seen)} ${seen.layer} at ${seen.object.venue_ts}`;
    if (differences.length > 0) compared.different.push(`${where}: ${differences.join('; ')}`);
    return false;
  });

const isBare = ({ object }: Seen): boolean =>
  object.status === 'missing' && (object.withheld !== undefined || Object.keys(object.values).length > 0);

/** The simulator writes its log a moment behind. */
const LOG_DELAY_MS = 10_000;

/** Looks once a second for `seconds`, everything at once, and some bands each time; compares as the truth is written. */
export const watch = async (world: World, seconds: number): Promise<Watch> => {
  const { truth } = world;
  const compared: Compared = { readings: 0, values: 0, bands: 0, unknown: [], different: [], bare: [] };
  const looks: number[] = [];
  const states = new Map<string, SeenStates>();
  const firstSeen = new Map<string, number>();
  let pending: Seen[] = [];
  const note = (seen: Seen): void => {
    const { venue, symbol, layer, at, object } = seen;
    const name = nameOf(seen);
    if (!firstSeen.has(name)) firstSeen.set(name, at);
    const key = `${name} ${layer}`;
    const held = states.get(key) ?? { venue, symbol, layer, states: [] };
    states.set(key, held);
    held.states[looks.length - 1] = stateOf(object);
    if (isBare(seen)) compared.bare.push(`${key}: ${stateOf(object)}`);
  };
  const settle = (): void => {
    truth.read();
    pending = compareSeen(pending, truth, compared);
    const oldest = nowMicros() - LOG_DELAY_MS * 1_000;
    const lost = pending.filter(({ at }) => at < oldest);
    compared.unknown.push(...lost.map((seen) => `${nameOf(seen)} ${seen.layer} at ${seen.object.venue_ts}`));
    pending = pending.filter(({ at }) => at >= oldest);
  };
  const began = performance.now();
  for (let n = 0; n < seconds; n++) {
    await pause(Math.max(0, began + n * 1_000 - performance.now()));
    const answer = seenOf(await look(world));
    looks.push(answer[0]?.at ?? 0);
    answer.forEach(note);
    settle();
    pending.push(...answer.filter(isComparable));
    const whole = answer.filter((s) => s.layer === 'venue_depth' && isPresent(s));
    await compareBands(world, whole, n, compared);
  }
  await until('the truth of every stamp', LOG_DELAY_MS + 2_000, () => {
    settle();
    return pending.length === 0 ? true : null;
  });
  return { looks, states, firstSeen, compared };
};

/** Members of a reading whose last digit could change without the comparison noticing; bands are compared elsewhere. */
const unseenChanges = (s: Seen, truth: TruthIndex): readonly string[] => {
  const values = figuresOf(s.object);
  const names = s.layer === 'venue_depth' ? ['mid'] : Object.keys(values).filter((name) => values[name] !== null);
  return names
    .filter((name) => {
      const digits = String(values[name]);
      const last = digits.at(-1) === '1' ? '2' : '1';
      const { withheld: _, ...object } = s.object;
      const changed = { ...object, values: { ...values, [name]: digits.slice(0, -1) + last } };
      return differencesOf({ ...s, object: changed }, truth)?.length === 0;
    })
    .map((name) => `${nameOf(s)} ${s.layer} ${name} of ${rowsFor(s, truth).length} rows`);
};

/** What was compared is everything that carried numbers, and all of it was true. */
export const checkCompared = async (t: Test, world: World, { compared }: Watch, name: string): Promise<void> => {
  const { readings, values, bands, unknown, different, bare } = compared;
  t.comment(`${name}: ${readings} readings with ${values} values compared, ${bands} whole sets of bands recomputed`);
  t.ok(readings > 0 && bands > 0, 'something was compared');
  t.same(unknown.slice(0, 5), [], `every stamp is one of the venue's (${unknown.length} are not)`);
  t.same(different.slice(0, 5), [], `every value is the truth at its stamp (${different.length} are not)`);
  t.same(bare.slice(0, 3), [], 'what is missing carries no numbers');
  const last = seenOf(await look(world)).filter(isComparable);
  await until('the truth of the last answer', LOG_DELAY_MS, () => {
    world.truth.read();
    return last.every((seen) => rowsFor(seen, world.truth).length > 0) ? true : null;
  }).catch(() => null);
  const blind = last.flatMap((s) => unseenChanges(s, world.truth));
  t.same(blind.slice(0, 5), [], 'one changed digit anywhere would be a difference');
};
