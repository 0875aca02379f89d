// Asks for book snapshots, the oldest need first and one at a time, and writes each answer under the connection it serves.
import type { Logger } from '../../infra/runtime/log.ts';
import type { ListingRecord } from '../../schemas/records.ts';
import type { Venue, VenueRequest } from '../venue.ts';
import { type BookNeed, type BookWatch, isMoreUrgent } from './book-watch.ts';
import type { Source } from './connection-log.ts';
import type { VenueMeters } from './meters.ts';
import { type RestClient, RestError } from './rest-client.ts';

export type BookClient = { readonly source: Source; readonly watch: BookWatch };

export type BookSnapshots = {
  readonly add: (client: BookClient) => void;
  readonly remove: (client: BookClient) => void;
  /** A book broke or was heard first: look now instead of at the next turn. */
  readonly wake: () => void;
  readonly stop: () => void;
};

export type BookSnapshotsOptions = {
  readonly venue: Venue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly rest: RestClient;
  readonly listings: () => ReadonlyMap<string, ListingRecord>;
  readonly shardOf: (venueSymbol: string) => number;
  /** Kafka takes no more: nothing is asked that could not be kept. */
  readonly isFull: () => boolean;
  readonly meters: VenueMeters;
  readonly log: Logger;
};

const LOOK_EVERY_MS = 100;
/** A snapshot that was too old to join, or could not be had: the next try. */
const AGAIN_MS = 1_000;
/** Confirmations leave half of the limit to books that broke. */
const CONFIRM_SHARE = 0.5;

type Turn = { readonly client: BookClient; readonly need: BookNeed };

export const createBookSnapshots = (options: BookSnapshotsOptions): BookSnapshots => {
  const { venue, endpoints, rest, listings, shardOf, isFull, meters, log } = options;
  const clients = new Set<BookClient>();
  const { bookSnapshot } = venue;
  let busy = false;

  const nextTurn = (nowMs: number): Turn | null => {
    let best: Turn | null = null;
    for (const client of clients) {
      const need = client.watch.urgent(nowMs);
      if (need && (!best || isMoreUrgent(need, best.need))) best = { client, need };
    }
    return best;
  };

  const serve = async ({ client, need }: Turn, request: VenueRequest): Promise<void> => {
    meters.bookSnapshot(need.why);
    client.watch.postpone(need.symbol, performance.now() + AGAIN_MS);
    const payload = await rest.ask(request);
    if (!clients.has(client)) return;
    const named = `${request.method} ${request.url}`;
    client.source.response(named, payload, [shardOf(need.symbol)]);
    const chain = venue.sequence(payload.toString());
    // An answer may leave out whose book it is; the request knows.
    if (chain?.kind === 'snapshot') client.watch.take({ ...chain, symbol: need.symbol }, performance.now());
    else log.warn({ symbol: need.symbol }, 'an answer is no book snapshot');
  };

  /** False when nothing more can be done now. */
  const turn = async (): Promise<boolean> => {
    if (isFull() || !bookSnapshot) return false;
    const next = nextTurn(performance.now());
    if (!next) return false;
    const listing = listings().get(next.need.symbol);
    if (!listing) {
      next.client.watch.postpone(next.need.symbol, performance.now() + AGAIN_MS);
      return true;
    }
    const request = bookSnapshot(listing, endpoints);
    if (next.need.why !== 'join' && rest.used(request.url) > CONFIRM_SHARE) return false;
    await serve(next, request).catch((error: unknown) => {
      if (!(error instanceof RestError)) throw error;
      log.warn({ err: error, symbol: next.need.symbol }, 'no book snapshot');
    });
    return true;
  };

  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      while (clients.size > 0 && (await turn()));
    } finally {
      busy = false;
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);

  return {
    add: (client) => {
      clients.add(client);
    },
    remove: (client) => {
      clients.delete(client);
    },
    wake: () => void look(),
    stop: () => {
      clearInterval(timer);
      clients.clear();
    },
  };
};
