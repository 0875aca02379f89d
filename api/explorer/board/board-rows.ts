// Rows and columns of a board: a row an instrument, a column a venue, in each cell the listings of both; their order.
import { toListingKey } from './reading.ts';

export type BoardListing = {
  readonly instrument: string;
  readonly base: string;
  /** What a quantity in `base` is a number of, as published: 1000PEPE is a thousand of the base PEPE (V-04, N-07). */
  readonly asset: string;
  /** Base units in one of that asset; null where it is not known. */
  readonly multiplier: string | null;
  readonly quote: string;
  readonly venue: string;
  readonly venue_symbol: string;
};

export type BoardRow = {
  readonly instrument: string;
  /** By venue; several where a venue has several quote currencies. */
  readonly cells: ReadonlyMap<string, readonly BoardListing[]>;
};

/** Ascending by name; the venue's own name orders listings of one cell. */
export const makeBoardRows = (listings: readonly BoardListing[]): readonly BoardRow[] => {
  const rows = new Map<string, Map<string, BoardListing[]>>();
  for (const listing of [...listings].sort((a, b) => (toListingKey(a) < toListingKey(b) ? -1 : 1))) {
    const cells = rows.get(listing.instrument) ?? new Map<string, BoardListing[]>();
    cells.set(listing.venue, [...(cells.get(listing.venue) ?? []), listing]);
    rows.set(listing.instrument, cells);
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([instrument, cells]) => ({ instrument, cells }));
};

export type Filter = {
  readonly bases: readonly string[];
  readonly quotes: readonly string[];
  readonly venues: readonly string[];
};

const isAdmitted = (wanted: readonly string[], given: string): boolean => wanted.length === 0 || wanted.includes(given);

export const filterListings = (
  listings: readonly BoardListing[],
  { bases, quotes, venues }: Filter,
): readonly BoardListing[] =>
  listings.filter(
    ({ base, quote, venue }) => isAdmitted(bases, base) && isAdmitted(quotes, quote) && isAdmitted(venues, venue),
  );

/** Whole instruments, those on most venues first, as many as make no more than `most` listings. */
export const fitListings = (listings: readonly BoardListing[], most: number): readonly BoardListing[] => {
  const byInstrument = Map.groupBy(listings, ({ instrument }) => instrument);
  const countVenues = (of: readonly BoardListing[]): number => new Set(of.map(({ venue }) => venue)).size;
  const order = [...byInstrument].sort(
    ([a, of], [b, others]) => countVenues(others) - countVenues(of) || (a < b ? -1 : 1),
  );
  const fitting: BoardListing[] = [];
  for (const [, of] of order) if (fitting.length + of.length <= most) fitting.push(...of);
  return fitting;
};

/** `name`, the widest difference within a row, or the figures of one venue. */
export type Sort = { readonly by: string; readonly isAscending: boolean };
export const SORT_BY_NAME = 'name';
export const SORT_BY_RANGE = 'range';

/** Figures of one row by venue; only those that are shown. */
export type RowFigures = ReadonlyMap<string, readonly number[]>;

const measureRange = (figures: RowFigures): number | null => {
  const all = [...figures.values()].flat();
  return all.length < 2 ? null : Math.max(...all) - Math.min(...all);
};

/** The figure to sort a row by; null: there is none, and the row comes last in either direction. */
const findSortFigure = (figures: RowFigures, { by }: Sort): number | null =>
  by === SORT_BY_RANGE ? measureRange(figures) : (figures.get(by)?.[0] ?? null);

/** Names of instruments in order. Stable: those that are equal, or have nothing, keep their order by name. */
export const sortNames = (
  names: readonly string[],
  sort: Sort,
  figuresOf: (name: string) => RowFigures,
): readonly string[] => {
  const sign = sort.isAscending ? 1 : -1;
  const named = [...names].sort();
  if (sort.by === SORT_BY_NAME) return sort.isAscending ? named : named.reverse();
  const figures = new Map(named.map((name) => [name, findSortFigure(figuresOf(name), sort)]));
  return named.sort((a, b) => {
    const [left, right] = [figures.get(a) ?? null, figures.get(b) ?? null];
    if (left === null || right === null) return (left === null ? 1 : 0) - (right === null ? 1 : 0);
    return sign * (left - right);
  });
};
