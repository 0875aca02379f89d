// 24 h turnover by venue and instrument, as the memory copy has it and as plans choose by it (AC-02).
import { add, compare } from '../../schemas/decimals.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { Plan } from '../contract/plans.ts';
import { isListed } from '../live/listing-book.ts';
import type { LiveMemory, LiveVenue } from '../live/memory.ts';

/** Venue to instrument to the sum over its listings; zero where no statistics are published. */
export type Turnover = ReadonlyMap<string, ReadonlyMap<string, Digits>>;

/** Venues and instruments of a plan, ascending; null where the plan narrows none. */
export type ScopeChoice = { readonly venues: readonly string[] | null; readonly instruments: readonly string[] | null };

type OfVenue = {
  readonly byInstrument: ReadonlyMap<string, Digits>;
  readonly listed: number;
  readonly measured: number;
};

const measureVenue = ({ listings }: LiveVenue, at: Micros): OfVenue => {
  const byInstrument = new Map<string, Digits>();
  let [listed, measured] = [0, 0];
  for (const { versions, readings } of listings.values()) {
    const version = versions.at(-1);
    if (version === undefined || !isListed(version, at)) continue;
    const digits = readings.get('stats')?.values.turnover_24h;
    listed += 1;
    if (digits !== undefined) measured += 1;
    const { instrument } = version.record.values;
    byInstrument.set(instrument, add(byInstrument.get(instrument) ?? '0', digits ?? '0'));
  }
  return { byInstrument, listed, measured };
};

/** `whole`: every served venue has reported whether it publishes statistics, and those that do have them for nearly all their listings. */
export type Measured = 'nothing' | 'half' | 'whole';

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
  const turnover = new Map<string, ReadonlyMap<string, Digits>>();
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

/** The `count` codes with the largest figure, equal ones by code; ascending by code. */
const largest = (figures: ReadonlyMap<string, Digits>, count: number): string[] =>
  [...figures]
    .sort(([a, x], [b, y]) => -compare(x, y) || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([code]) => code)
    .sort();

const computeSum = (figures: Iterable<Digits>): Digits => {
  let sum: Digits = '0';
  for (const figure of figures) sum = add(sum, figure);
  return sum;
};

/** The venues with the largest turnover, and of them the instruments with the largest; equal ones by code. */
export const chooseScope = (plan: Plan, turnover: Turnover): ScopeChoice => {
  const byVenue = new Map([...turnover].map(([venue, figures]) => [venue, computeSum(figures.values())]));
  const venues = plan.venues === null ? null : largest(byVenue, plan.venues);
  if (plan.instruments === null) return { venues, instruments: null };
  const byInstrument = new Map<string, Digits>();
  for (const [venue, figures] of turnover) {
    if (venues !== null && !venues.includes(venue)) continue;
    for (const [instrument, digits] of figures) {
      byInstrument.set(instrument, add(byInstrument.get(instrument) ?? '0', digits));
    }
  }
  return { venues, instruments: largest(byInstrument, plan.instruments) };
};
