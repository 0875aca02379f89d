"""The stream: events in order and once, through breaks, refusals and ends; history that goes on into it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest

import perp
from perp._instants import from_micros, to_micros
from perp._retry import pause_before, pause_before_return
from perp._rows import Seen, live_row
from perp._seam import Known, Seam, Stretch, known_of
from perp._sse import Splitter
from tests.conftest import BTC
from tests.fake import FakeServer

HELLO = {"evaluated_at": "2026-01-18T12:00:00.000Z", "resumed": False, "heartbeat_ms": 15000}
RESUMED = {**HELLO, "resumed": True}


def state(received: str | None, mark: float | None, status: str = "present", age: int = 10) -> dict[str, Any]:
    return {"status": status, "received_at": received, "venue_ts": None, "age_ms": age, "values": {} if mark is None else {"mark": mark}}


def change(rev: int, received: str, mark: float | None = 1.0, *, kind: str = "value", status: str = "present") -> dict[str, Any]:
    listing = {"venue": "binance", "venue_symbol": "BTCUSDT", "instrument": "BTC-PERP", "layer": "mark"}
    return {**listing, "rev": rev, "change": kind, "state": state(received, mark, status)}


def at(second: float) -> str:
    return from_micros(to_micros("2026-01-18T12:00:00Z") + round(second * 1_000_000))


def test_events_of_the_service(client: perp.Client) -> None:
    with client.live(BTC, layers=["mark", "funding"], freshness="604800s") as stream:
        events = []
        for event in stream:
            events.append(event)
            if event["event"] == "ready":
                break
    assert [event["event"] for event in events] == ["hello", *["snapshot"] * 4, "ready"]
    first = events[1]
    assert first["event"] == "snapshot" and first["data"]["state"]["status"] == "present"
    with client.live(BTC, layers=["book"], depth=2, exact=True, freshness="604800s") as stream:
        told = next(event["data"]["state"] for event in stream if event["event"] == "snapshot")
    assert isinstance(told["values"]["bid"], Decimal) and told["bids"][0] == ["100.10", "2.500"]


def test_a_break_is_resumed_at_the_event_after_the_last(server: FakeServer, fake: perp.Client) -> None:
    server.then_events(("1", "hello", HELLO), ("2", "update", change(1, at(1))), tail=b'id: 3\nevent: update\ndata: {"cut')
    server.then_refuse(503, "UNAVAILABLE")
    server.then_events(("2", "hello", RESUMED), ("3", "update", change(2, at(2))), ("4", "bye", {"reason": "rotate", "reconnect": True}))
    server.then_events(("4", "hello", RESUMED), ("5", "update", change(3, at(3))))
    revs = (event["data"]["rev"] for event in fake.live(BTC) if event["event"] == "update")
    assert list(islice(revs, 3)) == [1, 2, 3]
    assert [headers.get("last-event-id") for _, _, headers, _ in server.seen] == [None, "2", "2", "4"]


def test_a_stream_that_failed_or_was_interrupted_goes_on_when_it_is_iterated_again(
    server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(attempt: int, retry_s: float) -> float:
        raise KeyboardInterrupt

    stream = fake.live(BTC)
    server.then_events(("1", "hello", HELLO), ("2", "update", change(1, at(1))))
    server.then_refuse(500, "INTERNAL")
    with pytest.raises(perp.Unavailable):
        list(stream)
    server.then_events(("2", "hello", RESUMED), ("3", "update", change(2, at(2))))
    with monkeypatch.context() as patch:
        patch.setattr("perp._sync.follow.pause_before_return", interrupt)
        with pytest.raises(KeyboardInterrupt):
            list(stream)
    server.then_events(("3", "hello", RESUMED), ("4", "update", change(3, at(3))))
    assert [event["event"] for event in islice(stream, 2)] == ["hello", "update"]
    assert [headers.get("last-event-id") for _, _, headers, _ in server.seen] == [None, "2", "2", "3"]


def test_a_connection_is_closed_when_its_stream_is(server: FakeServer) -> None:
    async def leave() -> list[Any]:
        async with perp.AsyncClient("sk_test", server.base_url) as client:
            async with client.live(BTC) as stream:
                async for _ in stream:
                    break
            transport: Any = client._http._client._transport
            return list(transport._pool.connections)

    server.then_events(("1", "hello", HELLO), ("2", "update", change(1, at(1))))
    assert asyncio.run(leave()) == []


def test_a_page_in_place_of_the_stream(server: FakeServer, fake: perp.Client) -> None:
    """Of an address that never gave a stream it is an error at once; in place of an open stream it is a broken connection."""
    def page(handler: Any) -> None:
        handler.send(200, b"<h1>Welcome</h1>", {"content-type": "text/html"})

    server.then(page)
    with pytest.raises(perp.ApiError, match="text/html instead of text/event-stream") as caught:
        next(iter(fake.live(BTC)))
    assert (caught.value.code, len(server.seen)) == ("BAD_ANSWER", 1)
    server.then_events(("1", "hello", HELLO), ("2", "update", change(1, at(1))))
    server.then(page)
    server.then(page)
    server.then_events(("2", "hello", RESUMED), ("3", "update", change(2, at(2))))
    revs = (event["data"]["rev"] for event in fake.live(BTC) if event["event"] == "update")
    assert list(islice(revs, 2)) == [1, 2]


def test_a_cut_step_is_given_once(server: FakeServer, fake: perp.Client) -> None:
    """Events of one step share an id up to the last one of them: a resumed stream sends the whole step again (ST-05)."""
    rows = [{"id": str(n), "price": 1.0} for n in range(3)]
    trades = {"venue": "binance", "venue_symbol": "BTCUSDT", "instrument": "BTC-PERP", "layer": "trade"}
    step = [("1", "update", change(1, at(1))), ("1", "event", {**trades, "rows": rows[:2]})]
    server.then_events(("1", "hello", HELLO), *step)
    server.then_events(("1", "hello", RESUMED), step[0], ("1", "event", {**trades, "rows": rows}), ("2", "update", change(2, at(2))))
    given = list(islice((event for event in fake.live(BTC, layers=["mark", "trade"]) if event["event"] != "hello"), 4))
    assert [event["data"].get("rev") for event in given if event["event"] == "update"] == [1, 2]
    assert [[row["id"] for row in event["data"]["rows"]] for event in given if event["event"] == "event"] == [["0", "1"], ["2"]]


def test_every_event_of_the_document_and_no_other(server: FakeServer, fake: perp.Client) -> None:
    rule = {"rule_id": "rule_1", "name": "r", "change": "move", "at": at(1), "previous_state": "false", "state": "true", "reason": None}
    server.then_events(("1", "hello", HELLO), ("2", "added_later", {}), ("3", "rule", rule))
    events = list(islice(fake.live(BTC, rules=True), 2))
    assert [event["event"] for event in events] == ["hello", "rule"] and "rules=true" in server.seen[0][1]


def test_a_stream_that_was_open_comes_back(server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the service is unavailable, also after a `bye`; what comes at the opening shortens no wait, a heartbeat does."""
    waits: list[tuple[int, float]] = []
    monkeypatch.setattr("perp._sync.follow.pause_before_return", lambda attempt, retry_s: waits.append((attempt, retry_s)) or 0.0)
    bye = ("3", "bye", {"reason": "shutdown", "reconnect": True})
    beat = ("3", "heartbeat", {"at": at(1), "served_at": at(1), "lag_ms": 0, "connections": {}})
    server.then_events(("1", "hello", HELLO), bye)
    for rev in range(2):
        server.then_events(("1", "hello", HELLO), ("2", "update", change(rev, at(rev))), bye, head=b"retry: 40\n")
        server.then_events(("3", "hello", RESUMED))
    # A wait of nothing, or one that the clock here has passed, is none.
    for asked in ({"retry-after": "0"}, {"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT"}, *4 * [None]):
        server.then_refuse(503, "UNAVAILABLE", asked)
    server.then_events(("3", "hello", RESUMED), beat, bye)
    server.then_events(("3", "hello", RESUMED), ("4", "update", change(3, at(3))))
    revs = (event["data"]["rev"] for event in fake.live(BTC) if event["event"] == "update")
    assert list(islice(revs, 3)) == [0, 1, 3]
    assert waits == [(1, 3.0), *((attempt, 0.04) for attempt in range(2, 12)), (1, 0.04)]


