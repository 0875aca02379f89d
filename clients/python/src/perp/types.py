"""Shapes of questions, answers and events. Printed from the service's OpenAPI document by `npm run docs`: do not edit.

A member that a later service adds is kept at run time; these types only do not name it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, Union

ErrorCode = Literal['DQL_JSON_SCHEMA', 'DQL_VERSION', 'DQL_LIMIT', 'DQL_COMPLEXITY', 'KEY_IN_URL', 'PAYMENT_MALFORMED', 'DQL_SYNTAX', 'DQL_UNKNOWN_FIELD', 'DQL_UNKNOWN_FUNCTION', 'DQL_UNKNOWN_VENUE', 'DQL_UNKNOWN_CURRENCY', 'DQL_UNKNOWN_ASSET', 'DQL_UNKNOWN_INSTRUMENT', 'DQL_SCOPE', 'DQL_NESTING', 'DQL_TYPE', 'DQL_TIMEFRAME_REQUIRED', 'DQL_TIMEFRAME_UNSUPPORTED', 'DQL_TIMEFRAME_MISMATCH', 'DQL_ARGUMENT', 'DQL_DUPLICATE_CLAUSE', 'DQL_AS_OF_RANGE', 'AUTH_REQUIRED', 'AUTH_INVALID', 'PAYMENT_REQUIRED', 'PLAN_LIMIT', 'PLAN_VENUE_NOT_INCLUDED', 'ANCHOR_NOT_FOUND', 'NOT_FOUND', 'METHOD_NOT_ALLOWED', 'ANCHOR_CHANGED', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'RATE_LIMITED', 'INTERNAL', 'UNAVAILABLE']


Instant = str


Figure = float


FigureOrNull = Union[float, None]


Units = Literal['published', 'base', 'quote']


NumberFormat = Literal['json', 'string']


PriceType = Literal['trade', 'mark', 'index']


Timeframe = Literal['1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d']


Status = Literal['present', 'stale', 'missing', 'not_published', 'off']


HorizonSource = Literal['measured', 'documented', 'assumed', 'venue_declared', 'connection']


HorizonAnchor = Literal['venue', 'receipt']


AnchorStatus = Literal['pending', 'submitted', 'confirmed', 'failed']


Codes = Union[str, list[str]]


ArchiveFormat = Literal['parquet', 'csv', 'jsonl']


Where = Union[str, "Selection"]


Freshness = Union[str, "FreshnessByLayer"]


QueryInput = Union[str, "QueryObject"]


class ErrorBody(TypedDict):
    errors: list[ErrorItem]
    """Every fault found, at most 20. The status of the answer is that of the first."""


class ErrorItem(TypedDict):
    code: ErrorCode
    """Stable code. Branch on it."""
    message: str
    """What is wrong. Its wording may change."""
    position: NotRequired[ErrorPosition]
    """Place of the fault in the text of the query or selection."""
    hint: NotRequired[str]
    """What to send instead."""
    path: NotRequired[str]
    """JSON pointer of the member or parameter with the fault."""


class ErrorPosition(TypedDict):
    line: int
    """Line, from 1."""
    column: int
    """Column, from 1, in Unicode code points."""
    offset: int
    """Offset in the text, from 0, in Unicode code points."""
    length: int
    """Length, in Unicode code points; 0 at the end of the text."""


PaymentOfferExtra = TypedDict(
    'PaymentOfferExtra',
    {
        "name": str,
        "version": str,
        "kind": Literal['call', 'plan'],
        "class": NotRequired[str],
        "plan": NotRequired[str],
    },
)


class PaymentOffer(TypedDict):
    scheme: Literal['exact']
    network: str
    """Chain of the token, such as `eip155:8453`."""
    amount: str
    """Atomic units of the token: `5000` is 0.005 USDC."""
    asset: str
    """Contract of the token."""
    payTo: str
    """Address that is paid."""
    maxTimeoutSeconds: int
    """Seconds for which the payment is to be valid. The service accepts one that expires in 20 to 360 s."""
    extra: PaymentOfferExtra
    """The kind `call` pays for this call; the kind `plan` buys a plan."""


class PaymentRequiredResource(TypedDict):
    url: str
    description: str
    mimeType: str


class PaymentRequired(TypedDict):
    """What the call costs and how it is paid (x402 version 2)."""
    x402Version: Literal[2]
    error: str
    """Why the payment is refused, or that none was sent."""
    resource: PaymentRequiredResource
    accepts: list[PaymentOffer]
    """First the price of this call, then each plan by price. Sign one of them."""
    errors: list[ErrorItem]
    extensions: Any
    """How the call is made, for directories of paid services (`bazaar`)."""


class PaymentSettlement(TypedDict):
    success: bool
    errorReason: NotRequired[str]
    """Why the settlement failed; absent when it succeeded."""
    transaction: str
    """Hash of the transaction; empty when the settlement failed."""
    network: str
    payer: str


class PlanPurchasePurchase(TypedDict):
    plan: str
    key: str
    """The key. It is shown only once."""
    key_id: str
    expires_at: str


class PlanPurchase(TypedDict):
    """Answer to a payment for a plan, in place of the answer of the endpoint."""
    purchase: PlanPurchasePurchase
    settlement: PaymentSettlement
    receipt_id: str
    """Receipt of the payment."""


class VenuesAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    items: list[Venue]
    """One item per venue, ordered by code."""
    items_note: NotRequired[str]
    """Present when the list is truncated; states how many of how many items it shows."""


class InstrumentsAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    as_of: Instant
    """Instant that the answer describes."""
    catalogue: Union[str, None]
    """Version of the catalogue, to be compared for equality only; null for an instant before the first version."""
    units: Units
    """Units of quantities: as published, base asset or quote currency."""
    listings_as_of: Union[str, None]
    """Instant at which the newest listing version in use was written; null when the answer is about now."""
    capabilities_as_of: Union[str, None]
    """Instant at which the newest venue capability version in use was written; null when the answer is about now."""
    items: list[Listing]
    """One item per listing, ordered by venue and symbol."""
    page: Page
    """Position in a list of several pages."""


class DqlCatalogueAnswer(TypedDict):
    dql: str
    """Version of the language."""
    catalogue: Union[str, None]
    """Version of the catalogue, to be compared for equality only; null for an instant before the first version."""
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    fields: list[CatalogueField]
    """Fields that a query may read."""
    sources: list[CatalogueSource]
    """Candle series that a query may read at a timeframe."""
    functions: list[CatalogueFunction]
    """Functions that a query may call."""
    venues: list[str]
    """Codes of the venues."""
    currencies: list[str]
    """Codes of the quote currencies."""
    assets: list[str]
    """Codes of the base assets."""
    instruments: list[str]
    """Codes of the instruments."""
    instruments_delisted: list[str]
    """Codes of the instruments that have no listing now."""
    timeframes: list[str]
    """Timeframes, ascending."""
    bands: list[str]
    """Depth bands: distances from the mid."""
    freshness_defaults: dict[str, str]
    """Default freshness bound of each layer."""
    limits: dict[str, Any]
    """Limits, by name."""
    settle_after: int
    """Seconds after which an instant can be settled."""
    earliest_retained: Union[str, None]
    """Earliest instant that a request may ask about; null while nothing is stored."""
    units: list[str]
    """Values of the parameter `units`."""
    number_formats: list[str]
    """Values of the parameter `number_format`."""


class DqlParseAnswer(TypedDict):
    dql: str
    """Version of the language."""
    query: Query
    """The query as the service understood it."""
    atoms: QueryAtoms
    """Names of the fields and sources that the query reads."""
    functions: list[str]
    """Names of the functions that the query calls."""
    timeframes: list[str]
    """Timeframes that the query reads, ascending."""
    complexity: Complexity
    """Cost of the query. The catalogue has the limits."""


class DqlParseRequest(TypedDict):
    query: NotRequired[QueryInput]
    query_object: NotRequired[QueryObject]
    """Machine form `{dql, condition, timeframe, as_of, where, select, order_by}`. Send either `query` or `query_object`."""
    dql: NotRequired[Any]
    """Version of the language: "1"."""
    context: NotRequired[Literal['screen']]
    """Use of the query. Only `screen` exists."""


class ScreenAnswer(TypedDict):
    dql: str
    """Version of the language."""
    query: Query
    """The query as the service understood it."""
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    as_of: Union[str, None]
    """Instant about which the query asks; null when it asks about the present."""
    settled: bool
    """True when the answer can no longer change: its last instant is at least 120 s past and everything recorded in time is applied."""
    catalogue: NotRequired[Union[str, None]]
    """Version of the catalogue under which the past was read; only when the query has `as of`."""
    timeframe: Union[str, None]
    """Period of the clause `timeframe`; null when the query has none."""
    units: Units
    """Units of quantities: as published, base asset or quote currency."""
    freshness: dict[str, str]
    """Freshness bound of each layer. A reading older than its bound is stale."""
    listings_as_of: Union[str, None]
    """Instant at which the newest listing version in use was written; null when the answer is about now."""
    capabilities_as_of: Union[str, None]
    """Instant at which the newest venue capability version in use was written; null when the answer is about now."""
    items_sha256: NotRequired[str]
    """SHA-256, in hex, of the bytes of `instruments`; only when the query has `as of`."""
    scope: NotRequired[Scope]
    """Data that a narrowing plan covers today; absent when the plan narrows nothing."""
    receipt_id: str
    """Id of this answer, also in the header `X-Service-Receipt`. Quote it to support."""
    instruments: list[ScreenInstrument]
    """Instruments for which the query holds, in the order requested."""
    page: Page
    """Position in a list of several pages."""


class ScreenRequest(TypedDict):
    query: NotRequired[QueryInput]
    query_object: NotRequired[QueryObject]
    """Machine form `{dql, condition, timeframe, as_of, where, select, order_by}`. Send either `query` or `query_object`."""
    dql: NotRequired[Any]
    """Version of the language: "1"."""
    context: NotRequired[Literal['screen']]
    """Use of the query. Only `screen` exists."""
    where: NotRequired[Where]
    freshness: NotRequired[Freshness]
    limit: NotRequired[int]
    """Instruments per page. Default 100, reduced to the limit of the plan."""
    cursor: NotRequired[str]
    """`page.next_cursor` of the page before, with the same request, within 300 s of the first page. All pages are of one evaluation."""
    include_unknown: NotRequired[bool]
    """Whether instruments whose result is unknown are returned too. Default false."""
    units: NotRequired[Units]
    """Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted."""
    number_format: NotRequired[NumberFormat]
    """Market figures as JSON numbers (`json`, default) or as strings with the same digits (`string`)."""
    include_synthetic: NotRequired[bool]
    """Accepted without effect."""


class SnapshotsAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    served_at: Instant
    """Everything recorded up to this instant is in the answer. History at this instant may be one reading behind until the sampling window of the layer has closed."""
    receipt_id: str
    """Id of this answer, also in the header `X-Service-Receipt`. Quote it to support."""
    units: Units
    """Units of quantities: as published, base asset or quote currency."""
    freshness: dict[str, str]
    """Freshness bound of each layer. A reading older than its bound is stale."""
    scope: NotRequired[Scope]
    """Data that a narrowing plan covers today; absent when the plan narrows nothing."""
    items: list[ListingReadings]
    """One item per listing, ordered by venue and symbol."""
    missing: list[MissingPair]
    """Pairs of instrument (or symbol) and venue that the request names and that no listing has."""


class SnapshotsRequest(TypedDict):
    where: NotRequired[Where]
    units: NotRequired[Units]
    """Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted."""
    number_format: NotRequired[NumberFormat]
    """Market figures as JSON numbers (`json`, default) or as strings with the same digits (`string`)."""
    include_synthetic: NotRequired[bool]
    """Accepted without effect."""
    layers: NotRequired[list[str]]
    """Layers to return: ticker, mark, funding, oi, book, stats, venue_depth. Default: all layers of the plan."""
    include_raw: NotRequired[bool]
    """Whether `raw` has the message of the venue. It needs the plan Standard or above."""
    allow_stale: NotRequired[bool]
    """Whether the numbers of stale readings are returned under `withheld`. Default false."""
    freshness: NotRequired[Freshness]


HistoryAnswer = TypedDict(
    'HistoryAnswer',
    {
        "evaluated_at": "Instant",
        "settled": bool,
        "items_sha256": str,
        "mode": Literal['interval', 'at', 'raw'],
        "interval": NotRequired[str],
        "from": NotRequired["Instant"],
        "to": NotRequired["Instant"],
        "units": "Units",
        "freshness": dict[str, str],
        "listings_as_of": Union[str, None],
        "capabilities_as_of": Union[str, None],
        "scope": NotRequired["Scope"],
        "receipt_id": str,
        "items": list["ListingHistory"],
    },
)


HistoryRequest = TypedDict(
    'HistoryRequest',
    {
        "where": NotRequired["Where"],
        "units": NotRequired["Units"],
        "number_format": NotRequired["NumberFormat"],
        "include_synthetic": NotRequired[bool],
        "layers": NotRequired[list[str]],
        "interval": NotRequired[Literal['10s', '30s', '1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d']],
        "at": NotRequired[list[str]],
        "as_of": NotRequired[str],
        "raw": NotRequired[bool],
        "from": NotRequired[str],
        "to": NotRequired[str],
        "include_gaps": NotRequired[bool],
        "freshness": NotRequired["Freshness"],
        "allow_stale": NotRequired[bool],
    },
)


CandlesAnswer = TypedDict(
    'CandlesAnswer',
    {
        "evaluated_at": "Instant",
        "settled": bool,
        "items_sha256": str,
        "timeframe": str,
        "price_type": "PriceType",
        "from": "Instant",
        "to": "Instant",
        "units": "Units",
        "listings_as_of": Union[str, None],
        "capabilities_as_of": Union[str, None],
        "scope": NotRequired["Scope"],
        "receipt_id": str,
        "items": list["ListingCandles"],
    },
)


CandlesRequest = TypedDict(
    'CandlesRequest',
    {
        "where": NotRequired["Where"],
        "units": NotRequired["Units"],
        "number_format": NotRequired["NumberFormat"],
        "include_synthetic": NotRequired[bool],
        "timeframe": str,
        "price_type": NotRequired["PriceType"],
        "from": str,
        "to": str,
        "include_gaps": NotRequired[bool],
        "closed_only": NotRequired[bool],
    },
)


class BooksAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    units: Units
    """Units of quantities: as published, base asset or quote currency."""
    depth: int
    """Levels per side that were applied."""
    liquidity_note: str
    """What the figures do not guarantee."""
    scope: NotRequired[Scope]
    """Data that a narrowing plan covers today; absent when the plan narrows nothing."""
    receipt_id: str
    """Id of this answer, also in the header `X-Service-Receipt`. Quote it to support."""
    items: list[Book]
    """One item per listing, ordered by venue and symbol."""


class BooksRequest(TypedDict):
    where: NotRequired[Where]
    units: NotRequired[Units]
    """Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted."""
    number_format: NotRequired[NumberFormat]
    """Market figures as JSON numbers (`json`, default) or as strings with the same digits (`string`)."""
    include_synthetic: NotRequired[bool]
    """Accepted without effect."""
    depth: NotRequired[int]
    """Levels per side. Default 10, reduced to the limit of the plan."""


LiquidationsAnswer = TypedDict(
    'LiquidationsAnswer',
    {
        "evaluated_at": "Instant",
        "settled": bool,
        "items_sha256": str,
        "from": "Instant",
        "to": "Instant",
        "units": "Units",
        "listings_as_of": Union[str, None],
        "capabilities_as_of": Union[str, None],
        "scope": NotRequired["Scope"],
        "receipt_id": str,
        "items": list["ListingLiquidations"],
        "page": "Page",
    },
)


LiquidationsRequest = TypedDict(
    'LiquidationsRequest',
    {
        "where": NotRequired["Where"],
        "from": str,
        "to": str,
        "units": NotRequired["Units"],
        "number_format": NotRequired["NumberFormat"],
        "include_synthetic": NotRequired[bool],
        "side": NotRequired[Literal['long', 'short']],
        "limit": NotRequired[int],
        "cursor": NotRequired[str],
    },
)


class AgentStateAnswerRules(TypedDict):
    rule_id: str
    """Id of the rule."""
    name: str
    """Name that the owner gave the rule."""
    state: Literal['true', 'false', 'unknown']
    """`true` when the query holds for at least one instrument, else `unknown` when it may hold for one, else `false`."""
    reason: Union[Literal['never_evaluated', 'stale_input', 'missing_input', 'not_published', 'disabled', 'plan_venue', 'evaluation_error'], None]
    """Why the state is `unknown`; null when it is known."""
    previous_state: Union[Literal['true', 'false', 'unknown'], None]
    """State last returned to this key or payer; null at the first read. Each read updates it."""
    changed: bool
    """True when `state` differs from `previous_state`."""
    since: Instant
    """Instant since which the rule has been in this state."""
    evaluated_at: Union[str, None]
    """Instant at which the rule was last evaluated; null when it never was."""
    next_evaluation_at: Union[str, None]
    """Instant of the next evaluation; null while the rule is disabled."""
    effective_interval: str
    """Interval between evaluations: the larger of the interval of the rule and the minimum of the plan."""
    query: str
    """Query of the rule."""
    matched: list[str]
    """Instruments for which the query holds, at most 20."""
    matched_total: int
    """Number of instruments for which the query holds."""
    unknown: list[str]
    """Instruments for which the result is unknown, at most 20."""
    unknown_total: int
    """Number of instruments for which the result is unknown."""


class AgentStateAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    receipt_id: str
    """Id of this answer, also in the header `X-Service-Receipt`. Quote it to support."""
    rules: list[AgentStateAnswerRules]
    """One item per rule, in the order of the ids sent, else oldest first."""
    missing: list[str]
    """Ids that name no rule, or a rule that the caller may not read."""


class ArchiveAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    receipt_id: str
    """Id of this answer, also in the header `X-Service-Receipt`. Quote it to support."""
    items: list[ArchiveFile]
    """One item per file, ordered by venue, symbol, layer and day."""
    page: Page
    """Position in a list of several pages."""


class ArchiveFileAnswer(TypedDict):
    url: str
    """Link to the file. It needs no credentials."""
    expires_at: Instant
    """Instant at which the link expires."""
    sha256: str
    """SHA-256 of the file, in hex."""
    bytes: int
    """Size of the file in bytes."""
    rows: int
    """Number of rows of the file."""
    schema_version: int
    """Version of the anchored columns and of the tree."""
    receipt_id: str
    """Id of this answer, also in the header `X-Service-Receipt`. Quote it to support."""


class AnchorDayAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    day: str
    """UTC day."""
    network: Union[str, None]
    """CAIP-2 id of the chain on which roots are posted; null while none is known."""
    binding: NotRequired[bool]
    """False when the chain is not Base itself: a rehearsal without force. Absent otherwise."""
    schema_version: int
    """Version of the anchored columns and of the tree."""
    closed_at: Instant
    """Instant at which the day was closed. Rows recorded at or after it are in no tree."""
    day_root: str
    """Root of the day, in hex: the value that the contract holds for the day."""
    partitions: list[AnchorPartition]
    """One item per table that has rows, ordered by name."""
    anchor: Anchor
    """State of the posting of the day root."""


class AnchorProofAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    day: str
    """UTC day."""
    network: Union[str, None]
    """CAIP-2 id of the chain on which roots are posted; null while none is known."""
    binding: NotRequired[bool]
    """False when the chain is not Base itself: a rehearsal without force. Absent otherwise."""
    schema_version: int
    """Version of the anchored columns and of the tree."""
    layer: str
    """Layer of the row."""
    table: str
    """Anchored table."""
    row: dict[str, Union[str, bool, None]]
    """The row: every anchored column as text, boolean or null."""
    canonical: str
    """Text that is hashed: the row as canonical JSON (RFC 8785)."""
    leaf_hash: str
    """SHA-256 of a zero byte followed by `canonical`, in hex."""
    index: int
    """Index of the leaf in the table, from 0."""
    rows: int
    """Number of leaves of the table."""
    path: list[str]
    """Sibling hashes from the leaf up to the root of the table (RFC 9162), in hex."""
    partition: ProofPartition
    """The table as a leaf of the day tree."""
    day_root: str
    """Root of the day, in hex: the value that the contract holds for the day."""
    anchor: Anchor
    """State of the posting of the day root."""
    verify: str
    """Address that serves two programs which check the proof."""


ReceiptAnswer = TypedDict(
    'ReceiptAnswer',
    {
        "receipt_id": str,
        "state": Literal['presented', 'verified', 'served', 'settling', 'settled', 'failed', 'unknown'],
        "network": str,
        "payer": str,
        "amount": str,
        "class": str,
        "transaction": Union[str, None],
        "settled_at": Union[str, None],
    },
)


class AccountAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    key: AccountKey
    """The key of the request."""
    plan: AccountPlan
    """Plan of the key."""
    venues: list[str]
    """Venues that the key may read."""
    instruments: Union[list[str], None]
    """Instruments that the key may read; null for all."""
    layers: list[str]
    """Layers that the key may read."""
    history_from: Union[str, None]
    """Earliest instant that the key may read; null when that is everything kept."""
    limits: dict[str, Union[int, str]]
    """Limits, by name."""
    today: AccountToday
    """Counters of the UTC day."""
    now: AccountNow
    """Counters of this moment."""


class Selection(TypedDict):
    instrument: NotRequired[Codes]
    """Instrument codes, such as BTC-PERP."""
    base: NotRequired[Codes]
    """Codes of base assets."""
    venue: NotRequired[Codes]
    """Venue codes."""
    quote: NotRequired[Codes]
    """Codes of quote currencies."""
    symbol: NotRequired[Codes]
    """Symbols at the venue, byte for byte."""


class FreshnessByLayer(TypedDict):
    ticker: NotRequired[str]
    mark: NotRequired[str]
    funding: NotRequired[str]
    oi: NotRequired[str]
    open_interest: NotRequired[str]
    book: NotRequired[str]
    stats: NotRequired[str]
    venue_depth: NotRequired[str]
    book_bands: NotRequired[str]


class QueryObject(TypedDict):
    dql: NotRequired[Any]
    condition: NotRequired[Any]
    timeframe: NotRequired[Any]
    as_of: NotRequired[Any]
    where: NotRequired[Any]
    select: NotRequired[Any]
    order_by: NotRequired[Any]


class Page(TypedDict):
    limit: int
    """Page size that was applied."""
    returned: int
    """Number of items on this page."""
    next_cursor: Union[str, None]
    """Cursor of the next page: send it as `cursor` with the same request. Null on the last page."""


class Scope(TypedDict):
    venues: list[str]
    """Codes of the venues that the plan covers."""
    instruments: Union[int, Literal['all']]
    """Number of instruments that the plan covers, or `all`."""
    plan: str
    """Code of the plan."""


class Query(TypedDict):
    string: str
    """Canonical text of the query."""
    json: dict[str, Any]
    """Machine form of the query. It may be sent as `query_object`."""


class Venue(TypedDict):
    venue: str
    """Venue code."""
    name: str
    """Name of the venue."""
    kind: str
    """Kind of venue: `order_book`."""
    listings: int
    """Number of perpetual futures that the venue lists now."""
    listings_collected: int
    """Number of those that the service collects."""
    since: Union[str, None]
    """Instant at which the service first saw a listing of the venue that it collects; null while it collects none."""
    layers: dict[str, Literal['on', 'off', 'not_published']]
    """Policy of each layer, by layer."""
    state: Literal['live', 'degraded', 'down']
    """`live`; `degraded` (a connection was lost within the last hour and is not replaced, or the service is more than 5 s behind); `down` (no connection is open)."""
    state_since: Union[str, None]
    """Instant since which the venue has been in this state."""


class Listing(TypedDict):
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    base: str
    """Code of the base asset, without multiplier and venue alias."""
    quote: str
    """Code of the quote currency."""
    base_venue_alias: Union[str, None]
    """Name of the base at the venue when it differs from `base`; else null."""
    kind: Literal['perpetual']
    """Kind of contract."""
    venue_kind: Union[str, None]
    """`linear`, `inverse` or `quanto`; null when it is not known."""
    pair: Union[str, None]
    """Name of the pair at the venue; null when it has none."""
    post_only: Union[bool, None]
    """Flag of the venue; null when it has none."""
    status: str
    """Trading status: `tradeable`, `post_only`, `reduce_only`, `cancel_only`, `halted`, `pre_launch`, `settling`, `delisted`, `unknown`. Clients must accept other words."""
    contract_size: FigureOrNull
    """Size of one contract, in `units.contract_size`; null when it is not known."""
    multiplier: FigureOrNull
    """Number of base units in one listed unit: 1000 for 1000PEPE."""
    tick_size: FigureOrNull
    """Smallest price step."""
    lot_size: FigureOrNull
    """Smallest quantity step."""
    min_qty: FigureOrNull
    """Smallest quantity of an order."""
    min_notional: FigureOrNull
    """Smallest value of an order."""
    price_decimals: Union[int, None]
    """Number of decimals of a price."""
    qty_decimals: Union[int, None]
    """Number of decimals of a quantity."""
    units: dict[str, Union[str, None]]
    """Unit of each figure, by name."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""
    quantity_unit: str
    """Unit in which the venue states quantities: `base`, `contracts` or `quote`."""
    oi_sides: Union[str, None]
    """`one` when open interest counts each position once, `two` when it counts both sides; null when it is not known."""
    funding_interval: Union[str, None]
    """Time between two funding settlements."""
    funding_interval_source: Union[str, None]
    """Source of `funding_interval`: `venue`, `documented`, `measured` or `assumed`."""
    funding_normalisation: Union[FieldTransform, None]
    """How `funding` is made from the field of the venue."""
    rules_normalisation: dict[str, FieldTransform]
    """How each rule is made from a field of the venue, by rule."""
    candles: CandleFacts
    """Candles of the listing."""
    layers: dict[str, ListingLayer]
    """How each layer is collected, by layer."""
    not_published: list[str]
    """Fields that the venue does not publish."""
    bands: list[str]
    """Depth bands: distances from the mid."""
    listed_at: Union[str, None]
    """Instant at which the venue listed it; null when the venue does not say."""
    first_seen_at: Union[str, None]
    """Instant at which the service first saw it."""
    delisted_at: Union[str, None]
    """Instant at which it was delisted; null when it is listed."""
    retention_from: Union[str, None]
    """Earliest instant for which data is kept. Earlier data is `not_retained`."""
    venue_ts: Union[str, None]
    """Timestamp of the venue; null when it sends none."""
    received_at: Union[str, None]
    """Instant at which the service received it; null when there is no reading."""
    age_ms: int
    """Milliseconds from `received_at` to the instant of evaluation."""
    raw: NotRequired[Any]
    """Message of the venue; only with `include_raw`."""


