// The 24 h turnover by venue and instrument at 00:00 of a day, from stored history: restricted plans select by it (AC-02).
import { addPresent, joinFigure } from '../../../schemas/decimals.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import type { Digits } from '../../../schemas/records.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { addDays, findDayStart } from '../day.ts';
import { refuseUnsealed } from '../history-watermark.ts';
import type { NightlyContext, Step } from '../step.ts';

/** Rows of the last window are sealed 100 s after it and visible soon after. */
const DUE_MS = 180_000;
/** A failed venue delays the selection no longer than this. */
const PATIENCE_MS = 3_600_000;

const selectStats = (table: string): string => `SELECT listing, turnover_24h, digits FROM '${table}'
WHERE at > $1 AND at <= $2 AND status = 'present' AND NOT late LATEST ON at PARTITION BY listing`;
const selectListings = (table: string): string => `SELECT listing, venue, instrument FROM (
SELECT listing, venue, instrument, delisted_at FROM '${table}' WHERE written_at <= $1 LATEST ON written_at PARTITION BY listing
) WHERE delisted_at IS NULL OR delisted_at > $1`;

/** The venue's digits, from the exact text where the double cannot represent them. */
const readDigits = (double: string | null, kept: string | null): Digits | null =>
  joinFigure(double, kept === null ? undefined : (JSON.parse(kept) as { readonly turnover_24h?: string }).turnover_24h);

/** Venue to instrument to the sum over its listings that have a figure; null where none has. */
type Turnover = Record<string, Record<string, Digits | null>>;

const hasFigure = (turnover: Turnover): boolean =>
  Object.values(turnover).some((ofVenue) => Object.values(ofVenue).some((digits) => digits !== null));

const readTurnover = async (
  { questdb, namespace }: NightlyContext,
  at: string,
  dayBefore: string,
): Promise<Turnover> => {
  const stats = toTableName(namespace, 'stats');
  const read = await questdb.query({ text: selectStats(stats), values: [dayBefore, at] });
  const byListing = new Map(
    read.map(([listing, double, digits]) => [listing, readDigits(double ?? null, digits ?? null)]),
  );
  const listed = await questdb.query({ text: selectListings(toTableName(namespace, 'listings')), values: [at] });
  const turnover: Turnover = {};
  for (const [listing, venue, instrument] of listed) {
    if (venue == null || instrument == null) continue;
    turnover[venue] ??= {};
    const ofVenue = turnover[venue];
    ofVenue[instrument] = addPresent(ofVenue[instrument] ?? null, byListing.get(listing ?? null) ?? null);
  }
  return turnover;
};

export const turnover: Step = {
  name: 'turnover',
  summary: 'the 24 h turnover that narrowing plans choose by',
  dueMs: DUE_MS,
  run: async (day, context) => {
    // Rows do not show it: a venue that was not collected at 00:00 has none there.
    if (context.nowMs() <= findDayStart(day) + PATIENCE_MS) await refuseUnsealed(addDays(day, -1), context);
    const at = `${day}T00:00:00.000000Z`;
    const before = new Date(findDayStart(day) - MS_PER_DAY).toISOString().replace('Z', '000Z');
    const found = await readTurnover(context, at, before);
    const venues = Object.keys(found).length;
    if (venues === 0) return 'nothing was listed at 00:00';
    // A row without figures would choose by names (D-740).
    if (!hasFigure(found)) return 'no listing has a figure of the day before';
    const { rowCount } = await context.database.query(
      "insert into daily_turnover (day, source, turnover) values ($1, 'history', $2) on conflict (day) do nothing",
      [day, found],
    );
    const instruments = new Set(Object.values(found).flatMap((ofVenue) => Object.keys(ofVenue))).size;
    const what = `${instruments} instruments at ${venues} venues`;
    return rowCount === 0 ? `${what}; the day had its row already` : what;
  },
};
