// The catalogue's version string: the day of its newest change, numbered within that day (V-06).
import { parseInstant, toDayOf } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';

/**
 * Changes of the tables of the language (fields, sources, functions, limits), oldest first: the instant, and the digest of the tables since then. A test
 * compares the last digest with the tables, and prints the line to add.
 */
export const LANGUAGE_CHANGES: readonly (readonly [at: string, tables: string])[] = [
  ['2026-11-21T07:00:00Z', '09e9ea7b76b4e518'],
];
const LANGUAGE_CHANGED: readonly Micros[] = LANGUAGE_CHANGES.map(([at]) => parseInstant(at) ?? 0);

const listChanges = (live: LiveMemory, at: Micros): Set<Micros> => {
  const changes = new Set<Micros>();
  const add = (change: Micros | null): void => {
    if (change !== null && change <= at) changes.add(change);
  };
  for (const change of LANGUAGE_CHANGED) add(change);
  for (const { listings, capabilities } of live.venues()) {
    for (const { written_at } of capabilities) add(written_at);
    for (const { versions } of listings.values()) {
      for (const [i, { written_at, delisted_at }] of versions.entries()) {
        add(written_at);
        // An end that was announced takes a code out of the current lists at its own instant, when nothing need be written.
        const isAhead = delisted_at !== null && delisted_at > written_at;
        if (isAhead && delisted_at < (versions[i + 1]?.written_at ?? Number.POSITIVE_INFINITY)) add(delisted_at);
      }
    }
  }
  return changes;
};

/** The same on every node: it follows from the kept versions and our own tables alone. Null before anything was written. */
export const computeCatalogueVersion = (live: LiveMemory, at: Micros): string | null => {
  const changes = listChanges(live, at);
  if (changes.size === 0) return null;
  let newest = 0;
  for (const change of changes) if (change > newest) newest = change;
  const day = toDayOf(newest);
  let ofDay = 0;
  for (const change of changes) if (toDayOf(change) === day) ofDay++;
  return ofDay === 1 ? day : `${day}.${ofDay}`;
};
