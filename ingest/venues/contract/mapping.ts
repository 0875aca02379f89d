// Third part of a venue's contract, read by tasks: a message in, normalised records out.
import type { ListingRecord, ListingValues, Micros, NormalisedRecord, PriceType } from '../../../schemas/records.ts';
import type { BookRule, Chain } from '../shared/book-sync.ts';
import { VenueError, type VenueListings, type VenueMessage } from './listings.ts';

/** A mapped record and the smallest piece of the message about it, for `include_raw`. */
export type Mapped = {
  readonly record: NormalisedRecord;
  readonly element: unknown;
  readonly chain?: Chain;
  /** Channel of a book with a chain, where a venue has several of one listing, each with a chain of its own. A collector subscribes to one. */
  readonly channel?: string;
};

/** A part of a message cannot be read; `mapped` are the records of the others, which are valid. */
export class UnreadablePart extends VenueError {
  readonly mapped: readonly Mapped[];
  constructor({ code, message, kind }: VenueError, mapped: readonly Mapped[]) {
    super(code, message, kind);
    this.name = 'UnreadablePart';
    this.mapped = mapped;
  }
}

/** A change of books whose messages have no ids cannot be read: no later message shows that it is missing, so these books are no longer whole. */
export class LostChange extends VenueError {
  readonly symbols: readonly string[];
  constructor({ code, message, kind }: VenueError, symbols: readonly string[]) {
    super(code, message, kind);
    this.name = 'LostChange';
    this.symbols = symbols;
  }
}

/** What a mapper knows besides the message. */
export type MapContext = {
  /** Known listings by venue symbol, newest version. */
  readonly listings: ReadonlyMap<string, ListingRecord>;
};

/** Plain data that `map` keeps per listing and connection. A member may be an `OwnJson`; a restored one is what its text says. */
export type MapState = Record<string, unknown>;

/** What writes its JSON faster than JSON.stringify would: a checkpoint writes the states of all connections at once. */
export type OwnJson = { readonly formatJson: () => string };

/** Minutes that a request of candles covers, by their open instants. */
export type CoveredMinutes = {
  /** Listings that its answer is about. */
  readonly symbols: readonly string[];
  readonly price_type: PriceType;
  /** First and last minute; null: the oldest of the answer, the one that runs. */
  readonly from: Micros | null;
  readonly to: Micros | null;
  /** An answer with this many candles is truncated: it covers the minutes between its oldest and its newest. */
  readonly limit: number;
};

/** How the quantities of a listing count. */
export type SymbolQuantity = Pick<ListingValues, 'venue_kind' | 'contract_size' | 'quantity_unit'>;

export type VenueMapping = {
  /** The mapping. May keep data per symbol in `state` that a checkpoint restores from its JSON. Throws `VenueError` only: `UnreadablePart` when a part can be read, `LostChange`. */
  readonly map: (state: MapState, message: VenueMessage, context: MapContext) => readonly Mapped[];
  readonly bookRule: BookRule;
  /** Mark and index come in different messages: a record without one of them says nothing of it. Elsewhere there is none. */
  readonly sendsMarksApart?: true;
  /**
   * What an answer of one-minute candles was requested for. Null: another answer, or its request is not known; it then covers the minutes
   * between its oldest and its newest.
   */
  readonly askedMinutes?: (message: VenueMessage, context: MapContext) => CoveredMinutes | null;
  /** Quantities that follow from a symbol alone: for books of recordings without a reference answer. */
  readonly impliedQuantity?: (venueSymbol: string) => SymbolQuantity;
};

/** A venue as tasks use it. */
export type MappedVenue = VenueListings & VenueMapping;
