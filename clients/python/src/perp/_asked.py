"""Requests in the form that the service takes: selections, instants, windows, layers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Iterable, Literal, Mapping, Union

from . import dql
from ._dql_tree import print_selection
from ._errors import LimitError
from ._instants import Duration, Instant, asked_micros, format_instant, from_micros, now_micros, seconds_of
from .types import Selection as SelectionObject

Layer = Literal["ticker", "mark", "funding", "oi", "book", "stats", "venue_depth"]
StreamLayer = Literal[
    "ticker", "mark", "funding", "oi", "book", "stats", "book_bands", "venue_depth", "candles", "trade", "liquidation"
]
ArchiveLayer = Literal[
    "ticker", "mark", "funding", "oi", "stats", "book_bands", "candles", "trades", "liquidation"
]
Where = Union[str, SelectionObject, dql.Selection]
Freshness = Union[str, Mapping[str, str]]

SECOND = 1_000_000


def where_text(where: Where | None) -> str | None:
    """One form for every endpoint."""
    if where is None or isinstance(where, str):
        return where
    return str(where) if isinstance(where, dql.Selection) else print_selection(where)


def layer_names(layers: Iterable[str] | None) -> list[str] | None:
    if isinstance(layers, str):
        raise TypeError(f"layers is a list: write layers=[{layers!r}]")
    return None if layers is None else list(layers)


@dataclass(frozen=True)
class Window:
    """From `begin` to `end` in microseconds, in steps of `step`; at most `most` steps an answer."""

    begin: int
    end: int
    step: int
    most: int | None

    @property
    def longest(self) -> int | None:
        return None if self.most is None else self.most * self.step

    def part_end(self, begin: int, length: int | None) -> int:
        """End of the part that begins here: on a boundary of a step, so that nothing lies between two parts."""
        if length is None:
            return self.end
        return min(self.end, begin // self.step * self.step + length)


def window_of(
    start: Instant | None, end: Instant | None, last: Duration | None, *, step: int, most: int | None
) -> Window:
    """`start` and `end`, or `last`: a duration up to `end`, which is now when it is left out."""
    if (start is None) == (last is None):
        raise ValueError("say either start=, an instant, or last=, a duration such as '1h'")
    stop = now_micros() if end is None else asked_micros(end)
    # Whole steps: the last hour by the minute has sixty rows, at any time of the request.
    begin = asked_micros(start) if start is not None else stop // step * step - seconds_of(last or "0s") * SECOND
    if begin >= stop:
        raise ValueError(f"the window is empty: it begins at {from_micros(begin)} and ends at {from_micros(stop)}")
    return Window(begin, stop, step, most)


_FITS = re.compile(r"[Ww]indow (?:of about|that fits is) (\d+)s|One answer reaches to (?:about )?\S+ \((\d+)s\)")
_HALF = "half of the window"


def fitting_length(error: LimitError, asked: int, step: int) -> int | None:
    """Microseconds of the window that would fit, from the hint of the refusal of `asked`; None when it has none."""
    hint = error.hint or ""
    found = _FITS.search(hint)
    if found is None and _HALF not in hint:
        return None
    length = (asked // 2 if found is None else int(found[1] or found[2]) * SECOND) // step * step
    return length if 0 < length < asked else None


def instants_of(at: Instant | Iterable[Instant]) -> list[str]:
    """One instant or several, such as the index of a frame."""
    return [format_instant(one) for one in ([at] if isinstance(at, (str, date)) or not isinstance(at, Iterable) else at)]


def query_body(query: Union[str, dql.Query, dql.Condition, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Text, an expression, or the machine form."""
    if isinstance(query, Mapping):
        return {"query_object": dict(query)}
    return {"query": str(dql.query(query)) if isinstance(query, dql.Condition) else str(query)}
