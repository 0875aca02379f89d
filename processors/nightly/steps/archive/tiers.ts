// Tiers of a day's listings: by the mean daily turnover of their instrument, fixed by the first archive run of the day (AR-04).
import type { Pool } from 'pg';
import { add, compare, divide } from '../../../../schemas/decimals.ts';
import type { Digits } from '../../../../schemas/records.ts';
import { addDays, type Day } from '../../day.ts';

export type Tier = 'core' | 'top100' | 'other';
/** Tier by instrument; an absent instrument is `other`. */
export type Tiers = Readonly<Record<string, Exclude<Tier, 'other'>>>;

const CORE = 20;
const TOP = 100;
const MIDNIGHTS = 30;

/** Venue to instrument to turnover in quote currency at one midnight; null: no figure. */
type Turnover = Readonly<Record<string, Readonly<Record<string, Digits | null>>>>;

/** Ranks instruments by their mean over the midnights that have a figure; ties by code. */
export const rankInstruments = (midnights: readonly Turnover[]): Tiers => {
  const sums = new Map<string, { sum: Digits; midnights: number }>();
  for (const turnover of midnights) {
    const ofMidnight = new Map<string, Digits>();
    for (const ofVenue of Object.values(turnover))
      for (const [instrument, digits] of Object.entries(ofVenue))
        if (digits !== null) ofMidnight.set(instrument, add(ofMidnight.get(instrument) ?? '0', digits));
    for (const [instrument, digits] of ofMidnight) {
      const held = sums.get(instrument) ?? { sum: '0', midnights: 0 };
      sums.set(instrument, { sum: add(held.sum, digits), midnights: held.midnights + 1 });
    }
  }
  const means = [...sums].map(([instrument, { sum, midnights: count }]) => ({
    instrument,
    mean: divide(sum, String(count)) ?? '0',
  }));
  means.sort((a, b) => -compare(a.mean, b.mean) || (a.instrument < b.instrument ? -1 : 1));
  return Object.fromEntries(
    means
      .slice(0, TOP)
      .map(({ instrument }, rank) => [instrument, rank < CORE ? ('core' as const) : ('top100' as const)]),
  );
};

export const findTier = (tiers: Tiers, instrument: string): Tier => tiers[instrument] ?? 'other';

/** The tiers of a day: as fixed by its first run, else fixed now from the 30 midnights up to the end of the day. */
export const fixTiers = async (database: Pool, day: Day): Promise<Tiers> => {
  const end = addDays(day);
  const { rows } = await database.query<{ turnover: Turnover }>(
    'select turnover from daily_turnover where day <= $1 and day > $2 order by day',
    [end, addDays(end, -MIDNIGHTS)],
  );
  await database.query('insert into archive_days (day, tiers) values ($1, $2) on conflict (day) do nothing', [
    day,
    rankInstruments(rows.map(({ turnover }) => turnover)),
  ]);
  const { rows: fixed } = await database.query<{ tiers: Tiers }>('select tiers from archive_days where day = $1', [
    day,
  ]);
  return fixed[0]?.tiers ?? {};
};