class ListingLayer(TypedDict):
    policy: Literal['on', 'off', 'sampled', 'not_published']
    """`on`, `off` (not collected), `sampled` (the venue publishes only some of the events), `not_published`."""
    cadence: Union[str, None]
    """`live` when the venue sends every change, else the time between two readings; null when the layer is not collected."""
    history_cadence: str
    """Sampling window of stored history: one reading per window; or `raw`."""
    horizon: Union[str, None]
    """Time for which a reading is valid; null when it is valid as long as its connection, or when no horizon is known."""
    horizon_source: Union[str, None]
    """Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known."""
    anchor: Union[str, None]
    """Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`)."""
    freshness: Union[str, None]
    """Default freshness bound; null when the layer has none."""
    retention_from: Instant
    """Earliest instant for which data is kept. Earlier data is `not_retained`."""


class CandleFacts(TypedDict):
    base_timeframe: str
    """Timeframe of the candles of the venue. Longer ones are rolled up from them."""
    price_types: list[str]
    """Prices of which the venue publishes candles."""
    timeframes: list[str]
    """Timeframes, ascending."""


class FieldTransform(TypedDict):
    venue_field: str
    """Field of the venue."""
    transform: str
    """Transformation applied to it."""


class CatalogueField(TypedDict):
    name: str
    """Name as a query writes it."""
    type: Literal['code', 'number', 'duration']
    """Type of the value."""
    scope: Literal['instrument', 'venue']
    """`instrument`: usable anywhere. `venue`: inside a quantifier, an aggregate or `select`."""
    layer: str
    """Layer that it is read from; `argument` for the layer of its argument."""
    unit: str
    """Unit of the value. `quantity` stands for `base`, `contracts` or `quote`, by listing and `units`; `argument` for the unit of the argument."""
    description: str
    """What it is."""
    sampleable: bool
    """True when it may be read as a series."""
    additive: bool
    """True when it may be summed over listings."""
    not_published_on: list[str]
    """Codes of the venues that do not publish it."""


