// Shapes of the API, printed from its OpenAPI document by `npm run docs`. Edit the operations of the API, not this file.

/** A market figure: a number, or its exact digits as text. */
export type Digits = number | string;

export type ErrorBody = {
  /** Every fault found, at most 20. The status of the answer is that of the first. */
  readonly errors: readonly ErrorItem[];
};

export type ErrorItem = {
  /** Stable code. Branch on it. */
  readonly code: ErrorCode;
  /** What is wrong. Its wording may change. */
  readonly message: string;
  /** Place of the fault in the text of the query or selection. */
  readonly position?: ErrorPosition;
  /** What to send instead. */
  readonly hint?: string;
  /** JSON pointer of the member or parameter with the fault. */
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
  /** Line, from 1. */
  readonly line: number;
  /** Column, from 1, in Unicode code points. */
  readonly column: number;
  /** Offset in the text, from 0, in Unicode code points. */
  readonly offset: number;
  /** Length, in Unicode code points; 0 at the end of the text. */
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
  /** Seconds for which the payment is to be valid. The service accepts one that expires in 20 to 360 s. */
  readonly maxTimeoutSeconds: number;
  /** The kind `call` pays for this call; the kind `plan` buys a plan. */
  readonly extra: {
    /** Name in the EIP-712 domain of the token. */
    readonly name: string;
    /** Version in that domain. */
    readonly version: string;
    readonly kind: 'call' | 'plan';
    /** Price class; only of the kind `call`. */
    readonly class?: string;
    /** Code of the plan; only of the kind `plan`. */
    readonly plan?: string;
  };
};

/** What the call costs and how it is paid (x402 version 2). */
export type PaymentRequired = {
  readonly x402Version: 2;
  /** Why the payment is refused, or that none was sent. */
  readonly error: string;
  readonly resource: {
    readonly url: string;
    readonly description: string;
    readonly mimeType: string;
  };
  /** First the price of this call, then each plan by price. Sign one of them. */
  readonly accepts: readonly PaymentOffer[];
  readonly errors: readonly ErrorItem[];
  /** How the call is made, for directories of paid services (`bazaar`). */
  readonly extensions: { readonly [name: string]: unknown };
};

export type PaymentSettlement = {
  readonly success: boolean;
  /** Why the settlement failed; absent when it succeeded. */
  readonly errorReason?: string;
  /** Hash of the transaction; empty when the settlement failed. */
  readonly transaction: string;
  readonly network: string;
  readonly payer: string;
};

/** Answer to a payment for a plan, in place of the answer of the endpoint. */
export type PlanPurchase = {
  readonly purchase: {
    readonly plan: string;
    /** The key. It is shown only once. */
    readonly key: string;
    readonly key_id: string;
    readonly expires_at: string;
  };
  readonly settlement: PaymentSettlement;
  /** Receipt of the payment. */
  readonly receipt_id: string;
};

export type VenuesAnswer = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** One item per venue, ordered by code. */
  readonly items: readonly Venue[];
  /** Present when the list is truncated; states how many of how many items it shows. */
  readonly items_note?: string;
};

export type InstrumentsAnswer<F extends Digits = number> = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Instant that the answer describes. */
  readonly as_of: Instant;
  /** Version of the catalogue, to be compared for equality only; null for an instant before the first version. */
  readonly catalogue: string | null;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Instant at which the newest listing version in use was written; null when the answer is about now. */
  readonly listings_as_of: string | null;
  /** Instant at which the newest venue capability version in use was written; null when the answer is about now. */
  readonly capabilities_as_of: string | null;
  /** One item per listing, ordered by venue and symbol. */
  readonly items: readonly Listing<F>[];
  /** Position in a list of several pages. */
  readonly page: Page;
};

export type DqlCatalogueAnswer = {
  /** Version of the language. */
  readonly dql: string;
  /** Version of the catalogue, to be compared for equality only; null for an instant before the first version. */
  readonly catalogue: string | null;
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Fields that a query may read. */
  readonly fields: readonly CatalogueField[];
  /** Candle series that a query may read at a timeframe. */
  readonly sources: readonly CatalogueSource[];
  /** Functions that a query may call. */
  readonly functions: readonly CatalogueFunction[];
  /** Codes of the venues. */
  readonly venues: readonly string[];
  /** Codes of the quote currencies. */
  readonly currencies: readonly string[];
  /** Codes of the base assets. */
  readonly assets: readonly string[];
  /** Codes of the instruments. */
  readonly instruments: readonly string[];
  /** Codes of the instruments that have no listing now. */
  readonly instruments_delisted: readonly string[];
  /** Timeframes, ascending. */
  readonly timeframes: readonly string[];
  /** Depth bands: distances from the mid. */
  readonly bands: readonly string[];
  /** Default freshness bound of each layer. */
  readonly freshness_defaults: { readonly [name: string]: string };
  /** Limits, by name. */
  readonly limits: { readonly [name: string]: unknown };
  /** Seconds after which an instant can be settled. */
  readonly settle_after: number;
  /** Earliest instant that a request may ask about; null while nothing is stored. */
  readonly earliest_retained: string | null;
  /** Values of the parameter `units`. */
  readonly units: readonly string[];
  /** Values of the parameter `number_format`. */
  readonly number_formats: readonly string[];
};

export type DqlParseAnswer = {
  /** Version of the language. */
  readonly dql: string;
  /** The query as the service understood it. */
  readonly query: Query;
  /** Names of the fields and sources that the query reads. */
  readonly atoms: QueryAtoms;
  /** Names of the functions that the query calls. */
  readonly functions: readonly string[];
  /** Timeframes that the query reads, ascending. */
  readonly timeframes: readonly string[];
  /** Cost of the query. The catalogue has the limits. */
  readonly complexity: Complexity;
};

export type DqlParseRequest = {
  readonly query?: QueryInput;
  /** Machine form `{dql, condition, timeframe, as_of, where, select, order_by}`. Send either `query` or `query_object`. */
  readonly query_object?: QueryObject;
  /** Version of the language: "1". */
  readonly dql?: unknown;
  /** Use of the query. Only `screen` exists. */
  readonly context?: 'screen';
};

export type ScreenAnswer = {
  /** Version of the language. */
  readonly dql: string;
  /** The query as the service understood it. */
  readonly query: Query;
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Instant about which the query asks; null when it asks about the present. */
  readonly as_of: string | null;
  /** True when the answer can no longer change: its last instant is at least 120 s past and everything recorded in time is applied. */
  readonly settled: boolean;
  /** Version of the catalogue under which the past was read; only when the query has `as of`. */
  readonly catalogue?: string | null;
  /** Period of the clause `timeframe`; null when the query has none. */
  readonly timeframe: string | null;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Freshness bound of each layer. A reading older than its bound is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** Instant at which the newest listing version in use was written; null when the answer is about now. */
  readonly listings_as_of: string | null;
  /** Instant at which the newest venue capability version in use was written; null when the answer is about now. */
  readonly capabilities_as_of: string | null;
  /** SHA-256, in hex, of the bytes of `instruments`; only when the query has `as of`. */
  readonly items_sha256?: string;
  /** Data that a narrowing plan covers today; absent when the plan narrows nothing. */
  readonly scope?: Scope;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** Instruments for which the query holds, in the order requested. */
  readonly instruments: readonly ScreenInstrument[];
  /** Position in a list of several pages. */
  readonly page: Page;
};

