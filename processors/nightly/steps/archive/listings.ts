// Lists the listings with rows on a day, and their instruments.
import type { Pool } from 'pg';
import { type LeafSource, parseDaySlice, sliceConditions } from '../../../../infra/runtime/questdb/leaf-rows.ts';
import type { AnchoredTable } from '../../../../schemas/anchored.ts';
import { formatListingId, parseListingId, toTableName } from '../../../../schemas/tables.ts';
import { compareBytes } from '../../../../schemas/text-order.ts';
import type { Day } from '../../day.ts';

export type DayListing = {
  /** `venue:venue_symbol`. */
  readonly id: string;
  readonly venue: string;
  readonly venueSymbol: string;
  readonly instrument: string;
};

const selectInstruments = (table: string): string => `SELECT listing, instrument FROM (
SELECT listing, instrument FROM '${table}' WHERE written_at <= $1 LATEST ON written_at PARTITION BY listing)`;

/** Instruments of the sets of a day, which keep what their first run found. */
const FIXED = `select distinct on (venue, venue_symbol) venue, venue_symbol as symbol, instrument from archive_sets where day = $1
order by venue, venue_symbol, written_at`;
type Fixed = { readonly venue: string; readonly symbol: string; readonly instrument: string };

/** Instruments by listing: those of the sets of the day, so that no later run changes a tier (AR-04), and of other listings those at `now`. */
export const readInstruments = async (
  { questdb, namespace, database }: LeafSource & { readonly database: Pool },
  day: Day,
  now: string,
): Promise<Map<string, string>> => {
  const lines = await questdb.query({ text: selectInstruments(toTableName(namespace, 'listings')), values: [now] });
  const { rows: fixed } = await database.query<Fixed>(FIXED, [day]);
  return new Map([
    ...lines.map(([listing, instrument]): [string, string] => [listing ?? '', instrument ?? '']),
    ...fixed.map(({ venue, symbol, instrument }): [string, string] => [formatListingId(venue, symbol), instrument]),
  ]);
};

/** Listings with at least one row of the table that may be a leaf of the day, ascending by venue and symbol. */
export const readDayListings = async (
  { questdb, namespace }: LeafSource,
  table: AnchoredTable,
  { day, instruments }: { readonly day: Day; readonly instruments: ReadonlyMap<string, string> },
): Promise<readonly DayListing[]> => {
  const conditions = sliceConditions(table, parseDaySlice(day)).join(' AND ');
  const text = `SELECT DISTINCT listing FROM '${toTableName(namespace, table.table)}' WHERE ${conditions}`;
  const lines = await questdb.query({ text });
  return lines
    .map(([id]) => toDayListing(id ?? '', instruments))
    .sort((a, b) => compareBytes(a.venue, b.venue) || compareBytes(a.venueSymbol, b.venueSymbol));
};

const toDayListing = (id: string, instruments: ReadonlyMap<string, string>): DayListing => {
  const { venue, symbol } = parseListingId(id);
  return { id, venue, venueSymbol: symbol, instrument: instruments.get(id) ?? '' };
};