class CatalogueSource(TypedDict):
    name: str
    """Name as a query writes it."""
    type: Literal['series']
    """Type of the value."""
    scope: Literal['instrument', 'venue']
    """`venue`: inside a quantifier, an aggregate or `select`."""
    layer: Literal['candles']
    """Layer that it is read from; `argument` for the layer of its argument."""
    price_type: PriceType
    """Price from which the candles are made: trades, the mark or the index of the venue."""
    unit: str
    """Unit of the value. `quantity` stands for `base`, `contracts` or `quote`, by listing and `units`; `argument` for the unit of the argument."""
    description: str
    """What it is."""
    additive: bool
    """True when it may be summed over listings."""
    not_published_on: list[str]
    """Codes of the venues that do not publish it."""


class CatalogueFunction(TypedDict):
    name: str
    """Name as a query writes it."""
    signature: str
    """How a call is written."""
    type: Literal['series', 'number', 'boolean', 'duration', 'status']
    """Type of the value."""
    scope: Literal['instrument', 'venue']
    """`venue`: inside a quantifier, an aggregate or `select`. `instrument`: wherever its argument is allowed."""
    layer: str
    """Layer that it is read from; `argument` for the layer of its argument."""
    unit: str
    """Unit of the value. `quantity` stands for `base`, `contracts` or `quote`, by listing and `units`; `argument` for the unit of the argument."""
    description: str
    """What it is."""
    bars: str
    """Number of periods that a call reads."""
    additive: bool
    """True when it may be summed over listings."""