def test_readers_that_were_sent_away_together_come_back_apart() -> None:
    pauses = [pause_before_return(1, 3.0) for _ in range(1_000)]
    assert all(200 < sum(int(pause) == second for pause in pauses) < 470 for second in range(3))
    assert pause_before_return(1_000, 3.0) <= 20.0 and pause_before_return(1_000, 60.0) <= 60.0


def test_a_pause_is_bounded_however_often_it_was_tried() -> None:
    """A follower asks history again for as long as the service is away: a day of it is some thousand times."""
    for attempt in (1_100, 1_000_000):
        assert 20.0 <= pause_before(attempt, None) <= 25.0


def test_a_stream_that_cannot_be_read_is_given_up(server: FakeServer, fake: perp.Client) -> None:
    for _ in range(8):
        server.then_events(("1", "hello", HELLO), tail=b"id: 2\nevent: update\ndata: {]\n\n")
    with pytest.raises(perp.ConnectionFailed, match="cannot be read"):
        list(fake.live(BTC))
    assert len(server.seen) == 5


def test_an_id_counts_when_its_event_was_given(server: FakeServer, fake: perp.Client) -> None:
    server.then_events(("1", "hello", HELLO), ("2", "update", change(1, at(1))), ("3", "update", change(2, at(2))))
    server.then_events(("1", "hello", RESUMED))
    stream = fake.live(BTC)
    events = iter(stream)
    assert next(events)["id"] == "1" and next(events)["id"] == "2"
    assert stream._last_id == "1", "the second is still in the reader's hands"


