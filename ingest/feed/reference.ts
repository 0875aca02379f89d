// Asks a venue for its listings, writes each answer to every shard and folds them to the listings now known.
import { setTimeout as pause } from 'node:timers/promises';
import { createBackoff } from '../../infra/runtime/backoff.ts';
import type { Logger } from '../../infra/runtime/log.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import type { CollectedVenue } from '../venues/contract/feed.ts';
import { type ReferenceState, VenueError, type VenueRequest } from '../venues/contract/listings.ts';
import type { Source } from './connection-log.ts';
import { type RestClient, RestError } from './rest-client.ts';

type ReferenceOptions = {
  readonly venue: CollectedVenue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly rest: RestClient;
  /** Where the answers go; concerns every shard. */
  readonly source: Source;
  /** Resolves when Kafka takes more. */
  readonly ready: () => Promise<void>;
  readonly nowMicros: () => Micros;
  /** After each round that gave an answer: every listing of every scope that has answered so far. */
  readonly onListings: (listings: readonly ListingRecord[]) => void;
  readonly random: () => number;
  readonly log: Logger;
};

const BACKOFF = { minMs: 1_000, maxMs: 60_000 };

type Reference = {
  /** What is listed may have changed: the next round begins now, unless the last one has just been. */
  readonly hurry: () => void;
  readonly stop: () => void;
};

/** A round that something asks for: not so soon after the last one. */
const HURRY_MS = 10_000;

/** Runs until it is stopped. A scope that does not answer keeps no other from starting. */
export const followReference = (options: ReferenceOptions): Reference => {
  const { venue, endpoints, rest, source, ready, nowMicros, onListings, random, log } = options;
  const over = new AbortController();
  const state: ReferenceState = {};
  const scopes = new Map<string, readonly ListingRecord[]>();
  const backoff = createBackoff({ ...BACKOFF, random });
  let waiting = new AbortController();
  let askedMs = performance.now();

  const fold = (request: string, payload: Uint8Array): void => {
    const answer = venue.mapReference(state, { kind: 'response', received_at: nowMicros(), request, payload });
    if (answer) scopes.set(answer.scope, answer.listings);
  };

  const ask = async (request: VenueRequest): Promise<boolean> => {
    try {
      await ready();
      const payload = await rest.ask(request, 'connection');
      if (over.signal.aborted) return false;
      const named = `${request.method} ${request.url}`;
      source.response(named, payload);
      fold(named, payload);
      return true;
    } catch (error) {
      if (over.signal.aborted) return false;
      if (!(error instanceof RestError || error instanceof VenueError)) throw error;
      log.warn({ err: error }, 'no reference answer');
      return false;
    }
  };

  /** Asks in order and gives back what failed; a host's later answers build on its earlier ones, so they wait with them. */
  const round = async (requests: readonly VenueRequest[]): Promise<readonly VenueRequest[]> => {
    const failed: VenueRequest[] = [];
    for (const request of requests) {
      const waits = failed.some(({ url }) => new URL(url).host === new URL(request.url).host);
      if (waits || !(await ask(request))) failed.push(request);
    }
    if (failed.length < requests.length && !over.signal.aborted) onListings([...scopes.values()].flat());
    return failed;
  };

  const run = async (): Promise<void> => {
    let failed: readonly VenueRequest[] = [];
    while (!over.signal.aborted) {
      askedMs = performance.now();
      failed = await round(failed.length > 0 ? failed : venue.reference(endpoints));
      if (failed.length === 0) backoff.reset();
      const waitMs = failed.length > 0 ? backoff.next() : venue.referenceEveryMs;
      waiting = new AbortController();
      const signal = AbortSignal.any([over.signal, waiting.signal]);
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  };
  void run();
  return {
    hurry: () => {
      if (performance.now() - askedMs >= HURRY_MS) waiting.abort();
    },
    stop: () => over.abort(),
  };
};