class QueryAtoms(TypedDict):
    instrument: list[str]
    """Those of instrument scope."""
    venue: list[str]
    """Those of venue scope."""


class Complexity(TypedDict):
    nodes: int
    """Number of nodes of the query tree."""
    bars: int
    """Number of periods that the query reads."""
    cost: int
    """`nodes`, plus `bars`, plus 25 for each distinct depth call."""


class ScreenInstrument(TypedDict):
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    result: Literal['true', 'unknown']
    """`true`, or `unknown` with `include_unknown`."""
    values: dict[str, dict[str, Any]]
    """Value objects by canonical text of the expression: `value`, `unit`, `status`, `reason` when the value is unknown (null), and `venue`, `layer`, `venue_ts`, `received_at`, `age_ms` of a reading."""
    venues: list[ScreenListing]
    """Every selected listing of the instrument, also those without a value."""
    because: NotRequired[list[UnknownInput]]
    """Inputs that made the result unknown, at most five."""


class ScreenListing(TypedDict):
    venue: str
    """Venue code."""
    symbol: str
    """Symbol at the venue."""
    quote: str
    """Code of the quote currency."""
    values: dict[str, dict[str, Any]]
    """Value objects by canonical text of the expression: `value`, `unit`, `status`, `reason` when the value is unknown (null), and `venue`, `layer`, `venue_ts`, `received_at`, `age_ms` of a reading."""


