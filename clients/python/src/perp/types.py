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


Freshness = Union[str, dict[str, str]]


QueryInput = Union[str, dict[str, Any]]


ArchiveFormat = Literal['parquet', 'csv', 'jsonl']


InstantOrNull = Union["Instant", None]


Where = Union[str, "Selection"]


class ErrorBody(TypedDict):
    errors: list[ErrorItem]


class ErrorItem(TypedDict):
    code: ErrorCode
    message: str
    position: NotRequired[ErrorPosition]
    hint: NotRequired[str]
    path: NotRequired[str]
    """JSON pointer of the offending member."""


class ErrorPosition(TypedDict):
    line: int
    column: int
    offset: int
    length: int


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
    """Seconds for which a signed payment is accepted."""
    extra: PaymentOfferExtra
    """`kind` `call` pays this call, `plan` buys the plan named."""


class PaymentRequiredResource(TypedDict):
    url: str
    description: str
    mimeType: str


class PaymentRequired(TypedDict):
    """What the call costs, and how it is paid (x402 version 2)."""
    x402Version: Literal[2]
    error: str
    """What is wrong with the payment, or that none was sent."""
    resource: PaymentRequiredResource
    accepts: list[PaymentOffer]
    """First the price of this call, then each plan."""
    errors: list[ErrorItem]
    extensions: Any
    """How the call is made, for lists of paid services (`bazaar`)."""


class PaymentSettlement(TypedDict):
    success: bool
    errorReason: NotRequired[str]
    """Why it failed; absent when it did not."""
    transaction: str
    """Hash of the transaction; empty when it failed."""
    network: str
    payer: str


class PlanPurchasePurchase(TypedDict):
    plan: str
    key: str
    """The key, shown this once."""
    key_id: str
    expires_at: str


class PlanPurchase(TypedDict):
    """The 200 to a payment for a plan, in the place of the answer of the endpoint."""
    purchase: PlanPurchasePurchase
    settlement: PaymentSettlement
    receipt_id: str
    """Receipt of the payment."""


class VenuesAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    items: list[Venue]
    """One a venue, by code."""
    items_note: NotRequired[str]
    """How many of how many, if the list is cut."""


class InstrumentsAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    as_of: Instant
    """Instant described; null in a screen of now."""
    catalogue: Union[str, None]
    """Version of listings and capabilities; changes whenever they do."""
    units: Units
    """Unit of quantities: as the venue publishes, base asset, or quote currency."""
    listings_as_of: InstantOrNull
    """When the newest version of the listings read was written; null for now."""
    capabilities_as_of: InstantOrNull
    """When the newest statement of what venues publish was written; null for now."""
    items: list[Listing]
    """One a listing, by venue and symbol."""
    page: Page
    """This page of the answer."""


class DqlCatalogueAnswer(TypedDict):
    dql: str
    """Version of the language."""
    catalogue: Union[str, None]
    """Version of listings and capabilities; changes whenever they do."""
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    fields: list[CatalogueField]
    """Fields of a query."""
    sources: list[CatalogueSource]
    """Candle sources: series to read at a timeframe."""
    functions: list[CatalogueFunction]
    """Functions."""
    venues: list[str]
    """Venue codes."""
    currencies: list[str]
    """Quote currencies."""
    assets: list[str]
    """Base assets."""
    instruments: list[str]
    """Market codes."""
    instruments_delisted: list[str]
    """Market codes without a listing now."""
    timeframes: list[str]
    """Timeframes, ascending."""
    bands: list[str]
    """Depth bands: distance from mid."""
    freshness_defaults: dict[str, str]
    """Default freshness bounds, by layer."""
    limits: dict[str, Any]
    """Limits, by name."""
    settle_after: int
    """Seconds after which an instant is settled."""
    earliest_retained: InstantOrNull
    """The earliest instant that may be asked for."""
    units: list[str]
    """What `units` may be."""
    number_formats: list[str]
    """What `number_format` may be."""


class DqlParseAnswer(TypedDict):
    dql: str
    """Version of the language."""
    query: Query
    """The query as it was understood."""
    atoms: QueryAtoms
    """Names of fields and sources read."""
    functions: list[str]
    """Functions."""
    timeframes: list[str]
    """Timeframes, ascending."""
    complexity: Complexity
    """What the query costs; limits are in the catalogue."""


class DqlParseRequest(TypedDict):
    query: NotRequired[QueryInput]
    query_object: NotRequired[dict[str, Any]]
    """Machine form: {dql, condition, timeframe, as_of, where, select, order_by}."""
    dql: NotRequired[Any]
    """Language version, "1"."""
    context: NotRequired[Literal['screen']]
    """What the query is for."""


