// A run watched once a second: everything served is compared with the truth as it is written, and each state is kept.
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import type { TruthBook } from '../../../infra/dev/simulator/truth-log.ts';
import type { TruthRow } from '../../../infra/dev/simulator/truth-rows.ts';
import { until } from '../services/pipeline.ts';
import { bandDifferences, bandMembers, findDifferences, rowsFor, shownLevels } from './true-values.ts';
import { isPresent, look, nowMicros, toName, type World } from './true-world.ts';
import { formatState, listSeen, readFigures, type Seen, type TruthIndex, toMicros } from './truth.ts';

/** Each listing and layer at each look: `states[n]` belongs to `looks[n]` (evaluation instants), undefined without an answer. */
export type Watch = {
  readonly looks: readonly number[];
  readonly states: ReadonlyMap<string, SeenStates>;
  /** First looks at listings, by `venue:symbol`. */
  readonly firstSeen: ReadonlyMap<string, number>;
  readonly compared: Compared;
};
type SeenStates = Pick<Seen, 'venue' | 'symbol' | 'layer'> & { readonly states: (string | undefined)[] };
type Compared = {
  readings: number;
  values: number;
  bands: number;
  books: number;
  readonly byVenue: Map<string, number>;
  readonly crossed: string[];
  readonly unknown: string[];
  readonly different: string[];
  readonly bare: string[];
};

/** Bands of one listing of the answer, against the simulator's whole book of that stamp; null when no diff has it, or several have. */
const checkBands = async ({ simulator, listed }: World, seen: Seen): Promise<readonly string[] | null> => {
  const { venue, symbol, object } = seen;
  const worth = listed.get(toName(seen));
  const ts = toMicros(object.venue_ts);
  const rows = await simulator.get<TruthRow[]>(`/truth?venue=${venue}&symbol=${symbol}&layer=book&ts=${ts}`);
  const diffs = rows.filter(({ values }) => values.source === 'diff');
  const [diff] = diffs;
  if (diff === undefined || diffs.length > 1 || worth === undefined) return null;
  const path = `/truth/book?venue=${venue}&symbol=${symbol}&u=${String(diff.values.update_id)}&ts=${ts}`;
  const book = await simulator.get<TruthBook>(path);
  return bandDifferences(object, bandMembers(book, worth, shownLevels(venue)));
};

const BANDS_A_LOOK = 3;

const compareBands = async (world: World, whole: readonly Seen[], n: number, compared: Compared): Promise<void> => {
  for (let k = 0; k < BANDS_A_LOOK && k < whole.length; k++) {
    const chosen = whole[(n * BANDS_A_LOOK + k) % whole.length];
    const differences = chosen === undefined ? null : await checkBands(world, chosen);
    if (chosen === undefined || differences === null) continue;
    compared.bands += 1;
    const where = `${toName(chosen)} bands at ${chosen.object.venue_ts}`;
    if (differences.length > 0) compared.different.push(`${where}: ${differences.join('; ')}`);
  }
};

const isComparable = ({ object }: Seen): boolean =>
  object.status === 'present' || (object.status === 'stale' && object.withheld !== undefined);

const isCrossed = ({ layer, object }: Seen): boolean =>
  layer === 'book' && !(Number(readFigures(object).bid) < Number(readFigures(object).ask));

/** Compares what carries numbers; answers what the log has no truth of yet. */
const compareSeen = (pending: readonly Seen[], truth: TruthIndex, compared: Compared): Seen[] =>
  pending.filter((seen) => {
    const differences = findDifferences(seen, truth);
    if (differences === null) return true;
    compared.readings += 1;
    compared.byVenue.set(seen.venue, (compared.byVenue.get(seen.venue) ?? 0) + 1);
    if (seen.layer === 'book') compared.books += 1;
    if (isCrossed(seen)) compared.crossed.push(`${toName(seen)} at ${seen.object.venue_ts}`);
    compared.values += Object.keys(readFigures(seen.object)).length;
    const where = `${toName(seen)} ${seen.layer} at ${seen.object.venue_ts}`;
    if (differences.length > 0) compared.different.push(`${where}: ${differences.join('; ')}`);
    return false;
  });

const isBare = ({ object }: Seen): boolean =>
  object.status === 'missing' && (object.withheld !== undefined || Object.keys(object.values).length > 0);

/** The simulator writes its log a moment behind; a busy disk may hold it for long. */
const LOG_DELAY_MS = 30_000;