class UnknownInput(TypedDict):
    expr: str
    """Canonical text of the input."""
    venue: Union[str, None]
    """Venue code."""
    symbol: Union[str, None]
    """Symbol at the venue."""
    status: str
    """`present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`."""
    reason: str
    """Reason for the unknown value: a reason of a reading, or `insufficient_history` or `unit_unknown`."""


class Reading(TypedDict):
    status: Status
    """`present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`."""
    reason: NotRequired[str]
    """Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`."""
    gap_cause: NotRequired[str]
    """Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words."""
    venue_ts: Union[str, None]
    """Timestamp of the venue; null when it sends none."""
    received_at: Union[str, None]
    """Instant at which the service received it; null when there is no reading."""
    age_ms: Union[int, None]
    """Milliseconds from `received_at` to the instant of evaluation."""
    venue_age_ms: Union[int, None]
    """Milliseconds from `venue_ts` to the instant of evaluation. It is negative when the clock of the venue is ahead."""
    valid_until: Union[str, None]
    """Instant after which the reading is not current; null while it is valid as long as its connection."""
    horizon_source: Union[HorizonSource, None]
    """Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known."""
    anchor: Union[HorizonAnchor, None]
    """Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`)."""
    values: dict[str, FigureOrNull]
    """Figures, by name; empty unless `status` is `present`. A figure that has no value is null and is named in `null_reasons`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""
    units: dict[str, str]
    """Unit of each figure, by name."""
    instants: NotRequired[dict[str, Instant]]
    """Instants, by name, such as `next_funding_at`."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""
    withheld: NotRequired[Withheld]
    """Figures of a stale reading; only with `allow_stale`."""
    raw: NotRequired[Any]
    """Message of the venue; only with `include_raw`."""


