"""Queries as Python expressions: `str(query)` is the service's canonical text.

    from perp import dql as q

    q.query(
        q.any((q.funding_8h > "3bps") & (q.spread < "5bps")),
        order_by=[q.desc(q.max(q.funding_8h))],
    )

Wrong scopes are type errors: a figure of a venue stands inside `any`, `all`, `count`, `max`, `min` or `sum`, and those do not nest.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Generic, Iterable, Literal, Mapping, Sequence, TypeVar, Union

from . import _dql_tree as tree
from ._instants import Instant, asked_micros, format_duration, from_micros
from .types import Status, Timeframe

Plain = Union[int, float, Decimal, str, timedelta]
"""A literal: a number, `"3bps"`, `"0.01%"`, `"30s"`, a timedelta."""
Band = Literal["10bps", "25bps", "50bps", "100bps"]
V = TypeVar("V", bound="Expr")
C = TypeVar("C", bound="Expr")


class Expr:
    """A part of a query. It prints as the service would print it in a query without a `timeframe` clause."""

    __slots__ = ("node",)

    def __init__(self, node: tree.Node) -> None:
        self.node = node

    def __str__(self) -> str:
        return tree.print_node(self.node, None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def __bool__(self) -> bool:
        raise TypeError(f"`{self}` has no truth here: join conditions with & and |, each in parentheses")

    __hash__ = object.__hash__


class _Logical(Expr, Generic[C]):
    __slots__ = ()

    def __and__(self, other: C) -> C:
        return type(self)(tree.logic("and", self.node, other.node))  # type: ignore[return-value]

    def __or__(self, other: C) -> C:
        return type(self)(tree.logic("or", self.node, other.node))  # type: ignore[return-value]


class Condition(_Logical["Condition"]):
    """True, false or unknown of an instrument."""

    __slots__ = ()


class VenueCondition(_Logical["VenueCondition"]):
    """True, false or unknown of a listing: used inside a quantifier or an aggregate."""

    __slots__ = ()


class _Numeric(Expr, Generic[V, C]):
    """Arithmetic and comparisons of figures of one scope."""

    __slots__ = ()
    _value: type[Expr]
    _condition: type[Expr]

    def _join(self, op: str, other: Union[V, Plain], *, reflected: bool = False) -> V:
        pair = (self.node, _node_of(other))
        left, right = pair[::-1] if reflected else pair
        return self._value(tree.Binary(op, left, right))  # type: ignore[return-value]

    def _compare(self, op: str, other: Union[V, Plain]) -> C:
        return self._condition(tree.Compare(op, self.node, _node_of(other)))  # type: ignore[return-value]

    def __add__(self, other: Union[V, Plain]) -> V:
        return self._join("+", other)

    def __radd__(self, other: Plain) -> V:
        return self._join("+", other, reflected=True)

    def __sub__(self, other: Union[V, Plain]) -> V:
        return self._join("-", other)

    def __rsub__(self, other: Plain) -> V:
        return self._join("-", other, reflected=True)

    def __mul__(self, other: Union[V, Plain]) -> V:
        return self._join("*", other)

    def __rmul__(self, other: Plain) -> V:
        return self._join("*", other, reflected=True)

    def __truediv__(self, other: Union[V, Plain]) -> V:
        return self._join("/", other)

    def __rtruediv__(self, other: Plain) -> V:
        return self._join("/", other, reflected=True)

    def __neg__(self) -> V:
        return self._join("-", 0, reflected=True)

    def __abs__(self) -> V:
        return self._value(tree.Call("abs", (self.node,)))  # type: ignore[return-value]

    def __lt__(self, other: Union[V, Plain]) -> C:
        return self._compare("<", other)

    def __le__(self, other: Union[V, Plain]) -> C:
        return self._compare("<=", other)

    def __gt__(self, other: Union[V, Plain]) -> C:
        return self._compare(">", other)

    def __ge__(self, other: Union[V, Plain]) -> C:
        return self._compare(">=", other)

    def __eq__(self, other: Union[V, Plain]) -> C:  # type: ignore[override]
        return self._compare("=", other)

    __hash__ = Expr.__hash__

    def is_in(self, *values: Plain) -> C:
        return self._condition(tree.is_in(self.node, [tree.literal(value) for value in values]))  # type: ignore[return-value]


class VenueValue(_Numeric["VenueValue", VenueCondition]):
    """A figure of a listing."""

    __slots__ = ()
    _condition = VenueCondition


class Total(_Numeric["Total", Condition]):
    """A figure of an instrument: a count, or the largest, smallest or summed figure of its listings."""

    __slots__ = ()
    _condition = Condition


VenueValue._value = VenueValue
Total._value = Total


class Field(VenueValue):
    """A figure that is read, not computed: the argument of `age` and `status`."""

    __slots__ = ()


class _Code(Expr, Generic[C]):
    """A name to compare with names."""

    __slots__ = ()
    _condition: type[Expr]

    def __eq__(self, other: str) -> C:  # type: ignore[override]
        return self.is_in(other)

    __hash__ = Expr.__hash__

    def is_in(self, *codes: str) -> C:
        leaves = [tree.Leaf(tree.print_code(code)) for code in codes]
        return self._condition(tree.is_in(self.node, leaves))  # type: ignore[return-value]


class InstrumentCode(_Code[Condition]):
    __slots__ = ()
    _condition = Condition


class VenueCode(_Code[VenueCondition]):
    __slots__ = ()
    _condition = VenueCondition


class StatusOf(Expr):
    """The state of a layer, to compare with a status."""

    __slots__ = ()

    def __eq__(self, other: Status) -> VenueCondition:  # type: ignore[override]
        return self.is_in(other)

    __hash__ = Expr.__hash__

    def is_in(self, *statuses: Status) -> VenueCondition:
        return VenueCondition(tree.is_in(self.node, [tree.Leaf(status) for status in statuses]))


def _node_of(value: Union[Expr, Plain]) -> tree.Node:
    return value.node if isinstance(value, Expr) else tree.literal(value)


# --- Fields and sources ---


def _field(name: str) -> Field:
    return Field(tree.Leaf(name))


instrument, base = InstrumentCode(tree.Leaf("instrument")), InstrumentCode(tree.Leaf("base"))
venue, quote = VenueCode(tree.Leaf("venue")), VenueCode(tree.Leaf("quote"))
venues_listed, venues_answered = Total(tree.Leaf("venues_listed")), Total(tree.Leaf("venues_answered"))
tick_size, lot_size, min_qty = _field("tick_size"), _field("lot_size"), _field("min_qty")
last, mark, index, basis = _field("last"), _field("mark"), _field("index"), _field("basis")
funding, funding_8h = _field("funding"), _field("funding_8h")
funding_interval, time_to_funding = _field("funding_interval"), _field("time_to_funding")
oi = _field("oi")
bid, ask, mid, spread = _field("bid"), _field("ask"), _field("mid"), _field("spread")
bid_size, ask_size = _field("bid_size"), _field("ask_size")
volume_24h, turnover_24h, change_24h = _field("volume_24h"), _field("turnover_24h"), _field("change_24h")


def _source(name: str) -> VenueValue:
    return VenueValue(tree.Leaf(name))


open, high, low, close, volume = (_source(name) for name in ("open", "high", "low", "close", "volume"))
mark_open, mark_high, mark_low = _source("mark_open"), _source("mark_high"), _source("mark_low")
mark_close, mark_volume = _source("mark_close"), _source("mark_volume")
index_open, index_high, index_low = _source("index_open"), _source("index_high"), _source("index_low")
index_close, index_volume = _source("index_close"), _source("index_volume")

# --- Functions over periods ---


def _timed(name: str, args: Sequence[Union[Expr, Plain]], timeframe: Timeframe | None) -> tree.Call:
    own = None if timeframe is None else format_duration(timeframe)
    return tree.Call(name, tuple(_node_of(arg) for arg in args), own, True)


def _series(name: str, *args: Union[Expr, Plain], timeframe: Timeframe | None) -> VenueValue:
    return VenueValue(_timed(name, args, timeframe))


def prev(series: VenueValue, k: int, timeframe: Timeframe | None = None) -> VenueValue:
    """The element k periods back."""
    return _series("prev", series, k, timeframe=timeframe)


def sma(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Simple moving average."""
    return _series("sma", series, n, timeframe=timeframe)