/** Looks once a second for `seconds`, everything at once, and some bands each time; compares as the truth is written. */
export const watch = async (world: World, seconds: number): Promise<Watch> => {
  const { truth } = world;
  const compared: Compared = {
    readings: 0,
    values: 0,
    bands: 0,
    books: 0,
    byVenue: new Map(),
    crossed: [],
    unknown: [],
    different: [],
    bare: [],
  };
  const looks: number[] = [];
  const states = new Map<string, SeenStates>();
  const firstSeen = new Map<string, number>();
  let pending: Seen[] = [];
  const note = (seen: Seen): void => {
    const { venue, symbol, layer, at, object } = seen;
    const name = toName(seen);
    if (!firstSeen.has(name)) firstSeen.set(name, at);
    const key = `${name} ${layer}`;
    const held = states.get(key) ?? { venue, symbol, layer, states: [] };
    states.set(key, held);
    held.states[looks.length - 1] = formatState(object);
    if (isBare(seen)) compared.bare.push(`${key}: ${formatState(object)}`);
  };
  const settle = (): void => {
    truth.read();
    pending = compareSeen(pending, truth, compared);
    const oldest = nowMicros() - LOG_DELAY_MS * 1_000;
    const lost = pending.filter(({ at }) => at < oldest);
    compared.unknown.push(
      ...lost.map((seen) => {
        const { venue_ts, received_at } = seen.object;
        return `${toName(seen)} ${seen.layer} ${formatState(seen.object)} at ${venue_ts}, received ${received_at}, asked ${seen.at}`;
      }),
    );
    pending = pending.filter(({ at }) => at >= oldest);
  };
  const began = performance.now();
  for (let n = 0; n < seconds; n++) {
    await pause(Math.max(0, began + n * 1_000 - performance.now()));
    const answer = listSeen(await look(world));
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

/** As many as there are rows of the stamp: a changed digit may by chance be the truth of each other one; without a stamp of another second too. */
const otherDigits = (last: string | undefined, { venue_ts }: Seen['object'], rows: number): readonly string[] =>
  [...'123456789'].filter((digit) => digit !== last).slice(0, Math.max(venue_ts === null ? 2 : 1, rows));

/** Members of a reading whose last digit could change without the comparison noticing; bands are compared elsewhere. */
const unseenChanges = (s: Seen, truth: TruthIndex): readonly string[] => {
  const values = readFigures(s.object);
  const names = s.layer === 'venue_depth' ? ['mid'] : Object.keys(values).filter((name) => values[name] !== null);
  const { withheld: _, ...object } = s.object;
  const isUnseen = (name: string, digits: string): boolean => {
    const changed = { ...object, values: { ...values, [name]: digits } };
    return findDifferences({ ...s, object: changed }, truth)?.length === 0;
  };
  return names
    .filter((name) => {
      const digits = String(values[name]);
      const others = otherDigits(digits.at(-1), s.object, rowsFor(s, truth).length);
      return others.every((last) => isUnseen(name, digits.slice(0, -1) + last));
    })
    .map((name) => `${toName(s)} ${s.layer} ${name} of ${rowsFor(s, truth).length} rows`);
};

/** Everything that carried numbers was compared, and all of it was true. */
export const checkCompared = async (t: Test, world: World, { compared }: Watch, name: string): Promise<void> => {
  const { readings, values, bands, books, byVenue, crossed, unknown, different, bare } = compared;
  const shares = [...byVenue].map(([venue, count]) => `${count} of ${venue}`).join(', ');
  t.comment(`${name}: ${readings} readings (${shares}) with ${values} values compared, ${bands} whole sets of bands`);
  t.ok(readings > 0 && bands > 0 && byVenue.size === world.market.venues.length, 'every venue was compared');
  t.same(crossed.slice(0, 3), [], `none of the ${books} books served is crossed`);
  t.same(unknown.slice(0, 5), [], `every stamp is one of the venue's (${unknown.length} are not)`);
  t.same(different.slice(0, 5), [], `every value is the truth at its stamp (${different.length} are not)`);
  t.same(bare.slice(0, 3), [], 'what is missing carries no numbers');
  const last = listSeen(await look(world)).filter(isComparable);
  await until('the truth of the last answer', LOG_DELAY_MS, () => {
    world.truth.read();
    return last.every((seen) => rowsFor(seen, world.truth).length > 0) ? true : null;
  }).catch(() => null);
  const blind = last.flatMap((s) => unseenChanges(s, world.truth));
  t.same(blind.slice(0, 5), [], 'one changed digit anywhere would be a difference');
};
