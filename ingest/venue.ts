// The contract of a venue: one pure value, no socket, no clock. Collector and task both read it.

import type { ReadingLayer } from '../schemas/layers.ts';
import type {
  BookRecord,
  Level,
  ListingRecord,
  ListingValues,
  Micros,
  NormalisedRecord,
  PriceType,
} from '../schemas/records.ts';
import type { CapabilityBody } from '../schemas/topics.ts';

/**
 * What goes first when a venue's REST budget is short: what connections depend on, books that broke, polls of values, minutes that may still
 * be filled, polls of candles of mark and index prices, confirmations of values that are merely quiet, books whose snapshot is old.
 */
export const URGENCIES = ['connection', 'book', 'poll', 'candle', 'price_candle', 'confirmation', 'refresh'] as const;
export type Urgency = (typeof URGENCIES)[number];

/** One REST request. `url` is complete; `weight` counts against `limits.restWeightPerMinute`. */
export type VenueRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: string;
  readonly weight: number;
  /** Of a poll slot's request, when it is not `poll`. */
  readonly urgency?: Urgency;
  /** Of a poll slot's request: `{since}` in its URL stands for the instant so long before it is sent, in Unix seconds. */
  readonly sinceMs?: number;
};

/**
 * What a slot's messages are about; `symbols` null means every listing of the venue (or of its `scope`). `layers` are reading layers, `trades`,
 * `liquidation`, `candles`, and `price_candles` where mark and index candles do not come with those of trades.
 */
export type Cover = { readonly layers: readonly string[]; readonly symbols: readonly string[] | null };

/** Subscriptions of a socket that never rest for long while they live; names are the venue's own. */
export type Watched = {
  readonly subscriptions: readonly string[];
  /** Silent so long, it is subscribed again (F-02: the layer's freshness default). */
  readonly silenceMs: number;
  /** Silent so long, its value is asked for by `confirm` (F-03). */
  readonly confirmAfterMs?: number;
  /** Members its frames may leave out or repeat: the value is asked for when one of them has not changed for so long, whatever else came. */
  readonly members?: readonly WatchedMember[];
};
/** A member of JSON frames that is a text. */
export type WatchedMember = { readonly name: string; readonly confirmAfterMs: number };

/** One socket or one poll the collector runs. Its messages are written to each shard in `shards`. */
export type Slot =
  | {
      readonly kind: 'socket';
      /** Stable name, unique in the venue: becomes the raw topic's key. */
      readonly id: string;
      readonly shards: readonly number[];
      readonly url: string;
      /** Frames sent after opening, in order, paced by `limits.subscribePerSecond`. */
      readonly subscribe: readonly string[];
      readonly covers: readonly Cover[];
      /** No data for this long means the connection is lost (F-02: 30 s unless the venue says otherwise). */
      readonly silenceMs: number;
      /** The collector opens a successor before this age and overlaps both (venues close at 24 h). */
      readonly renewAfterMs: number;
      /** Needs the venue's `subscriptionOf` and `renew`. */
      readonly watched?: readonly Watched[];
    }
  | {
      readonly kind: 'poll';
      readonly id: string;
      readonly shards: readonly number[];
      /** Asked in this order, spread evenly over the period. */
      readonly requests: readonly VenueRequest[];
      readonly everyMs: number;
      readonly covers: readonly Cover[];
    };

/** At most so many in any span of `ms`; the collector uses four fifths of it. */
export type Burst = { readonly most: number; readonly ms: number };

/** How one layer is delivered: fixes its horizon (F-02). */
export type Delivery = {
  readonly policy: 'on' | 'off' | 'not_published';
  readonly cadence: 'live' | number;
  readonly horizonMs: number | null;
  readonly horizonSource: 'connection' | 'documented' | 'assumed' | 'measured' | 'venue_declared' | null;
  /** Of events: whether the venue tells all of them (H-15). */
  readonly completeness?: 'full' | 'sampled';
};

/** A raw message as the mapper sees it: parsed from the raw topic or from a recording. */
export type VenueMessage = {
  readonly kind: 'frame' | 'response';
  readonly received_at: Micros;
  /** For responses the request's method and URL (`GET https://…`); null for frames. */
  readonly request: string | null;
  readonly payload: Uint8Array;
};

/** A mapped record plus the smallest piece of the message about it, for `include_raw`. */
export type Mapped = { readonly record: NormalisedRecord; readonly element: unknown; readonly chain?: Chain };

/** Sequence ids of a book message, as the venue numbers them (bigint: some exceed 2^53). */
export type Chain = {
  readonly symbol: string;
  /** `confirmation`: a few levels of a snapshot, whose id alone matters. */
  readonly kind: 'snapshot' | 'update' | 'confirmation';
  readonly first: bigint | null;
  readonly last: bigint | null;
  readonly previous: bigint | null;
  /** Snapshots only: sides of which the venue sent fewer levels than asked, hence all it has. */
  readonly full?: FullSides | undefined;
};

