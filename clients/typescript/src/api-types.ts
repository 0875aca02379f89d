// Shapes of the API, printed from its OpenAPI document by `npm run docs`. Edit the operations of the API, not this file.

/** A market figure: a number, or its exact digits as text. */
export type Digits = number | string;

export type ErrorBody = {
  readonly errors: readonly ErrorItem[];
};

export type ErrorItem = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly position?: ErrorPosition;
  readonly hint?: string;
  /** JSON pointer of the offending member. */
  readonly path?: string;
};

export type ErrorCode =
  | 'DQL_JSON_SCHEMA'
  | 'DQL_VERSION'
  | 'DQL_LIMIT'
  | 'DQL_COMPLEXITY'
  | 'KEY_IN_URL'
  | 'PAYMENT_MALFORMED'
  | 'DQL_SYNTAX'
  | 'DQL_UNKNOWN_FIELD'
  | 'DQL_UNKNOWN_FUNCTION'
  | 'DQL_UNKNOWN_VENUE'
  | 'DQL_UNKNOWN_CURRENCY'
  | 'DQL_UNKNOWN_ASSET'
  | 'DQL_UNKNOWN_INSTRUMENT'
  | 'DQL_SCOPE'
  | 'DQL_NESTING'
  | 'DQL_TYPE'
  | 'DQL_TIMEFRAME_REQUIRED'
  | 'DQL_TIMEFRAME_UNSUPPORTED'
  | 'DQL_TIMEFRAME_MISMATCH'
  | 'DQL_ARGUMENT'
  | 'DQL_DUPLICATE_CLAUSE'
  | 'DQL_AS_OF_RANGE'
  | 'AUTH_REQUIRED'
  | 'AUTH_INVALID'
  | 'PAYMENT_REQUIRED'
  | 'PLAN_LIMIT'
  | 'PLAN_VENUE_NOT_INCLUDED'
  | 'ANCHOR_NOT_FOUND'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'ANCHOR_CHANGED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL'
  | 'UNAVAILABLE';

export type ErrorPosition = {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  readonly length: number;
};

export type PaymentOffer = {
  readonly scheme: 'exact';
  /** Chain of the token, such as `eip155:8453`. */
  readonly network: string;
  /** Atomic units of the token: `5000` is 0.005 USDC. */
  readonly amount: string;
  /** Contract of the token. */
  readonly asset: string;
  /** Address that is paid. */
  readonly payTo: string;
  /** Seconds for which a signed payment is accepted. */
  readonly maxTimeoutSeconds: number;
  /** `kind` `call` pays this call, `plan` buys the plan named. */
  readonly extra: {
    /** Name in the EIP-712 domain of the token. */
    readonly name: string;
    /** Version in that domain. */
    readonly version: string;
    readonly kind: 'call' | 'plan';
    /** Of `call`: the class of the price. */
    readonly class?: string;
    /** Of `plan`: its code. */
    readonly plan?: string;
  };
};

/** What the call costs, and how it is paid (x402 version 2). */
export type PaymentRequired = {
  readonly x402Version: 2;
  /** What is wrong with the payment, or that none was sent. */
  readonly error: string;
  readonly resource: {
    readonly url: string;
    readonly description: string;
    readonly mimeType: string;
  };
  /** First the price of this call, then each plan. */
  readonly accepts: readonly PaymentOffer[];
  readonly errors: readonly ErrorItem[];
  /** How the call is made, for lists of paid services (`bazaar`). */
  readonly extensions: { readonly [name: string]: unknown };
};

export type PaymentSettlement = {
  readonly success: boolean;
  /** Why it failed; absent when it did not. */
  readonly errorReason?: string;
  /** Hash of the transaction; empty when it failed. */
  readonly transaction: string;
  readonly network: string;
  readonly payer: string;
};

/** The 200 to a payment for a plan, in the place of the answer of the endpoint. */
export type PlanPurchase = {
  readonly purchase: {
    readonly plan: string;
    /** The key, shown this once. */
    readonly key: string;
    readonly key_id: string;
    readonly expires_at: string;
  };
  readonly settlement: PaymentSettlement;
  /** Receipt of the payment. */
  readonly receipt_id: string;
};

export type VenuesAnswer = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** One a venue, by code. */
  readonly items: readonly Venue[];
  /** How many of how many, if the list is cut. */
  readonly items_note?: string;
};

export type InstrumentsAnswer<F extends Digits = number> = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Instant described; null in a screen of now. */
  readonly as_of: Instant;
  /** Version of listings and capabilities; changes whenever they do. */
  readonly catalogue: string | null;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** When the newest version of the listings read was written; null for now. */
  readonly listings_as_of: InstantOrNull;
  /** When the newest statement of what venues publish was written; null for now. */
  readonly capabilities_as_of: InstantOrNull;
  /** One a listing, by venue and symbol. */
  readonly items: readonly Listing<F>[];
  /** This page of the answer. */
  readonly page: Page;
};

export type DqlCatalogueAnswer = {
  /** Version of the language. */
  readonly dql: string;
  /** Version of listings and capabilities; changes whenever they do. */
  readonly catalogue: string | null;
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Fields of a query. */
  readonly fields: readonly CatalogueField[];
  /** Candle sources: series to read at a timeframe. */
  readonly sources: readonly CatalogueSource[];
  /** Functions. */
  readonly functions: readonly CatalogueFunction[];
  /** Venue codes. */
  readonly venues: readonly string[];
  /** Quote currencies. */
  readonly currencies: readonly string[];
  /** Base assets. */
  readonly assets: readonly string[];
  /** Market codes. */
  readonly instruments: readonly string[];
  /** Market codes without a listing now. */
  readonly instruments_delisted: readonly string[];
  /** Timeframes, ascending. */
  readonly timeframes: readonly string[];
  /** Depth bands: distance from mid. */
  readonly bands: readonly string[];
  /** Default freshness bounds, by layer. */
  readonly freshness_defaults: { readonly [name: string]: string };
  /** Limits, by name. */
  readonly limits: { readonly [name: string]: unknown };
  /** Seconds after which an instant is settled. */
  readonly settle_after: number;
  /** The earliest instant that may be asked for. */
  readonly earliest_retained: InstantOrNull;
  /** What `units` may be. */
  readonly units: readonly string[];
  /** What `number_format` may be. */
  readonly number_formats: readonly string[];
};

export type DqlParseAnswer = {
  /** Version of the language. */
  readonly dql: string;
  /** The query as it was understood. */
  readonly query: Query;
  /** Names of fields and sources read. */
  readonly atoms: QueryAtoms;
  /** Functions. */
  readonly functions: readonly string[];
  /** Timeframes, ascending. */
  readonly timeframes: readonly string[];
  /** What the query costs; limits are in the catalogue. */
  readonly complexity: Complexity;
};

export type DqlParseRequest = {
  readonly query?: QueryInput;
  /** Machine form: {dql, condition, timeframe, as_of, where, select, order_by}. */
  readonly query_object?: { readonly [name: string]: unknown };
  /** Language version, "1". */
  readonly dql?: unknown;
  /** What the query is for. */
  readonly context?: 'screen';
};

