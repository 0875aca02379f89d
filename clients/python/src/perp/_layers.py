"""Figures of each layer, as the interface names them. A test compares them with the answers of the service."""

from __future__ import annotations

from typing import Mapping

BANDS = ("10bps", "25bps", "50bps", "100bps")
_PER_BAND = ("depth_bid", "depth_ask", "depth_bid_value", "depth_ask_value", "levels_bid", "levels_ask")
_DEPTH = ("mid", *(f"{figure}_{band}" for band in BANDS for figure in _PER_BAND))

MEMBERS: Mapping[str, tuple[str, ...]] = {
    "ticker": ("last",),
    "mark": ("mark", "index", "basis"),
    "funding": ("funding", "funding_8h", "funding_interval"),
    "oi": ("oi",),
    "book": ("bid", "ask", "mid", "bid_size", "ask_size", "spread"),
    "stats": ("volume_24h", "turnover_24h", "change_24h"),
    "venue_depth": _DEPTH,
}
ALIASES: Mapping[str, str] = {"open_interest": "oi", "book_bands": "venue_depth"}
CANDLE_FIGURES = ("open", "high", "low", "close", "volume", "turnover")
RULES = ("contract_size", "multiplier", "tick_size", "lot_size", "min_qty", "min_notional")
FIGURES = frozenset(
    {member for members in MEMBERS.values() for member in members if not member.startswith("levels_")}
    | {*CANDLE_FIGURES, *RULES, "price", "quantity", "value", "size", "price_usdc"}
)
