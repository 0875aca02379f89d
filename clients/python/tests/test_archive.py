"""Files of a closed day: the list, its cost, whole files in every format, and downloads that break, differ or are there already."""

from __future__ import annotations

import hashlib
import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars
import pytest

import perp
from perp._sync.archive import default_name
from tests.conftest import DAY
from tests.fake import FakeServer

FILE: Any = {
    **{"listing": "binance:BTCUSDT", "venue": "binance", "venue_symbol": "BTCUSDT", "layer": "mark", "day": DAY},
    **{"price_usdc": "0.10", "included": True, "bytes": 10, "sha256": "of another version"},
}


def announced(data: bytes, base_url: str, times: int = 1) -> dict[str, Any]:
    return {"url": f"{base_url}/files/x", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "rows": 1}


def test_list_and_cost(client: perp.Client) -> None:
    files = list(client.archive.list("base = BTC", layer="mark"))
    assert [(file["listing"], file["day"], file["final"]) for file in files] == [
        ("binance:BTCUSDT", DAY, True),
        ("okx:BTC-USDT-SWAP", DAY, True),
    ]
    cost = client.archive.cost(files)
    assert (cost.files, cost.bytes, cost.not_included) == (2, sum(file["bytes"] for file in files), 0)
    assert client.archive.cost(client.archive.list(start="2026-01-11")).files == 0
    priced = [{**FILE, "price_usdc": "0.10"}, {**FILE, "price_usdc": "0.05", "included": False}, {**FILE, "price_usdc": None}]
    told = client.archive.cost(priced)
    assert (told.usdc, told.not_included, told.not_sold) == (Decimal("0.15"), 1, 1)
    assert client.archive.list("base = BTC").to_pandas()["rows"].sum() == sum(file["rows"] for file in client.archive.list())


@pytest.mark.parametrize(
    "given",
    [
        "2028-02-29",
        date(2028, 2, 29),
        datetime(2028, 3, 1, 13, 59, tzinfo=timezone(timedelta(hours=14))),
        "2028-03-01T13:59:59.999999+14:00",
        "2028-02-28T12:00-12:00",
        "2028-02-29T23:59:59Z",
    ],
)
def test_a_day_is_that_of_utc(server: FakeServer, fake: perp.Client, given: Any) -> None:
    for _ in range(2):
        server.then_refuse(404, "NOT_FOUND")
    with pytest.raises(perp.ApiError):
        list(fake.archive.list(start=given, end=given))
    with pytest.raises(perp.ApiError):
        fake.anchor(given)
    listed, anchored = [path for _, path, _, _ in server.seen]
    assert "from=2028-02-29&to=2028-02-29&" in listed and anchored == "/v2/anchors/2028-02-29"


def test_what_is_no_day_is_for_the_service_to_refuse(server: FakeServer, fake: perp.Client) -> None:
    for day in ("2028-02-29T12:00", "2028-02-29 and more", "20280229"):
        server.then_refuse(400, "DQL_JSON_SCHEMA")
        with pytest.raises(perp.ApiError):
            fake.anchor(day)
        assert server.seen[-1][1] == f"/v2/anchors/{quote(day)}".replace(":", "%3A")


