"""The stream: events as they come, resumed when it breaks; and history that goes on into it."""

from __future__ import annotations

import time
import json
from decimal import Decimal
from time import monotonic
from types import TracebackType
from typing import Any, Iterator, Callable, Iterable, Mapping, Union, cast

from .. import types as shapes
from .._answers import HistoryPage
from .._errors import ApiError, ConnectionFailed, StreamEnded
from .._instants import from_micros, now_micros, to_micros
from .._repeats import Repeats
from .._retry import FIRST_RETRY_S, RETRIED, lasting_wait, pause_before, pause_before_return
from .._rows import Place, ReadingRow, Seen, live_row, place_of, reading_rows
from .._seam import Known, Seam, Stretch, key_of, known_of
from .._sse import EVENTS, Frame, Splitter
from .http import LONGEST_WAIT_S, Http, log
from .results import History

GapHandler = Callable[[Union[shapes.GapEvent, ReadingRow]], Any]
StaleHandler = Callable[[ReadingRow], Any]


class Live:
    """Events of the stream. A broken connection is resumed at the event after the last one that was given."""

    def __init__(self, http: Http, params: Mapping[str, Any], *, exact: bool = False) -> None:
        self._http = http
        self._params = params
        self._decode = {"parse_float": Decimal} if exact else {}
        self._repeats = Repeats()
        self._last_id: str | None = None
        self._events: Iterator[shapes.StreamEvent] | None = None
        self._retry_s = FIRST_RETRY_S
        # Connections that ended since the last heartbeat: what comes at the opening proves nothing, a service may end each connection after it.
        self._failures = 0
        # Connections in a row that could not be read.
        self._unreadable = 0
        self._was_open = False

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. Leaving a `with` block does it, too."""
        events, self._events = self._events, None
        if events is not None:
            events.close()  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[shapes.StreamEvent]:
        if self._events is None:
            self._events = self._all_events()
        return self._events

    def _all_events(self) -> Iterator[shapes.StreamEvent]:
        try:
            while True:
                failure: Exception | None = ConnectionFailed("the stream ended without a word")
                events = self._connection()
                try:
                    for event in events:
                        given = self._taken(event)
                        if given is not None:
                            yield given
                        self._note(event)
                        if event["event"] == "bye":
                            if not event["data"]["reconnect"]:
                                raise StreamEnded(event["data"]["reason"])
                            failure = None
                            break
                except (ConnectionFailed, ApiError) as error:
                    failure = error
                finally:
                    events.close()  # type: ignore[attr-defined]
                if failure is not None and not self._is_worth_again(failure):
                    raise failure
                self._pause(failure)
        finally:
            # After an exception or an interrupt the stream can be iterated again: it goes on after the last event that was given.
            self._events = None

    def _note(self, event: shapes.StreamEvent) -> None:
        """The reader has taken the event: what it did not take would be lost to it."""
        self._repeats.note(event, is_place=event["id"] not in (None, self._last_id))
        self._last_id = event["id"] or self._last_id

    def _taken(self, event: shapes.StreamEvent) -> shapes.StreamEvent | None:
        """The event as it is given; None when all of it was given before."""
        if event["event"] == "hello":
            self._was_open = True
            self._repeats.begin(is_resumed=event["data"]["resumed"])
        if event["event"] == "heartbeat":
            self._failures = self._unreadable = 0
        return self._repeats.without(event)

    def _is_worth_again(self, failure: Exception) -> bool:
        """A stream that was once open reconnects, however long the service is unavailable; one that never was is given up like a call."""
        if isinstance(failure, ApiError):
            # A page in place of the stream: an address of another service, or, where the stream was open before, a proxy's for a while.
            if failure.code == "BAD_ANSWER" and failure.status == 200:
                return self._was_open
            if failure.status not in RETRIED or (failure.retry_after or 0) > LONGEST_WAIT_S:
                return False
        return self._unreadable < UNREADABLE_TRIES and (self._was_open or self._failures < self._http.retries)

    def _pause(self, failure: Exception | None) -> None:
        """Before the next connection; without a failure the service said bye."""
        self._failures += 1
        asked = failure.retry_after if isinstance(failure, ApiError) else None
        if self._was_open:
            asked = lasting_wait(asked)
        if self._was_open and asked is None:
            pause = pause_before_return(self._failures, self._retry_s)
        else:
            pause = pause_before(self._failures, asked)
        log.info("%s: try %d follows in %.1f s", failure or "the service ended the stream", self._failures, pause)
        time.sleep(pause)

    def _connection(self) -> Iterator[shapes.StreamEvent]:
        """Events of one connection."""
        splitter = Splitter()
        pieces = self._http.events(self._params, self._last_id)
        try:
            for piece in pieces:
                for event in self._read(splitter, piece):
                    if event["event"] == "error":
                        errors = cast("list[dict[str, Any]]", event["data"]["errors"])
                        raise StreamEnded("error", errors)
                    yield event
        finally:
            pieces.close()  # type: ignore[attr-defined]

    def _read(self, splitter: Splitter, piece: bytes) -> Iterable[shapes.StreamEvent]:
        try:
            for frame in splitter.feed(piece):
                if frame.name in EVENTS:
                    yield self._event_of(frame)
        except ValueError as error:
            self._unreadable += 1
            raise ConnectionFailed(f"the stream cannot be read: {error}") from error
        finally:
            if splitter.retry is not None:
                self._retry_s = splitter.retry / 1_000

    def _event_of(self, frame: Frame) -> shapes.StreamEvent:
        data = json.loads(frame.text, **self._decode)  # type: ignore[arg-type]
        return cast(shapes.StreamEvent, {"event": frame.name, "id": frame.id, "data": data})


class Follow:
    """Rows of history, then of the stream: each reading of a listing and layer once, in order.

    A row of history is the last reading of its period, one of the stream is every change; `source` distinguishes them.
    What the stream reports as lost is requested from history and delivered before it goes on. Where history does not know a window yet, what
    comes after it waits until it does; other listings and layers go on.
    """

    def __init__(self, history: History, on_gap: GapHandler | None, on_stale: StaleHandler | None) -> None:
        self._history = history
        self._on_gap = on_gap
        self._on_stale = on_stale
        # A service that never answered is not waited for.
        self._is_begun = False
        self._seen = Seen()
        self._rows: Iterator[ReadingRow] | None = None
        self._seams: dict[Place, Seam] = {}
        # End of the stretch of a stream that has begun, while its snapshots are still coming.
        self._greeted: int | None = None
        self._snapshots: list[ReadingRow] = []
        # Up to here everything is known to have been given, or waits.
        self._reached = 0
        self._again_at: float | None = None

    def __enter__(self) -> Follow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. Leaving a `with` block does it, too."""
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[ReadingRow]:
        if self._rows is None:
            self._rows = self._all_rows()
        return self._rows

    def _all_rows(self) -> Iterator[ReadingRow]:
        # Begun anew after an exception: what waited is requested again, and what was given is left out.
        self._reached, self._seams = self._history.window.begin, {}
        self._greeted, self._snapshots, self._again_at = None, [], None
        try:
            for row in self._settled(self._middle(now_micros())):
                yield row
            with self._history.live() as stream:
                for event in stream:
                    if event["event"] not in ("hello", "gap", "snapshot"):
                        for row in self._greet():
                            yield row
                    for row in self._told(event):
                        yield row
                    while self._is_time():
                        for row in self._ask_again():
                            yield row
        finally:
            self._rows = None

    def _told(self, event: shapes.StreamEvent) -> Iterator[ReadingRow]:
        self._is_begun = True
        if event["event"] == "hello" and not event["data"]["resumed"]:
            self._greeted, self._snapshots = to_micros(event["data"]["evaluated_at"]), []
        elif event["event"] == "gap":
            if self._on_gap is not None:
                self._on_gap(event["data"])
            # The expired part is requested with the hello before it.
            if event["data"]["reason"] != "resume_expired":
                for row in self._lost(event["data"]):
                    yield row
        elif event["event"] == "heartbeat":
            self._reached = to_micros(event["data"]["at"])
        elif event["event"] == "snapshot" or event["event"] == "update":
            told = live_row(event["data"])
            if self._greeted is not None:
                self._snapshots.append(told)
            else:
                for row in self._take_live(told):
                    yield row

    def _take_live(self, told: ReadingRow) -> list[ReadingRow]:
        seam = self._seams.get(place_of(told))
        if seam is None:
            return self._new([told])
        seam.add_live(told)
        return self._take([place_of(told)])

    def _new(self, rows: Iterable[ReadingRow]) -> list[ReadingRow]:
        """Those that were not given before."""
        # A row that was recorded too late to count comes behind others of its time.
        given = [row for row in rows if not row.get("late") and self._seen.takes(row)]
        for row in given:
            if row["source"] == "history" and row["status"] == "missing" and self._on_gap is not None:
                self._on_gap(row)
            if row["source"] == "live" and row["status"] == "stale" and self._on_stale is not None:
                self._on_stale(row)
        return given

    def _take(self, places: Iterable[Place]) -> list[ReadingRow]:
        """What can be given of these places by now, in one order; each place keeps its own."""
        keyed: list[tuple[int, ReadingRow]] = []
        for place in places:
            newest = 0
            for row in self._seams[place].take():
                newest = max(newest, key_of(row))
                keyed.append((newest, row))
            if not self._seams[place]:
                del self._seams[place]
        return self._new(row for _, row in sorted(keyed, key=lambda one: one[0]))

    def _middle(self, end: int) -> int:
        """Before this an answer is settled, unless the service is behind. Windows and periods end here."""
        step = max(MINUTE, self._history.window.step)
        return (end - UNSETTLED) // step * step

    def _settled(self, end: int) -> Iterator[ReadingRow]:
        """What is settled is given as it comes."""
        if end <= self._reached:
            return
        for page in self._pages(self._reached, end):
            if not page.data["settled"]:
                return
            for row in self._new(reading_rows(page.data)):
                yield row
            self._reached = to_micros(page.data.get("to", from_micros(end)))

    def _greet(self) -> Iterator[ReadingRow]:
        """Delivers the past of a stream that has begun, and its first events."""
        if self._greeted is None:
            return
        end, snapshots = self._greeted, self._snapshots
        self._greeted, self._snapshots = None, []
        found = self._ask(self._reached - OVERLAP, end)
        self._hold(Stretch(end), found)
        self._reached = end
        for told in snapshots:
            if place_of(told) in self._seams:
                self._seams[place_of(told)].add_live(told)
        for place in found:
            self._seams[place].bind(None)
        for row in self._take(list(found)):
            yield row
        for told in snapshots:
            if place_of(told) not in found:
                for row in self._take_live(told):
                    yield row

    def _lost(self, gap: shapes.GapEvent) -> Iterator[ReadingRow]:
        """The rows of a stretch that the stream lost wait for the next event of the stream."""
        begin = self._reached if gap["from"] is None else min(self._reached, to_micros(gap["from"]))
        end = to_micros(gap["to"])
        found = self._ask(begin - OVERLAP, end)
        self._hold(Stretch(end), found)
        for row in self._take(list(found)):
            yield row

    def _hold(self, stretch: Stretch, found: Mapping[Place, Known]) -> None:
        for place, known in found.items():
            self._seams.setdefault(place, Seam()).add_stretch(stretch, known)
        self._plan()

    def _ask(self, begin: int, end: int) -> dict[Place, Known]:
        found: dict[Place, Known] = {}
        own = self._history.window
        # Only whole windows and periods have rows.
        step = max(MINUTE, own.step)
        since = max(begin // step * step, own.begin)
        if end - since >= own.step:
            for page in self._pages(since, end):
                known_of(page.data, found)
        return found

    def _pages(self, begin: int, end: int) -> Iterator[HistoryPage]:
        """Answers of history; while the service is unavailable it is requested again, from where it left off."""
        failures = 0
        while True:
            try:
                for page in self._history.between(begin, end).pages():
                    failures = 0
                    yield page
                    begin = to_micros(page.data.get("to", from_micros(begin)))
                return
            except (ConnectionFailed, ApiError) as failure:
                is_away = isinstance(failure, ConnectionFailed) or failure.status in AWAY
                if not is_away or not self._is_begun:
                    raise
                failures += 1
                pause = pause_before(failures, lasting_wait(failure.retry_after) if isinstance(failure, ApiError) else None)
                log.info("%s: history is asked again in %.1f s", failure, pause)
                time.sleep(pause)

    def _open(self) -> dict[Stretch, int]:
        """Stretches with windows that are not known, and the end of the oldest one of each."""
        found: dict[Stretch, int] = {}
        for seam in self._seams.values():
            for piece in seam.pieces():
                if piece.open is not None:
                    found[piece.stretch] = min(piece.open, found.get(piece.stretch, piece.open))
        return found

    def _plan(self) -> None:
        tries = [stretch.tries for stretch in self._open()]
        self._again_at = monotonic() + AGAIN_S * min(2 ** min(tries), 16) if tries else None

    def _is_time(self) -> bool:
        if self._again_at is None:
            return False
        # The stream is not read any further meanwhile, and flow control of the network slows the service.
        return monotonic() >= self._again_at or sum(map(len, self._seams.values())) > WAITING_EVENTS

    def _ask_again(self) -> Iterator[ReadingRow]:
        """Requests the windows that were not known."""
        if self._again_at is not None:
            time.sleep(max(0.0, self._again_at - monotonic()))
        for stretch, first in self._open().items():
            stretch.tries += 1
            since = first - max(OVERLAP, self._history.window.step)
            found = self._ask(since, stretch.end)
            for place, seam in self._seams.items():
                for piece in seam.pieces():
                    if piece.stretch is stretch:
                        piece.learn(since, found.get(place, Known([], [])))
        for row in self._take(list(self._seams)):
            yield row
        self._plan()


# As often in a row is a stream that cannot be read opened again.
UNREADABLE_TRIES = 5
# Statuses of a service that is being restarted.
AWAY = frozenset({502, 503, 504})
MINUTE = 60 * 1_000_000
# History is requested again from so long before what was reached: a row is written with the end of its window, which is 60 s at most.
OVERLAP = 120 * 1_000_000
# An answer about instants older than this is settled, unless the service is behind.
UNSETTLED = 150 * 1_000_000
# Windows that are not known are requested again after this, then after twice as long, up to sixteen times.
AGAIN_S = 2.0
# Events that wait while history is not known.
WAITING_EVENTS = 50_000