class Conversion(TypedDict):
    multiplier: FigureOrNull
    """Number of base units in one listed unit: 1000 for 1000PEPE."""
    contract_size: FigureOrNull
    """Size of one contract used in the conversion."""
    mark: NotRequired[Figure]
    """Mark price used in the conversion."""
    mark_received_at: NotRequired[Instant]
    """Instant at which that mark was received."""


class Withheld(TypedDict):
    values: dict[str, FigureOrNull]
    """Figures, by name; empty unless `status` is `present`. A figure that has no value is null and is named in `null_reasons`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""


class ListingReadings(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    quote: str
    """Code of the quote currency."""
    layers: dict[str, Reading]
    """Readings, by layer."""


class MissingPair(TypedDict):
    instrument: NotRequired[str]
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    symbol: NotRequired[str]
    """Symbol at the venue."""
    venue: str
    """Venue code."""


class ListingHistory(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    quote: str
    """Code of the quote currency."""
    layers: dict[str, LayerHistory]
    """Readings, by layer."""


class LayerHistory(TypedDict):
    units: dict[str, str]
    """Unit of each figure, by name."""
    retention_from: Instant
    """Earliest instant for which data is kept. Earlier data is `not_retained`."""
    rows: list[HistoryRow]
    """Rows, ascending."""
    history_cadence: str
    """Sampling window of stored history: one reading per window; or `raw`."""


class HistoryRow(TypedDict):
    at: Instant
    """Instant of the row. Its status and ages are as of this instant."""
    status: Status
    """`present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`."""
    reason: NotRequired[str]
    """Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`."""
    gap_cause: NotRequired[str]
    """Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words."""
    venue_ts: Union[str, None]
    """Timestamp of the venue; null when it sends none."""
    received_at: Union[str, None]
    """Instant at which the service received it; null when there is no reading."""
    age_ms: Union[int, None]
    """Milliseconds from `received_at` to the instant of evaluation."""
    venue_age_ms: Union[int, None]
    """Milliseconds from `venue_ts` to the instant of evaluation. It is negative when the clock of the venue is ahead."""
    valid_until: Union[str, None]
    """Instant after which the reading is not current; null while it is valid as long as its connection."""
    horizon_source: Union[str, None]
    """Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known."""
    anchor: Union[HorizonAnchor, None]
    """Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`)."""
    values: dict[str, FigureOrNull]
    """Figures, by name; empty unless `status` is `present`. A figure that has no value is null and is named in `null_reasons`."""
    instants: NotRequired[dict[str, Instant]]
    """Instants, by name, such as `next_funding_at`."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""
    withheld: NotRequired[Withheld]
    """Figures of a stale reading; only with `allow_stale`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""
    late: NotRequired[bool]
    """True when the row was recorded too late to count in any answer other than this one."""


class ListingCandles(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    quote: str
    """Code of the quote currency."""
    units: dict[str, str]
    """Unit of each figure, by name."""
    retention_from: Instant
    """Earliest instant for which data is kept. Earlier data is `not_retained`."""
    rows: list[Candle]
    """Rows, ascending."""


class Candle(TypedDict):
    open_time: Instant
    """Start of the period, inclusive."""
    close_time: Instant
    """End of the period, exclusive."""
    status: Literal['present', 'missing', 'not_published', 'off']
    """`present`, `missing` (a gap or not retained), `not_published` (by the venue), `off` (not collected)."""
    reason: NotRequired[str]
    """Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`."""
    gap_cause: NotRequired[str]
    """Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words."""
    received_at: Union[str, None]
    """Instant at which the service received it; null when there is no reading."""
    open: FigureOrNull
    """First price."""
    high: FigureOrNull
    """Highest price."""
    low: FigureOrNull
    """Lowest price."""
    close: FigureOrNull
    """Last price."""
    volume: FigureOrNull
    """Quantity traded."""
    turnover: NotRequired[FigureOrNull]
    """Value traded, in quote currency, where published."""
    trades: NotRequired[int]
    """Number of trades, where published."""
    base_candles: BaseCandles
    """Minutes from which the candle is made."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""


class BaseCandles(TypedDict):
    expected: int
    """Number of minutes in the period."""
    present: int
    """Number of minutes that the venue published."""
    no_trades: int
    """Number of minutes that are proven to be without trades."""


class BookCollectedLevels(TypedDict):
    """Number of levels that the service holds."""
    bids: int
    """On the bid side."""
    asks: int
    """On the ask side."""


class Book(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    quote: str
    """Code of the quote currency."""
    status: Status
    """`present` (current), `stale` (received, no longer current), `missing` (nothing received), `not_published` (by the venue), `off` (not collected). Only `present` has numbers in `values`."""
    reason: NotRequired[str]
    """Why it is not `present`. Of `stale`: `connection_lost`, `state_lag`, `horizon_unknown`, `horizon_passed`, `freshness_bound`. Of `missing`: `no_value`, `gap`, `not_retained`. Of `not_published`: `venue_capability`. Of `off`: `policy_off`."""
    gap_cause: NotRequired[str]
    """Cause of a gap, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`. Clients must accept other words."""
    venue_ts: Union[str, None]
    """Timestamp of the venue; null when it sends none."""
    received_at: Union[str, None]
    """Instant at which the service received it; null when there is no reading."""
    age_ms: Union[int, None]
    """Milliseconds from `received_at` to the instant of evaluation."""
    venue_age_ms: Union[int, None]
    """Milliseconds from `venue_ts` to the instant of evaluation. It is negative when the clock of the venue is ahead."""
    valid_until: Union[str, None]
    """Instant after which the reading is not current; null while it is valid as long as its connection."""
    horizon_source: Union[str, None]
    """Source of the horizon: `connection` (valid as long as the connection), `documented`, `assumed`, `measured` or `venue_declared`; null when none is known."""
    anchor: Union[str, None]
    """Timestamp from which the horizon counts: `venue` (`venue_ts`) or `receipt` (`received_at`)."""
    size_unit: Literal['base', 'contracts', 'quote']
    """Unit of the sizes."""
    sequence: Union[str, None]
    """Sequence number of the venue; null when it has none."""
    bids: list[list[Union[str, None]]]
    """Levels `[price, size]`, best first. A size that cannot be converted is null. Empty unless `status` is `present`."""
    asks: list[list[Union[str, None]]]
    """Levels `[price, size]`, best first. A size that cannot be converted is null. Empty unless `status` is `present`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""
    collected_levels: NotRequired[BookCollectedLevels]
    """Number of levels that the service holds."""
    bands: NotRequired[dict[str, BookBand]]
    """Depth within each band, over all levels that the service holds."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""


class BookBandComplete(TypedDict):
    """Whether the book is known up to the edge of the band."""
    bid: bool
    """On the bid side."""
    ask: bool
    """On the ask side."""


class BookBand(TypedDict):
    reference: Union[str, None]
    """Mid from which the band is measured."""
    bid: Union[str, None]
    """Quantity bid within the band; null when the book is not known up to the edge of the band."""
    ask: Union[str, None]
    """Quantity asked within the band; null when the book is not known up to the edge of the band."""
    bid_value: Union[str, None]
    """Price times size of those bids, in quote currency."""
    ask_value: Union[str, None]
    """Price times size of those asks, in quote currency."""
    bid_levels: Union[int, None]
    """Number of those bids."""
    ask_levels: Union[int, None]
    """Number of those asks."""
    complete: BookBandComplete
    """Whether the book is known up to the edge of the band."""


class ListingLiquidations(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    quote: str
    """Code of the quote currency."""
    completeness: Literal['full', 'sampled', 'none']
    """`full`: the venue publishes every liquidation. `sampled`: it publishes some. `none`: it publishes none."""
    retention_from: Instant
    """Earliest instant for which data is kept. Earlier data is `not_retained`."""
    units: dict[str, str]
    """Unit of each figure, by name."""
    rows: list[Liquidation]
    """Rows, ascending."""
    gaps: list[Gap]
    """Parts of the window in which nothing could be received, or which are not kept."""


class Liquidation(TypedDict):
    venue_ts: Union[str, None]
    """Timestamp of the venue; null when it sends none."""
    received_at: Instant
    """Instant at which the service received it; null when there is no reading."""
    side: Literal['long', 'short']
    """The position that was closed: a `long` is closed by a sell."""
    price: Figure
    """Price. `price_kind` says which price it is."""
    price_kind: Literal['fill', 'order', 'bankruptcy', 'mark']
    """Which price it is: of the `fill`, of the `order`, of the `bankruptcy`, or the `mark`."""
    quantity: FigureOrNull
    """Quantity closed."""
    value: FigureOrNull
    """Value in quote currency: price times quantity."""
    id: str
    """Id of the liquidation within its listing."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""