def test_no_list_names_a_place_outside_the_folder(tmp_path: Path) -> None:
    names = [("venue", "/etc"), ("venue", ".."), ("layer", "../.."), ("day", "..\\.."), ("venue_symbol", "../../x"), ("layer", ".")]
    for member, text in names:
        path = (tmp_path / default_name({**FILE, member: text}, "parquet")).resolve()
        assert path.is_relative_to(tmp_path) and len(path.relative_to(tmp_path).parts) == 4, (member, text)
    assert default_name({**FILE, "venue_symbol": "xyz:A/B"}, "csv") == Path(f"mark/{DAY}/binance/xyz%3AA%2FB.csv.zst")


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_whole_files_in_every_format(client: perp.Client, tmp_path: Path, format: Any) -> None:
    files = list(client.archive.list("base = BTC", layer="funding"))
    paths = client.archive.download(files, tmp_path, format=format)
    ending = {"parquet": ".parquet", "csv": ".csv.zst", "jsonl": ".jsonl.zst"}[format]
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        f"funding/{DAY}/binance/BTCUSDT{ending}",
        f"funding/{DAY}/okx/BTC-USDT-SWAP{ending}",
    ]
    if format == "parquet":
        assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths] == [file["sha256"] for file in files]
    frame = polars.read_csv(paths[0]) if format == "csv" else None
    assert frame is None or len(frame) == files[0]["rows"]
    before = [path.stat().st_mtime_ns for path in paths]
    assert client.archive.download(files, tmp_path, format=format) == paths
    assert [path.stat().st_mtime_ns for path in paths] == before, "what is there stays"


def test_files_as_tables(client: perp.Client, tmp_path: Path) -> None:
    paths = client.archive.download(client.archive.list("base = BTC", layer="mark"), tmp_path)
    table = perp.read_archive(*paths)
    raw = polars.concat([polars.read_parquet(path) for path in paths])
    frame, exact = table.to_polars(), table.to_pandas(exact=True)
    assert frame["mark"].to_list() == [None if text is None else float(text) for text in raw["mark"]]
    assert [cell if isinstance(cell, Decimal) else None for cell in exact["mark"].tolist()] == [None if text is None else Decimal(text) for text in raw["mark"]]
    assert frame.filter(polars.col("status") == "missing")["mark"].null_count() == (frame["status"] == "missing").sum() > 0


