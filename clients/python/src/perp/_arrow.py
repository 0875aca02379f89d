"""Tables for pyarrow and pandas."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Sequence

from ._tables import Chunk, Kind, TableSpec, column_name, columns_of, in_order, missing

try:
    import pyarrow
    import pyarrow.compute as compute
    import pyarrow.parquet
except ImportError:
    raise missing("pyarrow", "pandas") from None

if TYPE_CHECKING:
    import pandas

INSTANT = pyarrow.timestamp("us", tz="UTC")
_RAW = {
    "text": pyarrow.string(),
    "figure": pyarrow.string(),
    "instant": INSTANT,
    "integer": pyarrow.int64(),
    "flag": pyarrow.bool_(),
}
# Digits that the two kinds of decimals hold.
SHORT, LONG = 38, 76


def arrow_table(spec: TableSpec, chunks: Sequence[Chunk], *, exact: bool) -> Any:
    """All chunks as one table."""
    raws = [_raw_table(chunk) for chunk in chunks]
    kinds = {name: kind for _, own in raws for name, kind in own.items()}
    wanted = [(name, kinds.get(name, kind)) for name, kind in in_order(spec, kinds)]
    columns = [pyarrow.chunked_array(_pieces(raws, name, kind), type=_RAW[kind]) for name, kind in wanted]
    done = [_figures(column, exact=exact) if kind == "figure" else column for column, (_, kind) in zip(columns, wanted)]
    return pyarrow.Table.from_arrays(done, names=[name for name, _ in wanted])


def _raw_table(chunk: Chunk) -> tuple[Any, dict[str, Kind]]:
    """Columns of a chunk by their short names, and what they hold."""
    if isinstance(chunk, bytes):
        read = pyarrow.parquet.read_table(io.BytesIO(chunk))
        table = read.rename_columns([column_name(name) for name in read.column_names])
        kinds = dict(in_order(TableSpec(()), table.column_names))
        return table, {name: _kind_in_file(table.schema.field(name).type, kind) for name, kind in kinds.items()}
    made = columns_of(chunk)
    arrays = [pyarrow.array(cells, type=_RAW[kind]) for kind, cells in made.values()]
    return pyarrow.Table.from_arrays(arrays, names=list(made)), {name: kind for name, (kind, _) in made.items()}


def _kind_in_file(stored: Any, kind: Kind) -> Kind:
    """A file itself marks instants, counts and flags; texts are figures by their names."""
    if pyarrow.types.is_timestamp(stored):
        return "instant"
    if pyarrow.types.is_integer(stored):
        return "integer"
    if pyarrow.types.is_boolean(stored):
        return "flag"
    return "figure" if kind in ("figure", "integer") else "text"


def _pieces(raws: Sequence[tuple[Any, dict[str, Kind]]], name: str, kind: Kind) -> list[Any]:
    """The column in every chunk; nulls where a chunk has none."""
    pieces: list[Any] = []
    for table, _ in raws:
        if name in table.column_names:
            column = table.column(name)
            column = column if column.type == _RAW[kind] else column.cast(_RAW[kind])
            pieces.extend(column.chunks)
        else:
            pieces.append(pyarrow.nulls(table.num_rows, _RAW[kind]))
    return pieces


def _figures(column: Any, *, exact: bool) -> Any:
    """Texts of figures as the nearest doubles, or as decimals of just the digits that are there."""
    return column.cast(decimal_type(column) if exact else pyarrow.float64())


def decimal_type(column: Any) -> Any:
    """The smallest that holds every digit; what has more than any decimal stays text."""
    point = compute.find_substring(column, ".")
    length = compute.utf8_length(column)
    has_point = compute.greater_equal(point, 0)
    whole = compute.max(compute.if_else(has_point, point, length)).as_py() or 1
    scale = compute.max(compute.if_else(has_point, compute.subtract(length, compute.add(point, 1)), 0)).as_py() or 0
    if whole + scale > LONG:
        return pyarrow.string()
    return pyarrow.decimal128(max(whole + scale, 1), scale) if whole + scale <= SHORT else pyarrow.decimal256(whole + scale, scale)


def pandas_frame(table: Any, index: str | None) -> pandas.DataFrame:
    """Floats with NaN, whole numbers as Int64, decimals as Arrow holds them, instants in UTC to the microsecond."""
    try:
        import pandas
    except ImportError:
        raise missing("pandas", "pandas") from None
    arrow = pandas.ArrowDtype
    mapping = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.bool_(): pandas.BooleanDtype()}

    def dtype_of(stored: Any) -> Any:
        return arrow(stored) if pyarrow.types.is_decimal(stored) else mapping.get(stored)

    frame = table.to_pandas(types_mapper=dtype_of)
    return frame if index is None else frame.set_index(index)
