"""Answers, pages and windows: what is requested, in how many pieces, and that the pieces are one whole."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable

import pandas
import pytest

import perp
from perp import dql
from perp._asked import Window
from perp._tables import rows_of_document
from tests.conftest import BTC, DAY, END, START
from tests.fake import FakeServer


def test_rows_in_order_with_their_listing(client: perp.Client) -> None:
    rows = list(client.history(BTC, layers=["mark", "funding"], interval="1m", start=START, end=END))
    assert len(rows) == 2 * 2 * 30
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert {row["source"] for row in rows} == {"history"} and rows[0]["units"]["mark" if rows[0]["layer"] == "mark" else "funding"]
    candles = list(client.candles(BTC, timeframe="1m", start=START, end=END))
    assert {row["venue_symbol"] for row in candles} == {"BTCUSDT", "BTC-USDT-SWAP"} and len(candles) == 60


def test_a_window_in_pieces_is_the_window(client: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(client.history(BTC, layers=["mark"], interval="10s", start=f"{DAY}T00:00:07Z", end=END))
    monkeypatch.setattr("perp._sync.client.HISTORY_ROWS", 13)
    monkeypatch.setattr("perp._sync.client.CANDLES", 7)
    history = client.history(BTC, layers=["mark"], interval="10s", start=f"{DAY}T00:00:07Z", end=END)
    assert len(list(history.pages())) > 10
    assert list(history) == whole
    frame = history.to_polars()
    assert frame["at"].len() == len(whole) and frame.select("venue", "at").n_unique() == len(whole)
    candles = client.candles(BTC, timeframe="1m", start=f"{DAY}T00:00:30Z", end=END)
    assert [row["open_time"] for row in candles if row["venue"] == "okx"] == [f"{DAY}T00:{minute:02}:00.000Z" for minute in range(1, 30)]


def test_the_service_says_what_fits(client: perp.Client, server: FakeServer, fake: perp.Client) -> None:
    answer = client.history(BTC, layers=["mark"], interval="1m", start=START, end=END).first_page()
    server.then_refuse(400, "DQL_LIMIT", hint="A window of about 600s fits; or name fewer listings or layers.")
    body = {**answer.data, "items": [], "items_sha256": hashlib.sha256(b"[]").hexdigest()}
    for end in (f"{DAY}T00:10:00.000Z", f"{DAY}T00:20:00.000Z", f"{DAY}T00:30:00.000Z"):
        server.then_json(200, {**{name: body[name] for name in body if name != "items"}, "to": end, "items": []})
    assert list(fake.history(BTC, interval="1m", start=START, end=END)) == []
    asked = [json.loads(body) for _, _, _, body in server.seen]
    assert [(one["from"][11:19], one["to"][11:19]) for one in asked] == [
        ("00:00:00", "00:30:00"),
        ("00:00:00", "00:10:00"),
        ("00:10:00", "00:20:00"),
        ("00:20:00", "00:30:00"),
    ]


def test_a_limit_that_no_window_mends_is_told(server: FakeServer, fake: perp.Client) -> None:
    server.then_refuse(400, "DQL_LIMIT", message="The selection has 700 listings, the limit is 100.", hint="Narrow where.")
    with pytest.raises(perp.LimitError, match="700 listings"):
        list(fake.history(interval="1m", start=START, end=END))
    assert len(server.seen) == 1


def test_altered_items_are_refused(client: perp.Client, server: FakeServer, fake: perp.Client) -> None:
    page = client.history(BTC, layers=["mark"], interval="1m", start=START, end=END).first_page()
    page.check_hash()
    altered = page.content.replace(b'"binance"', b'"bybit"', 1)
    server.then(lambda handler: handler.send(200, altered, {"content-type": "application/json"}))
    with pytest.raises(perp.Mismatch):
        list(fake.history(BTC, interval="1m", start=START, end=END))
    liquidations = client.liquidations(BTC, start=START, end=END).first_page()
    liquidations.check_hash()


def test_liquidations_in_pages(client: perp.Client) -> None:
    window = {"start": START, "end": f"{DAY}T06:00:00Z"}
    paged = client.liquidations(BTC, **window, limit=9)  # type: ignore[arg-type]
    assert len(list(paged.pages())) > 3
    ids = [(row["venue"], row["id"]) for row in paged]
    assert len(ids) == len(set(ids))
    assert set(ids) == {(row["venue"], row["id"]) for row in client.liquidations(BTC, **window)}  # type: ignore[arg-type]


def test_windows_of_time(now: int, client: perp.Client) -> None:
    hour = client.history(BTC, layers=["mark"], interval="1m", last="1h").to_pandas()
    assert len(hour) == 2 * 60 and hour["status"].eq("missing").sum() == 2 * 10
    same = client.history(BTC, layers=["mark"], interval="1m", last=timedelta(hours=1))
    assert len(list(same)) == 120
    beyond = client.history(BTC, layers=["mark"], interval="1m", start="2026-01-18T11:30:00Z", end="2026-01-20")
    assert len(list(beyond)) == 2 * 30, "the service's clock ends the window"
    with pytest.raises(ValueError, match="time zone"):
        client.candles(BTC, timeframe="1m", start=datetime(2026, 1, 10))
    with pytest.raises(ValueError, match="start=.*or last="):
        client.candles(BTC, timeframe="1m")
    with pytest.raises(ValueError, match="empty"):
        client.candles(BTC, timeframe="1m", start=END, end=START)
    with pytest.raises(ValueError, match="one of interval="):
        client.history(BTC, interval="1m", at=START)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="is a list"):
        client.snapshots(layers="mark")  # type: ignore[arg-type]
    moment = client.history(BTC, layers=["mark"], at=[datetime(2026, 1, 10, 0, 1, tzinfo=timezone.utc), END])
    assert [row["at"] for row in moment][::2] == [f"{DAY}T00:01:00.000Z", f"{DAY}T00:30:00.000Z"]


def test_the_figures_of_requested_layers_are_columns_of_snapshots_without_a_reading(server: FakeServer, fake: perp.Client) -> None:
    server.then_json(200, {"evaluated_at": START, "items": [], "missing": []})
    answer = fake.snapshots(BTC, layers=["mark", "funding"])
    for columns in (answer.to_pandas().columns, answer.to_polars().columns, answer.to_arrow().column_names):
        assert {"status", "mark", "index", "funding", "funding_8h"} <= set(columns)
    assert answer.to_pandas()["mark"].dtype == "float64"


def test_instants_of_every_kind(fake: perp.Client) -> None:
    """Those of a frame are instants like others; what is none is refused before anything is sent."""
    index = pandas.date_range("2026-01-10", periods=2, freq="min", tz="Europe/Berlin")
    expected = ["2026-01-09T23:00:00.000000Z", "2026-01-09T23:01:00.000000Z"]
    for at in (index, index.to_series(), tuple(index), (one.to_pydatetime() for one in index)):
        assert fake.history(BTC, at=at)._body["at"] == expected
    assert fake.history(BTC, at=index[0])._body["at"] == expected[:1]
    nanos = pandas.Timestamp("2026-01-10T00:00:00.123456789Z")
    assert fake.history(BTC, at=nanos)._body["at"] == ["2026-01-10T00:00:00.123456Z"]
    wrong: list[Any] = [1_768_000_000, nanos.to_numpy(), pandas.NaT, "2026-01-10T00:00:00", "2026-01-10 00:00", "soon"]
    for start in wrong:
        with pytest.raises(ValueError):
            fake.history(BTC, interval="1m", start=start, end="2026-01-11")
    for at in ([1_768_000_000], index.tz_localize(None), [None]):
        with pytest.raises(ValueError):
            fake.history(BTC, at=at)


@pytest.mark.parametrize(
    "hint, seconds",
    [
        ("The largest window that fits is 600s: send to 2026-01-10T00:10:00.000Z.", 600),
        ("A window of about 600s fits: send to 2026-01-10T00:10:00.000Z, or narrow where or layers.", 600),
        ("One answer reaches to 2026-01-10T00:10:00.000Z (600s): continue from there.", 600),
        ("One answer reaches to about 2026-01-10T00:10:00.000Z (600s): continue from there, or narrow where or layers.", 600),
        ("Late rows are among them: ask for half of the window.", 1_800),
        ("Narrow where or layers: no window of this size fits.", None),
    ],
)
def test_a_refused_window_is_requested_as_its_hint_says(server: FakeServer, fake: perp.Client, hint: str, seconds: int | None) -> None:
    """The hints are those of `api/history` and `api/operations/candles.ts`."""
    begin = perp.parse_instant("2026-01-10T00:00:00Z")
    asked = fake.history(BTC, raw=True, start=begin, end=begin + timedelta(hours=1))
    server.then_refuse(400, "DQL_LIMIT", hint=hint)
    server.then_refuse(400, "DQL_LIMIT")
    with pytest.raises(perp.LimitError):
        list(asked.pages())
    bodies = [json.loads(body) for _, _, _, body in server.seen]
    ends = [(perp.parse_instant(body["to"]) - begin).total_seconds() for body in bodies]
    assert ends == ([3_600] if seconds is None else [3_600, seconds])


def test_parts_of_a_window_leave_nothing_between() -> None:
    window = Window(7, 100, 10, 2)
    ends, begin = [], window.begin
    while begin < window.end:
        begin = window.part_end(begin, window.longest)
        ends.append(begin)
    assert ends == [20, 40, 60, 80, 100]


def test_selections_are_the_same_everywhere(client: perp.Client) -> None:
    wheres: list[Any] = [BTC, {"base": "BTC", "quote": "USDT"}, dql.where(base="BTC", quote=["USDT"])]
    for ask in (client.snapshots, client.books, client.instruments):
        found = [[item["venue_symbol"] for item in ask(where)] for where in wheres]  # type: ignore[operator]
        assert found == [["BTCUSDT", "BTC-USDT-SWAP"]] * 3


def test_screens(client: perp.Client) -> None:
    query = dql.query(dql.any(dql.mark > 0), select=[dql.mark], order_by=[dql.desc(dql.max(dql.mark))])
    found = client.screen(query, freshness="604800s", limit=1)
    assert [page.data["query"]["string"] for page in found.pages()] == [str(query)] * 2
    assert [one["instrument"] for one in found] == ["BTC-PERP", "ETH-PERP"]
    frame = found.to_pandas()
    assert frame["mark"].notna().sum() == 4 and {"mark", "mark status"} <= set(frame.columns)
    assert set(frame["units.mark"]) == {"quote"}
    assert [one["result"] for one in client.screen({"dql": "1", "where": {"base": "XRP"}})] == ["true"]


def test_figures_of_screens_have_units() -> None:
    def listing(venue: str, unit: str) -> dict[str, Any]:
        values = {"oi": {"value": 12.5, "unit": unit, "status": "present"}, "status(oi)": {"value": "present", "unit": "code", "status": "present"}}
        return {"venue": venue, "symbol": "BTC", "quote": "USDT", "values": values}

    shared = {"max(venues, mark)": {"value": 100, "unit": "quote", "status": "present", "fn": "max", "from": []}}
    found = {"instrument": "BTC-PERP", "result": "true", "values": shared, "venues": [listing("binance", "base"), listing("okx", "contracts")]}
    rows = rows_of_document("screen", json.dumps({"instruments": [found]}).encode())
    assert [row["units.oi"] for row in rows] == ["base", "contracts"]
    assert [row["units.max(venues, mark)"] for row in rows] == ["quote", "quote"]
    assert "units.status(oi)" not in rows[0]


def test_past_screen(client: perp.Client) -> None:
    past = dql.query(dql.any(dql.mark > 0), as_of="2026-01-10T00:00:30Z")
    assert [one["instrument"] for one in client.screen(past)] == ["BTC-PERP"]


def test_account_and_catalogue(client: perp.Client) -> None:
    assert client.account()["plan"]["code"] == "pro_plus"
    assert client.catalogue().data["limits"]["endpoints"]["history_rows_per_layer"] == 2_000
    assert client.catalogue().data["limits"]["endpoints"]["candles_per_listing"] == 1_500
    assert str(client.snapshots(BTC).receipt).startswith("rcp_")


def test_fields_of_the_builder_are_those_of_the_language(client: perp.Client) -> None:
    catalogue = client.catalogue().data
    named = [*catalogue["fields"], *catalogue["sources"], *catalogue["functions"]]
    # Joined by operators of Python instead.
    missing = [entry["name"] for entry in named if not hasattr(dql, entry["name"]) and entry["name"] != "abs"]
    assert missing == []


def test_agent_rules(server: FakeServer, fake: perp.Client) -> None:
    rule = {"rule_id": "rule_1", "name": "wide", "state": "true", "reason": None, "previous_state": None, "changed": False}
    counted = {"since": "2026-01-18T12:00:00.000Z", "matched": ["BTC-PERP"], "matched_total": 1, "unknown": [], "unknown_total": 0}
    server.then_json(200, {"evaluated_at": "2026-01-18T12:00:01.000Z", "rules": [{**rule, **counted}], "missing": ["rule_2"]})
    answer = fake.agent_state(["rule_1", "rule_2"], fresh=True)
    assert server.seen[0][1] == "/v2/agent/state?rule_id=rule_1%2Crule_2&fresh=true"
    assert [one["state"] for one in answer] == ["true"] and answer["missing"] == ["rule_2"]
    (row,) = answer.to_pandas().to_dict("records")
    assert (row["name"], row["matched_total"], str(row["since"])) == ("wide", 1, "2026-01-18 12:00:00+00:00")
    assert "wide" in answer._repr_html_() and ">true</span>" in answer._repr_html_()


def test_every_endpoint_has_its_method(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    """Each path that the TypeScript client knows is requested by this one."""
    text = (Path(__file__).parents[2] / "typescript/src/api-types.ts").read_text("utf-8")
    endpoints = set(re.findall(r"\{ method: '(GET|POST)', path: '([^']+)' \}", text))
    assert len(endpoints) > 15
    day: Any = {"start": "2026-01-10", "end": "2026-01-11"}
    file: Any = {"listing": "v:S", "layer": "mark", "day": "2026-01-10", "sha256": "", "bytes": 1}
    file |= {"venue": "v", "venue_symbol": "S"}
    asks: list[Callable[[], Any]] = [
        fake.venues,
        lambda: list(fake.instruments()),
        fake.catalogue,
        lambda: fake.dql.check("base = BTC"),
        lambda: list(fake.screen("base = BTC")),
        fake.snapshots,
        lambda: list(fake.history(interval="1m", **day)),
        lambda: list(fake.candles(timeframe="1m", **day)),
        fake.books,
        lambda: list(fake.liquidations(**day)),
        fake.agent_state,
        lambda: list(fake.archive.list()),
        lambda: fake.archive.download([file], tmp_path),
        lambda: fake.anchor("2026-01-10"),
        lambda: fake.proof("v", "S", "mark", "2026-01-10"),
        lambda: fake.receipt("rcp_1"),
        fake.account,
        lambda: list(fake.live()),
    ]
    patterns = {(method, re.sub(r"\{\w+\}", "[^/]+", path)) for method, path in endpoints}
    for ask in asks:
        server.then_refuse(404, "NOT_FOUND")
        with pytest.raises(perp.NotFound):
            ask()
        method, path, *_ = server.seen[-1]
        exact = (method, path.partition("?")[0])
        found = exact if exact in patterns else next(one for one in patterns if one[0] == method and re.fullmatch(one[1], exact[1]))
        patterns.discard(found)
    assert patterns == set(), "nothing asks these"


def test_async_is_the_same(base_url: str, key: str, client: perp.Client) -> None:
    async def ask() -> tuple[list[perp.ReadingRow], int]:
        async with perp.AsyncClient(key, base_url) as own:
            rows = [row async for row in own.history(BTC, layers=["mark"], interval="1m", start=START, end=END)]
            frame = await own.candles(BTC, timeframe="1m", start=START, end=END).to_polars()
            return rows, len(frame)

    rows, count = asyncio.run(ask())
    assert rows == list(client.history(BTC, layers=["mark"], interval="1m", start=START, end=END)) and count == 60
