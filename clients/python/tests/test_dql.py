"""The builder prints what the service calls canonical: over many random expressions, and in the corners of the language."""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import Any, Callable

import pytest

import perp
from perp import dql as q

TRIES = 150
TIMEFRAMES = ("1m", "5m", "1h", "1d")
FIELDS = (q.last, q.mark, q.index, q.basis, q.funding, q.funding_8h, q.oi, q.bid, q.ask, q.mid, q.spread, q.volume_24h)
SOURCES = (q.open, q.high, q.low, q.close, q.volume, q.mark_close, q.index_close)
WINDOWS: tuple[Callable[..., q.VenueValue], ...] = (q.prev, q.sma, q.ema, q.rsi, q.stdev, q.highest, q.lowest, q.change, q.roc, q.rolling_sum, q.percentile_rank)


class Maker:
    """Random valid expressions; series are read at the clause's timeframe or repeat it, or have another one at their top."""

    def __init__(self, seed: random.Random, timeframe: str) -> None:
        self.seed, self.timeframe = seed, timeframe

    def own(self) -> Any:
        return self.seed.choice((None, None, self.timeframe))

    def plain(self) -> Any:
        seed = self.seed
        return seed.choice((seed.randint(-9, 9), seed.uniform(-1e6, 1e6), seed.uniform(-1e-7, 1e-7), "3bps", "-0.5bps", "0.01%", "1e6", Decimal("1.500"), -0.0))

    def series(self, depth: int) -> q.VenueValue:
        seed = self.seed
        if depth == 0 or seed.random() < 0.3:
            return seed.choice((*FIELDS, *SOURCES))
        kind = seed.randrange(4)
        if kind == 0:
            return self.arithmetic(self.series(depth - 1), self.plain())
        if kind == 1:
            method: Any = seed.choice(("nearest-rank", "linear"))
            return q.percentile(self.series(depth - 1), seed.randint(1, 9), seed.choice((5, 12.5, 100)), method, self.own())
        return seed.choice(WINDOWS)(self.series(depth - 1), seed.randint(1, 9), self.own())

    def arithmetic(self, left: Any, right: Any) -> Any:
        if self.seed.random() < 0.2 and isinstance(right, (int, float, Decimal)):
            left, right = right, left
        return self.seed.choice((lambda: left + right, lambda: left - right, lambda: left * right, lambda: left / right))()

    def value(self, depth: int) -> q.VenueValue:
        seed, kind = self.seed, self.seed.randrange(7)
        if depth == 0 or kind == 0:
            return seed.choice(FIELDS)
        if kind == 1:
            return seed.choice((q.depth_bid, q.depth_ask_value))(seed.choice(("10bps", "100bps")))
        if kind == 2:
            return seed.choice((q.atr, q.gaps))(seed.randint(1, 9), self.own())
        if kind == 3:
            return -self.value(depth - 1) if seed.random() < 0.5 else abs(self.value(depth - 1))
        if kind == 4:
            return self.series(2)
        return self.arithmetic(self.value(depth - 1), seed.choice((self.value(depth - 1), self.plain())))

    def compared(self, left: Any, right: Any) -> Any:
        return self.seed.choice((lambda: left < right, lambda: left <= right, lambda: left > right, lambda: left >= right, lambda: left == right))()

    def condition(self, depth: int) -> q.VenueCondition:
        seed, kind = self.seed, self.seed.randrange(8)
        if depth > 0 and kind < 3:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return left & right if kind else left | right
        if kind == 3:
            return self.compared(q.age(seed.choice(FIELDS)), seed.choice(("90s", "60m", timedelta(minutes=5))))
        if kind == 4:
            return q.status(seed.choice(FIELDS)) == seed.choice(("present", "stale", "not_published"))
        if kind == 5:
            return q.venue.is_in(*seed.choices(("binance", "okx"), k=seed.randint(1, 3)))
        if kind == 6:
            return q.crossover(self.series(1), seed.choice((self.series(1), self.plain())), self.own())
        return self.compared(self.value(2), seed.choice((self.value(1), self.plain())))

    def total(self) -> q.Total:
        seed = self.seed
        where = seed.choice((None, self.condition(1)))
        return seed.choice(
            (
                lambda: q.count(self.condition(1)),
                lambda: q.max(self.value(1), where),
                lambda: q.min(self.value(1), where),
                lambda: q.sum(seed.choice((q.oi, q.volume_24h, q.mark * q.oi)), where),
                lambda: q.venues_listed,
            )
        )()

    def top(self, depth: int) -> q.Condition:
        seed, kind = self.seed, self.seed.randrange(6)
        if depth > 0 and kind < 2:
            return self.top(depth - 1) & self.top(depth - 1) if kind else self.top(depth - 1) | self.top(depth - 1)
        if kind == 2:
            return q.base.is_in(*seed.choices(("BTC", "ETH", "XRP"), k=2))
        if kind == 3:
            return self.compared(self.arithmetic(self.total(), self.plain()), self.total())
        return seed.choice((q.any, q.all))(self.condition(2))

    def query(self) -> q.Query:
        seed = self.seed
        return q.query(
            self.top(1),
            timeframe=self.timeframe,  # type: ignore[arg-type]
            as_of=seed.choice((None, "2026-01-10", "2026-01-10T09:30:00.5+02:00")),
            where=seed.choice((None, q.where(base=["BTC", "ETH"], symbol="BTCUSDT"), q.where(venue="okx", quote=["USDT", "USDT"]))),
            select=seed.choice(((), (q.mark, self.value(2)), (self.total(),))),
            order_by=seed.choice(((), (q.desc(self.total()), q.instrument))),
        )