export type ScreenAnswer = {
  /** Version of the language. */
  readonly dql: string;
  /** The query as it was understood. */
  readonly query: Query;
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Instant described; null in a screen of now. */
  readonly as_of: InstantOrNull;
  /** Whether the answer stays what it is for good: its end is past and everything recorded in time is in it. */
  readonly settled: boolean;
  /** Version of listings and capabilities; changes whenever they do. */
  readonly catalogue?: string | null;
  /** Period of candles and series; null when the query has none. */
  readonly timeframe: string | null;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** Bound by layer: an older reading is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** When the newest version of the listings read was written; null for now. */
  readonly listings_as_of: InstantOrNull;
  /** When the newest statement of what venues publish was written; null for now. */
  readonly capabilities_as_of: InstantOrNull;
  /** SHA-256 in hex of the bytes of `items` (of a screen: of `instruments`). */
  readonly items_sha256?: string;
  /** What a narrowing plan covers today; absent when it narrows nothing. */
  readonly scope?: Scope;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** Instruments that hold, in the order asked for. */
  readonly instruments: readonly ScreenInstrument[];
  /** This page of the answer. */
  readonly page: Page;
};

export type ScreenRequest = {
  readonly query?: QueryInput;
  /** Machine form: {dql, condition, timeframe, as_of, where, select, order_by}. */
  readonly query_object?: { readonly [name: string]: unknown };
  /** Language version, "1". */
  readonly dql?: unknown;
  /** What the query is for. */
  readonly context?: 'screen';
  readonly where?: Where;
  readonly freshness?: Freshness;
  /** Instruments a page, 100 when left out, up to the ceiling of the plan. */
  readonly limit?: number;
  /** Of the page before: pins its instant and its result. */
  readonly cursor?: string;
  /** Also answers instruments that may or may not hold. */
  readonly include_unknown?: boolean;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
};

export type SnapshotsAnswer<F extends Digits = number> = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Instant up to which everything recorded is in the answer; history at it says the same. */
  readonly served_at: Instant;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** Bound by layer: an older reading is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** What a narrowing plan covers today; absent when it narrows nothing. */
  readonly scope?: Scope;
  /** One a listing, by venue and symbol. */
  readonly items: readonly ListingReadings<F>[];
  /** Named pairs of instrument (or symbol) and venue that no listing has. */
  readonly missing: readonly MissingPair[];
};

export type SnapshotsRequest = {
  readonly where?: Where;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
  /** Layers to answer: ticker, mark, funding, oi, book, stats, venue_depth. All of the plan when left out. */
  readonly layers?: readonly string[];
  /** Adds the venue's own message; part of the plans from Standard. */
  readonly include_raw?: boolean;
  /** Puts the numbers of stale readings under `withheld`. */
  readonly allow_stale?: boolean;
  readonly freshness?: Freshness;
};

export type HistoryAnswer<F extends Digits = number> = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Whether the answer stays what it is for good: its end is past and everything recorded in time is in it. */
  readonly settled: boolean;
  /** SHA-256 in hex of the bytes of `items` (of a screen: of `instruments`). */
  readonly items_sha256: string;
  /** How rows were picked. */
  readonly mode: 'interval' | 'at' | 'raw';
  /** Length of a period, in mode interval. */
  readonly interval?: string;
  /** Start of the window as applied. */
  readonly from?: Instant;
  /** End of the window as applied: not after now. */
  readonly to?: Instant;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** Bound by layer: an older reading is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** When the newest version of the listings read was written; null for now. */
  readonly listings_as_of: InstantOrNull;
  /** When the newest statement of what venues publish was written; null for now. */
  readonly capabilities_as_of: InstantOrNull;
  /** What a narrowing plan covers today; absent when it narrows nothing. */
  readonly scope?: Scope;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** One a listing, by venue and symbol. */
  readonly items: readonly ListingHistory<F>[];
};

export type HistoryRequest = {
  readonly where?: Where;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
  /** Layers to answer: ticker, mark, funding, oi, book, stats, venue_depth. All of the plan when left out. */
  readonly layers?: readonly string[];
  /** One row a period: the last reading received in it. */
  readonly interval?: '10s' | '30s' | '1m' | '2m' | '3m' | '5m' | '15m' | '30m' | '1h' | '4h' | '12h' | '1d';
  /** One row an instant, strictly ascending. */
  readonly at?: readonly string[];
  /** RFC 3339 instant, or a bare date. */
  readonly as_of?: string;
  /** Every stored row; part of the plans from Standard. */
  readonly raw?: boolean;
  /** RFC 3339 instant, or a bare date. */
  readonly from?: string;
  /** RFC 3339 instant, or a bare date. */
  readonly to?: string;
  /** Keeps rows without a reading; default true. */
  readonly include_gaps?: boolean;
  readonly freshness?: Freshness;
  /** Puts the numbers of stale readings under `withheld`. */
  readonly allow_stale?: boolean;
};

export type CandlesAnswer<F extends Digits = number> = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Whether the answer stays what it is for good: its end is past and everything recorded in time is in it. */
  readonly settled: boolean;
  /** SHA-256 in hex of the bytes of `items` (of a screen: of `instruments`). */
  readonly items_sha256: string;
  /** Period of candles and series; null when the query has none. */
  readonly timeframe: string;
  /** Which price: trades, the venue’s mark, or its index. */
  readonly price_type: PriceType;
  /** Start of the window as applied. */
  readonly from: Instant;
  /** End of the window as applied: not after now. */
  readonly to: Instant;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** When the newest version of the listings read was written; null for now. */
  readonly listings_as_of: InstantOrNull;
  /** When the newest statement of what venues publish was written; null for now. */
  readonly capabilities_as_of: InstantOrNull;
  /** What a narrowing plan covers today; absent when it narrows nothing. */
  readonly scope?: Scope;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** One a listing, by venue and symbol. */
  readonly items: readonly ListingCandles<F>[];
};

export type CandlesRequest = {
  readonly where?: Where;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
  /** One of 1m, 2m, 3m, 5m, 15m, 30m, 1h, 4h, 12h, 1d; at most 1500 candles a listing. */
  readonly timeframe: string;
  /** Default trade. */
  readonly price_type?: PriceType;
  /** RFC 3339 instant, or a bare date. */
  readonly from: string;
  /** RFC 3339 instant, or a bare date. */
  readonly to: string;
  /** Keeps periods without a candle; default true. */
  readonly include_gaps?: boolean;
  /** Accepted; only closed minutes are stored. */
  readonly closed_only?: boolean;
};

export type BooksAnswer<F extends Digits = number> = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** Levels a side, as applied. */
  readonly depth: number;
  /** What the figures are not. */
  readonly liquidity_note: string;
  /** What a narrowing plan covers today; absent when it narrows nothing. */
  readonly scope?: Scope;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** One a listing, by venue and symbol. */
  readonly items: readonly Book<F>[];
};

export type BooksRequest = {
  readonly where?: Where;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
  /** Levels a side, 10 when left out; clamped to the plan. */
  readonly depth?: number;
};

export type LiquidationsAnswer<F extends Digits = number> = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Whether the answer stays what it is for good: its end is past and everything recorded in time is in it. */
  readonly settled: boolean;
  /** SHA-256 in hex of the bytes of `items` (of a screen: of `instruments`). */
  readonly items_sha256: string;
  /** Start of the window as applied. */
  readonly from: Instant;
  /** End of the window as applied: not after now. */
  readonly to: Instant;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** When the newest version of the listings read was written; null for now. */
  readonly listings_as_of: InstantOrNull;
  /** When the newest statement of what venues publish was written; null for now. */
  readonly capabilities_as_of: InstantOrNull;
  /** What a narrowing plan covers today; absent when it narrows nothing. */
  readonly scope?: Scope;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** One a listing, by venue and symbol. */
  readonly items: readonly ListingLiquidations<F>[];
  /** This page of the answer. */
  readonly page: Page;
};

