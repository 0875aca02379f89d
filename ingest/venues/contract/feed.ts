// Second part of a venue's contract, read by collectors: limits, layers, sockets and polls, and cheap reads of frames.
import type { ListingRecord } from '../../../schemas/records.ts';
import type { CapabilityBody } from '../../../schemas/topics.ts';
import type { BookRule, Chain } from '../shared/book-sync.ts';
import type { Endpoints, VenueListings, VenueRequest } from './listings.ts';

/**
 * Requests of the first kinds are sent first when the REST budget is short: what connections depend on, books that broke, polls of values,
 * minutes that may still be filled, polls of mark and index candles, confirmations of quiet values, refreshes of old books.
 */
export const URGENCIES = ['connection', 'book', 'poll', 'candle', 'price_candle', 'confirmation', 'refresh'] as const;
export type Urgency = (typeof URGENCIES)[number];

export type PollRequest = VenueRequest & {
  /** `poll` unless stated. */
  readonly urgency?: Urgency;
  /** `{since}` in the URL is replaced by the send time minus this, in Unix seconds. */
  readonly sinceMs?: number;
};

/**
 * What a slot delivers. `symbols` null: every listing of the venue. `layers` are reading layers, `trades`, `liquidation`, `candles`, and
 * `price_candles` where mark and index candles do not come with those of trades.
 */
export type Cover = { readonly layers: readonly string[]; readonly symbols: readonly string[] | null };

/** Subscriptions of a socket that are never quiet for long, or whose beginning shows; names are the venue's own. */
export type Watched = {
  readonly subscriptions: readonly string[];
  /** After this silence a subscription is renewed (F-02: the layer's freshness default). */
  readonly silenceMs: number;
  /** They may be quiet once they have begun, with an acknowledgement or a first frame: only one that never began is renewed. */
  readonly mayBeQuiet?: true;
  /** After this silence its value is requested by `confirm` (F-03). */
  readonly confirmAfterMs?: number;
  /** Members that frames may leave out or repeat: the value is requested when one of them has not changed for its time, whatever else came. */
  readonly members?: readonly WatchedMember[];
};
/** A member of JSON frames whose value is a text. */
export type WatchedMember = { readonly name: string; readonly confirmAfterMs: number };

/** No data for this long means a lost connection, and a silent subscription, unless the venue documents another time (F-02). */
export const SILENCE_MS = 30_000;
/** Age at which a socket is replaced: venues close sockets, or expire their tokens, at 24 h; where none is documented a subscription may die on a live socket. */
export const RENEW_AFTER_MS = 23 * 3_600_000;

/** One socket that the collector runs. Its messages are written to each shard in `shards`. */
export type SocketSlot = {
  readonly kind: 'socket';
  /** Stable and unique in the venue: the raw topic's key. */
  readonly id: string;
  readonly shards: readonly number[];
  readonly url: string;
  /** Frames sent after opening, in order, paced by `limits.subscribePerSecond`. */
  readonly subscribe: readonly string[];
  readonly covers: readonly Cover[];
  /** No data for this long means the connection is lost. */
  readonly silenceMs: number;
  /** The collector opens a successor before this age, and both overlap. */
  readonly renewAfterMs: number;
  /** Needs the venue's `subscriptionOf` and `renew`. */
  readonly watched?: readonly Watched[];
};

/** One poll that the collector runs: its requests are sent in order, spread evenly over the period. */
export type PollSlot = {
  readonly kind: 'poll';
  readonly id: string;
  readonly shards: readonly number[];
  readonly requests: readonly PollRequest[];
  readonly everyMs: number;
  readonly covers: readonly Cover[];
};

export type Slot = SocketSlot | PollSlot;

/** At most `most` in any span of `ms`; the collector uses four fifths of it. */
export type Burst = { readonly most: number; readonly ms: number };

/** How one layer is delivered: decides its horizon (F-02). */
export type Delivery = {
  readonly policy: 'on' | 'off' | 'not_published';
  readonly cadence: 'live' | number;
  readonly horizonMs: number | null;
  readonly horizonSource: 'connection' | 'documented' | 'assumed' | 'measured' | 'venue_declared' | null;
  /** Of events: whether the venue publishes all of them (H-15). */
  readonly completeness?: 'full' | 'sampled';
};

/** A minute of trades by its open instant, Unix ms. */
export type ClosedMinute = { readonly symbol: string; readonly openMs: number };
/** A request whose answer is about one listing. */
export type SymbolRequest = { readonly symbol: string; readonly request: VenueRequest };
type Listed = Pick<ListingRecord, 'venue_symbol'>;