def test_a_stream_that_ends_for_good(server: FakeServer, fake: perp.Client) -> None:
    server.then_events(("1", "hello", HELLO), ("2", "bye", {"reason": "key_ended", "reconnect": False}))
    with pytest.raises(perp.StreamEnded, match="key_ended"):
        list(fake.live(BTC))
    server.then_events(("1", "hello", HELLO), ("2", "error", {"errors": [{"code": "AUTH_INVALID", "message": "Revoked."}]}))
    with pytest.raises(perp.StreamEnded, match="AUTH_INVALID: Revoked"):
        list(fake.live(BTC))
    server.then_refuse(400, "DQL_SYNTAX")
    with pytest.raises(perp.QueryError):
        list(fake.live("base ="))
    for _ in range(4):
        server.then_events()
    with pytest.raises(perp.ConnectionFailed):
        list(fake.live(BTC))


def test_an_events_bytes_in_any_pieces(seed: random.Random) -> None:
    text = "retry: 3000\nid: 1\nevent: a\ndata: {\"x\": \"币\"}\n\n: comment\n\nid: 2\r\nevent: b\r\ndata: one\r\ndata: two\r\n\r\nid: 3\nevent: cut\ndata: never"
    data = text.encode()
    for _ in range(200):
        splitter, frames, place = Splitter(), [], 0
        while place < len(data):
            size = seed.randint(1, 9)
            frames += splitter.feed(data[place : place + size])
            place += size
        assert splitter.retry == 3_000
        assert [(frame.name, frame.id, frame.text) for frame in frames] == [("a", "1", '{"x": "币"}'), ("b", "2", "one\ntwo")]
    with pytest.raises(ValueError, match="longer than"):
        Splitter(most=10).feed(b"data: 0123456789")


def history(*rows: tuple[float, float | None], to: float, settled: bool = True, cause: str = "no_update") -> dict[str, Any]:
    """An answer with a mark for each instant, or a gap."""
    empty = {"venue_ts": None, "age_ms": None, "venue_age_ms": None, "valid_until": None, "horizon_source": None, "anchor": None}
    told = [
        {"at": at(second), "status": "missing", "reason": "gap", "gap_cause": cause, **empty, "received_at": None, "values": {}}
        if mark is None
        else {"at": at(second), "status": "present", **empty, "received_at": at(second - 0.5), "values": {"mark": mark}}
        for second, mark in rows
    ]
    listing = {"venue": "binance", "venue_symbol": "BTCUSDT", "instrument": "BTC-PERP", "quote": "USDT"}
    items = [{**listing, "layers": {"mark": {"units": {}, "retention_from": at(0), "rows": told, "history_cadence": "10s"}}}]
    text = json.dumps(items, separators=(",", ":")).encode()
    return {"settled": settled, "evaluated_at": at(to), "items_sha256": hashlib.sha256(text).hexdigest(), "to": at(to), "items": items}


READY = {"listings": 1, "layers": 1, "served_at": None}


