// What the API serves is what the venue's market was: the whole pipeline against the simulator's truth, through faults, a kill and mutated frames.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createPublisher, type KafkaHandle, openKafka, readToEnd } from '../../infra/runtime/kafka.ts';
import { createLog } from '../../infra/runtime/log.ts';
import type { FaultEntry } from '../../infra/simulator/faults.ts';
import type { TruthBook, TruthRow } from '../../infra/simulator/truth-log.ts';
import { VenueError } from '../../ingest/venue.ts';
import { binance } from '../../ingest/venues/binance.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { LAYERS } from '../../schemas/layers.ts';
import { type DeadLetter, type RawMessage, topics } from '../../schemas/topics.ts';
import { useEngines } from '../support/engines.ts';
import { mutate, randomOf } from '../support/mutations.ts';
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
  bandDifferences,
  bandMembers,
  differencesOf,
  FaultWindows,
  followsFrom,
  microsOf,
  type Seen,
  type Snapshots,
  seenOf,
  stateOf,
  TRUE_LAYERS,
  TruthIndex,
} from '../support/truth.ts';

/** The full show is five minutes: TRUTH_SECONDS=300. */
const SECONDS = Number(process.env.TRUTH_SECONDS ?? 45);
const LISTINGS = 50;
const SHARDS = 2;
const SEED = process.env.TRUTH_SEED ?? '7';
const MUTANTS = 1_000;
const PAIRS = LISTINGS * TRUE_LAYERS.length;

type World = {
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

const nowMicros = (): number => Date.now() * 1_000;
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(3)} %`;

const look = ({ api }: World): Promise<Snapshots> =>
  api.post('/v2/snapshots', { layers: [...TRUE_LAYERS], number_format: 'string', allow_stale: true });

const isPresent = ({ object }: Seen): boolean => object.status === 'present';
const isBook = ({ layer }: Seen): boolean => layer === 'book' || layer === 'venue_depth';

/** Counts by state, the commonest first. */
const tally = (names: Iterable<string>): string => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
};

/** The first answer of which `holds` is true, and how long it took; rejects with what the last one said. */
const answerWhen = async (
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

const startWorld = async (t: Test): Promise<World> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const folder = await mkdtemp(join(tmpdir(), 'truth-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const log = join(folder, 'truth.ndjson');
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: SHARDS };
  const children: { kill(): Promise<void> }[] = [];
  const kept = <T extends { kill(): Promise<void> }>(child: T): T => {
    children.push(child);
    return child;
  };
  t.teardown(() => Promise.all(children.map((child) => child.kill())));
  const simulator = await startSimulator({ SIM_SEED: SEED, SIM_LISTINGS: String(LISTINGS), SIM_LOG: log });
  kept(simulator.child);
  const ingest = kept(startIngest(spec, simulator.endpoints));
  const processors = kept(startProcessors(spec));
  const api = await startApi(spec, database);
  kept(api.child);
  const handle = openKafka({ brokers: [spec.stores.kafka], clientId: 'truth' }, createLog('truth', 'warn'));
  t.teardown(() => handle.close());
  const listed = await simulator.get<{ symbol: string; contractSize: number | null }[]>('/listings');
  const contractSizes = new Map(listed.map(({ symbol, contractSize }) => [symbol, contractSize]));
  const world: World = { spec, handle, simulator, api, processors, ingest, truth: new TruthIndex(log), contractSizes };
  t.teardown(() => world.ingest.kill());
  await until('the API is ready', 60_000, async () => {
    const answer = await fetch(`${api.baseUrl}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    return answer?.ok ? answer : null;
  });
  return world;
};

// ---- comparison over time ----

type Watch = {
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
const watch = async (world: World, seconds: number): Promise<Watch> => {
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
    const object = { ...s.object, values: { ...values, [name]: digits.slice(0, -1) + last }, withheld: undefined };
    return differencesOf({ ...s, object } as Seen, truth)?.length === 0;
  });
};

