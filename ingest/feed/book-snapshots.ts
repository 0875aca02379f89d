// Requests book snapshots, the oldest need first, one of a kind at a time; writes each answer under the connection it serves.
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { ListingRecord } from '../../schemas/records.ts';
import type { CollectedVenue, Urgency } from '../venues/contract/feed.ts';
import type { VenueRequest } from '../venues/contract/listings.ts';
import type { BookNeed, BookWatch, BookWhy } from './book-watch.ts';
import type { Source } from './connection-log.ts';
import type { VenueMeters } from './meters.ts';
import { type RestClient, RestError } from './rest-client.ts';

export type BookClient = { readonly source: Source; readonly watch: BookWatch };

export type BookSnapshots = {
  readonly add: (client: BookClient) => void;
  readonly remove: (client: BookClient) => void;
  /** Checks now instead of at the next interval: a book broke, or its first message arrived. */
  readonly wake: () => void;
  readonly stop: () => void;
};

type BookSnapshotsOptions = {
  readonly venue: CollectedVenue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly rest: RestClient;
  readonly listings: () => ReadonlyMap<string, ListingRecord>;
  readonly shardOf: (venueSymbol: string) => number;
  /** True while Kafka accepts nothing more: an answer could not be stored, so nothing is requested. */
  readonly isFull: () => boolean;
  readonly meters: VenueMeters;
  /** The venue has no such book: the listing may have ended. */
  readonly onRefused: () => void;
  readonly log: Logger;
};

const LOOK_EVERY_MS = 100;
/** Retry interval of a snapshot that failed or was too old to join. */
const AGAIN_MS = 1_000;
/** Retry interval after the venue refused a book. Each second would use the budget that existing books need. */
const REFUSED_AGAIN_MS = 30_000;
/** Separate lanes: a confirmation that waits for its share of the budget must not delay a book that broke. */
type Lane = { readonly why: BookWhy; readonly urgency: Urgency; busy: boolean };
type BookRequest = { readonly kind: 'snapshot' | 'confirmation'; readonly request: VenueRequest };
type Turn = { readonly client: BookClient; readonly need: BookNeed };

/** The refusal concerns this request, not all requests. */
const isRefusal = ({ status, retryAtMs }: RestError): boolean =>
  status !== null && status >= 400 && status < 500 && retryAtMs === null;

export const createBookSnapshots = (options: BookSnapshotsOptions): BookSnapshots => new SnapshotRequests(options);

class SnapshotRequests implements BookSnapshots {
  readonly #options: BookSnapshotsOptions;
  readonly #clients = new Set<BookClient>();
  /** Symbols of the books whose last request failed. */
  readonly #failing = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  readonly #lanes: readonly Lane[] = [
    { why: 'join', urgency: 'book', busy: false },
    { why: 'confirm', urgency: 'confirmation', busy: false },
    { why: 'refresh', urgency: 'refresh', busy: false },
  ];

  constructor(options: BookSnapshotsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.wake(), LOOK_EVERY_MS);
  }

  add(client: BookClient): void {
    this.#clients.add(client);
  }

  remove(client: BookClient): void {
    this.#clients.delete(client);
  }

  wake(): void {
    for (const lane of this.#lanes) void this.#serveLane(lane);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#clients.clear();
  }

  async #serveLane(lane: Lane): Promise<void> {
    if (lane.busy) return;
    lane.busy = true;
    try {
      while (this.#clients.size > 0 && (await this.#serveNext(lane)));
    } finally {
      lane.busy = false;
    }
  }

  /** Returns false when nothing more can be done now. */
  async #serveNext(lane: Lane): Promise<boolean> {
    if (this.#options.isFull()) return false;
    const turn = this.#findTurn(lane, performance.now());
    if (!turn) return false;
    const listing = this.#options.listings().get(turn.need.symbol);
    const asked = listing ? this.#toRequest(turn.need, listing) : null;
    if (asked) await this.#serve(turn, asked, lane.urgency).catch((error: unknown) => this.#onFailure(turn, error));
    else turn.client.watch.postpone(turn.need.symbol, performance.now() + AGAIN_MS);
    return true;
  }

  #findTurn({ why }: Lane, nowMs: number): Turn | null {
    let best: Turn | null = null;
    for (const client of this.#clients) {
      const need = client.watch.oldest(nowMs, why);
      if (need && (!best || need.sinceMs < best.need.sinceMs)) best = { client, need };
    }
    return best;
  }

  #toRequest(need: BookNeed, listing: ListingRecord): BookRequest | null {
    const { endpoints, venue } = this.#options;
    const { bookSnapshot, bookConfirmation } = venue;
    if (bookConfirmation && need.why === 'confirm' && !need.isDoubted) {
      return { kind: 'confirmation', request: bookConfirmation(listing, endpoints) };
    }
    return bookSnapshot ? { kind: 'snapshot', request: bookSnapshot(listing, endpoints) } : null;
  }

  async #serve({ client, need }: Turn, { kind, request }: BookRequest, urgency: Urgency): Promise<void> {
    const { venue, rest, shardOf, meters } = this.#options;
    meters.bookSnapshot(need.why);
    client.watch.postpone(need.symbol, performance.now() + AGAIN_MS);
    const payload = await rest.ask(request, urgency);
    if (!this.#clients.has(client)) return;
    client.source.response(`${request.method} ${request.url}`, payload, [shardOf(need.symbol)]);
    const chain = venue.sequence(payload.toString());
    // An answer may omit the book's symbol; the request names it.
    if (chain?.kind !== 'snapshot') return this.#noteFailure(need.symbol, 'the response is no snapshot of a book');
    this.#failing.delete(need.symbol);
    client.watch.take({ ...chain, kind, symbol: need.symbol }, performance.now());
  }

  /** One line for each book that fails, until it succeeds. */
  #noteFailure(symbol: string, err: unknown): void {
    if (this.#failing.has(symbol)) return;
    this.#failing.add(symbol);
    this.#options.log.warn({ err, symbol }, 'no book snapshot');
  }

  #onFailure({ client, need }: Turn, error: unknown): void {
    if (!(error instanceof RestError)) throw error;
    this.#noteFailure(need.symbol, error);
    // Until the pause ends the others are refused at once.
    if (error.retryAtMs !== null) client.watch.postpone(need.symbol, error.retryAtMs);
    if (!isRefusal(error)) return;
    client.watch.postpone(need.symbol, performance.now() + REFUSED_AGAIN_MS);
    this.#options.onRefused();
  }
}