def test_history_goes_on_into_the_stream(server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perp._sync.follow.now_micros", lambda: to_micros(at(215)))
    gaps: list[Any] = []
    server.then_json(200, history((10, 1), (20, None), (30, 3), to=60))
    server.then_events(
        ("1", "hello", {**HELLO, "evaluated_at": at(225)}),
        ("1", "snapshot", {**change(5, at(219.5), 4), "change": "both"}),
        ("1", "ready", READY),
        ("2", "update", change(6, at(226), 5)),
        ("3", "update", change(6, at(226), None, kind="status", status="stale")),
        ("4", "heartbeat", {"at": at(230), "served_at": at(230), "lag_ms": 0, "connections": {}}),
    )
    server.answers.insert(2, lambda handler: handler.send(200, json.dumps(history((30, 3), (220, 4), to=220), separators=(",", ":")).encode()))
    server.then_events(
        ("9", "hello", {**HELLO, "evaluated_at": at(255)}),
        ("9", "gap", {"from": None, "to": at(255), "reason": "resume_expired", "dropped": None, "scope": {}}),
        ("9", "snapshot", change(9, at(254), 9)),
        ("9", "ready", READY),
    )
    server.then_json(200, history((230, 6), (240, None), (250, 8), to=250))
    follow = fake.history(BTC, layers=["mark"], interval="10s", start=at(0), end=at(30)).then_live(on_gap=gaps.append)
    rows = list(islice(follow, 10))
    told = [(row["source"], row["status"], row["values"].get("mark")) for row in rows]
    assert told == [
        ("history", "present", 1),
        ("history", "missing", None),
        ("history", "present", 3),
        ("history", "present", 4),
        ("live", "present", 5),
        ("live", "stale", None),
        ("history", "present", 6),
        ("history", "missing", None),
        ("history", "present", 8),
        ("live", "present", 9),
    ]
    assert [gap.get("reason") for gap in gaps] == ["gap", "resume_expired", "gap"]


def test_what_history_does_not_know_is_waited_for(server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that is not known yet is requested again; a reading that came stale has its figure apart."""
    monkeypatch.setattr("perp._sync.follow.now_micros", lambda: to_micros(at(35)))
    monkeypatch.setattr("perp._sync.follow.AGAIN_S", 0.0)
    gaps: list[Any] = []
    stale = change(7, at(41), None, status="stale")
    stale["state"]["withheld"] = {"values": {"mark": 7.5}}
    server.then_events(
        ("1", "hello", {**HELLO, "evaluated_at": at(40)}),
        ("1", "snapshot", {**change(6, at(39.5), 6), "change": "both"}),
        ("1", "ready", READY),
        ("2", "update", stale),
        ("3", "update", change(8, at(42), 8)),
    )
    unknown = {"settled": False, "cause": "unknown"}
    server.then_json(200, history((10, 1), (20, None), (30, None), to=40, **unknown))  # type: ignore[arg-type]
    server.then_json(200, history((10, 1), (20, None), (30, 5), to=40, **unknown))  # type: ignore[arg-type]
    server.then_json(200, history((10, 1), (20, None), (30, 5), to=40))
    stale_rows: list[Any] = []
    history_asked = fake.history(BTC, layers=["mark"], interval="10s", start=at(0), end=at(30))
    follow = history_asked.then_live(on_gap=gaps.append, on_stale=stale_rows.append)
    rows = list(islice(follow, 6))
    assert [(row["venue_symbol"], row["status"]) for row in stale_rows] == [("BTCUSDT", "stale")]
    assert [(row["source"], row["status"], row["values"].get("mark")) for row in rows] == [
        ("history", "present", 1),
        ("history", "missing", None),
        ("history", "present", 5),
        ("live", "present", 6),
        ("live", "stale", None),
        ("live", "present", 8),
    ]
    assert rows[4]["withheld"]["values"] == {"mark": 7.5}, "its figure is there, and apart"
    assert [gap["gap_cause"] for gap in gaps] == ["no_update"]


def test_what_came_live_stands_behind_what_is_not_known() -> None:
    def answer(*rows: tuple[float, float | None], settled: bool) -> dict[Any, Known]:
        found: dict[Any, Known] = {}
        known_of(history(*rows, to=40, settled=settled, cause="unknown"), found)  # type: ignore[arg-type]
        return found

    seam, stretch = Seam(), Stretch(to_micros(at(40)))
    ((place, known),) = answer((10, 1), (20, None), (30, None), settled=False).items()
    seam.add_stretch(stretch, known)
    assert seam.take() == [], "the stream says how far rows are wanted"
    seam.add_live(live_row(change(6, at(39.5), 6)))  # type: ignore[arg-type]
    seam.add_live(live_row(change(7, at(41), 7)))  # type: ignore[arg-type]
    assert [row["values"] for row in seam.take()] == [{"mark": 1}]
    (piece,) = seam.pieces()
    piece.learn(0, answer((10, 1), (20, 4), (30, None), settled=False)[place])
    assert [row["values"] for row in seam.take()] == [{"mark": 1}, {"mark": 4}], "given again to be passed over"
    piece.learn(0, answer((10, 1), (20, 4), (30, None), settled=True)[place])
    assert [(row["source"], row["values"].get("mark")) for row in seam.take()][2:] == [("history", None), ("live", 6), ("live", 7)]
    assert len(seam) == 0


def test_each_reading_once(seed: random.Random) -> None:
    for _ in range(100):
        seen, given = Seen(), []
        revs = sorted(seed.sample(range(1, 60), 20))
        told = [change(rev, at(rev)) for rev in revs for _ in range(seed.randint(1, 3))]
        for one in told:
            row = live_row(one)  # type: ignore[arg-type]
            if seen.takes(row):
                given.append(row["received_at"])
        assert given == [at(rev) for rev in revs]


def test_readings_of_one_receipt_are_told_apart_by_their_numbers() -> None:
    seen = Seen()
    rows = [live_row(change(rev, at(1), mark)) for rev, mark in ((5, 1.0), (6, 2.0), (6, 2.0), (5, 1.0))]  # type: ignore[arg-type]
    assert [seen.takes(row) for row in rows] == [True, True, False, False]
    told = {"source": "history", "at": at(2), "received_at": at(1), "values": {"mark": 2.0}}
    assert not seen.takes({**rows[0], **told} | {"rev": None}), "history has the last of them"  # type: ignore[arg-type]


def test_history_is_away_for_a_while(server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is restarted while history is read is waited for; one that never answered is not."""
    monkeypatch.setattr("perp._sync.follow.now_micros", lambda: to_micros(at(35)))
    window: dict[str, Any] = {"layers": ["mark"], "interval": "10s", "start": at(0), "end": at(30)}
    server.then_events(("1", "hello", {**HELLO, "evaluated_at": at(45)}), ("1", "ready", READY), ("2", "update", change(6, at(41), 6)))
    waits: list[tuple[int, float | None]] = []
    monkeypatch.setattr("perp._sync.follow.pause_before", lambda attempt, after: waits.append((attempt, after)) or 0.0)
    # A wait of nothing is none for who comes back without end.
    for _ in range(6):
        server.then_refuse(503, "UNAVAILABLE", {"retry-after": "0"})
    server.then_json(200, history((10, 1), to=40))
    with fake.history(BTC, **window).then_live() as rows:
        assert [row["values"].get("mark") for row in islice(rows, 2)] == [1, 6]
    assert waits == [(1, None)]
    for _ in range(4):
        server.then_refuse(503, "UNAVAILABLE")
    with pytest.raises(perp.Unavailable):
        list(fake.history(BTC, **window).then_live())


def test_following_goes_on_when_it_is_iterated_again(server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perp._sync.follow.now_micros", lambda: to_micros(at(35)))
    server.then_events(("1", "hello", {**HELLO, "evaluated_at": at(45)}), ("1", "ready", READY), ("2", "update", change(6, at(41), 6)))
    server.then_json(200, history((10, 1), to=40))
    server.then_refuse(500, "INTERNAL")
    rows = fake.history(BTC, layers=["mark"], interval="10s", start=at(0), end=at(30)).then_live()
    given = []
    with pytest.raises(perp.Unavailable):
        for row in rows:
            given.append(row["values"].get("mark"))
    server.then_events(("9", "hello", {**HELLO, "evaluated_at": at(65)}), ("9", "ready", READY), ("9", "update", change(8, at(62), 8)))
    server.then_json(200, history((10, 1), (50, 6), (60, 7), to=60))
    given += [row["values"].get("mark") for row in islice(rows, 3)]
    assert given == [1, 6, 6, 7, 8]


def test_following_the_service(now: int, client: perp.Client) -> None:
    history = client.history(BTC, layers=["mark"], interval="1m", last="30m", freshness="604800s")
    with history.then_live() as rows:
        found = list(islice(rows, 2 * 30 + 2))
    keys = [(row["venue"], row["at"]) for row in found]
    assert len(keys) == len(set(keys))
    assert [row["source"] for row in found[-2:]] == ["live", "live"]
    assert {row["source"] for row in found[:-2]} == {"history"}
    assert [to_micros(row["at"]) for row in found if row["venue"] == "okx"] == sorted(to_micros(row["at"]) for row in found if row["venue"] == "okx")


def test_async_stream(base_url: str, key: str) -> None:
    async def first() -> str:
        async with perp.AsyncClient(key, base_url) as client, client.live(BTC) as stream:
            async for event in stream:
                return event["event"]
        return ""

    assert asyncio.run(first()) == "hello"