class ScreenAnswer(TypedDict):
    dql: str
    """Version of the language."""
    query: Query
    """The query as it was understood."""
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    as_of: InstantOrNull
    """Instant described; null in a screen of now."""
    settled: bool
    """Whether the answer stays what it is for good: its end is past and everything recorded in time is in it."""
    catalogue: NotRequired[Union[str, None]]
    """Version of listings and capabilities; changes whenever they do."""
    timeframe: Union[str, None]
    """Period of candles and series; null when the query has none."""
    units: Units
    """Unit of quantities: as the venue publishes, base asset, or quote currency."""
    freshness: dict[str, str]
    """Bound by layer: an older reading is stale."""
    listings_as_of: InstantOrNull
    """When the newest version of the listings read was written; null for now."""
    capabilities_as_of: InstantOrNull
    """When the newest statement of what venues publish was written; null for now."""
    items_sha256: NotRequired[str]
    """SHA-256 in hex of the bytes of `items` (of a screen: of `instruments`)."""
    scope: NotRequired[Scope]
    """What a narrowing plan covers today; absent when it narrows nothing."""
    receipt_id: str
    """Names this answer, also in `X-Service-Receipt`; quote it to support."""
    instruments: list[ScreenInstrument]
    """Instruments that hold, in the order asked for."""
    page: Page
    """This page of the answer."""


class ScreenRequest(TypedDict):
    query: NotRequired[QueryInput]
    query_object: NotRequired[dict[str, Any]]
    """Machine form: {dql, condition, timeframe, as_of, where, select, order_by}."""
    dql: NotRequired[Any]
    """Language version, "1"."""
    context: NotRequired[Literal['screen']]
    """What the query is for."""
    where: NotRequired[Where]
    freshness: NotRequired[Freshness]
    limit: NotRequired[int]
    """Instruments a page, 100 when left out, up to the ceiling of the plan."""
    cursor: NotRequired[str]
    """Of the page before: pins its instant and its result."""
    include_unknown: NotRequired[bool]
    """Also answers instruments that may or may not hold."""
    units: NotRequired[Units]
    """Unit of quantities: as published (default), base asset, or quote currency."""
    number_format: NotRequired[NumberFormat]
    """Market figures as JSON numbers (default) or as strings with the same digits."""
    include_synthetic: NotRequired[bool]
    """Accepted for compatibility; a public key sees nothing extra."""


class SnapshotsAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    served_at: Instant
    """Instant up to which everything recorded is in the answer; history at it says the same."""
    receipt_id: str
    """Names this answer, also in `X-Service-Receipt`; quote it to support."""
    units: Units
    """Unit of quantities: as the venue publishes, base asset, or quote currency."""
    freshness: dict[str, str]
    """Bound by layer: an older reading is stale."""
    scope: NotRequired[Scope]
    """What a narrowing plan covers today; absent when it narrows nothing."""
    items: list[ListingReadings]
    """One a listing, by venue and symbol."""
    missing: list[MissingPair]
    """Named pairs of instrument (or symbol) and venue that no listing has."""


class SnapshotsRequest(TypedDict):
    where: NotRequired[Where]
    units: NotRequired[Units]
    """Unit of quantities: as published (default), base asset, or quote currency."""
    number_format: NotRequired[NumberFormat]
    """Market figures as JSON numbers (default) or as strings with the same digits."""
    include_synthetic: NotRequired[bool]
    """Accepted for compatibility; a public key sees nothing extra."""
    layers: NotRequired[list[str]]
    """Layers to answer: ticker, mark, funding, oi, book, stats, venue_depth. All of the plan when left out."""
    include_raw: NotRequired[bool]
    """Adds the venue's own message; part of the plans from Standard."""
    allow_stale: NotRequired[bool]
    """Puts the numbers of stale readings under `withheld`."""
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
        "listings_as_of": "InstantOrNull",
        "capabilities_as_of": "InstantOrNull",
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
        "listings_as_of": "InstantOrNull",
        "capabilities_as_of": "InstantOrNull",
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
    """Instant T of the answer, by the service’s clock."""
    units: Units
    """Unit of quantities: as the venue publishes, base asset, or quote currency."""
    depth: int
    """Levels a side, as applied."""
    liquidity_note: str
    """What the figures are not."""
    scope: NotRequired[Scope]
    """What a narrowing plan covers today; absent when it narrows nothing."""
    receipt_id: str
    """Names this answer, also in `X-Service-Receipt`; quote it to support."""
    items: list[Book]
    """One a listing, by venue and symbol."""


class BooksRequest(TypedDict):
    where: NotRequired[Where]
    units: NotRequired[Units]
    """Unit of quantities: as published (default), base asset, or quote currency."""
    number_format: NotRequired[NumberFormat]
    """Market figures as JSON numbers (default) or as strings with the same digits."""
    include_synthetic: NotRequired[bool]
    """Accepted for compatibility; a public key sees nothing extra."""
    depth: NotRequired[int]
    """Levels a side, 10 when left out; clamped to the plan."""


