// Lists the listings with rows on a day, and their instruments.
import { type LeafSource, parseDaySlice, sliceConditions } from '../../../infra/runtime/questdb/leaf-rows.ts';
import type { AnchoredTable } from '../../../schemas/anchored.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { compareBytes } from '../../../schemas/text-order.ts';
import type { Day } from '../day.ts';

export type DayListing = {
  /** `venue:venue_symbol`. */
  readonly id: string;
  readonly venue: string;
  readonly venueSymbol: string;
  readonly instrument: string;
};

const selectInstruments = (table: string): string => `SELECT listing, instrument FROM (
SELECT listing, instrument FROM '${table}' WHERE written_at <= $1 LATEST ON written_at PARTITION BY listing)`;

/** Instruments by listing, as of the end of the day or later. */
export const readInstruments = async (
  { questdb, namespace }: LeafSource,
  now: string,
): Promise<Map<string, string>> => {
  const lines = await questdb.query({ text: selectInstruments(toTableName(namespace, 'listings')), values: [now] });
  return new Map(lines.map(([listing, instrument]) => [listing ?? '', instrument ?? '']));
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
  const colon = id.indexOf(':');
  return {
    id,
    venue: id.slice(0, colon),
    venueSymbol: id.slice(colon + 1),
    instrument: instruments.get(id) ?? '',
  };
};
