// The registry of venues: adding one is its file and its line here.
import type { Venue } from '../venue.ts';
import { binance } from './binance.ts';

export const venues: ReadonlyMap<string, Venue> = new Map([binance].map((venue) => [venue.id, venue]));