export type LiquidationsRequest = {
  readonly where?: Where;
  /** RFC 3339 instant, or a bare date. */
  readonly from: string;
  /** RFC 3339 instant, or a bare date. */
  readonly to: string;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
  /** Side of the position that was closed: a long is closed by a sell. */
  readonly side?: 'long' | 'short';
  /** Rows a page, 500 when left out, at most 5000. */
  readonly limit?: number;
  /** From `page.next_cursor`, with the same request. */
  readonly cursor?: string;
};

export type AgentStateAnswer = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** One a rule, in the order named, else oldest first. */
  readonly rules: readonly {
    /** Name of the rule. */
    readonly rule_id: string;
    /** What its owner calls it. */
    readonly name: string;
    /** true when the query holds for an instrument; else unknown when it may; else false. */
    readonly state: 'true' | 'false' | 'unknown';
    /** Why the state is unknown; null when it is known. */
    readonly reason:
      | 'never_evaluated'
      | 'stale_input'
      | 'missing_input'
      | 'not_published'
      | 'disabled'
      | 'plan_venue'
      | 'evaluation_error'
      | null;
    /** State that this key, or this payer, was given last; null at the first read. Reading updates it. */
    readonly previous_state: 'true' | 'false' | 'unknown' | null;
    /** Whether the state is another one than `previous_state`. */
    readonly changed: boolean;
    /** Since when the state has been this one. */
    readonly since: Instant;
    /** Instant that the state is of; null when never evaluated. */
    readonly evaluated_at: InstantOrNull;
    /** Next instant of the rule; null while it is disabled. */
    readonly next_evaluation_at: InstantOrNull;
    /** The larger of the interval of the rule and the shortest one of its plan. */
    readonly effective_interval: string;
    /** Query of the rule. */
    readonly query: string;
    /** Instruments that the query holds for, at most twenty. */
    readonly matched: readonly string[];
    /** How many the query holds for. */
    readonly matched_total: number;
    /** Instruments that it may or may not hold for, at most twenty. */
    readonly unknown: readonly string[];
    /** How many it may or may not hold for. */
    readonly unknown_total: number;
  }[];
  /** Names of rules that do not exist or may not be read. */
  readonly missing: readonly string[];
};

export type ArchiveAnswer = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
  /** One a file, by venue, symbol, layer and day. */
  readonly items: readonly ArchiveFile[];
  /** This page of the answer. */
  readonly page: Page;
};

export type ArchiveFileAnswer = {
  /** Link to the file, readable without credentials. */
  readonly url: string;
  /** When the link ends. */
  readonly expires_at: Instant;
  /** SHA-256 of the file in hex. */
  readonly sha256: string;
  /** Length of the file. */
  readonly bytes: number;
  /** Rows, ascending. */
  readonly rows: number;
  /** Version of the columns and of the tree. */
  readonly schema_version: number;
  /** Names this answer, also in `X-Service-Receipt`; quote it to support. */
  readonly receipt_id: string;
};

export type AnchorDayAnswer = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** The day. */
  readonly day: string;
  /** CAIP-2 id of the chain that roots are posted on; null while none is known. */
  readonly network: string | null;
  /** False where the chain is not Base itself: a rehearsal, which binds nobody. Absent otherwise. */
  readonly binding?: false;
  /** Version of the columns and of the tree. */
  readonly schema_version: number;
  /** The closing instant: rows recorded from then on are part of no tree. */
  readonly closed_at: Instant;
  /** Root of the day in hex: what the contract holds for the day. */
  readonly day_root: string;
  /** One a table that has rows, by name. */
  readonly partitions: readonly AnchorPartition[];
  /** How far the posting of the root is. */
  readonly anchor: Anchor;
};

export type AnchorProofAnswer = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** The day. */
  readonly day: string;
  /** CAIP-2 id of the chain that roots are posted on; null while none is known. */
  readonly network: string | null;
  /** False where the chain is not Base itself: a rehearsal, which binds nobody. Absent otherwise. */
  readonly binding?: false;
  /** Version of the columns and of the tree. */
  readonly schema_version: number;
  /** Layer of the row. */
  readonly layer: string;
  /** Anchored table. */
  readonly table: string;
  /** The row: every anchored column as text, boolean or null. */
  readonly row: { readonly [name: string]: string | boolean | null };
  /** The text that is hashed: the row as canonical JSON (RFC 8785). */
  readonly canonical: string;
  /** SHA-256 of a zero byte and that text, in hex. */
  readonly leaf_hash: string;
  /** Place of the leaf among those of the table. */
  readonly index: number;
  /** Leaves of the table. */
  readonly rows: number;
  /** Hashes from the leaf upwards to the root of the table (RFC 9162). */
  readonly path: readonly string[];
  /** The tree of the table as a leaf of the day tree. */
  readonly partition: ProofPartition;
  /** Root of the day in hex: what the contract holds for the day. */
  readonly day_root: string;
  /** How far the posting of the root is. */
  readonly anchor: Anchor;
  /** Where two programs that check all of it are served. */
  readonly verify: string;
};

export type ReceiptAnswer = {
  /** Receipt of the paid call. */
  readonly receipt_id: string;
  /** `settled`: paid; `failed`: nothing was charged; `unknown`: the chain decides; `presented`, `verified`, `served` and `settling` come before. */
  readonly state: 'presented' | 'verified' | 'served' | 'settling' | 'settled' | 'failed' | 'unknown';
  /** CAIP-2 id of the chain that it is paid on. */
  readonly network: string;
  /** Address that pays. */
  readonly payer: string;
  /** Atomic units of USDC: 5000 is 0.005. */
  readonly amount: string;
  /** Class of the call, or code of the plan that was bought. */
  readonly class: string;
  /** Hash of the transaction that settled it; null before. */
  readonly transaction: string | null;
  /** When it was settled; null before. */
  readonly settled_at: InstantOrNull;
};

export type AccountAnswer = {
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** The key that asks. */
  readonly key: AccountKey;
  /** Its plan. */
  readonly plan: AccountPlan;
  /** Venues the key may read. */
  readonly venues: readonly string[];
  /** Instruments the key may read; null: all. */
  readonly instruments: readonly string[] | null;
  /** Layers the key may read. */
  readonly layers: readonly string[];
  /** The earliest instant it may read; null: all that is kept. */
  readonly history_from: InstantOrNull;
  /** Limits, by name. */
  readonly limits: { readonly [name: string]: number | string };
  /** Counters of the UTC day. */
  readonly today: AccountToday;
  /** At this moment. */
  readonly now: AccountNow;
};

export type Instant = string;

export type InstantOrNull = Instant | null;

export type Units = 'published' | 'base' | 'quote';

export type NumberFormat = 'json' | 'string';

export type PriceType = 'trade' | 'mark' | 'index';

export type Timeframe = '1m' | '2m' | '3m' | '5m' | '15m' | '30m' | '1h' | '4h' | '12h' | '1d';

