// Venues by id, from the list in registry.ts. Each process uses the part of the contract that it needs; both maps hold the same values.
import type { CollectedVenue } from './contract/feed.ts';
import type { MappedVenue } from './contract/mapping.ts';
import type { Venue } from './contract/venue.ts';
import * as registry from './registry.ts';

export const venues: ReadonlyMap<string, Venue> = new Map(
  Object.values<Venue>(registry).map((venue) => [venue.id, venue]),
);
/** For collectors: listings and feed. */
export const collectedVenues: ReadonlyMap<string, CollectedVenue> = venues;
/** For tasks: listings and mapping. */
export const mappedVenues: ReadonlyMap<string, MappedVenue> = venues;
