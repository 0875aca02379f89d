// What the API serves is what the venue's market was: the whole pipeline against the simulator's truth, through faults and a kill of the collector.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { FaultEntry } from '../../infra/simulator/faults.ts';
import { LAYERS } from '../../schemas/layers.ts';
import {
  answerWhen,
  compare,
  isBook,
  isPresent,
  LISTINGS,
  nowMicros,
  PAIRS,
  restartIngest,
  startWorld,
  tally,
  type Watch,
  type World,
  watch,
} from '../support/true-world.ts';
import { FaultWindows, followsFrom, microsOf, type Seen, stateOf } from '../support/truth.ts';

/** The full show is five minutes: TRUTH_SECONDS=300. */
const SECONDS = Number(process.env.TRUTH_SECONDS ?? 45);

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(3)} %`;

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
  restartIngest(t, world);
  const { ms } = await answerWhen(world, 'back by itself', (s) => s.every(isPresent));
  t.comment(`all present ${(ms / 1_000).toFixed(1)} s after the restart`);
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
});