export type Status = 'present' | 'stale' | 'missing' | 'not_published' | 'off';

export type HorizonSource = 'measured' | 'documented' | 'assumed' | 'venue_declared' | 'connection';

export type HorizonAnchor = 'venue' | 'receipt';

export type AnchorStatus = 'pending' | 'submitted' | 'confirmed' | 'failed';

export type Where = string | Selection;

export type Selection = {
  /** Market codes such as BTC-PERP. */
  readonly instrument?: Codes;
  /** Base asset codes. */
  readonly base?: Codes;
  /** Venue codes. */
  readonly venue?: Codes;
  /** Quote currency codes. */
  readonly quote?: Codes;
  /** The venue's own symbols, byte for byte. */
  readonly symbol?: Codes;
};

export type Codes = string | readonly string[];

export type Freshness = string | { readonly [name: string]: string };

export type QueryInput = string | { readonly [name: string]: unknown };

export type ArchiveFormat = 'parquet' | 'csv' | 'jsonl';

export type Page = {
  /** Rows asked for, as applied. */
  readonly limit: number;
  /** Rows on this page. */
  readonly returned: number;
  /** Send as `cursor` with the same request for the next page; null on the last. */
  readonly next_cursor: string | null;
};

export type Scope = {
  /** Venues covered. */
  readonly venues: readonly string[];
  /** How many instruments are covered. */
  readonly instruments: number | 'all';
  /** Code of the plan. */
  readonly plan: string;
};

export type Query = {
  /** Canonical text: the same query always reads the same. */
  readonly string: string;
  /** Machine form; may be sent back as `query`. */
  readonly json: { readonly [name: string]: unknown };
};

export type Venue = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s name. */
  readonly name: string;
  /** How it trades. */
  readonly kind: string;
  /** Perpetuals listed now. */
  readonly listings: number;
  /** Those of them with readings. */
  readonly listings_collected: number;
  /** When we first saw a listing of it that readings came of; null while none came. */
  readonly since: InstantOrNull;
  /** What it publishes and we collect, by layer. */
  readonly layers: { readonly [name: string]: 'on' | 'off' | 'not_published' };
  /** `live`; `degraded`: a connection was lost within the hour or we are behind; `down`: none is open. */
  readonly state: 'live' | 'degraded' | 'down';
  /** Since when. */
  readonly state_since: InstantOrNull;
};

export type Listing<F extends Digits = number> = {
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Base asset, multiplier and alias undone. */
  readonly base: string;
  /** Quote currency. */
  readonly quote: string;
  /** What the venue calls the base, when that differs. */
  readonly base_venue_alias: string | null;
  /** Kind of contract. */
  readonly kind: 'perpetual';
  /** `linear`, `inverse` or `quanto`; null when not known. */
  readonly venue_kind: string | null;
  /** The venue’s own pair, when it names one. */
  readonly pair: string | null;
  /** The venue’s flag; null when it has none. */
  readonly post_only: boolean | null;
  /** Whether it trades: `tradeable`, `post_only`, `reduce_only`, `cancel_only`, `halted`, `pre_launch`, `settling`, `delisted`, `unknown`. */
  readonly status: string;
  /** Size of one contract, in the unit under `units`. */
  readonly contract_size: F | null;
  /** Base coins in one unit of what the venue lists, 1000 for 1000PEPE. */
  readonly multiplier: F | null;
  /** Smallest step of a price. */
  readonly tick_size: F | null;
  /** Smallest step of a quantity. */
  readonly lot_size: F | null;
  /** Smallest order, as a quantity. */
  readonly min_qty: F | null;
  /** Smallest order, as a value. */
  readonly min_notional: F | null;
  /** Decimals of a price. */
  readonly price_decimals: number | null;
  /** Decimals of a quantity. */
  readonly qty_decimals: number | null;
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string | null };
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** What the venue counts quantities in: `base`, `contracts` or `quote`. */
  readonly quantity_unit: string;
  /** Whether open interest counts one side or both. */
  readonly oi_sides: string | null;
  /** Time between settlements of funding. */
  readonly funding_interval: string | null;
  /** Who says so: `venue`, `documented`, `measured`, `assumed`. */
  readonly funding_interval_source: string | null;
  /** How the rate was made from the venue’s. */
  readonly funding_normalisation: FieldTransform | null;
  /** How each rule was made from the venue’s, by rule. */
  readonly rules_normalisation: { readonly [name: string]: FieldTransform };
  /** Candles of the listing. */
  readonly candles: CandleFacts;
  /** How each layer is collected. */
  readonly layers: { readonly [name: string]: ListingLayer };
  /** Fields the venue does not publish. */
  readonly not_published: readonly string[];
  /** Depth bands: distance from mid. */
  readonly bands: readonly string[];
  /** When the venue listed it, if it says so. */
  readonly listed_at: InstantOrNull;
  /** When we first saw it. */
  readonly first_seen_at: InstantOrNull;
  /** When it was or will be delisted; null when not known. */
  readonly delisted_at: InstantOrNull;
  /** What lies before is not kept. */
  readonly retention_from: InstantOrNull;
  /** The venue’s stamp. */
  readonly venue_ts: InstantOrNull;
  /** When the collector received it. */
  readonly received_at: InstantOrNull;
  /** Milliseconds since `received_at`. */
  readonly age_ms: number;
  /** The venue’s own message, with `include_raw`. */
  readonly raw?: unknown;
};

export type ListingLayer = {
  /** `on`, `off` (not collected), `sampled` (the venue sends only some), `not_published`. */
  readonly policy: 'on' | 'off' | 'sampled' | 'not_published';
  /** `live`, or the time between two polls. */
  readonly cadence: string | null;
  /** Sampling window of stored history, or `raw`. */
  readonly history_cadence: string;
  /** How long a reading holds; null when it holds as long as its connection. */
  readonly horizon: string | null;
  /** Who says how long it holds. */
  readonly horizon_source: string | null;
  /** The stamp the horizon counts from. */
  readonly anchor: string | null;
  /** Default freshness bound. */
  readonly freshness: string | null;
  /** What lies before is not kept. */
  readonly retention_from: Instant;
};

export type CandleFacts = {
  /** The venue’s own candles, from which longer ones are rolled up. */
  readonly base_timeframe: string;
  /** Prices the venue has candles of. */
  readonly price_types: readonly string[];
  /** Timeframes, ascending. */
  readonly timeframes: readonly string[];
};

export type FieldTransform = {
  /** The venue’s field it comes from. */
  readonly venue_field: string;
  /** What was done to it. */
  readonly transform: string;
};

export type CatalogueField = {
  /** Name. */
  readonly name: string;
  /** Kind of value. */
  readonly type: 'code' | 'number' | 'duration';
  /** Of the instrument, or of each listing. */
  readonly scope: 'instrument' | 'venue';
  /** Layer it is read from. */
  readonly layer: string;
  /** Unit of its value. */
  readonly unit: string;
  /** What it is. */
  readonly description: string;
  /** Whether it may be read as a series. */
  readonly sampleable: boolean;
  /** Whether it may be summed over listings. */
  readonly additive: boolean;
  /** Venues that lack it. */
  readonly not_published_on: readonly string[];
};

