// Counts the messages of a venue while it is collected: for each layer how many, how often and how old; and unreadable ones with the cause.
import type { CollectedVenue } from '../../ingest/venues/contract/feed.ts';
import {
  type ReferenceState,
  type Unexpected,
  VenueError,
  type VenueMessage,
} from '../../ingest/venues/contract/listings.ts';
import { type Mapped, type MappedVenue, type MapState, UnreadablePart } from '../../ingest/venues/contract/mapping.ts';
import { type BookSync, isWhole, makeBookSync, stepBookSync } from '../../ingest/venues/shared/book-sync.ts';
import { watchUnexpected } from '../../ingest/venues/shared/unexpected.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import type { CapabilityBody, LostBody, RawMessage } from '../../schemas/topics.ts';

export type LayerSeen = {
  records: number;
  readonly symbols: Set<string>;
  /** Milliseconds between two records of one listing. */
  readonly gapsMs: number[];
  /** Milliseconds from the venue's stamp to the receipt. */
  readonly lagsMs: number[];
};

type DeadLetter = { readonly code: string; readonly message: string; count: number; readonly example: string };

/** Most samples kept of each figure: a minute of a large venue has millions. */
const KEPT = 20_000;
const EXAMPLE_BYTES = 160;

const parseBody = <T>({ payload }: RawMessage): T => JSON.parse(Buffer.from(payload).toString('utf8')) as T;

export class VenueCheck {
  readonly layers = new Map<string, LayerSeen>();
  readonly deadLetters = new Map<string, DeadLetter>();
  readonly unexpected = new Map<Unexpected, number>();
  /** Causes of connections that were lost or refused, with how many. */
  readonly lost = new Map<string, number>();
  readonly listings = new Map<string, ListingRecord>();
  messages = 0;
  bytes = 0;
  opened = 0;
  breaks = 0;
  capability: CapabilityBody | null = null;
  readonly #venue: CollectedVenue & MappedVenue;
  readonly #reference: ReferenceState = {};
  /** Mapper state belongs to a connection: a new one begins with empty state. */
  readonly #states = new Map<string, MapState>();
  readonly #books = new Map<string, BookSync<null>>();
  readonly #lastAt = new Map<string, Micros>();

  constructor(venue: CollectedVenue & MappedVenue) {
    this.#venue = watchUnexpected(venue, (kind) => this.unexpected.set(kind, (this.unexpected.get(kind) ?? 0) + 1));
  }

  /** Number of books that could be assembled from their messages. */
  get wholeBooks(): number {
    return [...this.#books.values()].filter(isWhole).length;
  }

  take(message: RawMessage): void {
    switch (message.kind) {
      case 'frame':
      case 'response':
        this.#map(message);
        return;
      case 'open':
        this.opened += 1;
        return;
      case 'lost': {
        const { cause, detail } = parseBody<LostBody>(message);
        const why = `${cause}: ${detail}`;
        this.lost.set(why, (this.lost.get(why) ?? 0) + 1);
        this.#states.delete(message.conn_id);
        return;
      }
      case 'capability':
        this.capability = parseBody<CapabilityBody>(message);
        return;
      case 'tick':
        return;
      default:
        message.kind satisfies never;
    }
  }

  #map({ conn_id, kind, received_at, request, payload }: RawMessage): void {
    this.messages += 1;
    this.bytes += payload.length;
    const state = this.#states.get(conn_id) ?? {};
    this.#states.set(conn_id, state);
    try {
      const decoded = this.#venue.decode ? this.#venue.decode(payload) : payload;
      const message: VenueMessage = {
        kind: kind === 'response' ? 'response' : 'frame',
        received_at,
        request,
        payload: decoded,
      };
      const answer = this.#venue.mapReference(this.#reference, message);
      for (const record of answer?.listings ?? []) this.listings.set(record.venue_symbol, record);
      for (const { code, text } of answer?.unreadable ?? []) this.#bury({ code, message: text }, payload);
      for (const mapped of this.#venue.map(state, message, { listings: this.listings })) this.#count(mapped, conn_id);
    } catch (error) {
      if (!(error instanceof VenueError)) throw error;
      if (error instanceof UnreadablePart) for (const mapped of error.mapped) this.#count(mapped, conn_id);
      this.#bury(error, payload);
    }
  }

  #bury({ code, message }: Pick<VenueError, 'code' | 'message'>, payload: Uint8Array): void {
    // The text after a colon belongs to this message alone.
    const kind = `${code} ${message.split(': ')[0]}`;
    const held = this.deadLetters.get(kind);
    if (held !== undefined) held.count += 1;
    else {
      const example = Buffer.from(payload).subarray(0, EXAMPLE_BYTES).toString('utf8');
      this.deadLetters.set(kind, { code, message, count: 1, example });
    }
  }

  #count({ record, chain }: Mapped, connection: string): void {
    const { layer, venue_symbol: symbol, received_at: at, venue_ts: stamp } = record;
    const seen = this.layers.get(layer) ?? { records: 0, symbols: new Set(), gapsMs: [], lagsMs: [] };
    this.layers.set(layer, seen);
    seen.records += 1;
    if (symbol !== null) seen.symbols.add(symbol);
    const place = `${layer}|${symbol}`;
    const last = this.#lastAt.get(place);
    this.#lastAt.set(place, at);
    if (last !== undefined && seen.gapsMs.length < KEPT) seen.gapsMs.push((at - last) / 1_000);
    if (stamp !== null && seen.lagsMs.length < KEPT) seen.lagsMs.push((at - stamp) / 1_000);
    if (chain === undefined) return;
    const book = `${connection}|${chain.symbol}`;
    const step = stepBookSync<null>(this.#venue.bookRule, this.#books.get(book) ?? makeBookSync(), {
      chain,
      payload: null,
      receivedAt: at,
    });
    if (step.broke) this.breaks += 1;
    this.#books.set(book, step.state);
  }
}
