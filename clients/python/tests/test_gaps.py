"""A gap is a row without a figure and with its cause, in every frame and for any pattern of gaps; nothing is ever filled."""

from __future__ import annotations

import json
import random
from typing import Any

import perp
from perp._instants import from_micros
from perp._layers import MEMBERS
from perp._tables import Table, rows_of_document, spec_of_layers, wide_frame
from tests.conftest import BTC, END, START

CAUSES = ("collector_down", "connection_lost", "no_update", "crossed_book", "unknown")
TRIES = 20


def random_row(seed: random.Random, at: int, layer: str) -> dict[str, Any]:
    stamps = {"venue_ts": None, "received_at": None, "age_ms": None, "venue_age_ms": None, "valid_until": None}
    head = {"at": from_micros(at), **stamps, "horizon_source": None, "anchor": None}
    kind = seed.choice(("present", "present", "gap", "not_retained", "stale", "null"))
    if kind == "gap":
        return {**head, "status": "missing", "reason": "gap", "gap_cause": seed.choice(CAUSES), "values": {}}
    if kind == "not_retained":
        return {**head, "status": "missing", "reason": "not_retained", "values": {}}
    if kind == "stale":
        return {**head, "status": "stale", "reason": "horizon_passed", "values": {}, "withheld": {"values": {"mark": 1.5}}}
    values = {member: None if kind == "null" and place else seed.uniform(-9, 9) for place, member in enumerate(MEMBERS[layer])}
    return {**head, "status": "present", "received_at": from_micros(at - 1), "age_ms": 0, "values": values}


def random_document(seed: random.Random) -> dict[str, Any]:
    layers = seed.sample(["ticker", "mark", "funding", "oi"], seed.randint(1, 3))
    begin, count = seed.randrange(10**15), seed.randint(0, 40)
    listings = [{"venue": f"v{n}", "venue_symbol": f"S{n}", "instrument": "I-PERP", "quote": "Q"} for n in range(seed.randint(1, 3))]
    rows = {layer: [random_row(seed, begin + n * 60_000_000, layer) for n in range(count)] for layer in layers}
    held = {layer: {"units": {}, "rows": own} for layer, own in rows.items()}
    return {"items": [{**listing, "layers": held} for listing in listings]}


def test_gaps_are_never_filled(seed: random.Random) -> None:
    for _ in range(TRIES):
        document = random_document(seed)
        rows = [row for item in document["items"] for held in item["layers"].values() for row in held["rows"]]
        layers = list(document["items"][0]["layers"])
        table = Table(spec_of_layers("history", layers), [rows_of_document("history", json.dumps(document).encode())])
        for frame in (table.to_pandas(), table.to_polars().to_pandas(), table.to_arrow().to_pandas()):
            assert len(frame) == len(rows)
            figures = [member for layer in layers for member in MEMBERS[layer]]
            found = [dict(row) for row in frame.to_dict("records")]
            for row, told in zip(found, rows):
                has = [name for name in figures if row[name] == row[name]]
                assert set(has) == {name for name, value in told["values"].items() if value is not None}, (row, told)
                assert all(row[name] == told["values"][name] for name in has)
                assert row["status"] == told["status"]
                for name in ("reason", "gap_cause"):
                    assert (row[name] if isinstance(row[name], str) else None) == told.get(name)


def test_wide_frames_keep_every_instant(seed: random.Random) -> None:
    for _ in range(TRIES):
        document = random_document(seed)
        layer, held = next(iter(document["items"][0]["layers"].items()))
        figure = MEMBERS[layer][0]
        if sum(figure in MEMBERS[other] for other in document["items"][0]["layers"]) > 1 or not held["rows"]:
            continue
        frame = Table(spec_of_layers("history", [layer]), [rows_of_document("history", json.dumps(document).encode())]).to_pandas()
        wide = wide_frame(frame, figure)
        assert len(wide) == len(held["rows"])
        expected = [row["values"].get(figure) for row in held["rows"]]
        for column in wide.columns:
            assert [None if cell != cell else cell for cell in wide[column].tolist()] == expected


def test_gaps_of_the_service(client: perp.Client) -> None:
    frame = client.history(BTC, layers=["mark"], interval="10s", start=START, end=END).to_pandas()
    gaps = frame[frame["status"] == "missing"]
    assert len(frame) == 2 * 180, "a row for every period of each listing"
    assert {"no_update", "crossed_book"} <= set(gaps["gap_cause"].dropna())
    assert gaps[["mark", "index", "basis"]].isna().all(axis=None)
    assert frame[frame["status"] == "present"]["mark"].notna().all()
    candles = client.candles(BTC, timeframe="1m", start=START, end=END).to_pandas()
    holes = candles[candles["status"] == "missing"]
    assert "collector_down" in set(holes["gap_cause"])
    assert holes[["open", "high", "low", "close", "volume"]].isna().all(axis=None)


def test_gaps_of_liquidations_are_rows(client: perp.Client) -> None:
    frame = client.liquidations(BTC, start=START, end="2026-01-10T06:00:00Z", limit=7).to_pandas()
    gaps = frame[frame["status"] == "missing"]
    assert len(gaps) == len(gaps.reset_index()[["received_at", "venue", "venue_symbol", "gap_to"]].drop_duplicates()), "each once"
    assert "connection_lost" in set(gaps["gap_cause"]) and gaps["price"].isna().all()
    assert (frame[frame["status"] == "present"]["price"] > 0).all()