export type CatalogueSource = {
  /** Name. */
  readonly name: string;
  /** Kind of value. */
  readonly type: 'series';
  /** Of the instrument, or of each listing. */
  readonly scope: 'instrument' | 'venue';
  /** Layer it is read from. */
  readonly layer: 'candles';
  /** Which price: trades, the venue’s mark, or its index. */
  readonly price_type: PriceType;
  /** Unit of its value. */
  readonly unit: string;
  /** What it is. */
  readonly description: string;
  /** Whether it may be summed over listings. */
  readonly additive: boolean;
  /** Venues that lack it. */
  readonly not_published_on: readonly string[];
};

export type CatalogueFunction = {
  /** Name. */
  readonly name: string;
  /** How it is written. */
  readonly signature: string;
  /** Kind of value. */
  readonly type: 'series' | 'number' | 'boolean' | 'duration' | 'status';
  /** Of the instrument, or of each listing. */
  readonly scope: 'instrument' | 'venue';
  /** Layer it is read from. */
  readonly layer: string;
  /** Unit of its value. */
  readonly unit: string;
  /** What it is. */
  readonly description: string;
  /** Periods a call reads. */
  readonly bars: string;
  /** Whether it may be summed over listings. */
  readonly additive: boolean;
};

export type QueryAtoms = {
  /** Those of the instrument. */
  readonly instrument: readonly string[];
  /** Those of each listing. */
  readonly venue: readonly string[];
};

export type Complexity = {
  /** Nodes of its tree. */
  readonly nodes: number;
  /** Periods read. */
  readonly bars: number;
  /** Nodes and periods together. */
  readonly cost: number;
};

export type ScreenInstrument = {
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** `true`, or `unknown` with `include_unknown`. */
  readonly result: 'true' | 'unknown';
  /** Value objects by the canonical text of their expression. */
  readonly values: { readonly [name: string]: { readonly [name: string]: unknown } };
  /** Every listing selected, also those without a value. */
  readonly venues: readonly ScreenListing[];
  /** Inputs that made the result unknown, at most five. */
  readonly because?: readonly UnknownInput[];
};

export type ScreenListing = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol. */
  readonly symbol: string;
  /** Quote currency. */
  readonly quote: string;
  /** Value objects by the canonical text of their expression. */
  readonly values: { readonly [name: string]: { readonly [name: string]: unknown } };
};

export type UnknownInput = {
  /** Canonical text of the input. */
  readonly expr: string;
  /** Venue code. */
  readonly venue: string | null;
  /** The venue’s own symbol. */
  readonly symbol: string | null;
  /** `present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`. */
  readonly status: string;
  /** Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`. */
  readonly reason: string;
};

export type Reading<F extends Digits = number> = {
  /** `present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`. */
  readonly status: Status;
  /** Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`. */
  readonly reason?: string;
  /** Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. */
  readonly gap_cause?: string;
  /** The venue’s stamp. */
  readonly venue_ts: InstantOrNull;
  /** When the collector received it. */
  readonly received_at: InstantOrNull;
  /** Milliseconds since `received_at`. */
  readonly age_ms: number | null;
  /** Milliseconds since `venue_ts`; negative when the venue’s clock is ahead. */
  readonly venue_age_ms: number | null;
  /** When it stops to hold; null while it holds as long as its connection. */
  readonly valid_until: InstantOrNull;
  /** Who says how long it holds. */
  readonly horizon_source: HorizonSource | null;
  /** The stamp the horizon counts from. */
  readonly anchor: HorizonAnchor | null;
  /** Figures by name, digits as the venue sent them. */
  readonly values: { readonly [name: string]: F | null };
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** Instants by name, such as `next_funding_at`. */
  readonly instants?: { readonly [name: string]: Instant };
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
  /** Numbers of a stale reading, only with `allow_stale`. */
  readonly withheld?: Withheld<F>;
  /** The venue’s own message, with `include_raw`. */
  readonly raw?: unknown;
};

export type Conversion<F extends Digits = number> = {
  /** Base coins in one unit of what the venue lists, 1000 for 1000PEPE. */
  readonly multiplier: F | null;
  /** Size of one contract, in the unit under `units`. */
  readonly contract_size: F | null;
  /** The mark they were converted with. */
  readonly mark?: F;
  /** When the mark was received. */
  readonly mark_received_at?: Instant;
};

export type Withheld<F extends Digits = number> = {
  /** Figures by name, digits as the venue sent them. */
  readonly values: { readonly [name: string]: F | null };
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type ListingReadings<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Quote currency. */
  readonly quote: string;
  /** Readings by layer. */
  readonly layers: { readonly [name: string]: Reading<F> };
};

export type MissingPair = {
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument?: string;
  /** The venue’s own symbol. */
  readonly symbol?: string;
  /** Venue code. */
  readonly venue: string;
};

export type ListingHistory<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Quote currency. */
  readonly quote: string;
  /** Readings by layer. */
  readonly layers: { readonly [name: string]: LayerHistory<F> };
};

export type LayerHistory<F extends Digits = number> = {
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** What lies before is not kept. */
  readonly retention_from: Instant;
  /** Rows, ascending. */
  readonly rows: readonly HistoryRow<F>[];
  /** Sampling window of stored history, or `raw`. */
  readonly history_cadence: string;
};

export type HistoryRow<F extends Digits = number> = {
  /** Instant of the row: status and ages are as of then. */
  readonly at: Instant;
  /** `present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`. */
  readonly status: Status;
  /** Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`. */
  readonly reason?: string;
  /** Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. */
  readonly gap_cause?: string;
  /** The venue’s stamp. */
  readonly venue_ts: InstantOrNull;
  /** When the collector received it. */
  readonly received_at: InstantOrNull;
  /** Milliseconds since `received_at`. */
  readonly age_ms: number | null;
  /** Milliseconds since `venue_ts`; negative when the venue’s clock is ahead. */
  readonly venue_age_ms: number | null;
  /** When it stops to hold; null while it holds as long as its connection. */
  readonly valid_until: InstantOrNull;
  /** Who says how long it holds. */
  readonly horizon_source: string | null;
  /** The stamp the horizon counts from. */
  readonly anchor: HorizonAnchor | null;
  /** Figures by name, digits as the venue sent them. */
  readonly values: { readonly [name: string]: F | null };
  /** Instants by name, such as `next_funding_at`. */
  readonly instants?: { readonly [name: string]: Instant };
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
  /** Numbers of a stale reading, only with `allow_stale`. */
  readonly withheld?: Withheld<F>;
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** Recorded too late to count in any answer but this. */
  readonly late?: boolean;
};

export type ListingCandles<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Quote currency. */
  readonly quote: string;
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** What lies before is not kept. */
  readonly retention_from: Instant;
  /** Rows, ascending. */
  readonly rows: readonly Candle<F>[];
};