LiquidationsAnswer = TypedDict(
    'LiquidationsAnswer',
    {
        "evaluated_at": "Instant",
        "settled": bool,
        "items_sha256": str,
        "from": "Instant",
        "to": "Instant",
        "units": "Units",
        "listings_as_of": "InstantOrNull",
        "capabilities_as_of": "InstantOrNull",
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
    """Name of the rule."""
    name: str
    """What its owner calls it."""
    state: Literal['true', 'false', 'unknown']
    """true when the query holds for an instrument; else unknown when it may; else false."""
    reason: Union[Literal['never_evaluated', 'stale_input', 'missing_input', 'not_published', 'disabled', 'plan_venue', 'evaluation_error'], None]
    """Why the state is unknown; null when it is known."""
    previous_state: Union[Literal['true', 'false', 'unknown'], None]
    """State that this key, or this payer, was given last; null at the first read. Reading updates it."""
    changed: bool
    """Whether the state is another one than `previous_state`."""
    since: Instant
    """Since when the state has been this one."""
    evaluated_at: InstantOrNull
    """Instant that the state is of; null when never evaluated."""
    next_evaluation_at: InstantOrNull
    """Next instant of the rule; null while it is disabled."""
    effective_interval: str
    """The larger of the interval of the rule and the shortest one of its plan."""
    query: str
    """Query of the rule."""
    matched: list[str]
    """Instruments that the query holds for, at most twenty."""
    matched_total: int
    """How many the query holds for."""
    unknown: list[str]
    """Instruments that it may or may not hold for, at most twenty."""
    unknown_total: int
    """How many it may or may not hold for."""


class AgentStateAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    receipt_id: str
    """Names this answer, also in `X-Service-Receipt`; quote it to support."""
    rules: list[AgentStateAnswerRules]
    """One a rule, in the order named, else oldest first."""
    missing: list[str]
    """Names of rules that do not exist or may not be read."""


class ArchiveAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    receipt_id: str
    """Names this answer, also in `X-Service-Receipt`; quote it to support."""
    items: list[ArchiveFile]
    """One a file, by venue, symbol, layer and day."""
    page: Page
    """This page of the answer."""


class ArchiveFileAnswer(TypedDict):
    url: str
    """Link to the file, readable without credentials."""
    expires_at: Instant
    """When the link ends."""
    sha256: str
    """SHA-256 of the file in hex."""
    bytes: int
    """Length of the file."""
    rows: int
    """Rows, ascending."""
    schema_version: int
    """Version of the columns and of the tree."""
    receipt_id: str
    """Names this answer, also in `X-Service-Receipt`; quote it to support."""


class AnchorDayAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    day: str
    """The day."""
    network: Union[str, None]
    """CAIP-2 id of the chain that roots are posted on; null while none is known."""
    binding: NotRequired[Literal[False]]
    """False where the chain is not Base itself: a rehearsal, which binds nobody. Absent otherwise."""
    schema_version: int
    """Version of the columns and of the tree."""
    closed_at: Instant
    """The closing instant: rows recorded from then on are part of no tree."""
    day_root: str
    """Root of the day in hex: what the contract holds for the day."""
    partitions: list[AnchorPartition]
    """One a table that has rows, by name."""
    anchor: Anchor
    """How far the posting of the root is."""


class AnchorProofAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    day: str
    """The day."""
    network: Union[str, None]
    """CAIP-2 id of the chain that roots are posted on; null while none is known."""
    binding: NotRequired[Literal[False]]
    """False where the chain is not Base itself: a rehearsal, which binds nobody. Absent otherwise."""
    schema_version: int
    """Version of the columns and of the tree."""
    layer: str
    """Layer of the row."""
    table: str
    """Anchored table."""
    row: dict[str, Union[str, bool, None]]
    """The row: every anchored column as text, boolean or null."""
    canonical: str
    """The text that is hashed: the row as canonical JSON (RFC 8785)."""
    leaf_hash: str
    """SHA-256 of a zero byte and that text, in hex."""
    index: int
    """Place of the leaf among those of the table."""
    rows: int
    """Leaves of the table."""
    path: list[str]
    """Hashes from the leaf upwards to the root of the table (RFC 9162)."""
    partition: ProofPartition
    """The tree of the table as a leaf of the day tree."""
    day_root: str
    """Root of the day in hex: what the contract holds for the day."""
    anchor: Anchor
    """How far the posting of the root is."""
    verify: str
    """Where two programs that check all of it are served."""


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
        "settled_at": "InstantOrNull",
    },
)


class AccountAnswer(TypedDict):
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    key: AccountKey
    """The key that asks."""
    plan: AccountPlan
    """Its plan."""
    venues: list[str]
    """Venues the key may read."""
    instruments: Union[list[str], None]
    """Instruments the key may read; null: all."""
    layers: list[str]
    """Layers the key may read."""
    history_from: InstantOrNull
    """The earliest instant it may read; null: all that is kept."""
    limits: dict[str, Union[int, str]]
    """Limits, by name."""
    today: AccountToday
    """Counters of the UTC day."""
    now: AccountNow
    """At this moment."""


class Selection(TypedDict):
    instrument: NotRequired[Codes]
    """Market codes such as BTC-PERP."""
    base: NotRequired[Codes]
    """Base asset codes."""
    venue: NotRequired[Codes]
    """Venue codes."""
    quote: NotRequired[Codes]
    """Quote currency codes."""
    symbol: NotRequired[Codes]
    """The venue's own symbols, byte for byte."""


