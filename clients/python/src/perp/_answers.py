"""An answer of the service: its document, its digits, its table and its picture."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Iterator, Mapping, Sequence, TypeVar, cast

from . import _display, _verify_run
from . import types as shapes
from ._errors import Mismatch
from ._tables import Table, TableSpec, rows_of_document, spec_of, spec_of_layers

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Document = TypeVar("Document", bound=Mapping[str, Any])
Item = TypeVar("Item")


class Answer(Generic[Document]):
    """One answer. Members that this version does not know stay in `data`."""

    def __init__(self, name: str, content: bytes, headers: Mapping[str, str]) -> None:
        self.name = name
        self.content = content
        self.headers = headers

    @cached_property
    def data(self) -> Document:
        """The document; figures are floats."""
        return cast(Document, json.loads(self.content))

    @cached_property
    def exact(self) -> Any:
        """The same document with every digit: figures are `Decimal`, or int where they are whole."""
        return json.loads(self.content, parse_float=Decimal)

    @property
    def receipt(self) -> str | None:
        """Names this answer; quote it to support."""
        return self.headers.get("x-service-receipt")

    def __getitem__(self, member: str) -> Any:
        return self.data[member]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {_display.summary_of(self.data)}>"

    def _repr_html_(self) -> str:
        return _display.answer_html(self.name, self.data)


class TableAnswer(Answer[Document]):
    """An answer that is a table too."""

    @cached_property
    def table(self) -> Table:
        return Table(self._spec, [rows_of_document(self.name, self.content)])

    @property
    def _spec(self) -> TableSpec:
        return spec_of(self.name)

    def to_pandas(self, *, exact: bool = False) -> pandas.DataFrame:
        """A data frame: figures as float64, with `exact` as decimals of every digit; what is absent is NaN."""
        return self.table.to_pandas(exact=exact)

    def to_polars(self, *, exact: bool = False) -> polars.DataFrame:
        """As `to_pandas`; what is absent is null."""
        return self.table.to_polars(exact=exact)

    def to_arrow(self, *, exact: bool = False) -> pyarrow.Table:
        """As `to_pandas`; what is absent is null."""
        return self.table.to_arrow(exact=exact)


class ItemsAnswer(TableAnswer[Document], Generic[Document, Item]):
    """An answer with `items`: iterating it gives them."""

    @property
    def items(self) -> list[Item]:
        return cast("list[Item]", self.data["items"])

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def check_hash(self) -> None:
        """Compares `items_sha256` with the bytes that came. Raises Mismatch."""
        expected = self.data.get("items_sha256")
        if not isinstance(expected, str):
            return
        found = hashlib.sha256(_items_bytes(self.content)).hexdigest()
        if found != expected:
            raise Mismatch(f"items of {self.name}", expected, found)


def _items_bytes(content: bytes) -> bytes:
    """From the `[` of `items` to its `]`; only `page` can come after it."""
    begin = content.index(b'"items":[') + len(b'"items":')
    page = content.rfind(b'],"page":{')
    end = page if page >= begin else content.rindex(b"]")
    return content[begin : end + 1]


class Snapshots(ItemsAnswer[shapes.SnapshotsAnswer, shapes.ListingReadings]):
    """The newest readings. As a table: a row for each listing and layer."""

    def __init__(self, name: str, content: bytes, headers: Mapping[str, str], layers: Sequence[str] | None = None) -> None:
        super().__init__(name, content, headers)
        self._layers = layers

    @property
    def _spec(self) -> TableSpec:
        return spec_of_layers(self.name, self._layers)


class Books(ItemsAnswer[shapes.BooksAnswer, shapes.Book]):
    """Order books. As a table: a row for each level; a book that is not present is one row without price and size."""


class Venues(ItemsAnswer[shapes.VenuesAnswer, shapes.Venue]):
    """Venues served."""


class InstrumentsPage(ItemsAnswer[shapes.InstrumentsAnswer, shapes.Listing]):
    """A page of listings."""


class HistoryPage(ItemsAnswer[shapes.HistoryAnswer, shapes.ListingHistory]):
    """Past readings of a part of the range."""


class CandlesPage(ItemsAnswer[shapes.CandlesAnswer, shapes.ListingCandles]):
    """Candles of a part of the range."""


class LiquidationsPage(ItemsAnswer[shapes.LiquidationsAnswer, shapes.ListingLiquidations]):
    """A page of liquidations."""


class ArchivePage(ItemsAnswer[shapes.ArchiveAnswer, shapes.ArchiveFile]):
    """A page of the list of files."""


class ScreenPage(TableAnswer[shapes.ScreenAnswer]):
    """A page of instruments. As a table: a row for each listing of each instrument, a column for each expression."""

    def __iter__(self) -> Iterator[shapes.ScreenInstrument]:
        return iter(self.data["instruments"])


class AgentState(TableAnswer[shapes.AgentStateAnswer]):
    """States of agent rules. As a table: a row for each rule."""

    def __iter__(self) -> Iterator[shapes.AgentStateAnswerRules]:
        return iter(self.data["rules"])


class Account(Answer[shapes.AccountAnswer]):
    """Plan, limits and counters of the key."""


class Catalogue(Answer[shapes.DqlCatalogueAnswer]):
    """Fields, sources and functions of the language, and all limits."""


class Check(Answer[shapes.DqlParseAnswer]):
    """A query that is right: its canonical text and its cost."""

    @property
    def canonical(self) -> str:
        return self.data["query"]["string"]

    @property
    def cost(self) -> int:
        return self.data["complexity"]["cost"]


class AnchorDay(Answer[shapes.AnchorDayAnswer]):
    """The root of a closed day and how far its posting is."""


class Receipt(Answer[shapes.ReceiptAnswer]):
    """Outcome of the payment of one call."""


class Proof(Answer[shapes.AnchorProofAnswer]):
    """One row and its path to the root of its day."""

    def verify(self, *, rpc: str | None = None) -> _verify_run.Verification:
        """Recomputes every step, as `verify.py` does; with `rpc`, an address of any node, those on the chain too."""
        return _verify_run.verify_proof(self.content, rpc)
