"""Bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
from typing import Any, Protocol


class Bar(Protocol):
    def update(self, n: int) -> Any: ...

    def close(self) -> Any: ...


class _Silent:
    def update(self, n: int) -> None:
        return None

    def close(self) -> None:
        return None


def open_bar(total: int, what: str, *, unit: str, wanted: bool | None) -> Bar:
    """`wanted` None: only when stderr is a terminal and tqdm is there."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return _Silent()
    try:
        from tqdm import tqdm
    except ImportError:
        if wanted:
            from ._errors import MissingExtra

            raise MissingExtra("tqdm", "progress") from None
        return _Silent()
    bar: Bar = tqdm(total=total, desc=what, unit=unit, unit_scale=unit == "B", leave=False)
    return bar