export type ScreenRequest = {
  readonly query?: QueryInput;
  /** Machine form `{dql, condition, timeframe, as_of, where, select, order_by}`. Send either `query` or `query_object`. */
  readonly query_object?: QueryObject;
  /** Version of the language: "1". */
  readonly dql?: unknown;
  /** Use of the query. Only `screen` exists. */
  readonly context?: 'screen';
  readonly where?: Where;
  readonly freshness?: Freshness;
  /** Instruments per page. Default 100, reduced to the limit of the plan. */
  readonly limit?: number;
  /** `page.next_cursor` of the page before, with the same request, within 300 s of the first page. All pages are of one evaluation. */
  readonly cursor?: string;
  /** Whether instruments whose result is unknown are returned too. Default false. */
  readonly include_unknown?: boolean;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
};

export type SnapshotsAnswer<F extends Digits = number> = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Everything recorded up to this instant is in the answer. History at this instant may be one reading behind until the sampling window of the layer has closed. */
  readonly served_at: Instant;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Freshness bound of each layer. A reading older than its bound is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** Data that a narrowing plan covers today; absent when the plan narrows nothing. */
  readonly scope?: Scope;
  /** One item per listing, ordered by venue and symbol. */
  readonly items: readonly ListingReadings<F>[];
  /** Pairs of instrument (or symbol) and venue that the request names and that no listing has. */
  readonly missing: readonly MissingPair[];
};

export type SnapshotsRequest = {
  readonly where?: Where;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
  /** Layers to return: ticker, mark, funding, oi, book, stats, venue_depth. Default: all layers of the plan. */
  readonly layers?: readonly string[];
  /** Whether `raw` has the message of the venue. It needs the plan Standard or above. */
  readonly include_raw?: boolean;
  /** Whether the numbers of stale readings are returned under `withheld`. Default false. */
  readonly allow_stale?: boolean;
  readonly freshness?: Freshness;
};

export type HistoryAnswer<F extends Digits = number> = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** True when the answer can no longer change: its last instant is at least 120 s past and everything recorded in time is applied. */
  readonly settled: boolean;
  /** SHA-256, in hex, of the bytes of `items`. Equal hashes mean equal items. */
  readonly items_sha256: string;
  /** How rows were selected. */
  readonly mode: 'interval' | 'at' | 'raw';
  /** Length of a period; only in mode `interval`. */
  readonly interval?: string;
  /** Start of the window that was applied. */
  readonly from?: Instant;
  /** End of the window that was applied. An end in the future is replaced by the current instant. */
  readonly to?: Instant;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Freshness bound of each layer. A reading older than its bound is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** Instant at which the newest listing version in use was written; null when the answer is about now. */
  readonly listings_as_of: string | null;
  /** Instant at which the newest venue capability version in use was written; null when the answer is about now. */
  readonly capabilities_as_of: string | null;
  /** Data that a narrowing plan covers today; absent when the plan narrows nothing. */
  readonly scope?: Scope;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** One item per listing, ordered by venue and symbol. */
  readonly items: readonly ListingHistory<F>[];
};

export type HistoryRequest = {
  readonly where?: Where;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
  /** Layers to return: ticker, mark, funding, oi, book, stats, venue_depth. Default: all layers of the plan. */
  readonly layers?: readonly string[];
  /** Mode: one row per period, with the last reading received in it; at most 2000 rows per listing and layer. Needs `from` and `to`. */
  readonly interval?: '10s' | '30s' | '1m' | '2m' | '3m' | '5m' | '15m' | '30m' | '1h' | '4h' | '12h' | '1d';
  /** Mode: one row per instant, strictly ascending, with the same limit of rows. Each has the newest window that ended by it, so choose full minutes: between them a reading with a short horizon is stale. */
  readonly at?: readonly string[];
  /** Mode: one row at this instant, best a full minute; short for `at` with one instant. RFC 3339, or a date. */
  readonly as_of?: string;
  /** Mode when true: every stored row; at most 100000 rows an answer. Needs `from` and `to`, and the plan Standard or above. */
  readonly raw?: boolean;
  /** Start of the window. With `interval` it is moved up to a boundary of the periods and is exclusive; with `raw` it is inclusive. RFC 3339, or a date. */
  readonly from?: string;
  /** End of the window. With `interval` it is moved down to a boundary of the periods and is inclusive; with `raw` it is exclusive. An end in the future is replaced by the current instant. RFC 3339, or a date. */
  readonly to?: string;
  /** Whether instants without a reading are rows. Default true. */
  readonly include_gaps?: boolean;
  readonly freshness?: Freshness;
  /** Whether the numbers of stale readings are returned under `withheld`. Default false. */
  readonly allow_stale?: boolean;
};

export type CandlesAnswer<F extends Digits = number> = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** True when the answer can no longer change: its last instant is at least 120 s past and everything recorded in time is applied. */
  readonly settled: boolean;
  /** SHA-256, in hex, of the bytes of `items`. Equal hashes mean equal items. */
  readonly items_sha256: string;
  /** Timeframe of the candles. */
  readonly timeframe: string;
  /** Price from which the candles are made: trades, the mark or the index of the venue. */
  readonly price_type: PriceType;
  /** Start of the window that was applied. */
  readonly from: Instant;
  /** End of the window that was applied. An end in the future is replaced by the current instant. */
  readonly to: Instant;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Instant at which the newest listing version in use was written; null when the answer is about now. */
  readonly listings_as_of: string | null;
  /** Instant at which the newest venue capability version in use was written; null when the answer is about now. */
  readonly capabilities_as_of: string | null;
  /** Data that a narrowing plan covers today; absent when the plan narrows nothing. */
  readonly scope?: Scope;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** One item per listing, ordered by venue and symbol. */
  readonly items: readonly ListingCandles<F>[];
};

export type CandlesRequest = {
  readonly where?: Where;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
  /** One of 1m, 2m, 3m, 5m, 15m, 30m, 1h, 4h, 12h, 1d. An answer has at most 1500 candles per listing. */
  readonly timeframe: string;
  /** Price from which the candles are made. Default `trade`. */
  readonly price_type?: PriceType;
  /** First open time, inclusive. It is moved up to a boundary of the timeframe. RFC 3339, or a date. */
  readonly from: string;
  /** Last open time, exclusive. It is moved down to a boundary of the timeframe. RFC 3339, or a date. */
  readonly to: string;
  /** Whether periods without a candle are rows. Default true. */
  readonly include_gaps?: boolean;
  /** Accepted without effect: only closed minutes are stored. */
  readonly closed_only?: boolean;
};

export type BooksAnswer<F extends Digits = number> = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Levels per side that were applied. */
  readonly depth: number;
  /** What the figures do not guarantee. */
  readonly liquidity_note: string;
  /** Data that a narrowing plan covers today; absent when the plan narrows nothing. */
  readonly scope?: Scope;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** One item per listing, ordered by venue and symbol. */
  readonly items: readonly Book<F>[];
};

export type BooksRequest = {
  readonly where?: Where;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
  /** Levels per side. Default 10, reduced to the limit of the plan. */
  readonly depth?: number;
};

