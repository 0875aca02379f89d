// The contract of a simulated venue: its listings, its addresses, and its frames and REST responses while the market moves.
import type { Door, SocketLimits, Sockets } from './connection.ts';
import type { Crossings } from './crossings.ts';
import type { Delivery } from './delivery.ts';
import type { StreamRef } from './faults.ts';
import type { SimListing } from './listings.ts';
import type { Market, MarketEvents } from './market.ts';
import type { Trade } from './trade.ts';
import type { TruthLog } from './truth-log.ts';

/** One address: `http://host:port/<venue>` or `ws://host:port/<venue>`, followed by the path. */
type Address = { readonly protocol: 'http' | 'ws'; readonly path: string };

export type RestRequest = {
  readonly method: string;
  /** Without the venue's own prefix. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
  /** By the venue's clock. */
  readonly nowMs: number;
  /** Weight of its bucket used this minute, this request included. */
  readonly used: number;
};
export type RestAnswer = {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The budget that a request uses: one budget a host, by the clock's minute. */
export type Cost = { readonly bucket: string; readonly weight: number };

export type VenueDeps = {
  /** The venue's clock, skewed during a `clock_skew` fault. */
  readonly nowMs: () => number;
  readonly market: Market;
  readonly truth: TruthLog;
  /** The book as sent: a fault may cross it. */
  readonly crossings: Crossings;
  readonly delivery: Delivery;
  readonly sockets: Sockets;
  readonly limits: VenueLimits;
  /** Whether a `silence` hides a listing inside a frame of several listings. */
  readonly isSilenced: (ref: StreamRef) => boolean;
};

export type RunningVenue = {
  /** Turns events of the market into frames; their truth is already recorded. */
  readonly events: MarketEvents;
  /** Null when the venue has no such socket path (without its prefix). */
  readonly door: (url: URL) => Door | null;
  /** Null when the venue has no such host and path. */
  readonly cost: (request: Pick<RestRequest, 'method' | 'path' | 'query' | 'body'>) => Cost | null;
  readonly answer: (request: RestRequest) => RestAnswer;
  /** The response to requests that exceed the rate; `status` null is the venue's own. */
  readonly refuse: (status: number | null, waitMs: number) => RestAnswer;
  /** Called when sequences begin anew while sockets stay open. */
  readonly restarted?: () => void;
};

export type VenueLimits = SocketLimits & { readonly weightPerMinute: number };

export type SimulatedVenue = {
  readonly id: string;
  /** Keyed by the endpoint names of the venue's file in ingest. */
  readonly endpoints: Readonly<Record<string, Address>>;
  readonly limits: VenueLimits;
  /** The first `count` perpetuals of this venue. */
  readonly listings: (count: number) => readonly SimListing[];
  /** A made-up listing, for `listing_added`. */
  readonly extra: (number: number) => SimListing;
  /** Numbering of book frames: ids that jump with each change, or one more per message. Rows of truth have the same ids. */
  readonly bookIds: 'changes' | 'messages';
  /** Whether the book also changes between two diffs, as where a REST snapshot is joined to a running stream. */
  readonly runsAhead: boolean;
  /** Most levels a side in its book messages; default: all. Truth contains no others. */
  readonly shownLevels?: number;
  /** Frames of a listing each second, besides its diffs. */
  readonly steadyFrames: (listing: SimListing) => number;
  /** Frames of a trade, for a client with all subscriptions of a collector. */
  readonly framesPerTrade: number;
  /** The id of a trade in its messages; default: the trade's number as text. */
  readonly tradeId?: (trade: Trade) => string;
  /** Spelling of a frame on connections of that `form`; default: the text unchanged on every connection. */
  readonly spell?: (form: string, stream: string, text: string) => string;
  readonly open: (deps: VenueDeps) => RunningVenue;
};