def ema(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Exponential moving average over a fixed window of 4n."""
    return _series("ema", series, n, timeframe=timeframe)


def rsi(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Relative strength, 0 to 100."""
    return _series("rsi", series, n, timeframe=timeframe)


def atr(n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Average true range of the trade candles."""
    return _series("atr", n, timeframe=timeframe)


def stdev(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Population standard deviation."""
    return _series("stdev", series, n, timeframe=timeframe)


def highest(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Largest of the last n."""
    return _series("highest", series, n, timeframe=timeframe)


def lowest(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Smallest of the last n."""
    return _series("lowest", series, n, timeframe=timeframe)


def change(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """The newest less that n periods back."""
    return _series("change", series, n, timeframe=timeframe)


def roc(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Change as a fraction."""
    return _series("roc", series, n, timeframe=timeframe)


def rolling_sum(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Sum of the last n."""
    return _series("rolling_sum", series, n, timeframe=timeframe)


def percentile_rank(series: VenueValue, n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Share of the last n that are at most the newest."""
    return _series("percentile_rank", series, n, timeframe=timeframe)


def percentile(
    series: VenueValue,
    n: int,
    p: float,
    method: Literal["nearest-rank", "linear"] = "nearest-rank",
    timeframe: Timeframe | None = None,
) -> VenueValue:
    """The value that p percent of the last n do not exceed."""
    own = [Expr(tree.Leaf(method))] if method == "linear" else []
    return _series("percentile", series, n, p, *own, timeframe=timeframe)


def gaps(n: int, timeframe: Timeframe | None = None) -> VenueValue:
    """Periods without a candle among the last n."""
    return _series("gaps", n, timeframe=timeframe)


def crossover(a: VenueValue, b: Union[VenueValue, Plain], timeframe: Timeframe | None = None) -> VenueCondition:
    """a rose above b with the newest period."""
    return VenueCondition(_timed("crossover", (a, b), timeframe))


def crossunder(a: VenueValue, b: Union[VenueValue, Plain], timeframe: Timeframe | None = None) -> VenueCondition:
    """a fell below b with the newest period."""
    return VenueCondition(_timed("crossunder", (a, b), timeframe))


# --- Functions of layers ---


def age(field: Field) -> VenueValue:
    """Time since the value was received."""
    return VenueValue(tree.Call("age", (field.node,)))


def status(field: Field) -> StatusOf:
    """State of the field's layer."""
    return StatusOf(tree.Call("status", (field.node,)))


def _depth(name: str, band: Band) -> VenueValue:
    return VenueValue(tree.Call(name, (tree.Leaf(band),)))


def depth_bid(band: Band) -> VenueValue:
    """Quantity bid within the band below mid."""
    return _depth("depth_bid", band)


def depth_ask(band: Band) -> VenueValue:
    """Quantity asked within the band above mid."""
    return _depth("depth_ask", band)


def depth_bid_value(band: Band) -> VenueValue:
    """Price times size bid within the band."""
    return _depth("depth_bid_value", band)


def depth_ask_value(band: Band) -> VenueValue:
    """Price times size asked within the band."""
    return _depth("depth_ask_value", band)


def number(value: Plain) -> VenueValue:
    """A literal on the left of a series, as in `crossover`."""
    return VenueValue(tree.literal(value))


# --- Over venues ---


def any(condition: VenueCondition) -> Condition:
    """At least one listing."""
    return Condition(tree.Over("any", condition.node, None))


def all(condition: VenueCondition) -> Condition:
    """Every listing; unknown where one is unknown."""
    return Condition(tree.Over("all", condition.node, None))


def count(condition: VenueCondition) -> Total:
    """How many listings."""
    return Total(tree.Over("count", condition.node, None))


def _over(name: str, expr: VenueValue, where: VenueCondition | None) -> Total:
    return Total(tree.Over(name, None if where is None else where.node, expr.node))


def max(expr: VenueValue, where: VenueCondition | None = None) -> Total:
    """The largest among the listings."""
    return _over("max", expr, where)


def min(expr: VenueValue, where: VenueCondition | None = None) -> Total:
    """The smallest among the listings."""
    return _over("min", expr, where)


def sum(expr: VenueValue, where: VenueCondition | None = None) -> Total:
    """The sum over the listings, of what may be added."""
    return _over("sum", expr, where)


# --- Queries ---


class Selection:
    """Which listings, by their names. `str()` is the text that every endpoint takes as `where`."""

    def __init__(self, terms: Mapping[str, object]) -> None:
        self._text = tree.print_selection(terms)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Selection {self}>"


Names = Union[str, Sequence[str]]


def where(
    *,
    instrument: Names | None = None,
    base: Names | None = None,
    venue: Names | None = None,
    quote: Names | None = None,
    symbol: Names | None = None,
) -> Selection:
    """`where(base=["BTC", "ETH"], quote="USDT")`."""
    return Selection({"instrument": instrument, "base": base, "venue": venue, "quote": quote, "symbol": symbol})


class Key:
    """An expression to order by."""

    def __init__(self, expr: Expr, *, descending: bool = False) -> None:
        self.expr, self.descending = expr, descending


def desc(expr: Union[Total, InstrumentCode]) -> Key:
    """Largest first."""
    return Key(expr, descending=True)


class Query:
    """A whole query; `str()` is its canonical text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Query {self.text}>"


def query(
    condition: Condition | None = None,
    *,
    timeframe: Timeframe | None = None,
    as_of: Instant | None = None,
    where: Selection | None = None,
    select: Iterable[Expr] = (),
    order_by: Iterable[Union[Total, InstrumentCode, Key]] = (),
) -> Query:
    """Clauses in the order in which they are printed."""
    period = None if timeframe is None else format_duration(timeframe)
    keys = [key if isinstance(key, Key) else Key(key) for key in order_by]
    chosen = [tree.print_node(expr.node, period) for expr in select]
    ordered = [tree.print_node(key.expr.node, period) + (" desc" if key.descending else "") for key in keys]
    parts = [
        [] if condition is None else [tree.print_node(condition.node, period)],
        [] if period is None else [f"timeframe {period}"],
        [] if as_of is None else [f"as of {from_micros(asked_micros(as_of))}"],
        [] if where is None else [f"where {where}"],
        [f"select {', '.join(chosen)}"] if chosen else [],
        [f"order by {', '.join(ordered)}"] if ordered else [],
    ]
    return Query(" ".join(part for clause in parts for part in clause))