export type Candle<F extends Digits = number> = {
  /** Start of the period, inclusive. */
  readonly open_time: Instant;
  /** End of the period, exclusive. */
  readonly close_time: Instant;
  /** `present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`. */
  readonly status: 'present' | 'missing' | 'not_published' | 'off';
  /** Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`. */
  readonly reason?: string;
  /** Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. */
  readonly gap_cause?: string;
  /** When the collector received it. */
  readonly received_at: InstantOrNull;
  /** First price. */
  readonly open: F | null;
  /** Highest price. */
  readonly high: F | null;
  /** Lowest price. */
  readonly low: F | null;
  /** Last price. */
  readonly close: F | null;
  /** Quantity traded. */
  readonly volume: F | null;
  /** Value traded, in quote currency, where published. */
  readonly turnover?: F | null;
  /** Number of trades, where published. */
  readonly trades?: number;
  /** Minutes it is made of. */
  readonly base_candles: BaseCandles;
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type BaseCandles = {
  /** Minutes in the period. */
  readonly expected: number;
  /** Minutes there is a candle of. */
  readonly present: number;
  /** Minutes proved to be without trades. */
  readonly no_trades: number;
};

export type Book<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Quote currency. */
  readonly quote: string;
  /** `present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`. */
  readonly status: Status;
  /** Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`. */
  readonly reason?: string;
  /** Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. */
  readonly gap_cause?: string;
  /** The venue’s stamp. */
  readonly venue_ts: InstantOrNull;
  /** When the collector received it. */
  readonly received_at: InstantOrNull;
  /** Milliseconds since `received_at`. */
  readonly age_ms: number | null;
  /** Milliseconds since `venue_ts`; negative when the venue’s clock is ahead. */
  readonly venue_age_ms: number | null;
  /** When it stops to hold; null while it holds as long as its connection. */
  readonly valid_until: InstantOrNull;
  /** Who says how long it holds. */
  readonly horizon_source: string | null;
  /** The stamp the horizon counts from. */
  readonly anchor: string | null;
  /** Unit of sizes. */
  readonly size_unit: 'base' | 'contracts' | 'quote';
  /** The venue’s own number of the book; null when it has none. */
  readonly sequence: string | null;
  /** Levels from the best one on, each `[price, size]`. */
  readonly bids: readonly (readonly [string | null, string | null])[];
  /** Levels from the best one on, each `[price, size]`. */
  readonly asks: readonly (readonly [string | null, string | null])[];
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** Levels known, more than are shown. */
  readonly collected_levels?: {
    /** On the buying side. */
    readonly bids: number;
    /** On the selling side. */
    readonly asks: number;
  };
  /** Sums over all levels known within a distance of mid. */
  readonly bands?: { readonly [name: string]: BookBand };
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
};

export type BookBand = {
  /** The mid they are measured from. */
  readonly reference: string | null;
  /** Size bid; null when the side is not known that far. */
  readonly bid: string | null;
  /** Size asked; null when the side is not known that far. */
  readonly ask: string | null;
  /** Price times size bid. */
  readonly bid_value: string | null;
  /** Price times size asked. */
  readonly ask_value: string | null;
  /** Levels bid. */
  readonly bid_levels: number | null;
  /** Levels asked. */
  readonly ask_levels: number | null;
  /** Whether every level of the band is known. */
  readonly complete: {
    /** Of the buying side. */
    readonly bid: boolean;
    /** Of the selling side. */
    readonly ask: boolean;
  };
};

export type ListingLiquidations<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Quote currency. */
  readonly quote: string;
  /** `full`: the venue publishes every one; `sampled`: some; `none`: none. */
  readonly completeness: 'full' | 'sampled' | 'none';
  /** What lies before is not kept. */
  readonly retention_from: Instant;
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** Rows, ascending. */
  readonly rows: readonly Liquidation<F>[];
  /** Stretches of the window in which nothing could be received. */
  readonly gaps: readonly Gap[];
};

export type Liquidation<F extends Digits = number> = {
  /** The venue’s stamp. */
  readonly venue_ts: InstantOrNull;
  /** When the collector received it. */
  readonly received_at: Instant;
  /** The position that was closed: a `long` is closed by a sell. */
  readonly side: 'long' | 'short';
  /** Price, of the kind that follows. */
  readonly price: F;
  /** What the price is: of the `fill`, the `order`, `bankruptcy`, or the `mark`. */
  readonly price_kind: 'fill' | 'order' | 'bankruptcy' | 'mark';
  /** Size closed. */
  readonly quantity: F | null;
  /** Price times size, in quote currency. */
  readonly value: F | null;
  /** Names the liquidation within its listing. */
  readonly id: string;
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type Gap = {
  /** Start of the stretch. */
  readonly from: Instant;
  /** End of the stretch. */
  readonly to: Instant;
  /** Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. */
  readonly gap_cause: string;
};

export type ArchiveFile = {
  /** `venue:venue_symbol`, as the path of the file has it. */
  readonly listing: string;
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Archived layer. */
  readonly layer: string;
  /** The day. */
  readonly day: string;
  /** Price class of the listing on that day: core, top100 or other. */
  readonly tier: 'core' | 'top100' | 'other';
  /** Price of the file by the call; null is not sold by the call. */
  readonly price_usdc: string | null;
  /** Format that bytes and sha256 are of. */
  readonly format: 'parquet';
  /** Rows, ascending. */
  readonly rows: number;
  /** Length of the file. */
  readonly bytes: number;
  /** SHA-256 of the file in hex. */
  readonly sha256: string;
  /** Version of the columns and of the tree. */
  readonly schema_version: number;
  /** When this version of the file was written. */
  readonly written_at: Instant;
  /** Whether the day is closed and the file never changes again. */
  readonly final: boolean;
  /** Whether the root of the day is confirmed on the chain. */
  readonly anchored: boolean;
  /** Whether the plan of this key may fetch the file. */
  readonly included: boolean;
};

export type AnchorPartition = {
  /** Anchored table. */
  readonly table: string;
  /** Leaves of the table. */
  readonly rows: number;
  /** Root of the tree over the rows of the table, in hex. */
  readonly root: string;
  /** Hash of the partition as a leaf of the day tree, in hex. */
  readonly leaf: string;
  /** Place of that leaf in the day tree. */
  readonly index: number;
};

export type Anchor = {
  /** Whether the root of the day is confirmed on the chain. */
  readonly anchored: boolean;
  /** `pending` (not posted), `submitted` (transaction sent), `confirmed` (deep enough), `failed` (will be retried). */
  readonly status: AnchorStatus;
  /** The contract that holds the root; null until the root is sent there. */
  readonly contract: string | null;
  /** The transaction that posted it; null while there is none. */
  readonly tx_hash: string | null;
  /** Its block, once mined. */
  readonly block: number | null;
  /** Time of that block. */
  readonly anchored_at: InstantOrNull;
  /** Whole days from the day to that time. */
  readonly anchored_lag_days: number | null;
  /** Page of the transaction; null where there is none. */
  readonly explorer_url: string | null;
};

export type ProofPartition = {
  /** Root of the tree over the rows of the table, in hex. */
  readonly root: string;
  /** Hash of the partition as a leaf of the day tree, in hex. */
  readonly leaf: string;
  /** Place of that leaf in the day tree. */
  readonly index: number;
  /** Leaves of the day tree. */
  readonly count: number;
  /** Hashes from that leaf upwards to the root of the day. */
  readonly path: readonly string[];
};

export type AccountKey = {
  /** Its id; not the key. */
  readonly key_id: string;
  /** Name. */
  readonly name: string;
  /** When it was made. */
  readonly created_at: Instant;
  /** When it ends; null: never. */
  readonly expires_at: InstantOrNull;
  /** How it was got. */
  readonly kind: 'account' | 'purchased' | 'connection';
};

export type AccountPlan = {
  /** Code of the plan. */
  readonly code: string;
  /** Name. */
  readonly name: string;
  /** Since when. */
  readonly since: Instant;
  /** When it ends; null: never. */
  readonly expires_at: InstantOrNull;
};

export type AccountToday = {
  /** The day. */
  readonly day: string;
  /** When they begin anew. */
  readonly resets_at: Instant;
  /** Requests counted. */
  readonly requests: RequestsToday;
  /** Evaluations of queries. */
  readonly dql: QuotaToday;
  /** Evaluations of agent rules. */
  readonly agent_evaluations: QuotaToday;
  /** Archive files. */
  readonly archive_files: QuotaToday;
};

export type AccountNow = {
  /** Open streams. */
  readonly streams: number;
  /** Requests being answered. */
  readonly requests_in_flight: number;
};

export type RequestsToday = {
  /** Used so far. */
  readonly used: number;
  /** Limit of the day. */
  readonly limit: number;
  /** What is left. */
  readonly remaining: number;
  /** Requests by class of endpoint. */
  readonly by_class: { readonly [name: string]: number };
};

export type QuotaToday = {
  /** Used so far. */
  readonly used: number;
  /** Limit of the day. */
  readonly limit: number;
};

export type StreamState<F extends Digits = number> = Reading<F> & {
  /** With `depth`: levels bid, best first. */
  readonly bids?: readonly (readonly [string | null, string | null])[];
  /** With `depth`: levels asked, best first. */
  readonly asks?: readonly (readonly [string | null, string | null])[];
};

export type EventRow<F extends Digits = number> = {
  /** The venue’s stamp. */
  readonly venue_ts: InstantOrNull;
  /** When the collector received it. */
  readonly received_at: Instant;
  /** Side of the taker, or the position that was closed. */
  readonly side: 'buy' | 'sell' | 'long' | 'short';
  /** Price; of a liquidation, of the kind that `price_kind` names. */
  readonly price: F;
  /** Of liquidations: what the price is. */
  readonly price_kind?: 'fill' | 'order' | 'bankruptcy' | 'mark';
  /** Size of the trade, or size closed. */
  readonly quantity: F | null;
  /** Price times size, in quote currency. */
  readonly value: F | null;
  /** Names the event within its listing. */
  readonly id: string;
  /** What quantities were converted with. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type GapScope = {
  /** Venue code. */
  readonly venue?: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol?: string;
  /** Layer; absent: every one. */
  readonly layer?: string;
};

export type HelloEvent = {
  /** Names the stream; quote it to support. */
  readonly stream_id: string;
  /** Instant T of the answer, by the service’s clock. */
  readonly evaluated_at: Instant;
  /** Version of listings and capabilities; changes whenever they do. */
  readonly catalogue: string | null;
  /** Unit of quantities: as the venue publishes, base asset, or quote currency. */
  readonly units: Units;
  /** Bound by layer: an older reading is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** Layers it covers. */
  readonly layers: readonly string[];
  /** Listings selected. */
  readonly listings: number;
  /** Whether it goes on after `Last-Event-ID` without a hole. */
  readonly resumed: boolean;
  /** From when on events are kept for those who resume. */
  readonly buffer_from: InstantOrNull;
  /** Time between two heartbeats. */
  readonly heartbeat_ms: number;
};

export type SnapshotEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Layer of the reading. */
  readonly layer: string;
  /** Number of the reading within its listing and layer, without holes. */
  readonly rev: number;
  /** The reading, whole. */
  readonly state: StreamState<F>;
};

