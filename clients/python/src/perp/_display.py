"""How answers look in a notebook: one table, each reading with its status in colour and its age. No figure where there is none."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Mapping, Sequence

SHOWN_ROWS = 30
COLOURS: Mapping[str, str] = {
    "present": "#1a7f37",
    "stale": "#9a6700",
    "missing": "#cf222e",
    "not_published": "#6e7781",
    "off": "#6e7781",
    "live": "#1a7f37",
    "true": "#1a7f37",
    "unknown": "#9a6700",
    "degraded": "#9a6700",
    "down": "#cf222e",
}


def age_text(age_ms: Any) -> str:
    """`120 ms`, `4.2 s`, `3 m`, `2 h`, `5 d`."""
    if not isinstance(age_ms, (int, float)):
        return "-"
    for limit, length, unit in ((1_000, 1, "ms"), (60_000, 1_000, "s"), (3_600_000, 60_000, "m"), (86_400_000, 3_600_000, "h")):
        if abs(age_ms) < limit:
            amount = age_ms / length
            return f"{amount:.1f} {unit}" if unit == "s" else f"{amount:.0f} {unit}"
    return f"{age_ms / 86_400_000:.0f} d"


def figure_text(value: Any) -> str:
    """A float as few digits as it has, without an exponent."""
    if isinstance(value, float):
        text = f"{value:.18f}".rstrip("0").rstrip(".") if abs(value) < 1e-4 else repr(value)
        return text if text not in ("-0", "") else "0"
    return "-" if value is None else str(value)


def summary_of(document: Mapping[str, Any]) -> str:
    """What `print` shows: how many, and as of when."""
    counted = next((name for name in ("items", "instruments", "rules", "partitions") if isinstance(document.get(name), list)), None)
    words = [] if counted is None else [f"{len(document[counted])} {counted}"]
    words += [f"{name} {document[name]}" for name in ("day", "evaluated_at") if name in document]
    if "settled" in document:
        words.append("settled" if document["settled"] else "not settled yet")
    return ", ".join(words)


def answer_html(name: str, document: Mapping[str, Any]) -> str:
    header, rows = _PICTURES.get(name, _members)(document)
    return _table_html(header, rows, summary_of(document))


def lazy_html(what: str) -> str:
    return f"<div>{escape(what)}: nothing is asked yet. Iterate it, or call <code>to_pandas()</code>.</div>"


def status_html(status: str, reason: str | None) -> str:
    words = status if reason is None else f"{status}: {reason}"
    return f'<span style="color:{COLOURS.get(status, "inherit")};font-weight:600">{escape(words)}</span>'


def _table_html(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    every = list(rows)
    heads = "".join(f'<th style="text-align:left">{escape(head)}</th>' for head in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in every[:SHOWN_ROWS])
    more = f" · {len(every) - SHOWN_ROWS} more rows" if len(every) > SHOWN_ROWS else ""
    return f"<table><caption>{escape(caption)}{more}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


Picture = tuple[Sequence[str], Iterable[Sequence[str]]]


def _members(document: Mapping[str, Any]) -> Picture:
    return ("member", "value"), ((escape(name), escape(str(value))) for name, value in document.items())


def _figures(values: Mapping[str, Any], units: Mapping[str, str]) -> str:
    told = (f"{escape(name)} <b>{escape(figure_text(value))}</b> <small>{escape(units.get(name, ''))}</small>" for name, value in values.items())
    return " · ".join(told)


def _snapshots(document: Mapping[str, Any]) -> Picture:
    def rows() -> Iterable[Sequence[str]]:
        for item in document["items"]:
            for layer, state in item["layers"].items():
                cause = state.get("gap_cause") or state.get("reason")
                status = status_html(state["status"], cause)
                figures = _figures(state["values"], state.get("units", {}))
                yield escape(item["venue"]), escape(item["venue_symbol"]), escape(layer), status, age_text(state["age_ms"]), figures

    return ("venue", "symbol", "layer", "status", "age", "values"), rows()


def _books(document: Mapping[str, Any]) -> Picture:
    def rows() -> Iterable[Sequence[str]]:
        for item in document["items"]:
            best = [" × ".join(map(escape, map(str, item[side][0]))) if item[side] else "-" for side in ("bids", "asks")]
            status = status_html(item["status"], item.get("gap_cause") or item.get("reason"))
            yield escape(item["venue"]), escape(item["venue_symbol"]), status, age_text(item["age_ms"]), *best

    return ("venue", "symbol", "status", "age", "best bid", "best ask"), rows()


def _venues(document: Mapping[str, Any]) -> Picture:
    def rows() -> Iterable[Sequence[str]]:
        for item in document["items"]:
            counted = f"{item['listings_collected']} of {item['listings']}"
            yield escape(item["venue"]), escape(item["name"]), status_html(item["state"], None), counted

    return ("venue", "name", "state", "listings"), rows()


def _screen(document: Mapping[str, Any]) -> Picture:
    def rows() -> Iterable[Sequence[str]]:
        for found in document["instruments"]:
            for listing in found["venues"]:
                told = {**found["values"], **listing["values"]}
                figures = " · ".join(f"{escape(name)} {_value_html(value)}" for name, value in told.items())
                yield escape(found["instrument"]), escape(found["result"]), escape(listing["venue"]), escape(listing["symbol"]), figures

    return ("instrument", "result", "venue", "symbol", "values"), rows()


def _value_html(value: Mapping[str, Any]) -> str:
    if value.get("value") is None:
        return status_html(str(value.get("status", "missing")), value.get("reason"))
    return f"<b>{escape(figure_text(value['value']))}</b> <small>{age_text(value['age_ms']) if 'age_ms' in value else ''}</small>"


def _rules(document: Mapping[str, Any]) -> Picture:
    def rows() -> Iterable[Sequence[str]]:
        for rule in document["rules"]:
            state = status_html(rule["state"], rule["reason"])
            yield escape(rule["name"]), state, escape(str(rule["previous_state"] or "-")), escape(rule["since"]), str(rule["matched_total"])

    return ("rule", "state", "before", "since", "instruments"), rows()


_PICTURES = {"snapshots": _snapshots, "books": _books, "venues": _venues, "screen": _screen, "agent_state": _rules}
