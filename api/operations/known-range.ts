// How far back listings are known, and what an instant outside of that is answered with (V-05, DQL-29).
import { formatInstant } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';
import { findDirectory } from '../selection/directory.ts';

/** The earliest instant anything was known about a listing; null while nothing is. */
export const findEarliestKnown = (live: LiveMemory): Micros | null =>
  findDirectory(live).listings.reduce<Micros | null>((least, { versions }) => {
    const first = versions[0]?.written_at ?? null;
    return first !== null && (least === null || first < least) ? first : least;
  }, null);

/** Message and hint for an instant for which no data exists, or that is in the future; null for all others. */
export const describeOutOfRange = (
  at: Micros,
  { live, evaluatedAt }: { readonly live: LiveMemory; readonly evaluatedAt: Micros },
): { readonly message: string; readonly hint: string } | null => {
  const earliest = findEarliestKnown(live);
  if (at <= evaluatedAt && (earliest === null || at >= earliest)) return null;
  const from = earliest === null ? 'now' : formatInstant(earliest);
  const range = `${from} to ${formatInstant(evaluatedAt)}`;
  return { message: `"${formatInstant(at)}" is outside ${range}.`, hint: `Ask for an instant from ${range}.` };
};