Gap = TypedDict(
    'Gap',
    {
        "from": "Instant",
        "to": "Instant",
        "gap_cause": str,
    },
)


class ArchiveFile(TypedDict):
    listing: str
    """`venue:venue_symbol`, as in the path of the file."""
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    layer: str
    """Archived layer."""
    day: str
    """UTC day."""
    tier: Literal['core', 'top100', 'other']
    """Price tier of the listing on that day."""
    price_usdc: Union[str, None]
    """Price of one file when it is paid per call, in USDC; null when it is not sold per call."""
    format: Literal['parquet']
    """Format that `bytes` and `sha256` describe."""
    rows: int
    """Number of rows of the file."""
    bytes: int
    """Size of the file in bytes."""
    sha256: str
    """SHA-256 of the file, in hex."""
    schema_version: int
    """Version of the anchored columns and of the tree."""
    written_at: Instant
    """Instant at which this version of the file was written."""
    final: bool
    """True when the day is closed: the file never changes again."""
    anchored: bool
    """True when the day root is confirmed on the chain."""
    included: bool
    """True when the plan of this key may fetch the file."""


class AnchorPartition(TypedDict):
    table: str
    """Anchored table."""
    rows: int
    """Number of leaves of the table."""
    root: str
    """Root of the tree over the rows of the table, in hex."""
    leaf: str
    """Hash of the table as a leaf of the day tree, in hex."""
    index: int
    """Index of that leaf in the day tree, from 0."""


class Anchor(TypedDict):
    anchored: bool
    """True when the day root is confirmed on the chain."""
    status: AnchorStatus
    """`pending` (not posted), `submitted` (transaction sent), `confirmed` (enough blocks deep), `failed` (will be retried)."""
    contract: Union[str, None]
    """Address of the contract that holds the root; null until the root is sent."""
    tx_hash: Union[str, None]
    """Hash of the transaction that posted the root; null while there is none."""
    block: Union[int, None]
    """Number of its block; null until it is mined."""
    anchored_at: Union[str, None]
    """Time of that block; null until it is mined."""
    anchored_lag_days: Union[int, None]
    """Whole days from the day to the date of `anchored_at`; null until it is mined."""
    explorer_url: Union[str, None]
    """Page of the transaction at a block explorer; null when there is none."""


class ProofPartition(TypedDict):
    root: str
    """Root of the tree over the rows of the table, in hex."""
    leaf: str
    """Hash of the table as a leaf of the day tree, in hex."""
    index: int
    """Index of that leaf in the day tree, from 0."""
    count: int
    """Number of leaves of the day tree."""
    path: list[str]
    """Sibling hashes from that leaf up to the day root, in hex."""


class AccountKey(TypedDict):
    key_id: str
    """Id of the key. It is not the key itself."""
    name: str
    """Name of the key."""
    created_at: Instant
    """Instant at which it was created."""
    expires_at: Union[str, None]
    """Instant at which it expires; null when it does not."""
    kind: Literal['account', 'purchased', 'connection']
    """`account` (created on the account site), `purchased` (bought with USDC) or `connection` (of an application, by OAuth)."""


class AccountPlan(TypedDict):
    code: str
    """Code of the plan."""
    name: str
    """Name of the plan."""
    since: Instant
    """Instant since which the key has this plan."""
    expires_at: Union[str, None]
    """Instant at which it expires; null when it does not."""


class AccountToday(TypedDict):
    day: str
    """UTC day."""
    resets_at: Instant
    """Instant at which the counters restart."""
    requests: RequestsToday
    """Requests."""
    dql: QuotaToday
    """Evaluations of queries."""
    agent_evaluations: QuotaToday
    """Evaluations of agent rules that requests demanded with `fresh`."""
    archive_files: QuotaToday
    """Archive files."""


class AccountNow(TypedDict):
    streams: int
    """Number of open streams."""
    requests_in_flight: int
    """Number of requests that are being answered."""


class RequestsToday(TypedDict):
    used: int
    """Number used so far."""
    limit: int
    """Limit of the day."""
    remaining: int
    """Number left."""
    by_class: dict[str, int]
    """Number of requests of each class."""


class QuotaToday(TypedDict):
    used: int
    """Number used so far."""
    limit: int
    """Limit of the day."""


class EventRow(TypedDict):
    venue_ts: Union[str, None]
    """Timestamp of the venue; null when it sends none."""
    received_at: Instant
    """Instant at which the service received it; null when there is no reading."""
    side: Literal['buy', 'sell', 'long', 'short']
    """Of a trade the side of the taker, of a liquidation the position that was closed."""
    price: Figure
    """Price. `price_kind` names the kind of a price of a liquidation."""
    price_kind: NotRequired[Literal['fill', 'order', 'bankruptcy', 'mark']]
    """Of a liquidation: which price it is."""
    quantity: FigureOrNull
    """Quantity traded or closed."""
    value: FigureOrNull
    """Value in quote currency: price times quantity."""
    id: str
    """Id of the event within its listing."""
    conversion: NotRequired[Conversion]
    """Inputs with which quantities were converted; only when `units` is not `published`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name of the figure."""