export type VenueLimits = {
  readonly streamsPerConnection: number;
  readonly subscribePerSecond: number;
  readonly restWeightPerMinute: number;
  /** One weight for all hosts of the venue together. */
  readonly restWeightIsShared?: true;
  readonly connectionsPerMinute: number;
  /** Of weight, where the venue counts it in less than a minute. */
  readonly restBurst?: Burst;
  readonly connectionBurst?: Burst;
  /** Period of the search for silent subscriptions, where the venue limits a connection's commands; 1 s unless stated. */
  readonly renewEveryMs?: number;
};

/** What a plan depends on besides the listings. */
export type PlanEnv = {
  readonly shards: number;
  readonly shardOf: (venueSymbol: string) => number;
  readonly endpoints: Endpoints;
};

export type VenueFeed = {
  /** Sent with every handshake and request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits: VenueLimits;
  /** By reading layer plus `trades`, `liquidation`, `candles`. */
  readonly layers: Readonly<Record<string, Delivery>>;
  /** Deliveries whose cadence depends on the number of listings, laid over `layers`. */
  readonly deliveries?: (listings: readonly ListingRecord[]) => Readonly<Record<string, Delivery>>;
  readonly plan: (listings: readonly ListingRecord[], env: PlanEnv) => readonly Slot[];
  /** Cheap read. `error` frames are logged and counted; `data` resets the silence watch. */
  readonly classify: (text: string) => 'data' | 'ack' | 'heartbeat' | 'error';
  /** The client's ping, where the venue wants one; `frame` null is a ping of the WebSocket protocol. */
  readonly ping?: { readonly everyMs: number; readonly frame: string | null };
  /** Answer to a venue's own ping frame (application level), or null. */
  readonly replyTo?: (text: string) => string | null;
  /** Requested before each connection where the venue hands out the address (a token that expires): a slot's `url` is then where to request it. */
  readonly prepare?: {
    readonly request: (slotUrl: string) => VenueRequest;
    /** The socket's URL in the answer. Throws `VenueError`. */
    readonly socketUrl: (answer: Uint8Array) => string;
  };
  /** Cheap read: the book chain of a frame or of a snapshot's body (its symbol is empty where the venue leaves it out); null: no book. */
  readonly sequence: (text: string) => Chain | null;
  readonly bookRule: BookRule;
  /** Request of a whole book, when the rule's style is `snapshot`. */
  readonly bookSnapshot?: (listing: Listed, endpoints: Endpoints) => VenueRequest;
  /** A cheaper request that confirms a quiet book: its answer's chain is a `confirmation`. */
  readonly bookConfirmation?: (listing: Listed, endpoints: Endpoints) => VenueRequest;
  /** Cheap read of a data frame: the watched subscription it came by; of an acknowledgement: the one it accepts. Null: none, or several. */
  readonly subscriptionOf?: (text: string) => string | null;
  /** Frames that end and begin silent subscriptions. */
  readonly renew?: (subscriptions: readonly string[]) => readonly string[];
  /** A subscribe frame without what an `error` frame refuses of it, where the venue refuses it whole; null: the error is about something else. */
  readonly without?: (refusal: string, request: string) => string | null;
  /** Requests the newest value of a quiet subscription. */
  readonly confirm?: (subscription: string, endpoints: Endpoints) => SymbolRequest | null;
  /** Cheap read of a data frame: a minute of trades that it closes, or null. */
  readonly closedMinute?: (text: string) => ClosedMinute | null;
  /** Cheap read of a data frame of a venue that marks no minute as closed: its newest minute. An older minute is over. */
  readonly newestMinute?: (text: string) => ClosedMinute | null;
  /** Candles of trades whose minutes open in `[from, to]` (Unix ms), and the one after them, which shows that they are over. */
  readonly candles?: (
    listing: Listed,
    range: { readonly fromMs: number; readonly toMs: number },
    endpoints: Endpoints,
  ) => VenueRequest;
};

/** A venue as collectors use it. */
export type CollectedVenue = VenueListings & VenueFeed;

/** A venue's deliveries as the log's `capability` record has them; cadence `live` has no milliseconds. */
export const toCapability = ({ name, layers }: Pick<CollectedVenue, 'name' | 'layers'>): CapabilityBody => ({
  name,
  layers: Object.fromEntries(
    Object.entries(layers).map(([layer, { policy, cadence, horizonMs, horizonSource, completeness }]) => [
      layer,
      {
        policy,
        cadence_ms: cadence === 'live' ? null : cadence,
        horizon_ms: horizonMs,
        horizon_source: horizonSource,
        ...(completeness === undefined ? {} : { completeness }),
      },
    ]),
  ),
});
