// A venue: the three parts of the contract in one pure value without socket or clock. Processes use the part they need (`../index.ts`).
import type { VenueFeed } from './feed.ts';
import type { VenueListings } from './listings.ts';
import type { VenueMapping } from './mapping.ts';

export type Venue = VenueListings & VenueFeed & VenueMapping;
