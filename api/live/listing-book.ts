// What is known about one listing: its versions and its newest reading of each layer.
import type { Micros } from '../../schemas/records.ts';
import { formatListingId } from '../../schemas/tables.ts';
import type { ListingVersion } from '../../schemas/topics.ts';
import type { NewestReadings } from './live-message.ts';

export type LiveListing = {
  readonly venue: string;
  readonly venueSymbol: string;
  /** Ascending by `written_at`; all are kept, for `as_of`. */
  readonly versions: ListingVersion[];
  readonly readings: NewestReadings;
};

/** A listing with its version at the requested instant. */
export type Selected = { readonly listing: LiveListing; readonly version: ListingVersion };

/** `venue:venue_symbol`, as stored rows name the listing. */
export const toListingId = ({ listing }: Selected): string => formatListingId(listing.venue, listing.venueSymbol);

/** First members of an item or row: the listing that it is about. */
export const nameListing = ({ listing, version }: Selected): Readonly<Record<string, string>> => {
  const { instrument, quote } = version.record.values;
  return { venue: listing.venue, venue_symbol: listing.venueSymbol, instrument, quote };
};

type Version = { readonly written_at: Micros };

/** Adds a version in its place; the same `written_at` again replaces it (a repeat of the log is equal). */
export const addVersion = <V extends Version>(versions: V[], version: V): void => {
  let i = versions.length;
  while (i > 0 && (versions[i - 1] as V).written_at > version.written_at) i--;
  const repeated = i > 0 && versions[i - 1]?.written_at === version.written_at;
  versions.splice(repeated ? i - 1 : i, repeated ? 1 : 0, version);
};

/** The version of the largest `written_at` at or before `at`; null when none was written yet. */
export const findVersionAt = <V extends Version>(versions: readonly V[], at: Micros): V | null => {
  for (let i = versions.length - 1; i >= 0; i--) {
    const version = versions[i] as V;
    if (version.written_at <= at) return version;
  }
  return null;
};

/** Whether the listing was listed at `at` by its newest version then (V-05). */
export const isListed = (version: ListingVersion, at: Micros): boolean =>
  version.delisted_at === null || version.delisted_at > at;