export type LiquidationsAnswer<F extends Digits = number> = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** True when the answer can no longer change: its last instant is at least 120 s past and everything recorded in time is applied. */
  readonly settled: boolean;
  /** SHA-256, in hex, of the bytes of `items`. Equal hashes mean equal items. */
  readonly items_sha256: string;
  /** Start of the window that was applied. */
  readonly from: Instant;
  /** End of the window that was applied. An end in the future is replaced by the current instant. */
  readonly to: Instant;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Instant at which the newest listing version in use was written; null when the answer is about now. */
  readonly listings_as_of: string | null;
  /** Instant at which the newest venue capability version in use was written; null when the answer is about now. */
  readonly capabilities_as_of: string | null;
  /** Data that a narrowing plan covers today; absent when the plan narrows nothing. */
  readonly scope?: Scope;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** One item per listing, ordered by venue and symbol. */
  readonly items: readonly ListingLiquidations<F>[];
  /** Position in a list of several pages. */
  readonly page: Page;
};

export type LiquidationsRequest = {
  readonly where?: Where;
  /** Start of the window, inclusive, by `received_at`. RFC 3339, or a date. */
  readonly from: string;
  /** End of the window, exclusive. An end in the future is replaced by the current instant. RFC 3339, or a date. */
  readonly to: string;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
  /** Position that was closed: a `long` is closed by a sell. Default: both. */
  readonly side?: 'long' | 'short';
  /** Rows per page. Default 500, at most 5000. */
  readonly limit?: number;
  /** `page.next_cursor` of the previous page, with the same request. */
  readonly cursor?: string;
};

export type AgentStateAnswer = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** One item per rule, in the order of the ids sent, else oldest first. */
  readonly rules: readonly {
    /** Id of the rule. */
    readonly rule_id: string;
    /** Name that the owner gave the rule. */
    readonly name: string;
    /** `true` when the query holds for at least one instrument, else `unknown` when it may hold for one, else `false`. */
    readonly state: 'true' | 'false' | 'unknown';
    /** Why the state is `unknown`; null when it is known. */
    readonly reason:
      | 'never_evaluated'
      | 'stale_input'
      | 'missing_input'
      | 'not_published'
      | 'disabled'
      | 'plan_venue'
      | 'evaluation_error'
      | null;
    /** State last returned to this key or payer; null at the first read. Each read updates it. */
    readonly previous_state: 'true' | 'false' | 'unknown' | null;
    /** True when `state` differs from `previous_state`. */
    readonly changed: boolean;
    /** Instant since which the rule has been in this state. */
    readonly since: Instant;
    /** Instant at which the rule was last evaluated; null when it never was. */
    readonly evaluated_at: string | null;
    /** Instant of the next evaluation; null while the rule is disabled. */
    readonly next_evaluation_at: string | null;
    /** Interval between evaluations: the larger of the interval of the rule and the minimum of the plan. */
    readonly effective_interval: string;
    /** Query of the rule. */
    readonly query: string;
    /** Instruments for which the query holds, at most 20. */
    readonly matched: readonly string[];
    /** Number of instruments for which the query holds. */
    readonly matched_total: number;
    /** Instruments for which the result is unknown, at most 20. */
    readonly unknown: readonly string[];
    /** Number of instruments for which the result is unknown. */
    readonly unknown_total: number;
  }[];
  /** Ids that name no rule, or a rule that the caller may not read. */
  readonly missing: readonly string[];
};

export type ArchiveAnswer = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
  /** One item per file, ordered by venue, symbol, layer and day. */
  readonly items: readonly ArchiveFile[];
  /** Position in a list of several pages. */
  readonly page: Page;
};

export type ArchiveFileAnswer = {
  /** Link to the file. It needs no credentials. */
  readonly url: string;
  /** Instant at which the link expires. */
  readonly expires_at: Instant;
  /** SHA-256 of the file, in hex. */
  readonly sha256: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** Number of rows of the file. */
  readonly rows: number;
  /** Version of the anchored columns and of the tree. */
  readonly schema_version: number;
  /** Id of this answer, also in the header `X-Service-Receipt`. Quote it to support. */
  readonly receipt_id: string;
};

export type AnchorDayAnswer = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** UTC day. */
  readonly day: string;
  /** CAIP-2 id of the chain on which roots are posted; null while none is known. */
  readonly network: string | null;
  /** False when the chain is not Base itself: a rehearsal without force. Absent otherwise. */
  readonly binding?: boolean;
  /** Version of the anchored columns and of the tree. */
  readonly schema_version: number;
  /** Instant at which the day was closed. Rows recorded at or after it are in no tree. */
  readonly closed_at: Instant;
  /** Root of the day, in hex: the value that the contract holds for the day. */
  readonly day_root: string;
  /** One item per table that has rows, ordered by name. */
  readonly partitions: readonly AnchorPartition[];
  /** State of the posting of the day root. */
  readonly anchor: Anchor;
};

export type AnchorProofAnswer = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** UTC day. */
  readonly day: string;
  /** CAIP-2 id of the chain on which roots are posted; null while none is known. */
  readonly network: string | null;
  /** False when the chain is not Base itself: a rehearsal without force. Absent otherwise. */
  readonly binding?: boolean;
  /** Version of the anchored columns and of the tree. */
  readonly schema_version: number;
  /** Layer of the row. */
  readonly layer: string;
  /** Anchored table. */
  readonly table: string;
  /** The row: every anchored column as text, boolean or null. */
  readonly row: { readonly [name: string]: string | boolean | null };
  /** Text that is hashed: the row as canonical JSON (RFC 8785). */
  readonly canonical: string;
  /** SHA-256 of a zero byte followed by `canonical`, in hex. */
  readonly leaf_hash: string;
  /** Index of the leaf in the table, from 0. */
  readonly index: number;
  /** Number of leaves of the table. */
  readonly rows: number;
  /** Sibling hashes from the leaf up to the root of the table (RFC 9162), in hex. */
  readonly path: readonly string[];
  /** The table as a leaf of the day tree. */
  readonly partition: ProofPartition;
  /** Root of the day, in hex: the value that the contract holds for the day. */
  readonly day_root: string;
  /** State of the posting of the day root. */
  readonly anchor: Anchor;
  /** Address that serves two programs which check the proof. */
  readonly verify: string;
};

export type ReceiptAnswer = {
  /** Receipt of the paid call. */
  readonly receipt_id: string;
  /** `presented`, `verified`, `served`, `settling`: under way. `unknown`: the settlement was sent and its outcome is read from the chain. `settled`: paid. `failed`: not charged. */
  readonly state: 'presented' | 'verified' | 'served' | 'settling' | 'settled' | 'failed' | 'unknown';
  /** CAIP-2 id of the chain of the payment. */
  readonly network: string;
  /** Address that pays. */
  readonly payer: string;
  /** Amount in atomic units of USDC: 5000 is 0.005 USDC. */
  readonly amount: string;
  /** Price class of the call, or code of the plan that was bought. */
  readonly class: string;
  /** Hash of the transaction that settled the payment; null before. */
  readonly transaction: string | null;
  /** Instant of the settlement; null before. */
  readonly settled_at: string | null;
};

export type AccountAnswer = {
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** The key of the request. */
  readonly key: AccountKey;
  /** Plan of the key. */
  readonly plan: AccountPlan;
  /** Venues that the key may read. */
  readonly venues: readonly string[];
  /** Instruments that the key may read; null for all. */
  readonly instruments: readonly string[] | null;
  /** Layers that the key may read. */
  readonly layers: readonly string[];
  /** Earliest instant that the key may read; null when that is everything kept. */
  readonly history_from: string | null;
  /** Limits, by name. */
  readonly limits: { readonly [name: string]: number | string };
  /** Counters of the UTC day. */
  readonly today: AccountToday;
  /** Counters of this moment. */
  readonly now: AccountNow;
};

