"""Answers of many pages: nothing is requested before they are iterated or turned into a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Callable, Generic, Iterable, Mapping, Sequence, TypeVar

from .. import _display
from .. import types as shapes
from .._answers import Answer, ArchivePage, CandlesPage, HistoryPage, InstrumentsPage, LiquidationsPage, ScreenPage
from .._asked import Window, fitting_length
from .._errors import LimitError
from .._instants import from_micros, to_micros
from .._progress import open_bar
from .._rows import CandleRow, LiquidationRow, ReadingRow, candle_rows, liquidation_rows, reading_rows
from .._tables import Chunk, Table, TableSpec, liquidation_gaps, rows_of_document, spec_of, spec_of_layers, wide_frame
from .http import JSON, PARQUET, Http, Reply

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .follow import Follow, Live, GapHandler, StaleHandler

Page = TypeVar("Page", bound=Answer[Any])
Row = TypeVar("Row")


class Pages(Generic[Page, Row]):
    """Iterate it for rows, `pages()` for whole answers, or take a frame."""

    _name: str
    _kind: type[Page]

    def __init__(self, http: Http, *, progress: bool | None = None) -> None:
        self._http = http
        self._progress = progress
        self._cached: Table | None = None

    def pages(self) -> Iterator[Page]:
        """Answers one after the other."""
        raise NotImplementedError

    def _rows(self, page: Page) -> Iterable[Row]:
        raise NotImplementedError

    def _spec(self) -> TableSpec:
        return spec_of(self._name)

    def _chunks(self) -> list[Chunk]:
        return [rows_of_document(self._name, page.content) for page in self.pages()]

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            for row in self._rows(page):
                yield row

    def first_page(self) -> Page:
        """The first answer alone."""
        for page in self.pages():
            return page
        raise LookupError("there is no page")

    def table(self) -> Table:
        """All rows; requested once."""
        if self._cached is None:
            self._cached = Table(self._spec(), self._chunks())
        return self._cached

    def to_pandas(self, *, exact: bool = False) -> pandas.DataFrame:
        """A data frame: figures as float64, with `exact` as decimals of every digit; what is absent is NaN."""
        return (self.table()).to_pandas(exact=exact)

    def to_polars(self, *, exact: bool = False) -> polars.DataFrame:
        """As `to_pandas`; what is absent is null."""
        return (self.table()).to_polars(exact=exact)

    def to_arrow(self, *, exact: bool = False) -> pyarrow.Table:
        """As `to_pandas`; what is absent is null."""
        return (self.table()).to_arrow(exact=exact)

    def _repr_html_(self) -> str:
        return _display.lazy_html(repr(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._http.base_url}>"


class CursorPages(Pages[Page, Row]):
    """Pages that name the next one."""

    def __init__(
        self, http: Http, ask: Callable[[str | None], Reply], *, progress: bool | None = None
    ) -> None:
        super().__init__(http, progress=progress)
        self._ask = ask

    def pages(self) -> Iterator[Page]:
        cursor: str | None = None
        while True:
            reply = self._ask(cursor)
            page = self._kind(self._name, reply.content, reply.headers)
            yield page
            cursor = page.data["page"]["next_cursor"]
            if cursor is None:
                return


class Screen(CursorPages[ScreenPage, shapes.ScreenInstrument]):
    """Instruments for which a query holds."""

    _name, _kind = "screen", ScreenPage

    def _rows(self, page: ScreenPage) -> Iterable[shapes.ScreenInstrument]:
        return page


class Instruments(CursorPages[InstrumentsPage, shapes.Listing]):
    """Listings with their rules."""

    _name, _kind = "instruments", InstrumentsPage

    def _rows(self, page: InstrumentsPage) -> Iterable[shapes.Listing]:
        return page


class ArchiveFiles(CursorPages[ArchivePage, shapes.ArchiveFile]):
    """Files of closed days."""

    _name, _kind = "archive", ArchivePage

    def _rows(self, page: ArchivePage) -> Iterable[shapes.ArchiveFile]:
        return page


class Liquidations(CursorPages[LiquidationsPage, LiquidationRow]):
    """Liquidations; as a frame with the stretches in which nothing could be received."""

    _name, _kind = "liquidations", LiquidationsPage

    def _rows(self, page: LiquidationsPage) -> Iterable[LiquidationRow]:
        page.check_hash()
        return liquidation_rows(page.data)

    def _chunks(self) -> list[Chunk]:
        chunks: list[Chunk] = []
        gaps: dict[tuple[Any, ...], dict[str, Any]] = {}
        for page in self.pages():
            page.check_hash()
            chunks.append(rows_of_document(self._name, page.content))
            # Every page has the gaps of its span; one gap may appear twice.
            gaps.update({tuple(gap.values()): gap for gap in liquidation_gaps(page.content)})
        return [*chunks, list(gaps.values())]


class Range(Pages[Page, Row]):
    """A window of time, split into what one answer holds."""

    _path: str

    def __init__(
        self, http: Http, body: Mapping[str, Any], window: Window | None, *, progress: bool | None = None
    ) -> None:
        super().__init__(http, progress=progress)
        self._body = body
        self._window = window

    def _fixed_bodies(self) -> Sequence[Mapping[str, Any]]:
        """Questions without a window."""
        return [self._body]

    def _replies(self, accept: str) -> Iterator[Reply]:
        if self._window is None:
            for body in self._fixed_bodies():
                yield self._http.post(self._path, body, accept=accept)
            return
        for reply in self._parts(self._window, accept):
            yield reply

    def _parts(self, window: Window, accept: str) -> Iterator[Reply]:
        begin, length = window.begin, window.longest
        total = (window.end - begin) // 1_000_000
        bar = open_bar(total, self._name, unit="s", wanted=self._progress if length is None or total * 1_000_000 > length else False)
        while begin < window.end:
            end = window.part_end(begin, length)
            body = {**self._body, "from": from_micros(begin), "to": from_micros(end)}
            try:
                reply = self._http.post(self._path, body, accept=accept)
            except LimitError as error:
                smaller = fitting_length(error, end - begin, window.step)
                if smaller is None:
                    raise
                length = smaller
                continue
            yield reply
            bar.update((end - begin) // 1_000_000)
            if applied_end(reply) < end // window.step * window.step:
                # The service's clock has not got there yet.
                break
            begin = end
        bar.close()

    def pages(self) -> Iterator[Page]:
        for reply in self._replies(JSON):
            page = self._kind(self._name, reply.content, reply.headers)
            page.check_hash()  # type: ignore[attr-defined]
            yield page

    def _chunks(self) -> list[Chunk]:
        return [reply.content for reply in self._replies(PARQUET)]


def applied_end(reply: Reply) -> int:
    """The end of the window as the service applied it."""
    told = reply.headers.get("x-service-to")
    if told is None:
        begin = reply.content.index(b'"to":"') + 6
        told = reply.content[begin : reply.content.index(b'"', begin)].decode()
    return to_micros(told)


class History(Range[HistoryPage, ReadingRow]):
    """Past readings, with a row for every period that has none."""

    _name, _kind, _path = "history", HistoryPage, "/v2/snapshots/history"

    def _spec(self) -> TableSpec:
        return spec_of_layers(self._name, self._body.get("layers"))

    def _rows(self, page: HistoryPage) -> Iterable[ReadingRow]:
        return reading_rows(page.data)

    def _fixed_bodies(self) -> Sequence[Mapping[str, Any]]:
        most = 2_000
        at = self._body["at"]
        return [{**self._body, "at": at[first : first + most]} for first in range(0, len(at), most)]

    @property
    def window(self) -> Window:
        """The requested window, in microseconds."""
        if self._window is None:
            raise ValueError("only a window of time can be continued: ask with interval= or raw=True")
        return self._window

    def between(self, begin: int, end: int) -> History:
        """The same question of another window, in microseconds."""
        own = self.window
        return History(self._http, self._body, Window(begin, end, own.step, own.most), progress=False)

    def live(self) -> Live:
        """The stream of the same listings and layers."""
        from .follow import Live

        same = {name: self._body.get(name) for name in ("where", "units", "freshness", "allow_stale")}
        layers = self._body.get("layers")
        return Live(self._http, {**same, "layers": None if layers is None else ",".join(layers)})

    def wide(self, figure: str) -> pandas.DataFrame:
        """One figure: a row for each instant, a column for each listing. Gaps are NaN."""
        return wide_frame(self.to_pandas(), figure)

    def then_live(self, *, on_gap: GapHandler | None = None, on_stale: StaleHandler | None = None) -> Follow:
        """These rows and, without a hole or a repetition, what comes after them, for as long as it is iterated.

        `on_gap` is called with each gap of the stream and each row without a reading, `on_stale` with each live row that is stale.
        """
        from .follow import Follow

        # A reading that is no longer valid when it comes is a row of the past all the same: its figures are under `withheld`.
        body = {**self._body, "allow_stale": self._body.get("allow_stale") is not False}
        return Follow(History(self._http, body, self.window, progress=False), on_gap, on_stale)


class Candles(Range[CandlesPage, CandleRow]):
    """Candles, with a row for every period that has none."""

    _name, _kind, _path = "candles", CandlesPage, "/v2/candles"

    def _rows(self, page: CandlesPage) -> Iterable[CandleRow]:
        return candle_rows(page.data)

    def wide(self, figure: str = "close") -> pandas.DataFrame:
        """One figure: a row for each candle, a column for each listing. Holes are NaN."""
        return wide_frame(self.to_pandas(), figure)