class GapScope(TypedDict):
    venue: NotRequired[str]
    """Venue code."""
    venue_symbol: NotRequired[str]
    """Symbol at the venue, byte for byte."""
    layer: NotRequired[str]
    """Layer; absent for every layer."""


class HelloEvent(TypedDict):
    stream_id: str
    """Id of the stream. Quote it to support."""
    evaluated_at: Instant
    """Instant T at which the service evaluated the answer."""
    catalogue: Union[str, None]
    """Version of the catalogue, to be compared for equality only; null for an instant before the first version."""
    units: Units
    """Units of quantities: as published, base asset or quote currency."""
    freshness: dict[str, str]
    """Freshness bound of each layer. A reading older than its bound is stale."""
    layers: list[str]
    """Layers that the stream covers."""
    listings: int
    """Number of selected listings."""
    resumed: bool
    """True when the stream continues after `Last-Event-ID` without a hole."""
    buffer_from: Union[str, None]
    """Instant of the oldest event that is kept for a resume; null when none is kept."""
    heartbeat_ms: int
    """Milliseconds between two heartbeats."""


class SnapshotEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    layer: str
    """Layer of the reading."""
    rev: int
    """Number of the reading within its listing and layer, without holes; 0 when there is no reading. A change of status repeats the number of the reading."""
    state: StreamState
    """The complete reading."""


class ReadyEvent(TypedDict):
    listings: int
    """Number of selected listings."""
    layers: int
    """Number of snapshots sent."""
    served_at: Union[str, None]
    """Everything recorded up to this instant has been sent."""


class UpdateEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    layer: str
    """Layer of the reading."""
    rev: int
    """Number of the reading within its listing and layer, without holes; 0 when there is no reading. A change of status repeats the number of the reading."""
    change: Literal['value', 'status', 'both']
    """What changed: the value, the status, or both."""
    state: StreamState
    """The complete reading, not the difference."""


class RowsEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    layer: Literal['trade', 'liquidation']
    """Kind of the rows."""
    rows: list[EventRow]
    """Rows, in the order in which they were received."""


class CandleEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    timeframe: Timeframe
    """Timeframe of the candle."""
    price_type: PriceType
    """Price from which the candles are made: trades, the mark or the index of the venue."""
    row: Candle
    """The candle, or the gap in its place."""


class ListingEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """Symbol at the venue, byte for byte."""
    instrument: str
    """Instrument code, `<BASE>-PERP`. It is the same on every venue."""
    change: Literal['added', 'changed', 'delisted']
    """What happened to the listing."""
    record: Listing
    """The listing record, as in the answer of instruments."""


class HeartbeatEvent(TypedDict):
    at: Instant
    """Instant at which it was sent."""
    served_at: Union[str, None]
    """Everything recorded up to this instant has been sent."""
    lag_ms: Union[int, None]
    """Milliseconds from `served_at` to `at`; null while `served_at` is null."""
    connections: dict[str, Literal['up', 'down']]
    """`up` when a connection to the venue is open, else `down`, by venue."""


GapEvent = TypedDict(
    'GapEvent',
    {
        "from": Union[str, None],
        "to": "Instant",
        "reason": Literal['resume_expired', 'slow_reader', 'pipeline_restart'],
        "dropped": Union[int, None],
        "scope": "GapScope",
    },
)


class RuleEvent(TypedDict):
    rule_id: str
    """Id of the rule."""
    name: str
    """Name that the owner gave the rule."""
    change: Literal['snapshot', 'move']
    """`snapshot`: the state at the start of the stream, or after moves may have been missed. `move`: a new state."""
    at: str
    """Instant since which the rule has been in this state."""
    previous_state: Union[Literal['true', 'false', 'unknown'], None]
    """State before the move; null in a snapshot."""
    state: Literal['true', 'false', 'unknown']
    """`true` when the query holds for at least one instrument, else `unknown` when it may hold for one, else `false`."""
    reason: Union[Literal['never_evaluated', 'stale_input', 'missing_input', 'not_published', 'disabled', 'plan_venue', 'evaluation_error'], None]
    """Why the state is `unknown`; null when it is known."""
    matched: NotRequired[list[str]]
    """Instruments for which the query holds, at most 20."""
    matched_total: NotRequired[int]
    """Number of instruments for which the query holds."""


class ByeEvent(TypedDict):
    reason: Literal['rotate', 'shutdown', 'key_ended', 'plan_changed']
    """Why the stream ends."""
    reconnect: bool
    """True when the client should connect again."""


class StreamState(Reading):
    bids: NotRequired[list[list[Union[str, None]]]]
    """Bid levels, best first; only when `depth` is above 0."""
    asks: NotRequired[list[list[Union[str, None]]]]
    """Ask levels, best first; only when `depth` is above 0."""


Interval = Literal['10s', '30s', '1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d']


class HelloMessage(TypedDict):
    event: Literal['hello']
    id: Union[str, None]
    data: HelloEvent


class SnapshotMessage(TypedDict):
    event: Literal['snapshot']
    id: Union[str, None]
    data: SnapshotEvent


class ReadyMessage(TypedDict):
    event: Literal['ready']
    id: Union[str, None]
    data: ReadyEvent


class UpdateMessage(TypedDict):
    event: Literal['update']
    id: Union[str, None]
    data: UpdateEvent


class EventMessage(TypedDict):
    event: Literal['event']
    id: Union[str, None]
    data: RowsEvent


class CandleMessage(TypedDict):
    event: Literal['candle']
    id: Union[str, None]
    data: CandleEvent


class ListingMessage(TypedDict):
    event: Literal['listing']
    id: Union[str, None]
    data: ListingEvent


class HeartbeatMessage(TypedDict):
    event: Literal['heartbeat']
    id: Union[str, None]
    data: HeartbeatEvent


class GapMessage(TypedDict):
    event: Literal['gap']
    id: Union[str, None]
    data: GapEvent


class RuleMessage(TypedDict):
    event: Literal['rule']
    id: Union[str, None]
    data: RuleEvent


class ByeMessage(TypedDict):
    event: Literal['bye']
    id: Union[str, None]
    data: ByeEvent


class ErrorMessage(TypedDict):
    event: Literal['error']
    id: Union[str, None]
    data: ErrorBody


StreamEvent = Union[HelloMessage, SnapshotMessage, ReadyMessage, UpdateMessage, EventMessage, CandleMessage, ListingMessage, HeartbeatMessage, GapMessage, RuleMessage, ByeMessage, ErrorMessage]