export type Instant = string;

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
  /** Instrument codes, such as BTC-PERP. */
  readonly instrument?: Codes;
  /** Codes of base assets. */
  readonly base?: Codes;
  /** Venue codes. */
  readonly venue?: Codes;
  /** Codes of quote currencies. */
  readonly quote?: Codes;
  /** Symbols at the venue, byte for byte. */
  readonly symbol?: Codes;
};

export type Codes = string | readonly string[];

export type Freshness = string | FreshnessByLayer;

export type FreshnessByLayer = {
  readonly ticker?: string;
  readonly mark?: string;
  readonly funding?: string;
  readonly oi?: string;
  readonly open_interest?: string;
  readonly book?: string;
  readonly stats?: string;
  readonly venue_depth?: string;
  readonly book_bands?: string;
};

export type QueryInput = string | QueryObject;

export type QueryObject = {
  readonly dql?: unknown;
  readonly condition?: unknown;
  readonly timeframe?: unknown;
  readonly as_of?: unknown;
  readonly where?: unknown;
  readonly select?: unknown;
  readonly order_by?: unknown;
};

export type ArchiveFormat = 'parquet' | 'csv' | 'jsonl';

export type Page = {
  /** Page size that was applied. */
  readonly limit: number;
  /** Number of items on this page. */
  readonly returned: number;
  /** Cursor of the next page: send it as `cursor` with the same request. Null on the last page. */
  readonly next_cursor: string | null;
};

export type Scope = {
  /** Codes of the venues that the plan covers. */
  readonly venues: readonly string[];
  /** Number of instruments that the plan covers, or `all`. */
  readonly instruments: number | 'all';
  /** Code of the plan. */
  readonly plan: string;
};

export type Query = {
  /** Canonical text of the query. */
  readonly string: string;
  /** Machine form of the query. It may be sent as `query_object`. */
  readonly json: { readonly [name: string]: unknown };
};

export type Venue = {
  /** Venue code. */
  readonly venue: string;
  /** Name of the venue. */
  readonly name: string;
  /** Kind of venue: `order_book`. */
  readonly kind: string;
  /** Number of perpetual futures that the venue lists now. */
  readonly listings: number;
  /** Number of those that the service collects. */
  readonly listings_collected: number;
  /** Instant at which the service first saw a listing of the venue that it collects; null while it collects none. */
  readonly since: string | null;
  /** Policy of each layer, by layer. */
  readonly layers: { readonly [name: string]: 'on' | 'off' | 'not_published' };
  /** `live`; `degraded` (a connection was lost within the last hour and is not replaced, or the service is more than 5 s behind); `down` (no connection is open). */
  readonly state: 'live' | 'degraded' | 'down';
  /** Instant since which the venue has been in this state. */
  readonly state_since: string | null;
};

export type Listing<F extends Digits = number> = {
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Code of the base asset, without multiplier and venue alias. */
  readonly base: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** Name of the base at the venue when it differs from `base`; else null. */
  readonly base_venue_alias: string | null;
  /** Kind of contract. */
  readonly kind: 'perpetual';
  /** `linear`, `inverse` or `quanto`; null when it is not known. */
  readonly venue_kind: string | null;
  /** Name of the pair at the venue; null when it has none. */
  readonly pair: string | null;
  /** Flag of the venue; null when it has none. */
  readonly post_only: boolean | null;
  /** Trading status: `tradeable`, `post_only`, `reduce_only`, `cancel_only`, `halted`, `pre_launch`, `settling`, `delisted`, `unknown`. Clients must accept other words. */
  readonly status: string;
  /** Size of one contract, in `units.contract_size`; null when it is not known. */
  readonly contract_size: F | null;
  /** Number of base units in one listed unit: 1000 for 1000PEPE. */
  readonly multiplier: F | null;
  /** Smallest price step. */
  readonly tick_size: F | null;
  /** Smallest quantity step. */
  readonly lot_size: F | null;
  /** Smallest quantity of an order. */
  readonly min_qty: F | null;
  /** Smallest value of an order. */
  readonly min_notional: F | null;
  /** Number of decimals of a price. */
  readonly price_decimals: number | null;
  /** Number of decimals of a quantity. */
  readonly qty_decimals: number | null;
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string | null };
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** Unit in which the venue states quantities: `base`, `contracts` or `quote`. */
  readonly quantity_unit: string;
  /** `one` when open interest counts each position once, `two` when it counts both sides; null when it is not known. */
  readonly oi_sides: string | null;
  /** Time between two funding settlements. */
  readonly funding_interval: string | null;
  /** Source of `funding_interval`: `venue`, `documented`, `measured` or `assumed`. */
  readonly funding_interval_source: string | null;
  /** How `funding` is made from the field of the venue. */
  readonly funding_normalisation: FieldTransform | null;
  /** How each rule is made from a field of the venue, by rule. */
  readonly rules_normalisation: { readonly [name: string]: FieldTransform };
  /** Candles of the listing. */
  readonly candles: CandleFacts;
  /** How each layer is collected, by layer. */
  readonly layers: { readonly [name: string]: ListingLayer };
  /** Fields that the venue does not publish. */
  readonly not_published: readonly string[];
  /** Depth bands: distances from the mid. */
  readonly bands: readonly string[];
  /** Instant at which the venue listed it; null when the venue does not say. */
  readonly listed_at: string | null;
  /** Instant at which the service first saw it. */
  readonly first_seen_at: string | null;
  /** Instant at which it was delisted; null when it is listed. */
  readonly delisted_at: string | null;
  /** Earliest instant for which data is kept. Earlier data is `not_retained`. */
  readonly retention_from: string | null;
  /** Timestamp of the venue; null when it sends none. */
  readonly venue_ts: string | null;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: string | null;
  /** Milliseconds from `received_at` to the instant of evaluation. */
  readonly age_ms: number;
  /** Message of the venue; only with `include_raw`. */
  readonly raw?: unknown;
};

export type ListingLayer = {
  /** `on`, `off` (not collected), `sampled` (the venue publishes only some of the events), `not_published`. */
  readonly policy: 'on' | 'off' | 'sampled' | 'not_published';
  /** `live` when the venue sends every change, else the time between two readings; null when the layer is not collected. */
  readonly cadence: string | null;
  /** Sampling window of stored history: one reading per window; or `raw`. */
  readonly history_cadence: string;
  /** Time for which a reading is valid; null when it is valid as long as its connection, or when no horizon is known. */
  readonly horizon: string | null;
  /** Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known. */
  readonly horizon_source: string | null;
  /** Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`). */
  readonly anchor: string | null;
  /** Default freshness bound; null when the layer has none. */
  readonly freshness: string | null;
  /** Earliest instant for which data is kept. Earlier data is `not_retained`. */
  readonly retention_from: Instant;
};

export type CandleFacts = {
  /** Timeframe of the candles of the venue. Longer ones are rolled up from them. */
  readonly base_timeframe: string;
  /** Prices of which the venue publishes candles. */
  readonly price_types: readonly string[];
  /** Timeframes, ascending. */
  readonly timeframes: readonly string[];
};

