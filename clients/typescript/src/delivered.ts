// The readings that a follower has delivered: of each listing and layer only readings newer than the last are delivered (ST-04, H-06).
import type { Digits, Instant } from './api-types.ts';

type Seen = {
  readonly receivedAt: string;
  readonly values: string;
  /** Number in the service's log; null when the last one came from history, which has none. */
  readonly rev: number | null;
};

type Delivered = {
  readonly place: string;
  readonly receivedAt: Instant | null;
  readonly values: { readonly [name: string]: Digits | null };
  readonly rev: number | null;
};

/** Instants have three or six digits of a second: with six they compare as text. */
export const toComparable = (instant: string): string =>
  instant.length === '2026-01-15T12:00:00.000Z'.length ? `${instant.slice(0, -1)}000Z` : instant;

export class Marks {
  readonly #seen = new Map<string, Seen>();
  #newest = '';

  /** The newest `received_at` of all. */
  get newest(): string | null {
    return this.#newest === '' ? null : this.#newest;
  }

  /** Whether it is newer than the last delivered reading of its place; then it counts as delivered. */
  take({ place, receivedAt, values, rev }: Delivered): boolean {
    if (receivedAt === null) return false;
    const at = toComparable(receivedAt);
    const next: Seen = { receivedAt: at, values: JSON.stringify(values), rev };
    const last = this.#seen.get(place);
    if (last !== undefined && !isNewer(next, last)) return false;
    this.#seen.set(place, next);
    if (at > this.#newest) this.#newest = at;
    return true;
  }
}

/** Two readings of the stream compare by number; beside history, which has none, by instant, and at the same one by figures. */
const isNewer = (next: Seen, last: Seen): boolean => {
  if (next.rev !== null && last.rev !== null && next.rev !== last.rev)
    return next.rev > last.rev || next.receivedAt > last.receivedAt;
  return (
    next.receivedAt > last.receivedAt ||
    (next.receivedAt === last.receivedAt && next.rev !== last.rev && next.values !== last.values)
  );
};
