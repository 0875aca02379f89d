"""Rows of an answer as a table. A period without a reading stays a row, with its cause and without a figure: nothing is filled."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Literal, Mapping, Sequence, Union

from ._errors import MissingExtra
from ._instants import to_micros
from ._layers import CANDLE_FIGURES, FIGURES, MEMBERS

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Kind = Literal["text", "figure", "instant", "integer", "flag"]
Row = Mapping[str, Any]
Chunk = Union[bytes, list[dict[str, Any]]]
"""A part of a table: a Parquet file, or rows whose numbers are `Digits`."""


class Digits(str):
    """A number of the document, as it is written there."""


@dataclass(frozen=True)
class TableSpec:
    """What every table of an endpoint has, whatever its rows are."""

    leading: tuple[str, ...]
    index: str | None = None
    figures: tuple[str, ...] = ()


LISTING = ("venue", "venue_symbol", "instrument", "quote")
WHY = ("status", "reason", "gap_cause")
_SPECS: Mapping[str, TableSpec] = {
    "snapshots": TableSpec((*LISTING, "layer", *WHY)),
    "history": TableSpec((*LISTING, "layer", "at", *WHY), "at"),
    "candles": TableSpec((*LISTING, "open_time", "close_time", *WHY), "open_time", CANDLE_FIGURES),
    "liquidations": TableSpec(
        (*LISTING, "received_at", *WHY, "gap_to", "side", "price_kind"), "received_at", ("price", "quantity", "value")
    ),
    "books": TableSpec((*LISTING, *WHY, "side", "level"), None, ("price", "size")),
    "venues": TableSpec(("venue", "name", "state")),
    "instruments": TableSpec(("instrument", "venue", "venue_symbol", "base", "quote", "status")),
    "archive": TableSpec(("listing", "layer", "day", "rows", "bytes", "price_usdc", "included")),
    "screen": TableSpec(("instrument", "result", "venue", "symbol", "quote")),
    "agent_state": TableSpec(("rule_id", "name", "state", "reason", "previous_state", "since")),
    "file": TableSpec(("segment", "symbol", "status", "gap_cause")),
}


def spec_of(name: str) -> TableSpec:
    return _SPECS[name]


def spec_of_layers(name: str, layers: Sequence[str] | None) -> TableSpec:
    """With a column for every figure of the requested layers, even where nothing was received."""
    named = [layer for layer in layers or () if layer in MEMBERS]
    members = dict.fromkeys(member for layer in named for member in MEMBERS[layer])
    return TableSpec(_SPECS[name].leading, _SPECS[name].index, tuple(members))


_INSTANT = re.compile(r"(?:^|[._])(?:at|ts|until|time|since|start|end)$|^(?:gap_to|retention_from)$")
_WHOLE = re.compile(
    r"(?:^|\.)(?:age_ms|venue_age_ms|level|rows|bytes|listings|listings_collected|leaf_index|seq|schema_version)$"
    r"|^trades$|^base_candles\.|(?:^|\.)levels_|_levels$|^(?:matched|unknown)_total$|^(?:price|qty)_decimals$|^collected_levels\."
)
_FLAGS = frozenset({"late", "post_only", "included", "final", "anchored"})
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_FILE_FIGURE = re.compile(r"^(?:depth_|funding_interval_ms$)")


def kind_of(column: str) -> Kind:
    """By its name alone, so that every table of an endpoint has the same types."""
    if column in _FLAGS:
        return "flag"
    if "null_reasons." in column or column.startswith("units."):
        return "text"
    if _INSTANT.search(column):
        return "instant"
    if _WHOLE.search(column):
        return "integer"
    if column in FIGURES or column.startswith(("withheld.", "conversion.")) or _FILE_FIGURE.match(column):
        return "figure"
    return "text"


def column_name(path: str) -> str:
    """`values.mark` is `mark`, `withheld.values.mark` is `withheld.mark`."""
    for long, short in (("withheld.values.", "withheld."), ("values.", ""), ("instants.", "")):
        if path.startswith(long):
            return short + path[len(long) :]
    return path


# --- Rows out of documents ---


def rows_of_document(name: str, content: bytes) -> list[dict[str, Any]]:
    """Rows of an answer in JSON, one a line of its table."""
    document = json.loads(content, parse_float=Digits, parse_int=Digits)
    columns: dict[str, str] = {}
    return [_cells(row, columns) for row in _ROWS[name](document)]


def _cells(row: Row, columns: dict[str, str]) -> dict[str, Any]:
    """A row by its columns. `columns` keeps the column of each path, which is the same in every row."""
    cells: dict[str, Any] = {}

    def add(part: Row, prefix: str) -> None:
        for name, value in part.items():
            path = prefix + name
            # Documents are read by `json`, which makes no subclasses.
            kind = type(value)
            if kind is dict:
                add(value, path + ".")
                continue
            column = columns.get(path)
            if column is None:
                column = columns[path] = column_name(path)
            cells[column] = json.dumps(value, ensure_ascii=False) if kind is list else value

    add(row, "")
    return cells


def _listing(item: Row) -> dict[str, Any]:
    return {name: item[name] for name in LISTING}


def _snapshot_rows(document: Row) -> Iterator[Row]:
    for item in document["items"]:
        for layer, state in item["layers"].items():
            yield {**_listing(item), "layer": layer, **_without(state, "raw")}


def _history_rows(document: Row) -> Iterator[Row]:
    for item in document["items"]:
        for layer, held in item["layers"].items():
            for row in held["rows"]:
                yield {**_listing(item), "layer": layer, **_without(held, "rows"), **row}


def _candle_rows(document: Row) -> Iterator[Row]:
    for item in document["items"]:
        for row in item["rows"]:
            yield {**_without(item, "rows"), **row}


def _liquidation_rows(document: Row) -> Iterator[Row]:
    """Gaps are rows at their beginning; a page has the gaps of the whole window, so `gaps` is kept apart by the reader."""
    for item in document["items"]:
        for row in item["rows"]:
            yield {**_without(item, "rows", "gaps"), "status": "present", **row}


def liquidation_gaps(content: bytes) -> list[dict[str, Any]]:
    """Gap rows of an answer."""
    document = json.loads(content)
    return [
        {**_listing(item), "status": "missing", "reason": "gap", "received_at": gap["from"], "gap_to": gap["to"]}
        | {"gap_cause": gap["gap_cause"]}
        for item in document["items"]
        for gap in item["gaps"]
    ]


def _book_rows(document: Row) -> Iterator[Row]:
    for item in document["items"]:
        head = {**_listing(item), **_without(item, *LISTING, "bids", "asks", "bands", "conversion")}
        if not item["bids"] and not item["asks"]:
            yield head
        for side, levels in (("bid", item["bids"]), ("ask", item["asks"])):
            for place, (price, size) in enumerate(levels, 1):
                yield {**head, "side": side, "level": Digits(place), "price": price, "size": size}


def _screen_rows(document: Row) -> Iterator[Row]:
    for found in document["instruments"]:
        shared = dict(_valued(found["values"]))
        for listing in found["venues"]:
            own = {name: listing[name] for name in ("venue", "symbol", "quote")}
            head = {"instrument": found["instrument"], "result": found["result"], **own}
            values = found["values"] | listing["values"]
            yield head | shared | dict(_valued(listing["values"])) | dict(_units(values))


def _valued(values: Row) -> Iterator[tuple[str, Any]]:
    for expression, value in values.items():
        yield expression, value.get("value")
        for member in ("status", "reason"):
            if member in value:
                yield f"{expression} {member}", value[member]


def _units(values: Row) -> Iterator[tuple[str, str]]:
    """Codes, statuses and results of conditions are no figures."""
    for expression, value in values.items():
        if value.get("unit", "code") != "code":
            yield f"units.{expression}", value["unit"]


def _without(row: Row, *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


_ROWS: Mapping[str, Callable[[Row], Iterable[Row]]] = {
    "snapshots": _snapshot_rows,
    "history": _history_rows,
    "candles": _candle_rows,
    "liquidations": _liquidation_rows,
    "books": _book_rows,
    "venues": lambda document: document["items"],
    "instruments": lambda document: document["items"],
    "archive": lambda document: document["items"],
    "screen": _screen_rows,
    "agent_state": lambda document: document["rules"],
}


# --- Tables ---


class Table:
    """Rows that may become a frame of any kind. Imports only what the requested kind needs."""

    def __init__(self, spec: TableSpec, chunks: Sequence[Chunk]) -> None:
        self._spec = spec
        self._chunks = list(chunks)

    def to_arrow(self, *, exact: bool = False) -> pyarrow.Table:
        from ._arrow import arrow_table

        return arrow_table(self._spec, self._chunks, exact=exact)

    def to_pandas(self, *, exact: bool = False) -> pandas.DataFrame:
        from ._arrow import arrow_table, pandas_frame

        return pandas_frame(arrow_table(self._spec, self._chunks, exact=exact), self._spec.index)

    def to_polars(self, *, exact: bool = False) -> polars.DataFrame:
        from ._polars import polars_frame

        return polars_frame(self._spec, self._chunks, exact=exact)


def columns_of(rows: Sequence[Row]) -> dict[str, tuple[Kind, list[Any]]]:
    """Cells by column: figures and texts as text, instants as microseconds."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column(name, [row.get(name) for row in rows]) for name in names}