export type FieldTransform = {
  /** Field of the venue. */
  readonly venue_field: string;
  /** Transformation applied to it. */
  readonly transform: string;
};

export type CatalogueField = {
  /** Name as a query writes it. */
  readonly name: string;
  /** Type of the value. */
  readonly type: 'code' | 'number' | 'duration';
  /** `instrument`: usable anywhere. `venue`: inside a quantifier, an aggregate or `select`. */
  readonly scope: 'instrument' | 'venue';
  /** Layer that it is read from; `argument` for the layer of its argument. */
  readonly layer: string;
  /** Unit of the value. `quantity` stands for `base`, `contracts` or `quote`, by listing and `units`; `argument` for the unit of the argument. */
  readonly unit: string;
  /** What it is. */
  readonly description: string;
  /** True when it may be read as a series. */
  readonly sampleable: boolean;
  /** True when it may be summed over listings. */
  readonly additive: boolean;
  /** Codes of the venues that do not publish it. */
  readonly not_published_on: readonly string[];
};

export type CatalogueSource = {
  /** Name as a query writes it. */
  readonly name: string;
  /** Type of the value. */
  readonly type: 'series';
  /** `venue`: inside a quantifier, an aggregate or `select`. */
  readonly scope: 'instrument' | 'venue';
  /** Layer that it is read from; `argument` for the layer of its argument. */
  readonly layer: 'candles';
  /** Price from which the candles are made: trades, the mark or the index of the venue. */
  readonly price_type: PriceType;
  /** Unit of the value. `quantity` stands for `base`, `contracts` or `quote`, by listing and `units`; `argument` for the unit of the argument. */
  readonly unit: string;
  /** What it is. */
  readonly description: string;
  /** True when it may be summed over listings. */
  readonly additive: boolean;
  /** Codes of the venues that do not publish it. */
  readonly not_published_on: readonly string[];
};

export type CatalogueFunction = {
  /** Name as a query writes it. */
  readonly name: string;
  /** How a call is written. */
  readonly signature: string;
  /** Type of the value. */
  readonly type: 'series' | 'number' | 'boolean' | 'duration' | 'status';
  /** `venue`: inside a quantifier, an aggregate or `select`. `instrument`: wherever its argument is allowed. */
  readonly scope: 'instrument' | 'venue';
  /** Layer that it is read from; `argument` for the layer of its argument. */
  readonly layer: string;
  /** Unit of the value. `quantity` stands for `base`, `contracts` or `quote`, by listing and `units`; `argument` for the unit of the argument. */
  readonly unit: string;
  /** What it is. */
  readonly description: string;
  /** Number of periods that a call reads. */
  readonly bars: string;
  /** True when it may be summed over listings. */
  readonly additive: boolean;
};

export type QueryAtoms = {
  /** Those of instrument scope. */
  readonly instrument: readonly string[];
  /** Those of venue scope. */
  readonly venue: readonly string[];
};

export type Complexity = {
  /** Number of nodes of the query tree. */
  readonly nodes: number;
  /** Number of periods that the query reads. */
  readonly bars: number;
  /** `nodes`, plus `bars`, plus 25 for each distinct depth call. */
  readonly cost: number;
};

export type ScreenInstrument = {
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** `true`, or `unknown` with `include_unknown`. */
  readonly result: 'true' | 'unknown';
  /** Value objects by canonical text of the expression: `value`, `unit`, `status`, `reason` when the value is unknown (null), and `venue`, `layer`, `venue_ts`, `received_at`, `age_ms` of a reading. */
  readonly values: { readonly [name: string]: { readonly [name: string]: unknown } };
  /** Every selected listing of the instrument, also those without a value. */
  readonly venues: readonly ScreenListing[];
  /** Inputs that made the result unknown, at most five. */
  readonly because?: readonly UnknownInput[];
};

export type ScreenListing = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue. */
  readonly symbol: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** Value objects by canonical text of the expression: `value`, `unit`, `status`, `reason` when the value is unknown (null), and `venue`, `layer`, `venue_ts`, `received_at`, `age_ms` of a reading. */
  readonly values: { readonly [name: string]: { readonly [name: string]: unknown } };
};

export type UnknownInput = {
  /** Canonical text of the input. */
  readonly expr: string;
  /** Venue code. */
  readonly venue: string | null;
  /** Symbol at the venue. */
  readonly symbol: string | null;
  /** `present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`. */
  readonly status: string;
  /** Reason for the unknown value: a reason of a reading, or `insufficient_history` or `unit_unknown`. */
  readonly reason: string;
};

export type Reading<F extends Digits = number> = {
  /** `present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`. */
  readonly status: Status;
  /** Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`. */
  readonly reason?: string;
  /** Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words. */
  readonly gap_cause?: string;
  /** Timestamp of the venue; null when it sends none. */
  readonly venue_ts: string | null;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: string | null;
  /** Milliseconds from `received_at` to the instant of evaluation. */
  readonly age_ms: number | null;
  /** Milliseconds from `venue_ts` to the instant of evaluation. It is negative when the clock of the venue is ahead. */
  readonly venue_age_ms: number | null;
  /** Instant after which the reading is not current; null while it is valid as long as its connection. */
  readonly valid_until: string | null;
  /** Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known. */
  readonly horizon_source: HorizonSource | null;
  /** Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`). */
  readonly anchor: HorizonAnchor | null;
  /** Figures, by name; empty unless `status` is `present`. A figure that has no value is null and is named in `null_reasons`. */
  readonly values: { readonly [name: string]: F | null };
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** Instants, by name, such as `next_funding_at`. */
  readonly instants?: { readonly [name: string]: Instant };
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
  /** Figures of a stale reading; only with `allow_stale`. */
  readonly withheld?: Withheld<F>;
  /** Message of the venue; only with `include_raw`. */
  readonly raw?: unknown;
};

export type Conversion<F extends Digits = number> = {
  /** Number of base units in one listed unit: 1000 for 1000PEPE. */
  readonly multiplier: F | null;
  /** Size of one contract used in the conversion. */
  readonly contract_size: F | null;
  /** Mark price used in the conversion. */
  readonly mark?: F;
  /** Instant at which that mark was received. */
  readonly mark_received_at?: Instant;
};

export type Withheld<F extends Digits = number> = {
  /** Figures, by name; empty unless `status` is `present`. A figure that has no value is null and is named in `null_reasons`. */
  readonly values: { readonly [name: string]: F | null };
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type ListingReadings<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** Readings, by layer. */
  readonly layers: { readonly [name: string]: Reading<F> };
};

export type MissingPair = {
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument?: string;
  /** Symbol at the venue. */
  readonly symbol?: string;
  /** Venue code. */
  readonly venue: string;
};

export type ListingHistory<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** Readings, by layer. */
  readonly layers: { readonly [name: string]: LayerHistory<F> };
};

export type LayerHistory<F extends Digits = number> = {
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** Earliest instant for which data is kept. Earlier data is `not_retained`. */
  readonly retention_from: Instant;
  /** Rows, ascending. */
  readonly rows: readonly HistoryRow<F>[];
  /** Sampling window of stored history: one reading per window; or `raw`. */
  readonly history_cadence: string;
};

