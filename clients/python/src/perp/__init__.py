"""Perpetual-futures market data with the age, the source and the validity of each number.

    import perp

    client = perp.Client()
    client.snapshots("base = BTC", layers=["mark", "funding"])
"""

from __future__ import annotations

__version__ = "0.1.0"

from . import dql, types
from ._answers import (
    Account,
    AgentState,
    AnchorDay,
    Answer,
    Books,
    CandlesPage,
    Catalogue,
    Check,
    HistoryPage,
    LiquidationsPage,
    Proof,
    Receipt,
    ScreenPage,
    Snapshots,
    Venues,
)
from ._async.archive import AsyncArchive
from ._async.client import AsyncClient
from ._async.follow import AsyncFollow, AsyncLive
from ._async.results import AsyncCandles, AsyncHistory, AsyncInstruments, AsyncLiquidations, AsyncScreen
from ._errors import (
    AnchorChanged,
    ApiError,
    AuthError,
    ConnectionFailed,
    LimitError,
    Mismatch,
    MissingExtra,
    NotFound,
    PaymentRequired,
    PerpError,
    PlanError,
    QueryError,
    RateLimited,
    RequestError,
    StreamEnded,
    Unavailable,
)
from ._instants import parse_instant
from ._payment import Payer, x402_payer
from ._rows import CandleRow, LiquidationRow, ReadingRow
from ._sync.archive import Archive
from ._sync.client import Client
from ._sync.follow import Follow, Live
from ._sync.results import Candles, History, Instruments, Liquidations, Screen
from ._tables import Table, read_archive
from ._verify_run import Verification, verify_files
from .dql import where

__all__ = [
    "Account",
    "AgentState",
    "AnchorChanged",
    "AnchorDay",
    "Answer",
    "ApiError",
    "Archive",
    "AsyncArchive",
    "AsyncCandles",
    "AsyncClient",
    "AsyncFollow",
    "AsyncHistory",
    "AsyncInstruments",
    "AsyncLiquidations",
    "AsyncLive",
    "AsyncScreen",
    "AuthError",
    "Books",
    "CandleRow",
    "Candles",
    "CandlesPage",
    "Catalogue",
    "Check",
    "Client",
    "ConnectionFailed",
    "dql",
    "Follow",
    "History",
    "HistoryPage",
    "Instruments",
    "LimitError",
    "LiquidationRow",
    "Liquidations",
    "LiquidationsPage",
    "Live",
    "Mismatch",
    "MissingExtra",
    "NotFound",
    "parse_instant",
    "Payer",
    "PaymentRequired",
    "PerpError",
    "PlanError",
    "Proof",
    "QueryError",
    "RateLimited",
    "read_archive",
    "ReadingRow",
    "Receipt",
    "RequestError",
    "Screen",
    "ScreenPage",
    "Snapshots",
    "StreamEnded",
    "Table",
    "types",
    "Unavailable",
    "Venues",
    "Verification",
    "verify_files",
    "where",
    "x402_payer",
]