export type ReadyEvent = {
  /** Listings selected. */
  readonly listings: number;
  /** Snapshots sent. */
  readonly layers: number;
  /** Instant up to which everything recorded has been told. */
  readonly served_at: InstantOrNull;
};

export type UpdateEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Layer of the reading. */
  readonly layer: string;
  /** Number of the reading within its listing and layer, without holes. */
  readonly rev: number;
  /** What is new. */
  readonly change: 'value' | 'status' | 'both';
  /** The reading, whole: not what changed of it. */
  readonly state: StreamState<F>;
};

export type RowsEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** What the rows are. */
  readonly layer: 'trade' | 'liquidation';
  /** In the order they came. */
  readonly rows: readonly EventRow<F>[];
};

export type CandleEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** Length of its period. */
  readonly timeframe: Timeframe;
  /** Which price: trades, the venue’s mark, or its index. */
  readonly price_type: PriceType;
  /** The candle, or the gap in its place. */
  readonly row: Candle<F>;
};

export type ListingEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** The venue’s own symbol, byte for byte. */
  readonly venue_symbol: string;
  /** Market code, `<base>-PERP`: the same on every venue. */
  readonly instrument: string;
  /** What happened to the listing. */
  readonly change: 'added' | 'changed' | 'delisted';
  /** The listing, as instruments answers it. */
  readonly record: Listing<F>;
};

export type HeartbeatEvent = {
  /** When it was sent. */
  readonly at: Instant;
  /** Instant up to which everything recorded has been told. */
  readonly served_at: InstantOrNull;
  /** Milliseconds from `served_at` to `at`; null while there is none. */
  readonly lag_ms: number | null;
  /** Whether a connection to the venue is open, by venue. */
  readonly connections: { readonly [name: string]: 'up' | 'down' };
};

export type GapEvent = {
  /** Start of the time of which events are left out; null when it is not known. */
  readonly from: InstantOrNull;
  /** End of that time. */
  readonly to: Instant;
  /** Why events are left out. */
  readonly reason: 'resume_expired' | 'slow_reader' | 'pipeline_restart';
  /** Events left out; null when they cannot be counted. */
  readonly dropped: number | null;
  /** What it is about; empty: everything. */
  readonly scope: GapScope;
};

export type RuleEvent = {
  /** Name of the rule. */
  readonly rule_id: string;
  /** What its owner calls it. */
  readonly name: string;
  /** `snapshot`: the state when the stream began, or when moves may have been missed; `move`: a new state. */
  readonly change: 'snapshot' | 'move';
  /** Since when the state has been this one. */
  readonly at: string;
  /** State before the move; null in a snapshot. */
  readonly previous_state: 'true' | 'false' | 'unknown' | null;
  /** Whether the query of the rule holds for an instrument. */
  readonly state: 'true' | 'false' | 'unknown';
  /** Why the state is unknown; null when it is known. */
  readonly reason:
    | 'never_evaluated'
    | 'stale_input'
    | 'missing_input'
    | 'not_published'
    | 'disabled'
    | 'plan_venue'
    | 'evaluation_error'
    | null;
  /** Instruments that the query holds for, at most twenty. */
  readonly matched?: readonly string[];
  /** How many the query holds for. */
  readonly matched_total?: number;
};

export type ByeEvent = {
  /** Why the stream ends. */
  readonly reason: 'rotate' | 'shutdown' | 'key_ended' | 'plan_changed';
  /** Whether it is worth coming again. */
  readonly reconnect: boolean;
};

/** An event of the stream: its name, and what its `data` line holds. */
export type StreamEvent<F extends Digits = number> =
  | {
      readonly event: 'hello';
      readonly data: HelloEvent;
    }
  | {
      readonly event: 'snapshot';
      readonly data: SnapshotEvent<F>;
    }
  | {
      readonly event: 'ready';
      readonly data: ReadyEvent;
    }
  | {
      readonly event: 'update';
      readonly data: UpdateEvent<F>;
    }
  | {
      readonly event: 'event';
      readonly data: RowsEvent<F>;
    }
  | {
      readonly event: 'candle';
      readonly data: CandleEvent<F>;
    }
  | {
      readonly event: 'listing';
      readonly data: ListingEvent<F>;
    }
  | {
      readonly event: 'heartbeat';
      readonly data: HeartbeatEvent;
    }
  | {
      readonly event: 'gap';
      readonly data: GapEvent;
    }
  | {
      readonly event: 'rule';
      readonly data: RuleEvent;
    }
  | {
      readonly event: 'bye';
      readonly data: ByeEvent;
    }
  | {
      readonly event: 'error';
      readonly data: ErrorBody;
    };

