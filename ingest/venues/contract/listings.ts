// First part of a venue's contract, read by every process: the venue's identity, its messages, its errors, its listings.
import type { ListingRecord, Micros } from '../../../schemas/records.ts';

/** Base URLs by name. */
export type Endpoints = Readonly<Record<string, string>>;

/** One REST request. `url` is complete; `weight` counts against `limits.restWeightPerMinute`. */
export type VenueRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: string;
  readonly weight: number;
};

/** A message as a mapper reads it, from the raw topic or from a recording. */
export type VenueMessage = {
  readonly kind: 'frame' | 'response';
  readonly received_at: Micros;
  /** For responses the request's method and URL (`GET https://…`); null for frames. */
  readonly request: string | null;
  readonly payload: Uint8Array;
};

/** Plain data that `mapReference` keeps per venue. */
export type ReferenceState = Record<string, unknown>;

/** A row of a reference answer that cannot be read. `symbol`: the listing it is about; null when not even that can be read. Plain data. */
export type UnreadableListing = {
  readonly symbol: string | null;
  readonly code: VenueError['code'];
  readonly kind: Unexpected;
  readonly text: string;
};

/** Listings of one scope (an endpoint's market), complete: a listing that is absent was delisted, unless it `mayExist`. */
export type ReferenceAnswer = {
  readonly scope: string;
  readonly listings: readonly ListingRecord[];
  /** Absent: every row was read. */
  readonly unreadable?: readonly UnreadableListing[];
  /** The listings' elements by venue symbol, in the venue's own text, for `include_raw` (V-02). They are cut out on request. */
  readonly elements: () => ReadonlyMap<string, string>;
};

/** Whether an answer has no listing at all. A market that had some does not end at once: it says nothing of them (D-462). */
export const isEmptyAnswer = ({ listings }: ReferenceAnswer): boolean => listings.length === 0;

/** Whether a listing that is absent from an answer may exist: a row that cannot be read may be about it, or the answer is empty. */
export const mayExist = (answer: ReferenceAnswer, venueSymbol: string): boolean => {
  const { unreadable = [] } = answer;
  return isEmptyAnswer(answer) || unreadable.some(({ symbol }) => symbol === null || symbol === venueSymbol);
};

export type VenueListings = {
  readonly id: string;
  readonly name: string;
  readonly docs: string;
  /** Overridable by configuration (`VENUE_ENDPOINTS`), so that simulators can replace the venue. */
  readonly endpoints: Endpoints;
  /** Requests for all listings, sent at the start and every `referenceEveryMs`, in order. */
  readonly reference: (endpoints: Endpoints) => readonly VenueRequest[];
  readonly referenceEveryMs: number;
  /** Folds one reference answer into `state`. Null: another answer, or the scope is not complete yet. Throws `VenueError` only. */
  readonly mapReference: (state: ReferenceState, message: VenueMessage) => ReferenceAnswer | null;
  /** Decompresses the bytes of a socket's message. */
  readonly decode?: (bytes: Uint8Array) => Uint8Array;
};

/** An answer received this long after a minute's end has the complete minute, or proves that it had no trades (H-12). */
export const MINUTE_SETTLES_MS = 10_000;

/**
 * Kinds of what a venue's file does not know, counted by `processor_unexpected_total`: a listing's status; a channel without a mapper; a word; a
 * side that is no side; a trade without a taker; a member that is absent, or of another shape; a figure, or a level of a book, that cannot be
 * read; a message that is no JSON; a name without a listing; a refusal of the venue.
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

/** The venue refuses a request; no data is lost with it. */
export class VenueRefusal extends VenueError {
  constructor(what: string) {
    super('VENUE_BAD_FRAME', `the venue refused: ${what}`);
    this.name = 'VenueRefusal';
  }
}
