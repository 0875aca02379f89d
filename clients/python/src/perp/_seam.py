"""Where history ends and the stream goes on, for one listing and layer.

What the stream says next tells how far rows of history are wanted. While the last reading of a window before it is not known, it waits with
everything behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Union

from . import types as shapes
from ._instants import seconds_of, to_micros
from ._rows import Place, ReadingRow, place_of, reading_rows

# After every instant.
NEVER = 1 << 62
# A window that is not known after this is taken for one that will never be.
GIVE_UP = 600 * 1_000_000


@dataclass(eq=False)
class Stretch:
    """A stretch that was requested from history, up to `end`."""

    end: int
    tries: int = 0


@dataclass
class Known:
    """Rows of one listing and layer in their order, and the ends of the windows of which there may be more later."""

    rows: list[ReadingRow]
    open: list[int]


def key_of(row: ReadingRow) -> int:
    """Its receipt, or the end of its window; 0 where the stream has no reading."""
    at = row["at"] if row["received_at"] is None else row["received_at"]
    return 0 if at is None else to_micros(at)


def _is_known(row: ReadingRow, cadence: int | None) -> bool:
    """Whether an unsettled answer has the last reading of the window that ends the row's period, or knows that there is none."""
    if row["received_at"] is None:
        return row["status"] != "missing" or row.get("gap_cause", "unknown") != "unknown"
    received, at = to_micros(row["received_at"]), to_micros(row["at"])
    return cadence is None or received > at - cadence


def _cadences(answer: shapes.HistoryAnswer) -> dict[Place, int | None]:
    found: dict[Place, int | None] = {}
    for item in answer["items"]:
        for layer, held in item["layers"].items():
            told = held["history_cadence"]
            found[place_of({**item, "layer": layer})] = None if told == "raw" else seconds_of(told) * 1_000_000
    return found


def known_of(answer: shapes.HistoryAnswer, into: dict[Place, Known]) -> None:
    """Adds the rows of an answer to each listing and layer."""
    to = answer.get("to")
    is_final = answer["settled"] or to is None or to_micros(answer["evaluated_at"]) >= to_micros(to) + GIVE_UP
    cadences = _cadences(answer)
    for place in cadences:
        into.setdefault(place, Known([], []))
    for row in reading_rows(answer):
        place = place_of(row)
        into[place].rows.append(row)
        if not is_final and not _is_known(row, cadences[place]):
            into[place].open.append(to_micros(row["at"]))


class Piece:
    """Rows of a stretch."""

    def __init__(self, stretch: Stretch, known: Known) -> None:
        self.stretch = stretch
        self._rows, self._open = sorted(known.rows, key=key_of), sorted(known.open)
        # Receipt of the next event of the stream: the stream has everything after it.
        self._bound: int | None = None

    @property
    def open(self) -> int | None:
        """End of the oldest window that is not known."""
        if not self._open or (self._bound is not None and self._open[0] >= self._bound):
            return None
        return self._open[0]

    @property
    def is_done(self) -> bool:
        return self._bound is not None and self.open is None

    def bind(self, received: int | None) -> None:
        if self._bound is None:
            self._bound = NEVER if received is None else received

    def learn(self, since: int, known: Known) -> None:
        """Another answer about what was received from `since` on."""
        before = [row for row in self._rows if key_of(row) < since]
        self._rows = [*before, *(row for row in sorted(known.rows, key=key_of) if key_of(row) >= since)]
        self._open = sorted(known.open)

    def take(self) -> list[ReadingRow]:
        """The rows that can be given by now, in their order."""
        if self._bound is None:
            return []
        # A period that reaches past the bound has its last reading from the stream.
        first = self._open[0] if self._open else NEVER
        given = 0
        for row in self._rows:
            if to_micros(row["at"]) >= first or key_of(row) > self._bound:
                break
            given += 1
        rows, self._rows = self._rows[:given], self._rows[given:]
        return rows


class Seam:
    """What waits of one listing and layer, in its order."""

    def __init__(self) -> None:
        self._parts: list[Union[Piece, ReadingRow]] = []

    def __len__(self) -> int:
        return len(self._parts)

    def add_stretch(self, stretch: Stretch, known: Known) -> None:
        self._parts.append(Piece(stretch, known))

    def add_live(self, row: ReadingRow) -> None:
        self.bind(None if row["received_at"] is None else to_micros(row["received_at"]))
        self._parts.append(row)

    def bind(self, received: int | None) -> None:
        """The next event of the stream bounds every stretch since its last one; None: it has no reading."""
        for part in reversed(self._parts):
            if not isinstance(part, Piece):
                return
            part.bind(received)

    def pieces(self) -> Iterator[Piece]:
        for part in self._parts:
            if isinstance(part, Piece):
                yield part

    def take(self) -> list[ReadingRow]:
        """What can be given by now."""
        given: list[ReadingRow] = []
        done = 0
        for part in self._parts:
            if isinstance(part, Piece):
                given += part.take()
                if not part.is_done:
                    break
            else:
                given.append(part)
            done += 1
        del self._parts[:done]
        return given
