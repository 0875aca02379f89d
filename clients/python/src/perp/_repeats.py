"""What a resumed stream sends a second time: a connection may end between two events of one step, and the step is then sent anew (ST-05)."""

from __future__ import annotations

from typing import Any, cast

from . import types as shapes


def _names_of(event: shapes.StreamEvent) -> list[tuple[Any, ...]]:
    """Names what an event reports; one without a name is given as often as it comes."""
    data: Any = event["data"]
    kind = event["event"]
    if kind not in ("update", "event", "candle", "listing"):
        return []
    place = (kind, data["venue"], data["venue_symbol"])
    if kind == "event":
        return [(*place, data["layer"], row["id"]) for row in data["rows"]]
    if kind == "candle":
        return [(*place, data["timeframe"], data["price_type"], data["row"]["open_time"])]
    if kind == "listing":
        return [(*place, data["change"], data["record"]["received_at"])]
    state = data["state"]
    status = (state["status"], state.get("reason")) if data["change"] == "status" else ()
    return [(*place, data["layer"], data["rev"], *status)]


class Repeats:
    """Remembers what was given since the last id that the stream can be resumed at."""

    def __init__(self) -> None:
        self._given: set[tuple[Any, ...]] = set()
        self._is_resumed = False

    def begin(self, *, is_resumed: bool) -> None:
        """A connection has begun; without resumption everything is sent anew, on purpose."""
        self._is_resumed = is_resumed
        if not is_resumed:
            self._given.clear()

    def without(self, event: shapes.StreamEvent) -> shapes.StreamEvent | None:
        """The event without what was given before; None when nothing is left of it."""
        names = _names_of(event)
        if not self._is_resumed or not any(name in self._given for name in names):
            return event
        if event["event"] != "event":
            return None
        rows = [row for name, row in zip(names, event["data"]["rows"]) if name not in self._given]
        return cast(shapes.StreamEvent, {**event, "data": {**event["data"], "rows": rows}}) if rows else None

    def note(self, event: shapes.StreamEvent, *, is_place: bool) -> None:
        """The event was given. `is_place`: the stream can be resumed after it."""
        if is_place:
            self._given.clear()
            self._is_resumed = False
        else:
            self._given.update(_names_of(event))