export type FullSides = { readonly bids: boolean; readonly asks: boolean };

/** What the mapper needs to know besides the message; nothing else reaches it. */
export type MapContext = {
  /** Known listings by venue symbol (newest version). */
  readonly listings: ReadonlyMap<string, ListingRecord>;
};

/** How a venue's book continues (book-sync.ts runs it). `snapshot`: REST snapshot + buffered diffs; `stream`: the feed sends its snapshots; `full`: every message is whole. */
export type BookRule = {
  readonly style: 'snapshot' | 'stream' | 'full';
  /** True when `next` directly continues a book standing at `last` (null: nothing applied since the snapshot `snapshotId`). */
  readonly continues: (
    at: { readonly last: bigint; readonly joined: boolean },
    next: Chain,
  ) => 'apply' | 'skip' | 'break';
  /** Most diffs kept while waiting for a snapshot; more are dropped oldest first, and the join then fails. */
  readonly bufferLimit: number;
};

/** Minutes that a request of candles asks for, by the instants they open at. */
export type AskedMinutes = {
  /** Listings that its answer is about. */
  readonly symbols: readonly string[];
  readonly price_type: PriceType;
  /** The first and the last; null: the oldest that is told, the one that runs. */
  readonly from: Micros | null;
  readonly to: Micros | null;
  /** An answer of so many is cut: it covers what lies between those it tells. */
  readonly limit: number;
};
/** An answer that comes so long after a minute's end tells it whole, or proves that it had no trades (H-12). */
export const MINUTE_SETTLES_MS = 10_000;

export type ClosedMinute = { readonly symbol: string; readonly openMs: number };
/** A request whose answer is about one listing. */
export type SymbolRequest = { readonly symbol: string; readonly request: VenueRequest };

/** Answer of `reference`: listings of one scope (an endpoint's market), whole: what is absent was delisted. */
export type ReferenceAnswer = {
  readonly scope: string;
  readonly listings: readonly ListingRecord[];
  /** The listings' elements by venue symbol, in the venue's own text, for `include_raw` (V-02); they are cut out when they are asked for. */
  readonly elements: () => ReadonlyMap<string, string>;
};