class Page(TypedDict):
    limit: int
    """Rows asked for, as applied."""
    returned: int
    """Rows on this page."""
    next_cursor: Union[str, None]
    """Send as `cursor` with the same request for the next page; null on the last."""


class Scope(TypedDict):
    venues: list[str]
    """Venues covered."""
    instruments: Union[int, Literal['all']]
    """How many instruments are covered."""
    plan: str
    """Code of the plan."""


class Query(TypedDict):
    string: str
    """Canonical text: the same query always reads the same."""
    json: dict[str, Any]
    """Machine form; may be sent back as `query`."""


class Venue(TypedDict):
    venue: str
    """Venue code."""
    name: str
    """The venue’s name."""
    kind: str
    """How it trades."""
    listings: int
    """Perpetuals listed now."""
    listings_collected: int
    """Those of them with readings."""
    since: InstantOrNull
    """When we first saw a listing of it that readings came of; null while none came."""
    layers: dict[str, Literal['on', 'off', 'not_published']]
    """What it publishes and we collect, by layer."""
    state: Literal['live', 'degraded', 'down']
    """`live`; `degraded`: a connection was lost within the hour or we are behind; `down`: none is open."""
    state_since: InstantOrNull
    """Since when."""


class Listing(TypedDict):
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    base: str
    """Base asset, multiplier and alias undone."""
    quote: str
    """Quote currency."""
    base_venue_alias: Union[str, None]
    """What the venue calls the base, when that differs."""
    kind: Literal['perpetual']
    """Kind of contract."""
    venue_kind: Union[str, None]
    """`linear`, `inverse` or `quanto`; null when not known."""
    pair: Union[str, None]
    """The venue’s own pair, when it names one."""
    post_only: Union[bool, None]
    """The venue’s flag; null when it has none."""
    status: str
    """Whether it trades: `tradeable`, `post_only`, `reduce_only`, `cancel_only`, `halted`, `pre_launch`, `settling`, `delisted`, `unknown`."""
    contract_size: FigureOrNull
    """Size of one contract, in the unit under `units`."""
    multiplier: FigureOrNull
    """Base coins in one unit of what the venue lists, 1000 for 1000PEPE."""
    tick_size: FigureOrNull
    """Smallest step of a price."""
    lot_size: FigureOrNull
    """Smallest step of a quantity."""
    min_qty: FigureOrNull
    """Smallest order, as a quantity."""
    min_notional: FigureOrNull
    """Smallest order, as a value."""
    price_decimals: Union[int, None]
    """Decimals of a price."""
    qty_decimals: Union[int, None]
    """Decimals of a quantity."""
    units: dict[str, Union[str, None]]
    """Unit of each figure, by name."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""
    quantity_unit: str
    """What the venue counts quantities in: `base`, `contracts` or `quote`."""
    oi_sides: Union[str, None]
    """Whether open interest counts one side or both."""
    funding_interval: Union[str, None]
    """Time between settlements of funding."""
    funding_interval_source: Union[str, None]
    """Who says so: `venue`, `documented`, `measured`, `assumed`."""
    funding_normalisation: Union[FieldTransform, None]
    """How the rate was made from the venue’s."""
    rules_normalisation: dict[str, FieldTransform]
    """How each rule was made from the venue’s, by rule."""
    candles: CandleFacts
    """Candles of the listing."""
    layers: dict[str, ListingLayer]
    """How each layer is collected."""
    not_published: list[str]
    """Fields the venue does not publish."""
    bands: list[str]
    """Depth bands: distance from mid."""
    listed_at: InstantOrNull
    """When the venue listed it, if it says so."""
    first_seen_at: InstantOrNull
    """When we first saw it."""
    delisted_at: InstantOrNull
    """When it was or will be delisted; null when not known."""
    retention_from: InstantOrNull
    """What lies before is not kept."""
    venue_ts: InstantOrNull
    """The venue’s stamp."""
    received_at: InstantOrNull
    """When the collector received it."""
    age_ms: int
    """Milliseconds since `received_at`."""
    raw: NotRequired[Any]
    """The venue’s own message, with `include_raw`."""


class ListingLayer(TypedDict):
    policy: Literal['on', 'off', 'sampled', 'not_published']
    """`on`, `off` (not collected), `sampled` (the venue sends only some), `not_published`."""
    cadence: Union[str, None]
    """`live`, or the time between two polls."""
    history_cadence: str
    """Sampling window of stored history, or `raw`."""
    horizon: Union[str, None]
    """How long a reading holds; null when it holds as long as its connection."""
    horizon_source: Union[str, None]
    """Who says how long it holds."""
    anchor: Union[str, None]
    """The stamp the horizon counts from."""
    freshness: Union[str, None]
    """Default freshness bound."""
    retention_from: Instant
    """What lies before is not kept."""


class CandleFacts(TypedDict):
    base_timeframe: str
    """The venue’s own candles, from which longer ones are rolled up."""
    price_types: list[str]
    """Prices the venue has candles of."""
    timeframes: list[str]
    """Timeframes, ascending."""


class FieldTransform(TypedDict):
    venue_field: str
    """The venue’s field it comes from."""
    transform: str
    """What was done to it."""


class CatalogueField(TypedDict):
    name: str
    """Name."""
    type: Literal['code', 'number', 'duration']
    """Kind of value."""
    scope: Literal['instrument', 'venue']
    """Of the instrument, or of each listing."""
    layer: str
    """Layer it is read from."""
    unit: str
    """Unit of its value."""
    description: str
    """What it is."""
    sampleable: bool
    """Whether it may be read as a series."""
    additive: bool
    """Whether it may be summed over listings."""
    not_published_on: list[str]
    """Venues that lack it."""


class CatalogueSource(TypedDict):
    name: str
    """Name."""
    type: Literal['series']
    """Kind of value."""
    scope: Literal['instrument', 'venue']
    """Of the instrument, or of each listing."""
    layer: Literal['candles']
    """Layer it is read from."""
    price_type: PriceType
    """Which price: trades, the venue’s mark, or its index."""
    unit: str
    """Unit of its value."""
    description: str
    """What it is."""
    additive: bool
    """Whether it may be summed over listings."""
    not_published_on: list[str]
    """Venues that lack it."""


class CatalogueFunction(TypedDict):
    name: str
    """Name."""
    signature: str
    """How it is written."""
    type: Literal['series', 'number', 'boolean', 'duration', 'status']
    """Kind of value."""
    scope: Literal['instrument', 'venue']
    """Of the instrument, or of each listing."""
    layer: str
    """Layer it is read from."""
    unit: str
    """Unit of its value."""
    description: str
    """What it is."""
    bars: str
    """Periods a call reads."""
    additive: bool
    """Whether it may be summed over listings."""


class QueryAtoms(TypedDict):
    instrument: list[str]
    """Those of the instrument."""
    venue: list[str]
    """Those of each listing."""


class Complexity(TypedDict):
    nodes: int
    """Nodes of its tree."""
    bars: int
    """Periods read."""
    cost: int
    """Nodes and periods together."""


class ScreenInstrument(TypedDict):
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    result: Literal['true', 'unknown']
    """`true`, or `unknown` with `include_unknown`."""
    values: dict[str, dict[str, Any]]
    """Value objects by the canonical text of their expression."""
    venues: list[ScreenListing]
    """Every listing selected, also those without a value."""
    because: NotRequired[list[UnknownInput]]
    """Inputs that made the result unknown, at most five."""


class ScreenListing(TypedDict):
    venue: str
    """Venue code."""
    symbol: str
    """The venue’s own symbol."""
    quote: str
    """Quote currency."""
    values: dict[str, dict[str, Any]]
    """Value objects by the canonical text of their expression."""


class UnknownInput(TypedDict):
    expr: str
    """Canonical text of the input."""
    venue: Union[str, None]
    """Venue code."""
    symbol: Union[str, None]
    """The venue’s own symbol."""
    status: str
    """`present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`."""
    reason: str
    """Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`."""


class Reading(TypedDict):
    status: Status
    """`present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`."""
    reason: NotRequired[str]
    """Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`."""
    gap_cause: NotRequired[str]
    """Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`."""
    venue_ts: InstantOrNull
    """The venue’s stamp."""
    received_at: InstantOrNull
    """When the collector received it."""
    age_ms: Union[int, None]
    """Milliseconds since `received_at`."""
    venue_age_ms: Union[int, None]
    """Milliseconds since `venue_ts`; negative when the venue’s clock is ahead."""
    valid_until: InstantOrNull
    """When it stops to hold; null while it holds as long as its connection."""
    horizon_source: Union[HorizonSource, None]
    """Who says how long it holds."""
    anchor: Union[HorizonAnchor, None]
    """The stamp the horizon counts from."""
    values: dict[str, FigureOrNull]
    """Figures by name, digits as the venue sent them."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""
    units: dict[str, str]
    """Unit of each figure, by name."""
    instants: NotRequired[dict[str, Instant]]
    """Instants by name, such as `next_funding_at`."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""
    withheld: NotRequired[Withheld]
    """Numbers of a stale reading, only with `allow_stale`."""
    raw: NotRequired[Any]
    """The venue’s own message, with `include_raw`."""


class Conversion(TypedDict):
    multiplier: FigureOrNull
    """Base coins in one unit of what the venue lists, 1000 for 1000PEPE."""
    contract_size: FigureOrNull
    """Size of one contract, in the unit under `units`."""
    mark: NotRequired[Figure]
    """The mark they were converted with."""
    mark_received_at: NotRequired[Instant]
    """When the mark was received."""


class Withheld(TypedDict):
    values: dict[str, FigureOrNull]
    """Figures by name, digits as the venue sent them."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""


class ListingReadings(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    quote: str
    """Quote currency."""
    layers: dict[str, Reading]
    """Readings by layer."""


class MissingPair(TypedDict):
    instrument: NotRequired[str]
    """Market code, `<base>-PERP`: the same on every venue."""
    symbol: NotRequired[str]
    """The venue’s own symbol."""
    venue: str
    """Venue code."""


class ListingHistory(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    quote: str
    """Quote currency."""
    layers: dict[str, LayerHistory]
    """Readings by layer."""


class LayerHistory(TypedDict):
    units: dict[str, str]
    """Unit of each figure, by name."""
    retention_from: Instant
    """What lies before is not kept."""
    rows: list[HistoryRow]
    """Rows, ascending."""
    history_cadence: str
    """Sampling window of stored history, or `raw`."""


class HistoryRow(TypedDict):
    at: Instant
    """Instant of the row: status and ages are as of then."""
    status: Status
    """`present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`."""
    reason: NotRequired[str]
    """Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`."""
    gap_cause: NotRequired[str]
    """Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`."""
    venue_ts: InstantOrNull
    """The venue’s stamp."""
    received_at: InstantOrNull
    """When the collector received it."""
    age_ms: Union[int, None]
    """Milliseconds since `received_at`."""
    venue_age_ms: Union[int, None]
    """Milliseconds since `venue_ts`; negative when the venue’s clock is ahead."""
    valid_until: InstantOrNull
    """When it stops to hold; null while it holds as long as its connection."""
    horizon_source: Union[str, None]
    """Who says how long it holds."""
    anchor: Union[HorizonAnchor, None]
    """The stamp the horizon counts from."""
    values: dict[str, FigureOrNull]
    """Figures by name, digits as the venue sent them."""
    instants: NotRequired[dict[str, Instant]]
    """Instants by name, such as `next_funding_at`."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""
    withheld: NotRequired[Withheld]
    """Numbers of a stale reading, only with `allow_stale`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""
    late: NotRequired[bool]
    """Recorded too late to count in any answer but this."""


class ListingCandles(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    quote: str
    """Quote currency."""
    units: dict[str, str]
    """Unit of each figure, by name."""
    retention_from: Instant
    """What lies before is not kept."""
    rows: list[Candle]
    """Rows, ascending."""


class Candle(TypedDict):
    open_time: Instant
    """Start of the period, inclusive."""
    close_time: Instant
    """End of the period, exclusive."""
    status: Literal['present', 'missing', 'not_published', 'off']
    """`present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`."""
    reason: NotRequired[str]
    """Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`."""
    gap_cause: NotRequired[str]
    """Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`."""
    received_at: InstantOrNull
    """When the collector received it."""
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
    """Minutes it is made of."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""


class BaseCandles(TypedDict):
    expected: int
    """Minutes in the period."""
    present: int
    """Minutes there is a candle of."""
    no_trades: int
    """Minutes proved to be without trades."""


class BookCollectedLevels(TypedDict):
    """Levels known, more than are shown."""
    bids: int
    """On the buying side."""
    asks: int
    """On the selling side."""


class Book(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    quote: str
    """Quote currency."""
    status: Status
    """`present` (current), `stale` (was received, is no longer valid: no number), `missing` (nothing was received), `not_published`, `off`."""
    reason: NotRequired[str]
    """Why not present, such as `connection_lost`, `horizon_passed`, `freshness_bound`, `gap`."""
    gap_cause: NotRequired[str]
    """Whose fault a gap is, such as `collector_down`, `connection_lost`, `no_update`, `not_listed`."""
    venue_ts: InstantOrNull
    """The venue’s stamp."""
    received_at: InstantOrNull
    """When the collector received it."""
    age_ms: Union[int, None]
    """Milliseconds since `received_at`."""
    venue_age_ms: Union[int, None]
    """Milliseconds since `venue_ts`; negative when the venue’s clock is ahead."""
    valid_until: InstantOrNull
    """When it stops to hold; null while it holds as long as its connection."""
    horizon_source: Union[str, None]
    """Who says how long it holds."""
    anchor: Union[str, None]
    """The stamp the horizon counts from."""
    size_unit: Literal['base', 'contracts', 'quote']
    """Unit of sizes."""
    sequence: Union[str, None]
    """The venue’s own number of the book; null when it has none."""
    bids: list[list[Union[str, None]]]
    """Levels from the best one on, each `[price, size]`."""
    asks: list[list[Union[str, None]]]
    """Levels from the best one on, each `[price, size]`."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""
    collected_levels: NotRequired[BookCollectedLevels]
    """Levels known, more than are shown."""
    bands: NotRequired[dict[str, BookBand]]
    """Sums over all levels known within a distance of mid."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""


class BookBandComplete(TypedDict):
    """Whether every level of the band is known."""
    bid: bool
    """Of the buying side."""
    ask: bool
    """Of the selling side."""


class BookBand(TypedDict):
    reference: Union[str, None]
    """The mid they are measured from."""
    bid: Union[str, None]
    """Size bid; null when the side is not known that far."""
    ask: Union[str, None]
    """Size asked; null when the side is not known that far."""
    bid_value: Union[str, None]
    """Price times size bid."""
    ask_value: Union[str, None]
    """Price times size asked."""
    bid_levels: Union[int, None]
    """Levels bid."""
    ask_levels: Union[int, None]
    """Levels asked."""
    complete: BookBandComplete
    """Whether every level of the band is known."""


class ListingLiquidations(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    quote: str
    """Quote currency."""
    completeness: Literal['full', 'sampled', 'none']
    """`full`: the venue publishes every one; `sampled`: some; `none`: none."""
    retention_from: Instant
    """What lies before is not kept."""
    units: dict[str, str]
    """Unit of each figure, by name."""
    rows: list[Liquidation]
    """Rows, ascending."""
    gaps: list[Gap]
    """Stretches of the window in which nothing could be received."""


class Liquidation(TypedDict):
    venue_ts: InstantOrNull
    """The venue’s stamp."""
    received_at: Instant
    """When the collector received it."""
    side: Literal['long', 'short']
    """The position that was closed: a `long` is closed by a sell."""
    price: Figure
    """Price, of the kind that follows."""
    price_kind: Literal['fill', 'order', 'bankruptcy', 'mark']
    """What the price is: of the `fill`, the `order`, `bankruptcy`, or the `mark`."""
    quantity: FigureOrNull
    """Size closed."""
    value: FigureOrNull
    """Price times size, in quote currency."""
    id: str
    """Names the liquidation within its listing."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""


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
    """`venue:venue_symbol`, as the path of the file has it."""
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    layer: str
    """Archived layer."""
    day: str
    """The day."""
    tier: Literal['core', 'top100', 'other']
    """Price class of the listing on that day: core, top100 or other."""
    price_usdc: Union[str, None]
    """Price of the file by the call; null is not sold by the call."""
    format: Literal['parquet']
    """Format that bytes and sha256 are of."""
    rows: int
    """Rows, ascending."""
    bytes: int
    """Length of the file."""
    sha256: str
    """SHA-256 of the file in hex."""
    schema_version: int
    """Version of the columns and of the tree."""
    written_at: Instant
    """When this version of the file was written."""
    final: bool
    """Whether the day is closed and the file never changes again."""
    anchored: bool
    """Whether the root of the day is confirmed on the chain."""
    included: bool
    """Whether the plan of this key may fetch the file."""


class AnchorPartition(TypedDict):
    table: str
    """Anchored table."""
    rows: int
    """Leaves of the table."""
    root: str
    """Root of the tree over the rows of the table, in hex."""
    leaf: str
    """Hash of the partition as a leaf of the day tree, in hex."""
    index: int
    """Place of that leaf in the day tree."""


class Anchor(TypedDict):
    anchored: bool
    """Whether the root of the day is confirmed on the chain."""
    status: AnchorStatus
    """`pending` (not posted), `submitted` (transaction sent), `confirmed` (deep enough), `failed` (will be retried)."""
    contract: Union[str, None]
    """The contract that holds the root; null until the root is sent there."""
    tx_hash: Union[str, None]
    """The transaction that posted it; null while there is none."""
    block: Union[int, None]
    """Its block, once mined."""
    anchored_at: InstantOrNull
    """Time of that block."""
    anchored_lag_days: Union[int, None]
    """Whole days from the day to that time."""
    explorer_url: Union[str, None]
    """Page of the transaction; null where there is none."""


class ProofPartition(TypedDict):
    root: str
    """Root of the tree over the rows of the table, in hex."""
    leaf: str
    """Hash of the partition as a leaf of the day tree, in hex."""
    index: int
    """Place of that leaf in the day tree."""
    count: int
    """Leaves of the day tree."""
    path: list[str]
    """Hashes from that leaf upwards to the root of the day."""


class AccountKey(TypedDict):
    key_id: str
    """Its id; not the key."""
    name: str
    """Name."""
    created_at: Instant
    """When it was made."""
    expires_at: InstantOrNull
    """When it ends; null: never."""
    kind: Literal['account', 'purchased', 'connection']
    """How it was got."""


class AccountPlan(TypedDict):
    code: str
    """Code of the plan."""
    name: str
    """Name."""
    since: Instant
    """Since when."""
    expires_at: InstantOrNull
    """When it ends; null: never."""


class AccountToday(TypedDict):
    day: str
    """The day."""
    resets_at: Instant
    """When they begin anew."""
    requests: RequestsToday
    """Requests counted."""
    dql: QuotaToday
    """Evaluations of queries."""
    agent_evaluations: QuotaToday
    """Evaluations of agent rules."""
    archive_files: QuotaToday
    """Archive files."""


class AccountNow(TypedDict):
    streams: int
    """Open streams."""
    requests_in_flight: int
    """Requests being answered."""


class RequestsToday(TypedDict):
    used: int
    """Used so far."""
    limit: int
    """Limit of the day."""
    remaining: int
    """What is left."""
    by_class: dict[str, int]
    """Requests by class of endpoint."""


class QuotaToday(TypedDict):
    used: int
    """Used so far."""
    limit: int
    """Limit of the day."""


class EventRow(TypedDict):
    venue_ts: InstantOrNull
    """The venue’s stamp."""
    received_at: Instant
    """When the collector received it."""
    side: Literal['buy', 'sell', 'long', 'short']
    """Side of the taker, or the position that was closed."""
    price: Figure
    """Price; of a liquidation, of the kind that `price_kind` names."""
    price_kind: NotRequired[Literal['fill', 'order', 'bankruptcy', 'mark']]
    """Of liquidations: what the price is."""
    quantity: FigureOrNull
    """Size of the trade, or size closed."""
    value: FigureOrNull
    """Price times size, in quote currency."""
    id: str
    """Names the event within its listing."""
    conversion: NotRequired[Conversion]
    """What quantities were converted with."""
    null_reasons: NotRequired[dict[str, str]]
    """Why a figure is null, by name."""


class GapScope(TypedDict):
    venue: NotRequired[str]
    """Venue code."""
    venue_symbol: NotRequired[str]
    """The venue’s own symbol, byte for byte."""
    layer: NotRequired[str]
    """Layer; absent: every one."""


class HelloEvent(TypedDict):
    stream_id: str
    """Names the stream; quote it to support."""
    evaluated_at: Instant
    """Instant T of the answer, by the service’s clock."""
    catalogue: Union[str, None]
    """Version of listings and capabilities; changes whenever they do."""
    units: Units
    """Unit of quantities: as the venue publishes, base asset, or quote currency."""
    freshness: dict[str, str]
    """Bound by layer: an older reading is stale."""
    layers: list[str]
    """Layers it covers."""
    listings: int
    """Listings selected."""
    resumed: bool
    """Whether it goes on after `Last-Event-ID` without a hole."""
    buffer_from: InstantOrNull
    """From when on events are kept for those who resume."""
    heartbeat_ms: int
    """Time between two heartbeats."""


class SnapshotEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    layer: str
    """Layer of the reading."""
    rev: int
    """Number of the reading within its listing and layer, without holes."""
    state: StreamState
    """The reading, whole."""


class ReadyEvent(TypedDict):
    listings: int
    """Listings selected."""
    layers: int
    """Snapshots sent."""
    served_at: InstantOrNull
    """Instant up to which everything recorded has been told."""


class UpdateEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    layer: str
    """Layer of the reading."""
    rev: int
    """Number of the reading within its listing and layer, without holes."""
    change: Literal['value', 'status', 'both']
    """What is new."""
    state: StreamState
    """The reading, whole: not what changed of it."""


class RowsEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    layer: Literal['trade', 'liquidation']
    """What the rows are."""
    rows: list[EventRow]
    """In the order they came."""


class CandleEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    timeframe: Timeframe
    """Length of its period."""
    price_type: PriceType
    """Which price: trades, the venue’s mark, or its index."""
    row: Candle
    """The candle, or the gap in its place."""


class ListingEvent(TypedDict):
    venue: str
    """Venue code."""
    venue_symbol: str
    """The venue’s own symbol, byte for byte."""
    instrument: str
    """Market code, `<base>-PERP`: the same on every venue."""
    change: Literal['added', 'changed', 'delisted']
    """What happened to the listing."""
    record: Listing
    """The listing, as instruments answers it."""


class HeartbeatEvent(TypedDict):
    at: Instant
    """When it was sent."""
    served_at: InstantOrNull
    """Instant up to which everything recorded has been told."""
    lag_ms: Union[int, None]
    """Milliseconds from `served_at` to `at`; null while there is none."""
    connections: dict[str, Literal['up', 'down']]
    """Whether a connection to the venue is open, by venue."""


GapEvent = TypedDict(
    'GapEvent',
    {
        "from": "InstantOrNull",
        "to": "Instant",
        "reason": Literal['resume_expired', 'slow_reader', 'pipeline_restart'],
        "dropped": Union[int, None],
        "scope": "GapScope",
    },
)


class RuleEvent(TypedDict):
    rule_id: str
    """Name of the rule."""
    name: str
    """What its owner calls it."""
    change: Literal['snapshot', 'move']
    """`snapshot`: the state when the stream began, or when moves may have been missed; `move`: a new state."""
    at: str
    """Since when the state has been this one."""
    previous_state: Union[Literal['true', 'false', 'unknown'], None]
    """State before the move; null in a snapshot."""
    state: Literal['true', 'false', 'unknown']
    """Whether the query of the rule holds for an instrument."""
    reason: Union[Literal['never_evaluated', 'stale_input', 'missing_input', 'not_published', 'disabled', 'plan_venue', 'evaluation_error'], None]
    """Why the state is unknown; null when it is known."""
    matched: NotRequired[list[str]]
    """Instruments that the query holds for, at most twenty."""
    matched_total: NotRequired[int]
    """How many the query holds for."""


class ByeEvent(TypedDict):
    reason: Literal['rotate', 'shutdown', 'key_ended', 'plan_changed']
    """Why the stream ends."""
    reconnect: bool
    """Whether it is worth coming again."""


class StreamState(Reading):
    bids: NotRequired[list[list[Union[str, None]]]]
    """With `depth`: levels bid, best first."""
    asks: NotRequired[list[list[Union[str, None]]]]
    """With `depth`: levels asked, best first."""


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