export type VenuesRequest = Record<string, never>;

export type InstrumentsRequest = {
  /** Selection text, such as `base in (BTC, ETH) and quote = USDT`. */
  readonly where?: string;
  /** Instant to describe; now when left out. */
  readonly as_of?: string;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Adds the venue's own message; part of the plans from Standard. */
  readonly include_raw?: boolean;
  /** Listings a page, at most 5000 (default). */
  readonly limit?: number;
  /** From `page.next_cursor`, with the same request; pins the instant. */
  readonly cursor?: string;
};

export type DqlCatalogueRequest = Record<string, never>;

export type AgentStateRequest = {
  /** Rules by name, repeated or separated by commas, at most 100; all of the account when left out. */
  readonly rule_id?: readonly string[];
  /** true evaluates now, at most once a second and rule; each counts against the evaluations of the day. */
  readonly fresh?: boolean;
};

export type ArchiveRequest = {
  /** Selection text, such as `base in (BTC, ETH) and quote = USDT`. */
  readonly where?: string;
  /** One archived layer; all when left out. */
  readonly layer?: string;
  /** First day, inside. */
  readonly from?: string;
  /** Last day, inside. */
  readonly to?: string;
  /** Files a page, 100 when left out, at most 1000. */
  readonly limit?: number;
  /** From `page.next_cursor`, with the same request; does not expire. */
  readonly cursor?: string;
};

export type ArchiveFileRequest = {
  /** `venue:venue_symbol`. */
  readonly listing: string;
  /** Archived layer. */
  readonly layer: string;
  /** UTC day. */
  readonly day: string;
  /** Parquet (default), or csv and jsonl, both zstd. */
  readonly format?: ArchiveFormat;
};

export type AnchorDayRequest = {
  /** UTC day, also without dashes. */
  readonly day: string;
};

export type AnchorProofRequest = {
  /** Venue code. */
  readonly venue: string;
  /** The venue's own symbol, byte for byte. */
  readonly symbol: string;
  /** Layer, or the name of its table: book_bands, candles, funding, liquidation, mark, oi, stats, ticker, trades. */
  readonly layer: string;
  /** Instant that names day and row. Readings: the newest window that ended by it, 24:00 belongs to its day. Candles: the minute. Trades and liquidations: the newest row with `id` received by it. */
  readonly at: string;
  /** Of candles; `trade` when left out. */
  readonly price_type?: 'trade' | 'mark' | 'index';
  /** Of trades and liquidations, needed unless `seq` is given: the id of the row. */
  readonly id?: string;
  /** Names any row of the day, listing and table by its `seq` instead: also late rows and gaps. Of `at` only the day counts. */
  readonly seq?: number;
};

export type ReceiptRequest = {
  /** `X-Service-Receipt` of the paid answer. */
  readonly receipt_id: string;
};

export type AccountRequest = Record<string, never>;

export type StreamRequest = {
  /** Selection, such as `base = BTC and quote = USDT`. */
  readonly where?: string;
  /** Layers separated by commas, of ticker, mark, funding, oi, book, stats, book_bands, candles, liquidation, trade. Default: the first six. */
  readonly layers?: string;
  /** Unit of quantities: as published (default), base asset, or quote currency. */
  readonly units?: Units;
  /** Accepted for compatibility; a public key sees nothing extra. */
  readonly include_synthetic?: boolean;
  /** One freshness bound for every layer, such as `60s`. */
  readonly freshness?: string;
  /** Puts the numbers of stale readings under `withheld`. */
  readonly allow_stale?: boolean;
  /** Levels of `book` a side; 0 (default) for the top of the book only. Clamped to the plan. */
  readonly depth?: number;
  /** Timeframe of `candles`, one of 1m, 2m, 3m, 5m, 15m, 30m, 1h, 4h, 12h, 1d; 1m when left out. */
  readonly timeframe?: string;
  /** false leaves the initial snapshots out. */
  readonly snapshot?: boolean;
  /** true adds `rule` events: each rule of the account with its state, then every move of one. */
  readonly rules?: boolean;
};

/** What each operation is asked with and answers. */
export type Operations<F extends Digits = number> = {
  venues: { request: VenuesRequest; answer: VenuesAnswer };
  instruments: { request: InstrumentsRequest; answer: InstrumentsAnswer<F> };
  dqlCatalogue: { request: DqlCatalogueRequest; answer: DqlCatalogueAnswer };
  dqlParse: { request: DqlParseRequest; answer: DqlParseAnswer };
  screen: { request: ScreenRequest; answer: ScreenAnswer };
  snapshots: { request: SnapshotsRequest; answer: SnapshotsAnswer<F> };
  history: { request: HistoryRequest; answer: HistoryAnswer<F> };
  candles: { request: CandlesRequest; answer: CandlesAnswer<F> };
  books: { request: BooksRequest; answer: BooksAnswer<F> };
  liquidations: { request: LiquidationsRequest; answer: LiquidationsAnswer<F> };
  agentState: { request: AgentStateRequest; answer: AgentStateAnswer };
  archive: { request: ArchiveRequest; answer: ArchiveAnswer };
  archiveFile: { request: ArchiveFileRequest; answer: ArchiveFileAnswer };
  anchorDay: { request: AnchorDayRequest; answer: AnchorDayAnswer };
  anchorProof: { request: AnchorProofRequest; answer: AnchorProofAnswer };
  receipt: { request: ReceiptRequest; answer: ReceiptAnswer };
  account: { request: AccountRequest; answer: AccountAnswer };
};

/** Where each operation is. */
export const ENDPOINTS = {
  venues: { method: 'GET', path: '/v2/venues' },
  instruments: { method: 'GET', path: '/v2/instruments' },
  dqlCatalogue: { method: 'GET', path: '/v2/dql/catalogue' },
  dqlParse: { method: 'POST', path: '/v2/dql/parse' },
  screen: { method: 'POST', path: '/v2/screen' },
  snapshots: { method: 'POST', path: '/v2/snapshots' },
  history: { method: 'POST', path: '/v2/snapshots/history' },
  candles: { method: 'POST', path: '/v2/candles' },
  books: { method: 'POST', path: '/v2/books' },
  liquidations: { method: 'POST', path: '/v2/liquidations' },
  agentState: { method: 'GET', path: '/v2/agent/state' },
  archive: { method: 'GET', path: '/v2/archive' },
  archiveFile: { method: 'GET', path: '/v2/archive/{listing}/{layer}/{day}' },
  anchorDay: { method: 'GET', path: '/v2/anchors/{day}' },
  anchorProof: { method: 'GET', path: '/v2/anchors/proof' },
  receipt: { method: 'GET', path: '/v2/receipts/{receipt_id}' },
  account: { method: 'GET', path: '/v2/account' },
  stream: { method: 'GET', path: '/v2/stream' },
} as const;
