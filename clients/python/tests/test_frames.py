"""Frames against the JSON, digit for digit: every endpoint that has a table, every unit mode, three kinds of frames."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, Callable

import httpx2
import pandas
import polars
import pyarrow
import pytest

import perp
from perp._instants import to_micros
from perp._layers import MEMBERS
from tests.conftest import BTC, DAY, END, START

LONG = {"freshness": "604800s"}
HISTORY = {"interval": "1m", "from": START, "to": END}
CANDLES = {"timeframe": "1m", "from": START, "to": f"{DAY}T01:00:00Z"}
WINDOW = {"from": START, "to": f"{DAY}T06:00:00Z"}
UNITS = ("published", "base", "quote")
Make = Callable[[perp.Client, str], Any]

CASES: dict[str, tuple[str, dict[str, Any], Make]] = {
    "snapshots": ("/v2/snapshots", {**LONG, "allow_stale": True}, lambda c, u: c.snapshots(units=u, freshness="604800s", allow_stale=True)),
    "history": ("/v2/snapshots/history", HISTORY, lambda c, u: c.history(interval="1m", start=START, end=END, units=u)),
    "history at": (
        "/v2/snapshots/history",
        {"at": [START, END], "allow_stale": True},
        lambda c, u: c.history(at=[START, END], units=u, allow_stale=True),
    ),
    "history raw": ("/v2/snapshots/history", {"raw": True, "from": START, "to": END}, lambda c, u: c.history(raw=True, start=START, end=END, units=u)),
    "candles": ("/v2/candles", CANDLES, lambda c, u: c.candles(timeframe="1m", start=START, end=f"{DAY}T01:00:00Z", units=u)),
    "candles of marks": (
        "/v2/candles",
        {**CANDLES, "price_type": "mark", "timeframe": "5m"},
        lambda c, u: c.candles(timeframe="5m", price_type="mark", start=START, end=f"{DAY}T01:00:00Z", units=u),
    ),
    "liquidations": ("/v2/liquidations", WINDOW, lambda c, u: c.liquidations(start=START, end=f"{DAY}T06:00:00Z", units=u)),
    "books": ("/v2/books", {}, lambda c, u: c.books(units=u)),
    "screen": ("/v2/screen", {"query": "any(venues where mark > 0) select mark, oi, bid_size"}, lambda c, u: c.screen("any(venues where mark > 0) select mark, oi, bid_size", units=u)),
}


def ask(base_url: str, key: str, path: str, body: dict[str, Any]) -> Any:
    """The answer with every figure as the text of its digits."""
    sent = httpx2.post(base_url + path, json={**body, "number_format": "string"}, headers={"authorization": f"Bearer {key}"}, timeout=60)
    assert sent.status_code == 200, sent.text
    return json.loads(sent.text)


def flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, value in row.items():
        cells.update(flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value})
    return cells


def expected_rows(case: str, document: Any) -> list[dict[str, Any]]:
    """Cells of the table by the names of their columns, written here again and plainly."""
    rows: list[dict[str, Any]] = []
    for item in document.get("items", []):
        own = {name: item[name] for name in ("venue", "venue_symbol", "instrument", "quote")}
        if case == "snapshots":
            rows += [{**own, "layer": layer, **flat(state)} for layer, state in item["layers"].items()]
        elif case.startswith("history"):
            for layer, held in item["layers"].items():
                shared = {**own, "layer": layer, **flat({name: held[name] for name in held if name != "rows"})}
                rows += [{**shared, **flat(row)} for row in held["rows"]]
        elif case.startswith("candles"):
            rows += [{**flat({name: item[name] for name in item if name != "rows"}), **flat(row)} for row in item["rows"]]
        elif case == "liquidations":
            shared = flat({name: item[name] for name in item if name not in ("rows", "gaps")})
            rows += [{**shared, "status": "present", **flat(row)} for row in item["rows"]]
            rows += [{**own, "status": "missing", "reason": "gap", "received_at": gap["from"], "gap_to": gap["to"], "gap_cause": gap["gap_cause"]} for gap in item["gaps"]]
        elif case == "books":
            levels = [(side[:-1], n, *level) for side in ("bids", "asks") for n, level in enumerate(item[side], 1)]
            head = {**own, "status": item["status"], **({"reason": item["reason"]} if "reason" in item else {})}
            rows += [{**head, "side": s, "level": n, "price": price, "size": size} for s, n, price, size in levels] or [head]
    for found in document.get("instruments", []):
        for listing in found["venues"]:
            values = {name: value["value"] for name, value in listing["values"].items()}
            rows.append({"instrument": found["instrument"], "venue": listing["venue"], "symbol": listing["symbol"], **values})
    return [{short(name): cell for name, cell in row.items() if cell is not None} for row in rows]


def short(name: str) -> str:
    return name.replace("withheld.values.", "withheld.").removeprefix("values.").removeprefix("instants.")


def as_digits(cell: Any) -> Any:
    """A cell of a frame as in the JSON; None for what is absent."""
    if cell is None or cell is pandas.NA or cell is pandas.NaT or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return cell


def is_same(cell: Any, told: Any) -> bool:
    if isinstance(told, bool):
        return bool(cell) is told
    if isinstance(told, (list, dict)):
        return bool(json.loads(cell) == told)
    if hasattr(cell, "isoformat"):
        return to_micros(cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell) == to_micros(told)
    if isinstance(cell, Decimal):
        return cell == Decimal(told)
    if isinstance(cell, float):
        return cell == float(told)
    return str(cell) == str(told)


IDENTITY = ["venue", "venue_symbol", "symbol", "layer", "at", "open_time", "received_at", "id", "side", "level", "gap_to", "late"]


def compare(found: list[dict[str, Any]], expected: list[dict[str, Any]], what: str) -> None:
    cells = [{name: cell for name, cell in row.items() if as_digits(cell) is not None} for row in found]
    key = lambda row: repr([identity_text(row.get(name)) for name in IDENTITY])  # noqa: E731
    assert len(cells) == len(expected), what
    for row, told in zip(sorted(cells, key=key), sorted(expected, key=key)):
        missing = [name for name in told if name not in row]
        assert not missing, f"{what}: {missing} of {told} is not in {row}"
        wrong = [(name, row[name], told[name]) for name in told if not is_same(row[name], told[name])]
        assert not wrong, f"{what}: {wrong}"


def identity_text(cell: Any) -> str:
    if cell is None:
        return ""
    if hasattr(cell, "isoformat"):
        return str(to_micros(cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell))
    text = str(cell)
    return str(to_micros(text)) if len(text) >= 24 and text.endswith("Z") else text


def pandas_rows(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    return [dict(row) for row in (frame.reset_index() if frame.index.name else frame).to_dict("records")]


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("case", list(CASES))
def test_every_digit(case: str, units: str, base_url: str, key: str, client: perp.Client) -> None:
    path, body, make = CASES[case]
    expected = expected_rows(case, ask(base_url, key, path, {**body, "units": units}))
    assert expected, "the question has an answer"
    answer = make(client, units)
    for exact in (True, False) if units == "published" else (True,):
        words = f"{case}, {units}, exact {exact}"
        arrow = answer.to_arrow(exact=exact)
        assert isinstance(arrow, pyarrow.Table)
        compare(arrow.to_pylist(), expected, f"arrow, {words}")
        compare(pandas_rows(answer.to_pandas(exact=exact)), expected, f"pandas, {words}")
        frame = answer.to_polars(exact=exact)
        assert isinstance(frame, polars.DataFrame)
        compare(frame.to_dicts(), expected, f"polars, {words}")


def test_the_exact_document_has_the_digits(base_url: str, key: str, client: perp.Client) -> None:
    told = ask(base_url, key, "/v2/snapshots", LONG)
    answer = client.snapshots(freshness="604800s")
    digits = [figure for item in told["items"] for state in item["layers"].values() for figure in state["values"].values()]
    exact = [figure for item in answer.exact["items"] for state in item["layers"].values() for figure in state["values"].values()]
    assert [None if one is None else Decimal(one) for one in digits] == [None if one is None else Decimal(one) for one in exact]
    assert any(len(digit or "") > 20 for digit in digits), "some have more digits than a double"
    assert all(isinstance(one, (float, int)) for item in answer for state in item["layers"].values() for one in state["values"].values())


def test_index_and_types(client: perp.Client) -> None:
    frame = client.history(BTC, layers=["mark", "funding"], interval="1m", start=START, end=END).to_pandas()
    assert str(frame.index.dtype) == "datetime64[us, UTC]" and frame.index.name == "at"
    assert {str(frame[name].dtype) for name in ("mark", "index", "funding_8h")} == {"float64"}
    assert str(frame["age_ms"].dtype) == "Int64"
    assert str(frame["next_funding_at"].dtype) == "datetime64[us, UTC]"
    wide = client.history(BTC, layers=["mark"], interval="1m", start=START, end=END).wide("mark")
    assert list(wide.columns) == ["binance:BTCUSDT", "okx:BTC-USDT-SWAP"] and len(wide) == 30


def test_columns_do_not_depend_on_what_was_heard(client: perp.Client) -> None:
    silent = client.history("symbol = \"XRP-QUANTO\"", layers=["mark", "book"], interval="1m", start=START, end=END)
    for frame in (silent.to_pandas(), silent.to_polars(), silent.to_arrow().to_pandas()):
        assert {"status", "reason", "gap_cause", *MEMBERS["mark"], *MEMBERS["book"]} <= set(frame.columns)
    assert silent.to_pandas()["mark"].isna().all()
    empty = client.liquidations("base = XRP", start=START, end=END)
    assert {"price", "quantity", "value"} <= set(empty.to_polars().columns)


def test_members_are_those_of_the_service(client: perp.Client) -> None:
    answer = client.snapshots(BTC, freshness="604800s")
    told = {layer: set(state["values"]) for item in answer for layer, state in item["layers"].items() if state["values"]}
    assert told == {layer: set(members) for layer, members in MEMBERS.items() if layer in told}
    assert len(told) == len(MEMBERS)


def test_reference_tables(client: perp.Client) -> None:
    listings = client.instruments()
    assert listings.to_pandas(exact=True)["tick_size"].tolist() == [Decimal("0.1")] * 5
    assert [row["venue_symbol"] for row in listings] == listings.to_polars()["venue_symbol"].to_list()
    assert client.venues().to_pandas()["state"].tolist() == ["live", "live"]
    paged = client.instruments(limit=2)
    assert [len(page) for page in paged.pages()] == [2, 2, 1]