export type HistoryRow<F extends Digits = number> = {
  /** Instant of the row. Its status and ages are as of this instant. */
  readonly at: Instant;
  /** `present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`. */
  readonly status: Status;
  /** Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`. */
  readonly reason?: string;
  /** Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words. */
  readonly gap_cause?: string;
  /** Timestamp of the venue; null when it sends none. */
  readonly venue_ts: string | null;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: string | null;
  /** Milliseconds from `received_at` to the instant of evaluation. */
  readonly age_ms: number | null;
  /** Milliseconds from `venue_ts` to the instant of evaluation. It is negative when the clock of the venue is ahead. */
  readonly venue_age_ms: number | null;
  /** Instant after which the reading is not current; null while it is valid as long as its connection. */
  readonly valid_until: string | null;
  /** Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known. */
  readonly horizon_source: string | null;
  /** Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`). */
  readonly anchor: HorizonAnchor | null;
  /** Figures, by name; empty unless `status` is `present`. A figure that has no value is null and is named in `null_reasons`. */
  readonly values: { readonly [name: string]: F | null };
  /** Instants, by name, such as `next_funding_at`. */
  readonly instants?: { readonly [name: string]: Instant };
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
  /** Figures of a stale reading; only with `allow_stale`. */
  readonly withheld?: Withheld<F>;
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** True when the row was recorded too late to count in any answer other than this one. */
  readonly late?: boolean;
};

export type ListingCandles<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** Earliest instant for which data is kept. Earlier data is `not_retained`. */
  readonly retention_from: Instant;
  /** Rows, ascending. */
  readonly rows: readonly Candle<F>[];
};

export type Candle<F extends Digits = number> = {
  /** Start of the period, inclusive. */
  readonly open_time: Instant;
  /** End of the period, exclusive. */
  readonly close_time: Instant;
  /** `present`, `missing` (a gap or not retained), `not_published` (by the venue), `off` (not collected). */
  readonly status: 'present' | 'missing' | 'not_published' | 'off';
  /** Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`. */
  readonly reason?: string;
  /** Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words. */
  readonly gap_cause?: string;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: string | null;
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
  /** Minutes from which the candle is made. */
  readonly base_candles: BaseCandles;
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type BaseCandles = {
  /** Number of minutes in the period. */
  readonly expected: number;
  /** Number of minutes that the venue published. */
  readonly present: number;
  /** Number of minutes that are proven to be without trades. */
  readonly no_trades: number;
};

export type Book<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** `present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`. */
  readonly status: Status;
  /** Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`. */
  readonly reason?: string;
  /** Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words. */
  readonly gap_cause?: string;
  /** Timestamp of the venue; null when it sends none. */
  readonly venue_ts: string | null;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: string | null;
  /** Milliseconds from `received_at` to the instant of evaluation. */
  readonly age_ms: number | null;
  /** Milliseconds from `venue_ts` to the instant of evaluation. It is negative when the clock of the venue is ahead. */
  readonly venue_age_ms: number | null;
  /** Instant after which the reading is not current; null while it is valid as long as its connection. */
  readonly valid_until: string | null;
  /** Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known. */
  readonly horizon_source: string | null;
  /** Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`). */
  readonly anchor: string | null;
  /** Unit of the sizes. */
  readonly size_unit: 'base' | 'contracts' | 'quote';
  /** Sequence number of the venue; null when it has none. */
  readonly sequence: string | null;
  /** Levels `[price, size]`, best first. A size that cannot be converted is null. Empty unless `status` is `present`. */
  readonly bids: readonly (readonly [string | null, string | null])[];
  /** Levels `[price, size]`, best first. A size that cannot be converted is null. Empty unless `status` is `present`. */
  readonly asks: readonly (readonly [string | null, string | null])[];
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
  /** Number of levels that the service holds. */
  readonly collected_levels?: {
    /** On the bid side. */
    readonly bids: number;
    /** On the ask side. */
    readonly asks: number;
  };
  /** Depth within each band, over all levels that the service holds. */
  readonly bands?: { readonly [name: string]: BookBand };
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
};

export type BookBand = {
  /** Mid from which the band is measured. */
  readonly reference: string | null;
  /** Quantity bid within the band; null when the book is not known up to the edge of the band. */
  readonly bid: string | null;
  /** Quantity asked within the band; null when the book is not known up to the edge of the band. */
  readonly ask: string | null;
  /** Price times size of those bids, in quote currency. */
  readonly bid_value: string | null;
  /** Price times size of those asks, in quote currency. */
  readonly ask_value: string | null;
  /** Number of those bids. */
  readonly bid_levels: number | null;
  /** Number of those asks. */
  readonly ask_levels: number | null;
  /** Whether the book is known up to the edge of the band. */
  readonly complete: {
    /** On the bid side. */
    readonly bid: boolean;
    /** On the ask side. */
    readonly ask: boolean;
  };
};

export type ListingLiquidations<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Code of the quote currency. */
  readonly quote: string;
  /** `full`: the venue publishes every liquidation. `sampled`: it publishes some. `none`: it publishes none. */
  readonly completeness: 'full' | 'sampled' | 'none';
  /** Earliest instant for which data is kept. Earlier data is `not_retained`. */
  readonly retention_from: Instant;
  /** Unit of each figure, by name. */
  readonly units: { readonly [name: string]: string };
  /** Rows, ascending. */
  readonly rows: readonly Liquidation<F>[];
  /** Parts of the window in which nothing could be received, or which are not kept. */
  readonly gaps: readonly Gap[];
};

