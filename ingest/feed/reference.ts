// Requests a venue's listings, writes each answer to every shard and folds the answers into the known listings.
import type { Logger } from '../../infra/runtime/process/log.ts';
import { type Backoff, createBackoff } from '../../infra/runtime/time/backoff.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import type { CollectedVenue } from '../venues/contract/feed.ts';
import {
  isEmptyAnswer,
  mayExist,
  type ReferenceState,
  VenueError,
  type VenueRequest,
} from '../venues/contract/listings.ts';
import type { Source } from './connection-log.ts';
import { type RestClient, RestError } from './rest-client.ts';

type ReferenceOptions = {
  readonly venue: CollectedVenue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly rest: RestClient;
  /** Writes the answers, to every shard. */
  readonly source: Source;
  /** Resolves when Kafka accepts more. */
  readonly ready: () => Promise<void>;
  /** How often this process stood still so far. */
  readonly countStandstills: () => number;
  readonly nowMicros: () => Micros;
  /** Called after each round with an answer: every listing of every scope that has answered so far. */
  readonly onListings: (listings: readonly ListingRecord[]) => void;
  readonly random: () => number;
  readonly log: Logger;
};

const BACKOFF = { minMs: 1_000, maxMs: 60_000 };

type Reference = {
  /** The listings may have changed: starts the next round now, or as soon as a long one ends, unless the last one has just begun. */
  readonly hurry: () => void;
  readonly stop: () => void;
};

/** Minimum interval between a requested round and the one before it. */
const HURRY_MS = 10_000;
/** Of listings that cannot be read, in one line of the log. */
const MOST_NAMED = 20;

/** Runs until stopped. A scope that does not answer does not delay the others. */
export const followReference = (options: ReferenceOptions): Reference => new ReferenceFollower(options);

class ReferenceFollower implements Reference {
  readonly #options: ReferenceOptions;
  readonly #over = new AbortController();
  readonly #state: ReferenceState = {};
  readonly #scopes = new Map<string, readonly ListingRecord[]>();
  readonly #backoff: Backoff;
  #waiting = new AbortController();
  #askedMs = performance.now();
  /** When all listings are requested again, whether or not all requests of the last round were answered. */
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReferenceOptions) {
    this.#options = options;
    this.#backoff = createBackoff({ ...BACKOFF, random: options.random });
    void this.#run();
  }

  hurry(): void {
    if (performance.now() - this.#askedMs < HURRY_MS) return;
    this.#dueMs = Number.NEGATIVE_INFINITY;
    this.#waiting.abort();
  }

  stop(): void {
    this.#over.abort();
  }

  async #run(): Promise<void> {
    let failed: readonly VenueRequest[] = [];
    while (!this.#over.signal.aborted) {
      this.#askedMs = performance.now();
      // Before the round, so that a request for the next round during a long one is not lost at its end.
      this.#waiting = new AbortController();
      failed = await this.#askAll(this.#listRequests(failed));
      if (failed.length === 0) this.#backoff.reset();
      const waitMs = failed.length > 0 ? this.#backoff.next() : this.#options.venue.referenceEveryMs;
      const signal = AbortSignal.any([this.#over.signal, this.#waiting.signal]);
      await pauseUnlessAborted(waitMs, signal);
    }
  }

  /** The requests that failed, or all when it is time for them: a scope that never answers does not hold up the others. */
  #listRequests(failed: readonly VenueRequest[]): readonly VenueRequest[] {
    const { venue, endpoints } = this.#options;
    if (failed.length > 0 && this.#askedMs < this.#dueMs) return failed;
    this.#dueMs = this.#askedMs + venue.referenceEveryMs;
    return venue.reference(endpoints);
  }

  /** Sends the requests in order and returns the failed ones. A host's later answers build on its earlier ones, so they are retried together. */
  async #askAll(requests: readonly VenueRequest[]): Promise<readonly VenueRequest[]> {
    const failed: VenueRequest[] = [];
    for (const request of requests) {
      const waits = failed.some(({ url }) => new URL(url).host === new URL(request.url).host);
      if (waits || !(await this.#ask(request))) failed.push(request);
    }
    if (failed.length < requests.length && !this.#over.signal.aborted) {
      this.#options.onListings([...this.#scopes.values()].flat());
    }
    return failed;
  }

  async #ask(request: VenueRequest): Promise<boolean> {
    const { ready, rest, source, countStandstills, log } = this.#options;
    try {
      await ready();
      const before = countStandstills();
      const payload = await rest.ask(request, 'connection');
      if (this.#over.signal.aborted || countStandstills() !== before) return false;
      const named = `${request.method} ${request.url}`;
      source.response(named, payload);
      this.#fold(named, payload);
      return true;
    } catch (error) {
      if (this.#over.signal.aborted) return false;
      if (!(error instanceof RestError || error instanceof VenueError)) throw error;
      log.warn({ err: error }, 'no reference answer');
      return false;
    }
  }

  #fold(request: string, payload: Uint8Array): void {
    const { venue, nowMicros, log } = this.#options;
    const answer = venue.mapReference(this.#state, { kind: 'response', received_at: nowMicros(), request, payload });
    if (!answer) return;
    const read = new Set(answer.listings.map(({ venue_symbol }) => venue_symbol));
    const before = this.#scopes.get(answer.scope) ?? [];
    // A listing that may exist is followed as it was.
    const kept = before.filter(({ venue_symbol }) => !read.has(venue_symbol) && mayExist(answer, venue_symbol));
    this.#scopes.set(answer.scope, [...answer.listings, ...kept]);
    const isThere = ({ values: { delisted_at: end } }: ListingRecord): boolean => end === null || end > nowMicros();
    if (isEmptyAnswer(answer) && before.some(isThere))
      log.warn({ scope: answer.scope }, 'an answer without listings, where some were known');
    const { unreadable = [] } = answer;
    if (unreadable.length > 0)
      log.warn(
        { count: unreadable.length, unreadable: unreadable.slice(0, MOST_NAMED) },
        'listings that cannot be read',
      );
  }
}