/** Compares everything that carries numbers with the truth of its stamp; waits for rows the simulator has not written yet. */
const compare = async (t: Test, { truth }: World, { seen, bands, wrong }: Watch, name: string): Promise<void> => {
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

/** What was not present, and why: inside the fault log it follows from the fault, outside it hardly happens. */
const checkStates = async (t: Test, { simulator }: World, { seen }: Watch): Promise<void> => {
  const windows = new FaultWindows(await simulator.get<FaultEntry[]>('/faults'));
  const outside: Seen[] = [];
  const unexplained: string[] = [];
  const inside: string[] = [];
  for (const s of seen) {
    const kinds = windows.touching(s);
    if (kinds.length === 0) outside.push(s);
    if (isPresent(s)) continue;
    inside.push(`${kinds.join('+') || 'no fault'}: ${s.layer} ${stateOf(s.object)}`);
    if (kinds.length > 0 && !followsFrom(kinds, s.object))
      unexplained.push(`${kinds}: ${s.symbol} ${s.layer} ${stateOf(s.object)}`);
  }
  const present = outside.filter(isPresent).length;
  const breaks = outside
    .filter(({ object }) => object.gap_cause !== undefined)
    .map((s) => `${s.symbol} ${stateOf(s.object)}`);
  t.comment(
    `listing x layer x seconds: ${seen.length} seen, ${outside.length} outside the fault log, ${present} of them present`,
  );
  t.comment(`not present: ${tally(inside)}`);
  t.ok(
    present >= 0.995 * outside.length,
    `${percent(present, outside.length)} of ${outside.length} are present outside the fault log`,
  );
  t.same(unexplained.slice(0, 5), [], `reasons and gap causes are the injected ones (${unexplained.length} are not)`);
  t.same(breaks.slice(0, 5), [], 'no book is a gap without a fault');
  const states = new Set(inside);
  for (const wanted of ['crossed_book: book missing gap crossed_book', 'disconnect: book stale connection_lost']) {
    t.ok(states.has(wanted), `seen: ${wanted}`);
  }
  t.ok(
    [...states].some((state) => state.endsWith('sequence_break')),
    'seen: a broken sequence',
  );
};

/** One round of every fault on listings of its own, spread over `ms`. */
const injectRound = async ({ simulator }: World, symbols: readonly string[], ms: number): Promise<void> => {
  const began = performance.now();
  const at = (share: number): Promise<void> => pause(Math.max(0, began + share * ms - performance.now()));
  const { fault } = simulator;
  const of = (from: number, to: number): readonly string[] => symbols.slice(from, to);
  await at(0.1);
  await fault({ kind: 'sequence_hole', symbols: of(0, 5), count: 2 });
  await at(0.2);
  await fault({ kind: 'crossed_book', symbols: of(5, 9), durationMs: 4_000 });
  await at(0.35);
  await fault({ kind: 'silence', stream: 'markPrice', symbols: of(9, 13), durationMs: 6_000 });
  await fault({ kind: 'silence', stream: 'depth', symbols: of(13, 16), durationMs: 4_000 });
  await at(0.5);
  await fault({ kind: 'malformed', stream: 'markPrice', symbols: of(16, 21), count: 3 });
  await fault({ kind: 'malformed', stream: 'depth', symbols: of(21, 24), count: 2 });
  await at(0.65);
  await fault({ kind: 'disconnect', stream: 'depth', count: 1, durationMs: 2_000 });
  await at(0.82);
  await fault({ kind: 'disconnect', stream: 'markPrice', count: 1, durationMs: 3_000 });
  await at(1);
};

/** A round takes at least so long: a listing is then whole again before the next. */
const ROUND_SECONDS = 60;

const injectFaults = async (world: World, seconds: number): Promise<void> => {
  const rounds = Math.max(1, Math.floor(seconds / ROUND_SECONDS));
  const symbols = [...world.contractSizes.keys()];
  for (let n = 0; n < rounds; n++) {
    const turned = [...symbols.slice((n * 7) % LISTINGS), ...symbols.slice(0, (n * 7) % LISTINGS)];
    await injectRound(world, turned, (seconds * 1_000) / rounds);
  }
};

// ---- scenarios ----

const REQUIRED = [
  'status',
  'venue_ts',
  'received_at',
  'age_ms',
  'venue_age_ms',
  'valid_until',
  'horizon_source',
  'anchor',
  'values',
  'units',
];

const checkFirstAnswer = async (t: Test, world: World): Promise<void> => {
  const { seen, ms } = await answerWhen(world, '99 % present', (s) => s.filter(isPresent).length >= 0.99 * PAIRS);
  const present = seen.filter(isPresent).length;
  t.equal(seen.length, PAIRS, `${LISTINGS} listings`);
  t.ok(
    present >= 0.99 * PAIRS,
    `${present} of ${PAIRS} are present, ${(ms / 1_000).toFixed(1)} s after the API was ready`,
  );
  const bare = seen.filter(({ object, layer }) => {
    const members = Object.keys(LAYERS[layer].members);
    const stated = members.every((m) => object.values[m] != null || object.null_reasons?.[m] !== undefined);
    const unitless = Object.keys(object.values).filter((m) => object.units[m] === undefined);
    return (
      REQUIRED.some((m) => !(m in object)) ||
      'rev' in object ||
      (object.status === 'present' && (!stated || unitless.length > 0))
    );
  });
  t.same(bare.slice(0, 3), [], 'no value is bare: each has its stamps, ages, horizon, unit or reason');
};

/** Loss instants lie this near the fault's own, by two clocks of one machine. */
const NEAR = 300_000;

const lossMs = (seen: readonly Seen[], { from }: FaultEntry): number =>
  (Math.max(...seen.map(({ object }) => microsOf(object.valid_until))) - from) / 1_000;

const checkLostSocket = async (t: Test, world: World): Promise<void> => {
  const sent = nowMicros();
  const fault = (await world.simulator.fault({
    kind: 'disconnect',
    stream: 'depth',
    count: 1,
    durationMs: 3_000,
  })) as FaultEntry;
  const cut = new Set(fault.symbols);
  const isCut = (s: Seen): boolean => isBook(s) && cut.has(s.symbol);
  const isLost = ({ object }: Seen): boolean => stateOf(object) === 'stale connection_lost';
  const { seen, before } = await answerWhen(
    world,
    'values of the cut socket are stale',
    (s) => s.filter(isCut).every(isLost),
    10_000,
  );
  const afterMs = ((seen[0]?.at ?? 0) - fault.from) / 1_000;
  t.ok(
    cut.size > 0 && afterMs <= 1_000,
    `${seen.filter(isCut).length} values of ${cut.size} listings are stale ${afterMs} ms after the cut`,
  );
  const beforeMs = ((before[0]?.at ?? fault.from) - fault.from) / 1_000;
  t.comment(
    `the answer before it stood ${beforeMs} ms after the cut and the collector closed ${lossMs(seen.filter(isCut), fault)} ms after it`,
  );
  const elsewhere = seen.filter((s) => isBook(s) && !cut.has(s.symbol) && isLost(s));
  t.same(elsewhere, [], 'values of the other sockets are not');
  const ends = seen.filter(isCut).map(({ object }) => microsOf(object.valid_until));
  t.ok(
    ends.every((at) => at >= sent - NEAR && at <= fault.from + NEAR),
    'valid_until is the loss',
  );
  const { ms } = await answerWhen(world, 'back after the reconnect', (s) => s.filter(isBook).every(isPresent));
  t.comment(`back ${(ms / 1_000).toFixed(1)} s after the loss was seen (new connections were refused for 3 s)`);
};

const checkKilledIngest = async (t: Test, world: World): Promise<void> => {
  const killed = nowMicros();
  await world.ingest.kill('SIGKILL');
  const isOld = ({ object }: Seen): boolean => object.status === 'stale';
  const { seen } = await answerWhen(world, 'everything is stale', (s) => s.every(isOld), 15_000);
  const afterMs = ((seen[0]?.at ?? 0) - killed) / 1_000;
  t.ok(afterMs <= 4_000, `all ${seen.length} values are stale ${afterMs} ms after the kill`);
  t.same(new Set(seen.filter(isBook).map(({ object }) => stateOf(object))), new Set(['stale connection_lost']));
  t.same(
    new Set(seen.filter((s) => !isBook(s)).map(({ object }) => stateOf(object))),
    new Set(['stale horizon_passed']),
  );
  world.ingest = startIngest(world.spec, world.simulator.endpoints);
  const { ms } = await answerWhen(world, 'back by itself', (s) => s.every(isPresent));
  t.comment(`all present ${(ms / 1_000).toFixed(1)} s after the restart`);
};

// ---- mutated frames ----

const SOURCE_FRAMES = 200;

/** Recent frames of real connections, with the partition they stand in. */
const realFrames = async ({ handle, spec }: World): Promise<{ partition: number; raw: RawMessage }[]> => {
  const frames: { partition: number; raw: RawMessage }[] = [];
  await readToEnd(
    handle,
    { topic: topics(spec.namespace).raw('binance'), from: () => 'earliest' },
    ({ value }, partition) => {
      const raw = value === null ? null : codecs.raw.decode(value);
      if (raw?.kind !== 'frame' || !Buffer.from(raw.payload).includes('"e":')) return;
      frames.push({ partition, raw: { ...raw, payload: Buffer.from(raw.payload) } });
    },
  );
  const step = Math.max(1, Math.floor(frames.length / SOURCE_FRAMES));
  return frames.filter((_, n) => n % step === 0);
};

const isJson = (payload: Buffer): boolean => {
  try {
    JSON.parse(payload.toString());
    return true;
  } catch {
    return false;
  }
};

/** What the venue's mapping says of a payload: its error's code, or null when it can be read. */
const codeOf = (payload: Buffer): string | null => {
  try {
    binance.map({}, { kind: 'frame', received_at: nowMicros(), request: null, payload }, { listings: new Map() });
    return null;
  } catch (error) {
    return error instanceof VenueError ? error.code : `not a VenueError: ${String(error)}`;
  }
};

/** Writes mutated frames beside the collector, as a connection that opened before every other: what it says is never served. */
const writeMutants = async (world: World): Promise<Map<string, string>> => {
  const frames = await realFrames(world);
  const random = randomOf(Number(SEED));
  const publisher = createPublisher(world.handle, {});
  const topic = topics(world.spec.namespace).raw('binance');
  const unreadable = new Map<string, string>();
  const write = (partition: number, message: Omit<RawMessage, 'conn_id' | 'request' | 'received_at'>): void => {
    const value = codecs.raw.encode({ ...message, conn_id: 'mutant', request: null, received_at: nowMicros() });
    publisher.publish({ topic, partition, key: message.slot, value });
  };
  const opened = { opened_at: 1, url: 'ws://mutant', covers: [] };
  for (let p = 0; p < SHARDS; p++)
    write(p, { slot: 'mutant', seq: 1, kind: 'open', payload: Buffer.from(JSON.stringify(opened)) });
  for (let n = 0; n < MUTANTS; n++) {
    const frame = frames[n % frames.length];
    if (frame === undefined) throw new Error('no frame in the raw topic');
    const payload = mutate(Buffer.from(frame.raw.payload), random);
    const code = codeOf(payload);
    if (code === null && !isJson(payload)) throw new Error(`the venue reads what is no JSON: ${payload.toString()}`);
    if (code !== null) unreadable.set(payload.toString('base64'), code);
    write(frame.partition, { slot: 'mutant', seq: n + 2, kind: 'frame', payload });
    await publisher.ready();
  }
  await publisher.close();
  return unreadable;
};

const readDeadLetters = async ({ handle, spec }: World): Promise<DeadLetter[]> => {
  const letters: DeadLetter[] = [];
  await readToEnd(handle, { topic: topics(spec.namespace).deadLetters, from: () => 'earliest' }, ({ value }) => {
    if (value === null) return;
    const letter = codecs.deadLetter.decode(value);
    letters.push({ ...letter, payload: Buffer.from(letter.payload) });
  });
  return letters;
};

const asKey = ({ payload }: DeadLetter): string => Buffer.from(payload).toString('base64');

const checkMutants = async (t: Test, world: World): Promise<void> => {
  const watching = watch(world, 10);
  const symbols = [...world.contractSizes.keys()];
  await world.simulator.fault({ kind: 'malformed', stream: 'markPrice', symbols, count: 2 });
  const unreadable = await writeMutants(world);
  await compare(t, world, await watching, 'while mutated frames came');
  const letters = await until('every unreadable frame is a dead letter', 30_000, async () => {
    const found = await readDeadLetters(world);
    const held = new Set(found.map(asKey));
    return [...unreadable.keys()].every((key) => held.has(key)) ? found : null;
  });
  const faults = await world.simulator.get<FaultEntry[]>('/faults');
  const cut = faults.filter(({ kind }) => kind === 'malformed').reduce((sum, { hit_count }) => sum + hit_count, 0);
  const codes = new Map(letters.map((letter) => [asKey(letter), letter.code]));
  const others = [...unreadable].filter(([key, code]) => codes.get(key) !== code);
  t.ok(
    unreadable.size > MUTANTS / 4,
    `${unreadable.size} of ${MUTANTS} mutated frames are unreadable, each is a dead letter`,
  );
  t.same(others.slice(0, 3), [], 'each with the code of what is wrong with it');
  const isCut = (letter: DeadLetter): boolean => !unreadable.has(asKey(letter)) && letter.code === 'VENUE_BAD_FRAME';
  t.equal(letters.filter(isCut).length, cut, `each of the ${cut} frames that the simulator cut is one too`);
  t.comment(`dead letters: ${tally(letters.map(({ code }) => code))}`);
  t.same(
    letters.filter(({ code, message }) => code === 'INTERNAL' || message === '').slice(0, 3),
    [],
    'none is our own failure',
  );
  for (const [name, child] of Object.entries({
    ingest: world.ingest,
    processors: world.processors,
    api: world.api.child,
  }))
    t.equal(child.process.exitCode, null, `${name} runs on`);
  const { ms } = await answerWhen(world, 'everything is present again', (s) => s.every(isPresent));
  t.comment(`everything present ${(ms / 1_000).toFixed(1)} s later`);
};

t.setTimeout((SECONDS + 300) * 1_000);

t.test('everything served is true', { timeout: (SECONDS + 300) * 1_000 }, async (t) => {
  const world = await startWorld(t);
  await t.test('snapshots of all listings are present, none bare', (t) => checkFirstAnswer(t, world));
  await t.test('a lost socket makes its values stale within a second', (t) => checkLostSocket(t, world));
  await t.test('values equal the truth through every fault', { timeout: (SECONDS + 60) * 1_000 }, async (t) => {
    const [watched] = await Promise.all([watch(world, SECONDS), injectFaults(world, SECONDS)]);
    await compare(t, world, watched, `${SECONDS} s with faults`);
    await checkStates(t, world, watched);
  });
  await t.test('a killed collector makes everything stale within 4 s, and it comes back', (t) =>
    checkKilledIngest(t, world),
  );
  await t.test('a thousand mutated frames never stop it, and each unreadable one is kept', (t) =>
    checkMutants(t, world),
  );
});