export type Venue = {
  readonly id: string;
  readonly name: string;
  readonly docs: string;
  /** Base URLs by name; overridable by configuration (`VENUE_<ID>_ENDPOINTS`), so that simulators can stand in. */
  readonly endpoints: Readonly<Record<string, string>>;
  /** Sent with every handshake and request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits: {
    readonly streamsPerConnection: number;
    readonly subscribePerSecond: number;
    readonly restWeightPerMinute: number;
    readonly connectionsPerMinute: number;
    /** Of weight, where the venue counts it in less than a minute. */
    readonly restBurst?: Burst;
    readonly connectionBurst?: Burst;
    /** Silent subscriptions are looked for so often, where the venue counts a connection's commands; each second unless told. */
    readonly renewEveryMs?: number;
  };
  /** By reading layer plus `trades`, `liquidation`, `candles`. */
  readonly layers: Readonly<Record<string, Delivery>>;
  /** Deliveries whose cadence follows from how many listings there are, laid over `layers` once they are known. */
  readonly deliveries?: (listings: readonly ListingRecord[]) => Readonly<Record<string, Delivery>>;
  /** Requests that name all listings, asked at start and every `referenceEveryMs`, in order. */
  readonly reference: (endpoints: Readonly<Record<string, string>>) => readonly VenueRequest[];
  readonly referenceEveryMs: number;
  /** Folds one reference answer; `state` is plain data. Null when the response is none of ours or not complete yet. */
  readonly mapReference: (state: ReferenceState, message: VenueMessage) => ReferenceAnswer | null;
  readonly plan: (
    listings: readonly ListingRecord[],
    env: {
      readonly shards: number;
      readonly shardOf: (venueSymbol: string) => number;
      readonly endpoints: Readonly<Record<string, string>>;
    },
  ) => readonly Slot[];
  /** Cheap look at a frame: what it is. `error` frames are logged and counted; `data` resets the silence watch. */
  readonly classify: (text: string) => 'data' | 'ack' | 'heartbeat' | 'error';
  /** Client ping to send every `everyMs`, when the venue wants one; `frame` null is a ping of the WebSocket protocol itself. */
  readonly ping?: { readonly everyMs: number; readonly frame: string | null };
  /** Answer to a venue's own ping frame (application level), or null. */
  readonly replyTo?: (text: string) => string | null;
  readonly decode?: (bytes: Uint8Array) => Uint8Array;
  /** Asked before each connection, when the venue hands out the address to connect to (a token that expires): a socket slot's `url` is then where to ask. */
  readonly prepare?: {
    readonly request: (slotUrl: string) => VenueRequest;
    /** The socket's URL as the answer says. Throws VenueError. */
    readonly socketUrl: (answer: Uint8Array) => string;
  };
  /** Cheap look: the book chain of a frame or of a snapshot's body (there its symbol is empty where the venue leaves it out); null when it is no book. */
  readonly sequence: (text: string) => Chain | null;
  readonly bookRule: BookRule;
  /** Request of a whole book, when the rule's style is `snapshot`. */
  readonly bookSnapshot?: (
    listing: Pick<ListingRecord, 'venue_symbol'>,
    endpoints: Readonly<Record<string, string>>,
  ) => VenueRequest;
  /** Cheap look at a data frame: the watched subscription it came by, or null. */
  readonly subscriptionOf?: (text: string) => string | null;
  /** Frames that end and begin subscriptions that have gone silent. */
  readonly renew?: (subscriptions: readonly string[]) => readonly string[];
  /** A request to subscribe without what an `error` frame refuses of it, where the venue then refuses all of it; null: that frame is about something else. */
  readonly without?: (refusal: string, request: string) => string | null;
  /** Asks for the newest value of a quiet subscription. */
  readonly confirm?: (subscription: string, endpoints: Readonly<Record<string, string>>) => SymbolRequest | null;
  /** Cheap look at a data frame: a minute of trades that it closes, or null. */
  readonly closedMinute?: (text: string) => ClosedMinute | null;
  /** Cheap look at a data frame of a venue that marks no minute of trades as closed: the newest minute it tells. One told before it is over. */
  readonly newestMinute?: (text: string) => ClosedMinute | null;
  /** Candles of trades whose minutes open in `[from, to]` (milliseconds), and the one after them: it shows that they are over. */
  readonly candles?: (
    listing: Pick<ListingRecord, 'venue_symbol'>,
    range: { readonly fromMs: number; readonly toMs: number },
    endpoints: Readonly<Record<string, string>>,
  ) => VenueRequest;
  /** Of an answer of candles of a minute: what was asked for. Null when it is none, or its request does not say; it then covers what lies between the minutes it tells. */
  readonly askedMinutes?: (message: VenueMessage, context: MapContext) => AskedMinutes | null;
  /** A cheaper request that a quiet book is confirmed by: its answer's chain is a `confirmation`. */
  readonly bookConfirmation?: Venue['bookSnapshot'];
  /** What a symbol alone tells of its quantities: values the books of recordings that hold no reference answer. */
  readonly impliedQuantity?: (
    venueSymbol: string,
  ) => Pick<ListingValues, 'venue_kind' | 'contract_size' | 'quantity_unit'>;
  /** The mapping. May keep plain, checkpointable data per symbol in `state`. Throws `VenueError` only. */
  readonly map: (state: MapState, message: VenueMessage, context: MapContext) => readonly Mapped[];
};

/** Plain data kept per venue by `mapReference`. */
export type ReferenceState = Record<string, unknown>;
/** Plain data kept per listing and connection by `map`. */
export type MapState = Record<string, unknown>;

/**
 * Kinds of what a venue's file does not know, counted by `processor_unexpected_total`: a listing's status; a channel nobody reads; a word, or a side
 * that is no side; a trade without a taker; a member that is not there, or of another shape; a figure, or a level of a book, that cannot be
 * read; a message that is no JSON; what names no listing; a refusal of the venue.
 */
export const UNEXPECTED = [
  'unknown_status',
  'unread_channel',
  'unknown_word',
  'unknown_side',
  'no_side',
  'missing_member',
  'bad_shape',
  'bad_figure',
  'bad_level',
  'unreadable',
  'unknown_listing',
  'refusal',
] as const;
export type Unexpected = (typeof UNEXPECTED)[number];

const KINDS = {
  VENUE_BAD_FRAME: 'bad_shape',
  VENUE_BAD_FIGURE: 'bad_figure',
  VENUE_UNKNOWN_LISTING: 'unknown_listing',
} as const;

/** A message that cannot be read. `code` goes to the dead letters, `kind` to the metrics. */
export class VenueError extends Error {
  readonly code: keyof typeof KINDS;
  readonly kind: Unexpected;
  constructor(code: VenueError['code'], message: string, kind: Unexpected = KINDS[code]) {
    super(message);
    this.name = 'VenueError';
    this.code = code;
    this.kind = kind;
  }
}

/** The venue's answer that it does not give what was asked: no data was lost with it. */
export class VenueRefusal extends VenueError {
  constructor(what: string) {
    super('VENUE_BAD_FRAME', `the venue refused: ${what}`);
    this.name = 'VenueRefusal';
  }
}

export type { BookRecord, Level, ReadingLayer };

/** A venue's deliveries in the words of the log; cadence `live` is no number of milliseconds. */
export const toCapability = ({ name, layers }: Pick<Venue, 'name' | 'layers'>): CapabilityBody => ({
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
