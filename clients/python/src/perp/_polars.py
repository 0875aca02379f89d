"""Tables for polars, which reads Parquet itself."""

from __future__ import annotations

import io
from typing import Any, Sequence

from ._tables import Chunk, Kind, TableSpec, column_name, columns_of, in_order, missing

try:
    import polars
except ImportError:
    raise missing("polars", "polars") from None

INSTANT = polars.Datetime("us", "UTC")
_RAW: dict[Kind, Any] = {
    "text": polars.String,
    "figure": polars.String,
    "instant": INSTANT,
    "integer": polars.Int64,
    "flag": polars.Boolean,
}
LONGEST = 38


def polars_frame(spec: TableSpec, chunks: Sequence[Chunk], *, exact: bool) -> polars.DataFrame:
    """All chunks as one frame."""
    raws = [_raw_frame(chunk) for chunk in chunks]
    kinds = {name: kind for _, own in raws for name, kind in own.items()}
    wanted = [(name, kinds.get(name, kind)) for name, kind in in_order(spec, kinds)]
    empty = polars.DataFrame(schema={name: _RAW[kind] for name, kind in wanted})
    whole = polars.concat([empty, *(_cast(frame, kinds) for frame, _ in raws)], how="diagonal")
    figures = [name for name, kind in wanted if kind == "figure"]
    return whole.with_columns(_figures(whole, figures, exact=exact))


def _raw_frame(chunk: Chunk) -> tuple[polars.DataFrame, dict[str, Kind]]:
    if isinstance(chunk, bytes):
        frame = polars.read_parquet(io.BytesIO(chunk))
        frame = frame.rename({name: column_name(name) for name in frame.columns})
        kinds = dict(in_order(TableSpec(()), frame.columns))
        return frame, {name: _kind_in_file(frame.schema[name], kind) for name, kind in kinds.items()}
    made = columns_of(chunk)
    series = [polars.Series(name, cells, dtype=_RAW[kind]) for name, (kind, cells) in made.items()]
    return polars.DataFrame(series), {name: kind for name, (kind, _) in made.items()}


def _kind_in_file(stored: Any, kind: Kind) -> Kind:
    if stored.is_temporal():
        return "instant"
    if stored.is_integer():
        return "integer"
    if stored == polars.Boolean:
        return "flag"
    return "figure" if kind in ("figure", "integer") else "text"


def _cast(frame: polars.DataFrame, kinds: dict[str, Kind]) -> polars.DataFrame:
    return frame.with_columns(
        polars.col(name).cast(_RAW[kinds[name]]) for name in frame.columns if frame.schema[name] != _RAW[kinds[name]]
    )


def _figures(frame: polars.DataFrame, names: Sequence[str], *, exact: bool) -> list[polars.Expr]:
    """Texts of figures as the nearest doubles, or as decimals of just the digits that are there."""
    if not exact:
        return [polars.col(name).cast(polars.Float64) for name in names]
    sizes = {name: _digits_of(frame[name]) for name in names}
    # What has more digits than a decimal of polars stays text: nothing is rounded unasked.
    return [polars.col(name).str.to_decimal(scale=scale) for name, (whole, scale) in sizes.items() if whole + scale <= LONGEST]


def _digits_of(column: polars.Series) -> tuple[int, int]:
    """The most digits before and behind the point."""
    parts = column.drop_nulls().str.split_exact(".", 1).struct.unnest()
    whole, scale = (int(parts[field].str.len_chars().max() or 0) for field in parts.columns)
    return whole, scale