export type Liquidation<F extends Digits = number> = {
  /** Timestamp of the venue; null when it sends none. */
  readonly venue_ts: string | null;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: Instant;
  /** The position that was closed: a `long` is closed by a sell. */
  readonly side: 'long' | 'short';
  /** Price. `price_kind` says which price it is. */
  readonly price: F;
  /** Which price it is: of the `fill`, of the `order`, of the `bankruptcy`, or the `mark`. */
  readonly price_kind: 'fill' | 'order' | 'bankruptcy' | 'mark';
  /** Quantity closed. */
  readonly quantity: F | null;
  /** Value in quote currency: price times quantity. */
  readonly value: F | null;
  /** Id of the liquidation within its listing. */
  readonly id: string;
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type Gap = {
  /** Start of the gap. */
  readonly from: Instant;
  /** End of the gap. */
  readonly to: Instant;
  /** Cause of the gap, or `not_retained` when it is before `retention_from`. */
  readonly gap_cause: string;
};

export type ArchiveFile = {
  /** `venue:venue_symbol`, as in the path of the file. */
  readonly listing: string;
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Archived layer. */
  readonly layer: string;
  /** UTC day. */
  readonly day: string;
  /** Price tier of the listing on that day. */
  readonly tier: 'core' | 'top100' | 'other';
  /** Price of one file when it is paid per call, in USDC; null when it is not sold per call. */
  readonly price_usdc: string | null;
  /** Format that `bytes` and `sha256` describe. */
  readonly format: 'parquet';
  /** Number of rows of the file. */
  readonly rows: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** SHA-256 of the file, in hex. */
  readonly sha256: string;
  /** Version of the anchored columns and of the tree. */
  readonly schema_version: number;
  /** Instant at which this version of the file was written. */
  readonly written_at: Instant;
  /** True when the day is closed: the file never changes again. */
  readonly final: boolean;
  /** True when the day root is confirmed on the chain. */
  readonly anchored: boolean;
  /** True when the plan of this key may fetch the file. */
  readonly included: boolean;
};

export type AnchorPartition = {
  /** Anchored table. */
  readonly table: string;
  /** Number of leaves of the table. */
  readonly rows: number;
  /** Root of the tree over the rows of the table, in hex. */
  readonly root: string;
  /** Hash of the table as a leaf of the day tree, in hex. */
  readonly leaf: string;
  /** Index of that leaf in the day tree, from 0. */
  readonly index: number;
};

export type Anchor = {
  /** True when the day root is confirmed on the chain. */
  readonly anchored: boolean;
  /** `pending` (not posted), `submitted` (transaction sent), `confirmed` (enough blocks deep), `failed` (will be retried). */
  readonly status: AnchorStatus;
  /** Address of the contract that holds the root; null until the root is sent. */
  readonly contract: string | null;
  /** Hash of the transaction that posted the root; null while there is none. */
  readonly tx_hash: string | null;
  /** Number of its block; null until it is mined. */
  readonly block: number | null;
  /** Time of that block; null until it is mined. */
  readonly anchored_at: string | null;
  /** Whole days from the day to the date of `anchored_at`; null until it is mined. */
  readonly anchored_lag_days: number | null;
  /** Page of the transaction at a block explorer; null when there is none. */
  readonly explorer_url: string | null;
};

export type ProofPartition = {
  /** Root of the tree over the rows of the table, in hex. */
  readonly root: string;
  /** Hash of the table as a leaf of the day tree, in hex. */
  readonly leaf: string;
  /** Index of that leaf in the day tree, from 0. */
  readonly index: number;
  /** Number of leaves of the day tree. */
  readonly count: number;
  /** Sibling hashes from that leaf up to the day root, in hex. */
  readonly path: readonly string[];
};

export type AccountKey = {
  /** Id of the key. It is not the key itself. */
  readonly key_id: string;
  /** Name of the key. */
  readonly name: string;
  /** Instant at which it was created. */
  readonly created_at: Instant;
  /** Instant at which it expires; null when it does not. */
  readonly expires_at: string | null;
  /** `account` (created on the account site), `purchased` (bought with USDC) or `connection` (of an application, by OAuth). */
  readonly kind: 'account' | 'purchased' | 'connection';
};

export type AccountPlan = {
  /** Code of the plan. */
  readonly code: string;
  /** Name of the plan. */
  readonly name: string;
  /** Instant since which the key has this plan. */
  readonly since: Instant;
  /** Instant at which it expires; null when it does not. */
  readonly expires_at: string | null;
};

export type AccountToday = {
  /** UTC day. */
  readonly day: string;
  /** Instant at which the counters restart. */
  readonly resets_at: Instant;
  /** Requests. */
  readonly requests: RequestsToday;
  /** Evaluations of queries. */
  readonly dql: QuotaToday;
  /** Evaluations of agent rules that requests demanded with `fresh`. */
  readonly agent_evaluations: QuotaToday;
  /** Archive files. */
  readonly archive_files: QuotaToday;
};

export type AccountNow = {
  /** Number of open streams. */
  readonly streams: number;
  /** Number of requests that are being answered. */
  readonly requests_in_flight: number;
};

export type RequestsToday = {
  /** Number used so far. */
  readonly used: number;
  /** Limit of the day. */
  readonly limit: number;
  /** Number left. */
  readonly remaining: number;
  /** Number of requests of each class. */
  readonly by_class: { readonly [name: string]: number };
};

export type QuotaToday = {
  /** Number used so far. */
  readonly used: number;
  /** Limit of the day. */
  readonly limit: number;
};

export type StreamState<F extends Digits = number> = Reading<F> & {
  /** Bid levels, best first; only when `depth` is above 0. */
  readonly bids?: readonly (readonly [string | null, string | null])[];
  /** Ask levels, best first; only when `depth` is above 0. */
  readonly asks?: readonly (readonly [string | null, string | null])[];
};

export type EventRow<F extends Digits = number> = {
  /** Timestamp of the venue; null when it sends none. */
  readonly venue_ts: string | null;
  /** Instant at which the service received it; null when there is no reading. */
  readonly received_at: Instant;
  /** Of a trade the side of the taker, of a liquidation the position that was closed. */
  readonly side: 'buy' | 'sell' | 'long' | 'short';
  /** Price. `price_kind` names the kind of a price of a liquidation. */
  readonly price: F;
  /** Of a liquidation: which price it is. */
  readonly price_kind?: 'fill' | 'order' | 'bankruptcy' | 'mark';
  /** Quantity traded or closed. */
  readonly quantity: F | null;
  /** Value in quote currency: price times quantity. */
  readonly value: F | null;
  /** Id of the event within its listing. */
  readonly id: string;
  /** Inputs with which quantities were converted; only when `units` is not `published`. */
  readonly conversion?: Conversion<F>;
  /** Why a figure is null, by name of the figure. */
  readonly null_reasons?: { readonly [name: string]: string };
};

export type GapScope = {
  /** Venue code. */
  readonly venue?: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol?: string;
  /** Layer; absent for every layer. */
  readonly layer?: string;
};

export type HelloEvent = {
  /** Id of the stream. Quote it to support. */
  readonly stream_id: string;
  /** Instant T at which the service evaluated the answer. */
  readonly evaluated_at: Instant;
  /** Version of the catalogue, to be compared for equality only; null for an instant before the first version. */
  readonly catalogue: string | null;
  /** Units of quantities: as published, base asset or quote currency. */
  readonly units: Units;
  /** Freshness bound of each layer. A reading older than its bound is stale. */
  readonly freshness: { readonly [name: string]: string };
  /** Layers that the stream covers. */
  readonly layers: readonly string[];
  /** Number of selected listings. */
  readonly listings: number;
  /** True when the stream continues after `Last-Event-ID` without a hole. */
  readonly resumed: boolean;
  /** Instant of the oldest event that is kept for a resume; null when none is kept. */
  readonly buffer_from: string | null;
  /** Milliseconds between two heartbeats. */
  readonly heartbeat_ms: number;
};

export type SnapshotEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Layer of the reading. */
  readonly layer: string;
  /** Number of the reading within its listing and layer, without holes; 0 when there is no reading. A change of status repeats the number of the reading. */
  readonly rev: number;
  /** The complete reading. */
  readonly state: StreamState<F>;
};

export type ReadyEvent = {
  /** Number of selected listings. */
  readonly listings: number;
  /** Number of snapshots sent. */
  readonly layers: number;
  /** Everything recorded up to this instant has been sent. */
  readonly served_at: string | null;
};

export type UpdateEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Layer of the reading. */
  readonly layer: string;
  /** Number of the reading within its listing and layer, without holes; 0 when there is no reading. A change of status repeats the number of the reading. */
  readonly rev: number;
  /** What changed: the value, the status, or both. */
  readonly change: 'value' | 'status' | 'both';
  /** The complete reading, not the difference. */
  readonly state: StreamState<F>;
};

export type RowsEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Kind of the rows. */
  readonly layer: 'trade' | 'liquidation';
  /** Rows, in the order in which they were received. */
  readonly rows: readonly EventRow<F>[];
};

export type CandleEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** Timeframe of the candle. */
  readonly timeframe: Timeframe;
  /** Price from which the candles are made: trades, the mark or the index of the venue. */
  readonly price_type: PriceType;
  /** The candle, or the gap in its place. */
  readonly row: Candle<F>;
};

