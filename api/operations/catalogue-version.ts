// The catalogue's version string: the day of its newest change, numbered within that day (V-06).
import { dayOf } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';

const changesUpTo = (live: LiveMemory, at: Micros): Set<Micros> => {
  const changes = new Set<Micros>();
  for (const { listings, capabilities } of live.venues()) {
    for (const { written_at } of capabilities) if (written_at <= at) changes.add(written_at);
    for (const { versions } of listings.values()) {
      for (const { written_at } of versions) if (written_at <= at) changes.add(written_at);
    }
  }
  return changes;
};

/** The same on every node: it follows from the kept versions alone. Null before anything was written. */
export const catalogueVersion = (live: LiveMemory, at: Micros): string | null => {
  const changes = changesUpTo(live, at);
  if (changes.size === 0) return null;
  let newest = 0;
  for (const change of changes) if (change > newest) newest = change;
  const day = dayOf(newest);
  let ofDay = 0;
  for (const change of changes) if (dayOf(change) === day) ofDay++;
  return ofDay === 1 ? day : `${day}.${ofDay}`;
};
