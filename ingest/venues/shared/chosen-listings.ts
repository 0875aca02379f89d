// Which listings of a venue are collected, in which order they take what its limits allow, and with which layers.
import { isPriceOff, PRICE_CANDLES } from '../../../schemas/policies.ts';
import type { ListingRecord } from '../../../schemas/records.ts';

/**
 * Listings that can be subscribed to: before its launch one that already trades. A listing whose end has passed is over, whatever word the
 * venue still has for it.
 */
export const isOpen = ({ values: { status, delisted_at }, received_at, isTraded }: ListingRecord): boolean =>
  status !== 'delisted' &&
  (status !== 'pre_launch' || isTraded === true) &&
  (delisted_at === null || delisted_at > received_at);

/** Their symbols, in the same order. */
export const listSymbols = (listings: readonly ListingRecord[]): readonly string[] =>
  listings.map(({ venue_symbol }) => venue_symbol);

/** Oldest first, so that a new listing changes only the end. */
export const sortByAge = (listings: readonly ListingRecord[]): readonly ListingRecord[] =>
  listings.toSorted(
    (a, b) => (a.values.listed_at ?? 0) - (b.values.listed_at ?? 0) || (a.venue_symbol < b.venue_symbol ? -1 : 1),
  );

/** Symbols of the `most` oldest listings that can be subscribed to. */
export const listOldest = (listings: readonly ListingRecord[], most: number): ReadonlySet<string> =>
  new Set(listSymbols(sortByAge(listings.filter(isOpen)).slice(0, most)));

/** The listing without the layers that exceed the venue's limits (V-03a). */
export const leaveOff = (listing: ListingRecord, off: readonly string[]): ListingRecord => ({ ...listing, off });

/** The listings, candles of mark and index prices left off but for `symbols`. */
export const keepPriceCandles = (
  listings: readonly ListingRecord[],
  symbols: ReadonlySet<string>,
): readonly ListingRecord[] =>
  listings.map((listing) => (symbols.has(listing.venue_symbol) ? listing : leaveOff(listing, [PRICE_CANDLES])));

/** Whether candles of mark and index prices are collected for a listing. */
export const hasPriceCandles = ({ off }: ListingRecord): boolean => !isPriceOff(off, 'mark');
