"""Rows as iterators give them: the members of a row, and its listing."""

from __future__ import annotations

from typing import Any, Literal, Mapping, NamedTuple, NotRequired, cast

from . import types as shapes
from ._instants import from_micros, to_micros
from ._layers import ALIASES


class ReadingRow(shapes.HistoryRow):
    """A reading of one layer of one listing. Figures are under `values`, and only there: a gap has none."""

    source: Literal["history", "live"]
    venue: str
    venue_symbol: str
    instrument: str
    quote: NotRequired[str]
    layer: str
    units: Mapping[str, str]
    change: NotRequired[Literal["value", "status", "both"]]
    rev: NotRequired[int]


class CandleRow(shapes.Candle):
    """A candle of one listing, or the hole where there is none."""

    venue: str
    venue_symbol: str
    instrument: str
    quote: str
    units: Mapping[str, str]
    retention_from: str


class LiquidationRow(shapes.Liquidation):
    """A liquidation of one listing, and how completely the venue publishes them."""

    venue: str
    venue_symbol: str
    instrument: str
    quote: str
    completeness: Literal["full", "sampled", "none"]
    retention_from: str
    units: Mapping[str, str]


def _head(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in ("venue", "venue_symbol", "instrument", "quote") if name in item}


def _beside_rows(item: Mapping[str, Any]) -> dict[str, Any]:
    """Members of an item that all its rows share."""
    return {name: value for name, value in item.items() if name not in ("rows", "gaps")}


def reading_rows(answer: shapes.HistoryAnswer) -> list[ReadingRow]:
    """In the order of their instants; the order of the answer among equals."""
    rows = [
        cast(ReadingRow, {"source": "history", **_head(item), "layer": layer, "units": held["units"], **row})
        for item in answer["items"]
        for layer, held in item["layers"].items()
        for row in held["rows"]
    ]
    return sorted(rows, key=lambda row: to_micros(row["at"]))


def candle_rows(answer: shapes.CandlesAnswer) -> list[CandleRow]:
    rows = [cast(CandleRow, {**_beside_rows(item), **row}) for item in answer["items"] for row in item["rows"]]
    return sorted(rows, key=lambda row: to_micros(row["open_time"]))


def liquidation_rows(answer: shapes.LiquidationsAnswer) -> list[LiquidationRow]:
    rows = [cast(LiquidationRow, {**_beside_rows(item), **row}) for item in answer["items"] for row in item["rows"]]
    return sorted(rows, key=lambda row: to_micros(row["received_at"]))


Place = tuple[str, str, str]


def place_of(named: Mapping[str, Any]) -> Place:
    """Names a listing and layer, whatever alias the layer goes by."""
    return named["venue"], named["venue_symbol"], ALIASES.get(named["layer"], named["layer"])


def live_row(event: shapes.SnapshotEvent | shapes.UpdateEvent) -> ReadingRow:
    """A state of the stream as a row: at its receipt, or, where only the status changed, when that was sent."""
    state = event["state"]
    change = event.get("change", "both")
    received = state["received_at"]
    at = received
    if received is not None and change == "status":
        at = from_micros(to_micros(received) + (state["age_ms"] or 0) * 1_000)
    layer = ALIASES.get(event["layer"], event["layer"])
    told = {"layer": layer, "at": at, "change": change, "rev": event["rev"]}
    return cast(ReadingRow, {"source": "live", **_head(event), **told, **state})


def figures_of(row: ReadingRow) -> Mapping[str, Any]:
    """Figures as they were received, whether or not they still held when the row was given."""
    values: Mapping[str, Any] = row["withheld"]["values"] if "withheld" in row else row["values"]
    return values


class _Last(NamedTuple):
    received: int
    # Number in the service's log; None when the row came from history, which has none.
    rev: int | None
    figures: Mapping[str, Any]


class Seen:
    """What was given of each listing and layer, so that nothing is given twice."""

    def __init__(self) -> None:
        self._at: dict[Place, int] = {}
        self._last: dict[Place, _Last] = {}

    def takes(self, row: ReadingRow) -> bool:
        """Whether the row is new; it counts as given then."""
        key = place_of(row)
        if row["source"] == "history":
            at = to_micros(row["at"])
            if at <= self._at.get(key, -1):
                return False
            self._at[key] = at
            return row["received_at"] is None or self._is_newer(key, row, row["received_at"])
        if row.get("change") == "status":
            return True
        return row["received_at"] is not None and self._is_newer(key, row, row["received_at"])

    def _is_newer(self, key: Place, row: ReadingRow, received_at: str) -> bool:
        own = _Last(to_micros(received_at), row.get("rev"), figures_of(row))
        last = self._last.get(key)
        if last is not None and not _follows(own, last):
            return False
        self._last[key] = own
        return True


def _follows(own: _Last, last: _Last) -> bool:
    """Between two of the stream their numbers decide; beside history, which has none, the instant does, and at the same one the figures."""
    if own.rev is not None and last.rev is not None and own.rev != last.rev:
        return own.rev > last.rev or own.received > last.received
    is_other = own.rev != last.rev and own.figures != last.figures
    return own.received > last.received or (own.received == last.received and is_other)
