// Reads the rows of a reference answer one by one: a row that cannot be read neither hides the other listings nor delists its own.
import type { ListingRecord, ListingValues } from '../../../schemas/records.ts';
import { type ReferenceAnswer, type UnreadableListing, VenueError, VenueRefusal } from '../contract/listings.ts';
import { noteUnexpected } from './unexpected.ts';
import { type Fields, isFields, readFields } from './wire.ts';

export type ListingRows = Required<Pick<ReferenceAnswer, 'listings' | 'unreadable'>>;

type Rows = {
  readonly rows: readonly unknown[];
  /** Member of a row that names its listing. */
  readonly name: string;
};

/** `read` gives null for a row that is no perpetual. Throws the error of the first row when no row can be read. */
export const readListings = ({ rows, name }: Rows, read: (row: Fields) => ListingRecord | null): ListingRows => {
  const listings: ListingRecord[] = [];
  const unreadable: UnreadableListing[] = [];
  let first: VenueError | null = null;
  for (const row of rows) {
    try {
      const listing = read(readFields(row, 'row'));
      if (listing !== null) listings.push(withoutEmptyRules(listing));
    } catch (error) {
      if (!(error instanceof VenueError) || error instanceof VenueRefusal) throw error;
      first ??= error;
      unreadable.push(toUnreadable(isFields(row) ? row[name] : null, error));
    }
  }
  if (first !== null && listings.length === 0) throw first;
  return { listings, unreadable };
};

/** The listing without the transforms of rules that have no value (V-03). */
const withoutEmptyRules = (listing: ListingRecord): ListingRecord => {
  const named = Object.entries(listing.values.rules_normalisation);
  const kept = named.filter(([rule]) => listing.values[rule as keyof ListingValues] !== null);
  if (kept.length === named.length) return listing;
  return { ...listing, values: { ...listing.values, rules_normalisation: Object.fromEntries(kept) } };
};

const toUnreadable = (symbol: unknown, { code, kind, message }: VenueError): UnreadableListing => ({
  symbol: typeof symbol === 'string' && symbol !== '' ? symbol : null,
  code,
  kind,
  text: message,
});

/** What rows beside the listings say of each; one that cannot be read says nothing, and is counted. */
export const readEntries = <T>(
  rows: readonly unknown[],
  read: (row: Fields) => readonly [symbol: string, value: T] | null,
): Readonly<Record<string, T>> =>
  Object.fromEntries(
    rows.flatMap((row) => {
      try {
        const entry = read(readFields(row, 'row'));
        return entry === null ? [] : [entry];
      } catch (error) {
        if (!(error instanceof VenueError)) throw error;
        noteUnexpected(error.kind);
        return [];
      }
    }),
  );