export type ListingEvent<F extends Digits = number> = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly venue_symbol: string;
  /** Instrument code, `<BASE>-PERP`. It is the same on every venue. */
  readonly instrument: string;
  /** What happened to the listing. */
  readonly change: 'added' | 'changed' | 'delisted';
  /** The listing record, as in the answer of instruments. */
  readonly record: Listing<F>;
};

export type HeartbeatEvent = {
  /** Instant at which it was sent. */
  readonly at: Instant;
  /** Everything recorded up to this instant has been sent. */
  readonly served_at: string | null;
  /** Milliseconds from `served_at` to `at`; null while `served_at` is null. */
  readonly lag_ms: number | null;
  /** `up` when a connection to the venue is open, else `down`, by venue. */
  readonly connections: { readonly [name: string]: 'up' | 'down' };
};

export type GapEvent = {
  /** Start of the period whose events are omitted; null when it is not known. */
  readonly from: string | null;
  /** End of that time. */
  readonly to: Instant;
  /** Reason for which events are omitted. */
  readonly reason: 'resume_expired' | 'slow_reader' | 'pipeline_restart';
  /** Number of omitted events; null when it is not known. */
  readonly dropped: number | null;
  /** What the gap concerns; empty when it concerns everything. */
  readonly scope: GapScope;
};

export type RuleEvent = {
  /** Id of the rule. */
  readonly rule_id: string;
  /** Name that the owner gave the rule. */
  readonly name: string;
  /** `snapshot`: the state at the start of the stream, or after moves may have been missed. `move`: a new state. */
  readonly change: 'snapshot' | 'move';
  /** Instant since which the rule has been in this state. */
  readonly at: string;
  /** State before the move; null in a snapshot. */
  readonly previous_state: 'true' | 'false' | 'unknown' | null;
  /** `true` when the query holds for at least one instrument, else `unknown` when it may hold for one, else `false`. */
  readonly state: 'true' | 'false' | 'unknown';
  /** Why the state is `unknown`; null when it is known. */
  readonly reason:
    | 'never_evaluated'
    | 'stale_input'
    | 'missing_input'
    | 'not_published'
    | 'disabled'
    | 'plan_venue'
    | 'evaluation_error'
    | null;
  /** Instruments for which the query holds, at most 20. */
  readonly matched?: readonly string[];
  /** Number of instruments for which the query holds. */
  readonly matched_total?: number;
};

export type ByeEvent = {
  /** Why the stream ends. */
  readonly reason: 'rotate' | 'shutdown' | 'key_ended' | 'plan_changed';
  /** True when the client should connect again. */
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
  /** Selection of listings as text, such as `base in (BTC, ETH) and quote = USDT`. Default: all listings. */
  readonly where?: string;
  /** Instant that the answer describes. Default now. Marks of the past are not read: a quantity that needs one to be converted is null. RFC 3339, or a date. */
  readonly as_of?: string;
  /** Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted. */
  readonly units?: Units;
  /** Whether `raw` has the message of the venue. It needs the plan Standard or above. */
  readonly include_raw?: boolean;
  /** Listings per page. Default and at most 5000; without it a page ends where the answer is full. */
  readonly limit?: number;
  /** `page.next_cursor` of the previous page, with the same request. All pages describe the same instant. */
  readonly cursor?: string;
};

export type DqlCatalogueRequest = Record<string, never>;

export type AgentStateRequest = {
  /** Ids of rules, repeated or separated by commas, at most 100. Without it a key reads all rules of its account; a paid call names at least one. */
  readonly rule_id?: readonly string[];
  /** Whether the rules are evaluated now, each at most once per second. Every evaluation counts against the limit of the day. Default false. */
  readonly fresh?: boolean;
};

export type ArchiveRequest = {
  /** Selection of listings as text, such as `base in (BTC, ETH) and quote = USDT`. Default: all listings. */
  readonly where?: string;
  /** Archived layer. Default: all layers. */
  readonly layer?: string;
  /** First day, inclusive. */
  readonly from?: string;
  /** Last day, inclusive. */
  readonly to?: string;
  /** Files per page. Default 100, at most 1000. */
  readonly limit?: number;
  /** `page.next_cursor` of the previous page, with the same request. It does not expire. */
  readonly cursor?: string;
};

export type ArchiveFileRequest = {
  /** `venue:venue_symbol`, percent-encoded. */
  readonly listing: string;
  /** Archived layer. */
  readonly layer: string;
  /** UTC day. */
  readonly day: string;
  /** `parquet` (default), `csv` or `jsonl`. The last two are compressed with zstd. */
  readonly format?: ArchiveFormat;
};

export type AnchorDayRequest = {
  /** UTC day, with or without dashes. */
  readonly day: string;
};

export type AnchorProofRequest = {
  /** Venue code. */
  readonly venue: string;
  /** Symbol at the venue, byte for byte. */
  readonly symbol: string;
  /** Layer, or the name of its table: book_bands, candles, funding, liquidation, mark, oi, stats, ticker, trades. */
  readonly layer: string;
  /** Instant that selects the day and the row. A reading: the newest window that ended by it; 00:00 belongs to the day before. A candle: its minute. A trade or liquidation: the newest row with `id` received by it. RFC 3339, or a date. */
  readonly at: string;
  /** Price type, for candles only. Default `trade`. */
  readonly price_type?: 'trade' | 'mark' | 'index';
  /** Id of the row, for trades and liquidations only. Needed unless `seq` is sent. */
  readonly id?: string;
  /** Selects any row of the day, listing and table by its `seq`, also a late row or a gap. Then `at` selects the day only. */
  readonly seq?: number;
};

export type ReceiptRequest = {
  /** Header `X-Service-Receipt` of the paid answer. */
  readonly receipt_id: string;
};

export type AccountRequest = Record<string, never>;

export type StreamRequest = {
  /** Selection of listings as text, such as `base = BTC and quote = USDT`. Default: all listings. */
  readonly where?: string;
  /** Layers separated by commas, of ticker, mark, funding, oi, book, stats, book_bands, candles, liquidation, trade. Default: the first six that the plan has. */
  readonly layers?: string;
  /** Units of quantities: as published (default), base asset or quote currency. A quantity is converted with the mark that is present when its event is sent; a newer mark sends no event of other layers. Prices and rates are never converted. */
  readonly units?: Units;
  /** Accepted without effect. */
  readonly include_synthetic?: boolean;
  /** Freshness bound of every layer, such as `60s`, from 1s to 604800s. */
  readonly freshness?: string;
  /** Whether the numbers of stale readings are sent under `withheld`. Default false. */
  readonly allow_stale?: boolean;
  /** Levels of `book` per side, reduced to the limit of the plan. Default 0: the top of the book only. */
  readonly depth?: number;
  /** Timeframe of `candles`, one of 1m, 2m, 3m, 5m, 15m, 30m, 1h, 4h, 12h, 1d. Default 1m. */
  readonly timeframe?: string;
  /** Whether the stream begins with a snapshot of each reading. Default true. */
  readonly snapshot?: boolean;
  /** Whether `rule` events are sent: first the state of each rule of the account, then every move. Default false. */
  readonly rules?: boolean;
  /** Id to resume from, for readers that send it here and not in the header `Last-Event-ID`, such as event-source-polyfill. The header has precedence. */
  readonly lastEventId?: string;
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