def test_a_break_is_continued(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    data = bytes(range(256)) * 40
    server.then_json(302, announced(data, server.base_url))
    server.then(lambda handler: handler.send(200, data[:5_000], announced=len(data)))
    server.then_json(302, announced(data, server.base_url))
    server.then(lambda handler: handler.send(206, data[5_000:]))
    (path,) = fake.archive.download([FILE], tmp_path)
    assert path.read_bytes() == data and not path.with_name(path.name + ".part").exists()
    assert server.seen[3][2]["range"] == "bytes=5000-"
    assert "authorization" in server.seen[0][2] and "authorization" not in server.seen[1][2], "the key stays with the service"
    assert server.seen[0][1] == f"/v2/archive/binance%3ABTCUSDT/mark/{DAY}?format=parquet"


def test_a_store_may_name_another_address(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    part = tmp_path / "mark" / DAY / "binance" / "BTCUSDT.parquet.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"da")
    server.then_json(302, announced(b"data", server.base_url))
    server.then(lambda handler: handler.send(307, b"", {"location": "/files/y"}))
    server.then(lambda handler: handler.send(206, b"ta"))
    (path,) = fake.archive.download([FILE], tmp_path)
    assert path.read_bytes() == b"data"
    assert [(seen[1], seen[2]["range"], "authorization" in seen[2]) for seen in server.seen[1:]] == [
        ("/files/x", "bytes=2-", False),
        ("/files/y", "bytes=2-", False),
    ]


def test_a_store_that_is_busy_is_asked_again(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    for status in (503, 429):
        server.then_json(302, announced(b"data", server.base_url))
        server.then(lambda handler, status=status: handler.send(status, b"<Error>SlowDown</Error>"))
    server.then_json(302, announced(b"data", server.base_url))
    server.then(lambda handler: handler.send(200, b"data"))
    (path,) = fake.archive.download([FILE], tmp_path)
    assert path.read_bytes() == b"data"
    server.then_json(302, announced(b"data", server.base_url))
    server.then(lambda handler: handler.send(403, b"<Error>AccessDenied</Error>"))
    with pytest.raises(perp.ApiError) as refused:
        fake.archive.download([{**FILE, "day": "2026-01-11"}], tmp_path)
    assert refused.value.status == 403


def test_a_part_of_another_run_is_continued(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    data = b"0123456789"
    part = tmp_path / "mark" / DAY / "binance" / "BTCUSDT.parquet.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(data[:4])
    server.then_json(302, announced(data, server.base_url))
    server.then(lambda handler: handler.send(206, data[4:]))
    (path,) = fake.archive.download([FILE], tmp_path)
    assert path.read_bytes() == data


def test_a_server_that_ignores_ranges_begins_the_file_anew(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    data = bytes(range(256)) * 40
    server.then_json(302, announced(data, server.base_url))
    server.then(lambda handler: handler.send(200, data[:5_000], announced=len(data)))
    server.then_json(302, announced(data, server.base_url))
    server.then(lambda handler: handler.send(200, data[:3_000], announced=len(data)))
    server.then_json(302, announced(data, server.base_url))
    server.then(lambda handler: handler.send(200, data))
    (path,) = fake.archive.download([FILE], tmp_path)
    assert path.read_bytes() == data and not path.with_name(path.name + ".part").exists()
    assert [seen[2].get("range") for seen in server.seen[1::2]] == [None, "bytes=5000-", "bytes=3000-"]


def test_a_file_that_ends_early_is_given_up(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    for linked in (True, False, True, True, True):
        if linked:
            server.then_json(302, announced(b"0123456789", server.base_url))
        server.then(lambda handler: handler.send(200, b"012345"))
    with pytest.raises(perp.ConnectionFailed, match="ended after 6 of 10 bytes"):
        fake.archive.download([FILE], tmp_path)


def test_a_busy_store_is_given_the_time_that_it_asks_for(
    server: FakeServer, fake: perp.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float | None] = []
    monkeypatch.setattr("perp._sync.archive.pause_before", lambda attempt, after: waits.append(after) or 0.0)
    for after in ("7", "40000"):
        server.then_json(302, announced(b"data", server.base_url))
        server.then(lambda handler, after=after: handler.send(503, b"<Error>SlowDown</Error>", {"retry-after": after}))
    with pytest.raises(perp.Unavailable) as refused:
        fake.archive.download([FILE], tmp_path)
    assert (waits, refused.value.retry_after) == ([7.0], 40_000.0)


def test_a_file_that_was_replaced_meanwhile_begins_anew(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    old, new = b"abcdefghijkl", b"0123456789"
    part = tmp_path / "mark" / DAY / "binance" / "BTCUSDT.parquet.part"
    part.parent.mkdir(parents=True)
    for begun in (old[:4], old):
        part.write_bytes(begun)
        server.then_json(302, announced(new, server.base_url))
        if len(begun) < len(new):
            server.then(lambda handler: handler.send(206, new[4:]))
        server.then(lambda handler: handler.send(200, new))
        (path,) = fake.archive.download([FILE], tmp_path)
        assert path.read_bytes() == new
        path.unlink()
    server.then_json(302, announced(old, server.base_url))
    server.then(lambda handler: handler.send(200, old[:4], announced=len(old)))
    server.then_json(302, announced(new, server.base_url))
    server.then(lambda handler: handler.send(206, new[4:]))
    server.then(lambda handler: handler.send(200, new))
    (path,) = fake.archive.download([FILE], tmp_path)
    assert path.read_bytes() == new and not part.exists()


def test_other_bytes_are_refused(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    server.then_json(302, announced(b"right", server.base_url))
    server.then(lambda handler: handler.send(200, b"wrong"))
    with pytest.raises(perp.Mismatch, match="BTCUSDT.parquet has another SHA-256"):
        fake.archive.download([FILE], tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_a_file_name_cannot_hold(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    odd = {**FILE, "venue_symbol": "../xyz:A/B", "listing": "binance:../xyz:A/B"}
    server.then_json(302, announced(b"x", server.base_url))
    server.then(lambda handler: handler.send(200, b"x"))
    (path,) = fake.archive.download([odd], tmp_path)
    assert path.parent == tmp_path / "mark" / DAY / "binance" and path.name == "..%2Fxyz%3AA%2FB.parquet"
    assert json.dumps(str(path))
