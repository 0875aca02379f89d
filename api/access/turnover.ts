// 24 h turnover by venue and instrument, from the memory copy; plans select venues and instruments by it (AC-02).
import { add, addPresent, compare } from '../../schemas/decimals.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { Plan } from '../contract/plans.ts';
import { findVersionAt, isListed } from '../live/listing-book.ts';
import type { LiveMemory, LiveVenue } from '../live/memory.ts';

/** Venue to instrument to the sum over its listings that have a figure; null where none has: plans choose as if it were zero, tiers leave it out (AR-04). */
export type Turnover = ReadonlyMap<string, ReadonlyMap<string, Digits | null>>;

/**
 * Venues and instruments of a plan, ascending; null where it leaves none out. `known`: every instrument that its venues know, where it leaves
 * none of those out: other venues may have more.
 */
export type ScopeChoice = {
  readonly venues: readonly string[] | null;
  readonly instruments: readonly string[] | null;
  readonly known?: readonly string[];
};

type OfVenue = {
  readonly byInstrument: ReadonlyMap<string, Digits | null>;
  readonly listed: number;
  readonly measured: number;
};

const measureVenue = ({ listings }: LiveVenue, at: Micros): OfVenue => {
  const byInstrument = new Map<string, Digits | null>();
  let [listed, measured] = [0, 0];
  for (const { versions, readings } of listings.values()) {
    const version = versions.at(-1);
    if (version === undefined || !isListed(version, at)) continue;
    const digits = readings.get('stats')?.values.turnover_24h;
    listed += 1;
    if (digits !== undefined) measured += 1;
    const { instrument } = version.record.values;
    byInstrument.set(instrument, addPresent(byInstrument.get(instrument) ?? null, digits ?? null));
  }
  return { byInstrument, listed, measured };
};

/** `whole`: every served venue has reported whether it publishes statistics, and those that do have them for nearly all their listings. */
type Measured = 'nothing' | 'half' | 'whole';

/** New listings of a venue wait for their first statistics. */
const isWhole = (venue: LiveVenue, { listed, measured }: OfVenue): boolean => {
  const policy = venue.capabilities.at(-1)?.layers.stats?.policy;
  if (policy === undefined) return false;
  return policy !== 'on' || (listed > 0 && measured >= listed * 0.9);
};

/** `half`: at least half of the listings of venues that publish statistics have them. */
export const measureTurnover = (
  live: LiveMemory,
  at: Micros,
): { readonly turnover: Turnover; readonly measured: Measured } => {
  const turnover = new Map<string, ReadonlyMap<string, Digits | null>>();
  let [expected, measured] = [0, 0];
  let isComplete = true;
  for (const venue of live.venues()) {
    const measuredHere = measureVenue(venue, at);
    turnover.set(venue.venue, measuredHere.byInstrument);
    measured += measuredHere.measured;
    isComplete &&= isWhole(venue, measuredHere);
    if (venue.capabilities.at(-1)?.layers.stats?.policy === 'on') expected += measuredHere.listed;
  }
  if (measured === 0 || measured * 2 < expected) return { turnover, measured: 'nothing' };
  return { turnover, measured: isComplete ? 'whole' : 'half' };
};

/** The `count` codes with the largest figure, equal ones by code. */
const pickLargest = (figures: ReadonlyMap<string, Digits>, count: number): string[] =>
  [...figures]
    .sort(([a, x], [b, y]) => -compare(x, y) || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([code]) => code);

const computeSum = (figures: Iterable<Digits | null>): Digits => {
  let sum: Digits = '0';
  for (const figure of figures) sum = add(sum, figure ?? '0');
  return sum;
};

/** Ascending; free places go to the next ones. */
const fill = (chosen: readonly string[], next: readonly string[], count: number): readonly string[] =>
  [...new Set([...chosen, ...next])].slice(0, count).sort();

/** The venues with the largest turnover; null when the plan has as many as are served. */
const chooseVenues = (plan: Plan, turnover: Turnover, live: LiveMemory): readonly string[] | null => {
  const served = [...live.venues()].map(({ venue }) => venue);
  if (plan.venues === null || served.length <= plan.venues) return null;
  const sums = new Map([...turnover].map(([venue, figures]) => [venue, computeSum(figures.values())]));
  return fill(pickLargest(sums, plan.venues), served, plan.venues);
};

/** An instrument of some venues: since when it is known, and whether it is or was listed on the day. */
type Known = { readonly instrument: string; readonly firstSeenAt: Micros; readonly isOfDay: boolean };

/** Every instrument ever known of the venues, those known first first. */
const listKnown = (live: LiveMemory, venues: readonly string[] | null, dayStart: Micros): Known[] => {
  const known = new Map<string, Known>();
  for (const { venue, listings } of live.venues()) {
    if (venues !== null && !venues.includes(venue)) continue;
    for (const { versions } of listings.values()) {
      for (const [i, version] of versions.entries()) {
        const { instrument } = version.record.values;
        const before = known.get(instrument);
        known.set(instrument, {
          instrument,
          firstSeenAt: Math.min(before?.firstSeenAt ?? Number.POSITIVE_INFINITY, version.first_seen_at),
          isOfDay: before?.isOfDay === true || (i === versions.length - 1 && isListed(version, dayStart)),
        });
      }
    }
  }
  return [...known.values()].sort(
    (a, b) => a.firstSeenAt - b.firstSeenAt || (a.instrument < b.instrument ? -1 : a.instrument > b.instrument ? 1 : 0),
  );
};

/** The `count` instruments with the largest turnover; null when no more are known. Free places go to those listed since, in their order. */
const chooseInstruments = (turnover: Turnover, known: readonly Known[], count: number): readonly string[] | null => {
  if (known.length <= count) return null;
  const exists = new Set(known.map(({ instrument }) => instrument));
  const sums = new Map<string, Digits>();
  for (const figures of turnover.values()) {
    for (const [instrument, digits] of figures) {
      if (exists.has(instrument)) sums.set(instrument, add(sums.get(instrument) ?? '0', digits ?? '0'));
    }
  }
  const listed = known.filter(({ isOfDay }) => isOfDay).map(({ instrument }) => instrument);
  return fill(pickLargest(sums, count), listed, count);
};

/** The venues with the largest turnover, and of them the instruments with the largest; equal ones by code (AC-02). */
export const chooseScope = (
  plan: Plan,
  turnover: Turnover,
  { live, dayStart }: { readonly live: LiveMemory; readonly dayStart: Micros },
): ScopeChoice => {
  const venues = chooseVenues(plan, turnover, live);
  if (plan.instruments === null) return { venues, instruments: null };
  const within = new Map([...turnover].filter(([venue]) => venues === null || venues.includes(venue)));
  const known = listKnown(live, venues, dayStart);
  const instruments = chooseInstruments(within, known, plan.instruments);
  if (venues === null || instruments !== null) return { venues, instruments };
  return { venues, instruments, known: known.map(({ instrument }) => instrument).sort() };
};

/** Instruments that a choice covers and that are listed, ascending. */
export const listCovered = ({ venues, instruments }: ScopeChoice, live: LiveMemory, at: Micros): string[] => {
  const [chosen, covered] = [instruments === null ? null : new Set(instruments), new Set<string>()];
  for (const { venue, listings } of live.venues()) {
    if (venues !== null && !venues.includes(venue)) continue;
    for (const { versions } of listings.values()) {
      const version = findVersionAt(versions, at);
      if (version === null || !isListed(version, at)) continue;
      const { instrument } = version.record.values;
      if (chosen === null || chosen.has(instrument)) covered.add(instrument);
    }
  }
  return [...covered].sort();
};
