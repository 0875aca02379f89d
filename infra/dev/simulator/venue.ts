// The contract of a simulated venue: its listings, its addresses, and what its sockets and REST say while the market moves.

import type { Door, SocketLimits, Sockets } from './connection.ts';
import type { Crossings } from './crossings.ts';
import type { Delivery } from './delivery.ts';
import type { StreamRef } from './faults.ts';
import type { SimListing } from './listings.ts';
import type { Market, MarketEvents } from './market.ts';
import type { Trade } from './trade.ts';
import type { TruthLog } from './truth-log.ts';

/** One address: what stands behind `http://host:port/<venue>` or `ws://host:port/<venue>`. */
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

/** What a request counts against: one budget a host, by the clock's minute. */
export type Cost = { readonly bucket: string; readonly weight: number };

export type VenueDeps = {
  /** The venue's clock, skewed while a fault says so. */
  readonly nowMs: () => number;
  readonly market: Market;
  readonly truth: TruthLog;
  /** The book as the wire shows it: a fault may cross it. */
  readonly crossings: Crossings;
  readonly delivery: Delivery;
  readonly sockets: Sockets;
  readonly limits: VenueLimits;
  /** Whether a `silence` hides a listing inside a frame about many. */
  readonly isSilenced: (ref: StreamRef) => boolean;
};

export type RunningVenue = {
  /** What happens in the market becomes frames; its truth is already written. */
  readonly events: MarketEvents;
  /** Null when the venue has no such socket path (without its prefix). */
  readonly door: (url: URL) => Door | null;
  /** Null when the venue has no such host and path. */
  readonly cost: (request: Pick<RestRequest, 'method' | 'path' | 'query' | 'body'>) => Cost | null;
  readonly answer: (request: RestRequest) => RestAnswer;
  /** Says that requests come too fast; `status` null is the venue's own. */
  readonly refuse: (status: number | null, waitMs: number) => RestAnswer;
  /** Sequences began anew while sockets stay open. */
  readonly restarted?: () => void;
};

export type VenueLimits = SocketLimits & { readonly weightPerMinute: number };

export type SimulatedVenue = {
  readonly id: string;
  /** By the names that the venue's file in ingest gives its endpoints. */
  readonly endpoints: Readonly<Record<string, Address>>;
  readonly limits: VenueLimits;
  /** The first `count` perpetuals of this venue. */
  readonly listings: (count: number) => readonly SimListing[];
  /** A made-up one, for `listing_added`. */
  readonly extra: (number: number) => SimListing;
  /** What a book frame is numbered by: ids that jump with each change, or one more a message. Rows of truth carry the same. */
  readonly bookIds: 'changes' | 'messages';
  /** Whether the book also changes between two diffs, as where a REST snapshot must be joined to a running stream. */
  readonly runsAhead: boolean;
  /** Levels a side that its book messages carry at most; without it all. Truth knows of no others. */
  readonly shownLevels?: number;
  /** Frames a listing has each second besides its diffs. */
  readonly steadyFrames: (listing: SimListing) => number;
  /** Frames that a trade brings, for whoever listens to everything a collector listens to. */
  readonly framesPerTrade: number;
  /** The id its messages give a trade; without it the trade's number as text. */
  readonly tradeId?: (trade: Trade) => string;
  /** Spelling of a frame on connections of that `form`; without it every connection gets the text as it is. */
  readonly spell?: (form: string, stream: string, text: string) => string;
  readonly open: (deps: VenueDeps) => RunningVenue;
};