def _column(name: str, cells: list[Any]) -> tuple[Kind, list[Any]]:
    kind = kind_of(name)
    types = set(map(type, cells))
    if kind == "text" and Digits in types:
        kind = "figure"
    if kind in ("figure", "integer") and not all(map(_is_number, cells)):
        # Elsewhere the same name is a text, such as the funding interval `8h` of a listing.
        kind = "text"
    if kind == "text" and bool in types:
        kind = "flag"
    if kind == "instant":
        return kind, [None if cell is None else to_micros(cell) for cell in cells]
    if kind == "integer":
        return kind, [None if cell is None else int(cell) for cell in cells]
    if kind == "flag" or types <= {str, type(None)}:
        return kind, cells
    return kind, [None if cell is None else str(cell) for cell in cells]


def _is_number(cell: Any) -> bool:
    return cell is None or type(cell) is Digits or _NUMBER.fullmatch(str(cell)) is not None


def in_order(spec: TableSpec, present: Iterable[str]) -> list[tuple[str, Kind]]:
    """Columns that every table has, then the others as they come."""
    always: dict[str, Kind] = {name: kind_of(name) for name in spec.leading}
    always.update(dict.fromkeys(spec.figures, "figure"))
    others = {name: kind_of(name) for name in present if name not in always}
    always.update({name: "integer" for name in spec.figures if name.startswith("levels_")})
    return [*{**always, **others}.items()]


def read_archive(*paths: Any) -> Table:
    """Archive files as a table, figures as numbers: `read_archive(path).to_polars()`. Parquet files only."""
    chunks: list[Chunk] = []
    for path in paths:
        with open(path, "rb") as file:
            chunks.append(file.read())
    return Table(_SPECS["file"], chunks)


def missing(package: str, extra: str) -> MissingExtra:
    return MissingExtra(package, extra)


def wide_frame(frame: pandas.DataFrame, figure: str) -> pandas.DataFrame:
    """One figure: a row for each instant, a column for each listing."""
    if "layer" in frame.columns:
        layers = [layer for layer, members in MEMBERS.items() if figure in members]
        frame = frame[frame["layer"].isin(layers)]
    if figure not in frame.columns:
        raise KeyError(f"{figure} is not a figure of these rows: they have {', '.join(map(str, frame.columns))}")
    names = frame["venue"].astype(str) + ":" + frame["venue_symbol"].astype(str)
    return frame.assign(listing=names).pivot(columns="listing", values=figure)
