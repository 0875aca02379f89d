// Ends of listings that are known in advance: each has one timer, regardless of the number of streams that follow its listing.
import type { Micros } from '../../schemas/records.ts';
import type { LiveListing, Selected } from '../live/listing-book.ts';
import { DueQueue } from './due-queue.ts';

export class KnownEnds {
  readonly #due = new DueQueue<LiveListing>();
  /** Ends that are waited for, by listing: a later version may have moved one. */
  readonly #awaited = new Map<LiveListing, Set<Micros>>();

  get size(): number {
    return this.#due.size;
  }

  await({ listing, version: { delisted_at: end } }: Selected): void {
    if (end === null) return;
    const awaited = this.#awaited.get(listing) ?? new Set<Micros>();
    if (awaited.has(end)) return;
    this.#awaited.set(listing, awaited.add(end));
    this.#due.push(end, listing);
  }

  isDue(now: Micros): boolean {
    return this.#due.isDue(now);
  }

  /** The listing that ended first among those whose end has passed; null when there is none. */
  take(now: Micros): LiveListing | null {
    const due = this.#due.take(now);
    if (due === null) return null;
    const awaited = this.#awaited.get(due.subject);
    awaited?.delete(due.at);
    if (awaited?.size === 0) this.#awaited.delete(due.subject);
    return due.subject;
  }
}
