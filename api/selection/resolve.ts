// Resolves names to listings: unknown codes are errors that name the known ones; the rest selects (S-03 to S-05, E-08).
import type { Micros } from '../../schemas/records.ts';
import { type CodeKey, findSpelledCode, makeUnknownCode, UNKNOWN_CODES } from '../language/codes.ts';
import { Faults } from '../language/faults.ts';
import type { Origin, Selection } from '../language/selection.ts';
import { findVersionAt, isListed, type Selected } from '../live/listing-book.ts';
import type { Directory } from './directory.ts';

/** A code in catalogue spelling with its place in the request. */
type Named = { readonly code: string; readonly origin: Origin };
/** Names in catalogue spelling; a key that was not given is absent and selects everything. */
export type Names = Partial<Readonly<Record<CodeKey | 'symbol', readonly Named[]>>>;

export type MissingPair =
  | { readonly instrument: string; readonly venue: string }
  | { readonly symbol: string; readonly venue: string };

const CODE_KEYS = ['instrument', 'base', 'venue', 'quote'] as const;

/** Catalogue spelling of every code. Throws ServiceError with the first unknown ones. */
export const resolveNames = (selection: Selection, { codes }: Directory): Names => {
  const faults = new Faults(null);
  const names: { -readonly [K in keyof Names]: Names[K] } = {};
  for (const key of CODE_KEYS) {
    const named: Named[] = [];
    for (const code of selection[key] ?? []) {
      const spelt = findSpelledCode(key, code.text, codes);
      if (spelt === undefined)
        faults.addAt(UNKNOWN_CODES[key], code.origin, () => makeUnknownCode(key, code.text, codes));
      else named.push({ code: spelt, origin: code.origin });
    }
    if (selection[key] !== undefined) names[key] = named;
  }
  if (selection.symbol !== undefined)
    names.symbol = selection.symbol.map(({ text, origin }) => ({ code: text, origin }));
  faults.throwIfAny();
  return names;
};

const toSet = (named: readonly Named[] | undefined): ReadonlySet<string> | null =>
  named === undefined ? null : new Set(named.map((n) => n.code));

/** The codes to which a plan narrows a selection; null does not narrow. */
export type Narrowing = {
  readonly venues: ReadonlySet<string> | null;
  readonly instruments: ReadonlySet<string> | null;
};
const NOTHING_NARROWED: Narrowing = { venues: null, instruments: null };

type SelectOptions = {
  /** The instant whose listings are meant. */
  readonly at: Micros;
  /** Listings delisted by `at` but not by this instant are selected too; `at` when left out. */
  readonly since?: Micros;
  readonly narrowing?: Narrowing;
};

/** Listings listed at `at` for which every term holds, ascending by (venue, venue_symbol), with their version then. */
export const selectListings = (
  names: Names,
  directory: Directory,
  { at, since, narrowing = NOTHING_NARROWED }: SelectOptions,
): Selected[] => {
  const venue = toSet(names.venue);
  const [instrument, base, quote, symbol] = [names.instrument, names.base, names.quote, names.symbol].map(toSet);
  const holds = (set: ReadonlySet<string> | null | undefined, value: string): boolean => set == null || set.has(value);
  const selected: Selected[] = [];
  for (const listing of directory.listings) {
    if (!holds(venue, listing.venue) || !holds(symbol, listing.venueSymbol)) continue;
    if (!holds(narrowing.venues, listing.venue)) continue;
    const version = findVersionAt(listing.versions, at);
    if (version === null || !isListed(version, since ?? at)) continue;
    const { values } = version.record;
    if (!holds(instrument, values.instrument) || !holds(base, values.base) || !holds(quote, values.quote)) continue;
    if (holds(narrowing.instruments, values.instrument)) selected.push({ listing, version });
  }
  return selected;
};

const listUnique = (named: readonly Named[] | undefined): string[] =>
  [...new Set((named ?? []).map((n) => n.code))].sort();

/** Pairs that were requested by both names and for which nothing was selected (S-05). */
export const findMissingPairs = (names: Names, selected: readonly Selected[]): MissingPair[] => {
  const found = new Set<string>();
  for (const { listing, version } of selected) {
    found.add(`i|${version.record.values.instrument}|${listing.venue}`);
    found.add(`s|${listing.venueSymbol}|${listing.venue}`);
  }
  const missing: MissingPair[] = [];
  for (const instrument of listUnique(names.instrument)) {
    for (const venue of listUnique(names.venue))
      if (!found.has(`i|${instrument}|${venue}`)) missing.push({ instrument, venue });
  }
  for (const symbol of listUnique(names.symbol)) {
    for (const venue of listUnique(names.venue))
      if (!found.has(`s|${symbol}|${venue}`)) missing.push({ symbol, venue });
  }
  return missing;
};