def test_it_prints_the_canonical_text(seed: random.Random, keys: Any, base_url: str) -> None:
    told, client = 0, perp.Client(next(keys), base_url)
    for number in range(TRIES):
        if number % 60 == 0:
            client = perp.Client(next(keys), base_url)
        text = str(Maker(seed, seed.choice(TIMEFRAMES)).query())
        try:
            assert client.dql.check(text).canonical == text
            told += 1
        except perp.LimitError:
            continue
    assert told > TRIES * 2 / 3, f"{told} of {TRIES} were within the limits"


CORNERS: list[tuple[q.Query, str]] = [
    (q.query(q.any(q.funding > "1bps")), "any(venues where funding > 0.0001)"),
    (q.query(q.any(q.funding > -1e-7)), "any(venues where funding > -0.0000001)"),
    (q.query(q.any((q.mark - (q.index - 1)) * 2 > 0)), "any(venues where (mark - (index - 1)) * 2 > 0)"),
    (q.query(q.any(-q.basis > 0)), "any(venues where 0 - basis > 0)"),
    (q.query(q.any(q.age(q.bid) < timedelta(seconds=3600))), "any(venues where age(bid) < 1h)"),
    (q.query(q.base.is_in("BTC")), "base = BTC"),
    (q.query(q.any(q.status(q.mark).is_in("stale", "off", "stale"))), "any(venues where status(mark) in (stale, off))"),
    (q.query(q.any(q.status(q.mark).is_in("stale"))), "any(venues where status(mark) = stale)"),
    (q.query(q.any(q.mark > "12345678901234567890123456789.5bps")), "any(venues where mark > 1234567890123456789012345.67895)"),
    (q.query(q.any((q.sma(q.close, 20, "1h") > 1) & (q.sma(q.close, 5, "4h") > 1)), timeframe="1h"), "any(venues where sma(close, 20) > 1 and sma(close, 5, 4h) > 1) timeframe 1h"),
    (q.query(q.any(q.sma(q.ema(q.close, 5, "4h"), 2, "4h") > 1), timeframe="1h"), "any(venues where sma(ema(close, 5), 2, 4h) > 1) timeframe 1h"),
    (q.query(where=q.where(symbol="BTCUSDT", base="BTC")), 'where base = BTC and symbol = "BTCUSDT"'),
    (q.query(as_of="2026-01-10", select=[q.mark]), "as of 2026-01-10T00:00:00.000Z select mark"),
    (q.query((q.venues_listed > 1) & ((q.venues_answered > 1) & (q.base == "BTC"))), "venues_listed > 1 and venues_answered > 1 and base = BTC"),
]


@pytest.mark.parametrize("query, text", CORNERS)
def test_corners(query: q.Query, text: str, client: perp.Client) -> None:
    assert str(query) == text
    assert client.dql.check(query).canonical == text


def test_digits_of_a_text_are_kept_whatever_decimals_are_rounded_to() -> None:
    with localcontext() as context:
        context.prec = 3
        assert str(q.funding > "1.23456bps") == "funding > 0.000123456"


def test_mistakes_of_python_are_told() -> None:
    with pytest.raises(TypeError, match="join conditions with & and |"):
        if q.any(q.mark > 0):
            pass
    with pytest.raises(TypeError, match="join conditions"):
        q.any(1 < q.mark < 2)  # type: ignore[operator]
    with pytest.raises(ValueError, match="not a duration"):
        q.age(q.bid) < "soon"
    with pytest.raises(ValueError, match="not a number"):
        q.mark > float("nan")
    with pytest.raises(ValueError, match="needs a value"):
        q.base.is_in()
    with pytest.raises(ValueError, match="no time zone"):
        q.query(as_of="2026-01-15T09:30")
    for text in ("2026-01-15T09:30:00.123456789Z", "2026-01-15 09:30Z", "2026-W03-4", "20260115", "2026-01-15T09:30:00,5Z"):
        with pytest.raises(ValueError, match="is not an instant"):
            q.query(as_of=text)
    for text in ("2026-01-15T09:30:00.123456Z", "2026-01-15T09:30+02:00", "2026-01-15"):
        assert "as of" in str(q.query(as_of=text))
    with pytest.raises(ValueError, match="not a name of a selection"):
        from perp._dql_tree import print_selection

        print_selection({"coin": "BTC"})
