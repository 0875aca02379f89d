"""Refusals as exceptions that teach, and repeats where they help."""

from __future__ import annotations

import copy
import pickle
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import pytest

import perp
from tests.fake import FakeServer

DOCUMENT = {"evaluated_at": "2026-01-18T12:00:00.000Z", "items": []}


def test_a_wrong_query_is_underlined(client: perp.Client) -> None:
    with pytest.raises(perp.QueryError) as caught:
        client.dql.check("any(venues where fundng > 1bps and spred < 1)")
    assert caught.value.code == "DQL_UNKNOWN_FIELD" and len(caught.value.errors) == 2
    assert "any(venues where fundng > 1bps and spred < 1)\n" + " " * 19 + "^^^^^^\n" in str(caught.value)
    assert "hint: Did you mean funding" in str(caught.value)
    assert client.dql.check("any(venues where funding > 1bps)").canonical == "any(venues where funding > 0.0001)"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_are_those_of_positions(end: str) -> None:
    fault = {"code": "DQL_SYNTAX", "message": "It is wrong.", "position": {"line": 2, "column": 3, "length": 5}}
    error = perp.QueryError(400, [fault], query=f"any(\u2028{end}  wrong )")
    assert "\n    wrong )\n    ^^^^^" in str(error)


def test_a_wrong_selection_is_underlined_on_every_endpoint(client: perp.Client) -> None:
    for ask in (client.snapshots, client.books, lambda where: list(client.instruments(where))):
        with pytest.raises(perp.QueryError) as caught:
            ask("venue = binanc")
        assert caught.value.code == "DQL_UNKNOWN_VENUE" and caught.value.position


def test_the_tree(base_url: str, key: str, client: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERP_API_KEY", raising=False)
    with pytest.raises(perp.AuthError, match="AUTH_INVALID"):
        perp.Client("sk_wrong", base_url).account()
    with pytest.raises(perp.AuthError, match="AUTH_REQUIRED"):
        perp.Client(base_url=base_url).account()
    with pytest.raises(perp.PaymentRequired) as caught:
        perp.Client(base_url=base_url).snapshots()
    assert caught.value.body["accepts"][0]["amount"] == "5000"
    with pytest.raises(perp.NotFound, match="ANCHOR_NOT_FOUND"):
        client.anchor("2026-01-09")
    with pytest.raises(perp.RequestError) as wrong:
        client.books(depth=0)
    assert (wrong.value.code, wrong.value.path, wrong.value.status) == ("DQL_JSON_SCHEMA", "/depth", 400)
    assert wrong.value.receipt and wrong.value.receipt.startswith("rcp_")
    with pytest.raises(perp.QueryError, match="DQL_AS_OF_RANGE"):
        list(client.screen("base = BTC as of 2001-01-01"))
    assert issubclass(perp.QueryError, perp.RequestError) and issubclass(perp.LimitError, perp.ApiError)
    assert key not in repr(client)


@pytest.mark.parametrize(
    "error",
    [
        perp.RateLimited(429, [{"code": "RATE_LIMITED", "message": "It is."}], retry_after=3.0, limit="requests_per_day"),
        perp.QueryError(400, [{"code": "DQL_SYNTAX", "message": "It is.", "position": {"line": 1, "column": 1, "length": 1}}], query="x"),
        perp.ConnectionFailed("nothing came"),
        perp.StreamEnded("key_ended", [{"code": "AUTH_INVALID", "message": "It has ended."}]),
        perp.Mismatch("a file", "aa", "bb"),
        perp.MissingExtra("pandas", "pandas"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_out_of_another_process_is_the_same(error: perp.PerpError) -> None:
    """A pool of processes pickles it; one that cannot be read again stops the pool of multiprocessing for ever."""
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), str(other), other.args, vars(other)) == (type(error), str(error), error.args, vars(error))


def test_a_name_stays_within_its_place(server: FakeServer, fake: perp.Client) -> None:
    server.then_json(200, DOCUMENT)
    fake.receipt("rcp_a/b?c")
    assert server.seen[0][1] == "/v2/receipts/rcp_a%2Fb%3Fc"


def test_no_answer_at_all() -> None:
    with pytest.raises(perp.ConnectionFailed, match="127.0.0.1:1/v2/venues"):
        perp.Client("sk_x", "http://127.0.0.1:1", retries=0).venues()


def test_key_and_address_from_the_environment(base_url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERP_API_KEY", key)
    monkeypatch.setenv("PERP_BASE_URL", base_url + "/")
    with perp.Client() as client:
        assert client.account()["plan"]["code"] == "pro_plus" and client.base_url == base_url


@pytest.mark.parametrize("status, code", [(429, "RATE_LIMITED"), (503, "UNAVAILABLE"), (504, "UNAVAILABLE")])
def test_what_may_pass_is_asked_again(server: FakeServer, fake: perp.Client, status: int, code: str) -> None:
    server.then_refuse(status, code, {"retry-after": "1"})
    server.then_refuse(502, code)
    server.then_json(200, DOCUMENT)
    assert fake.venues().items == []
    assert len(server.seen) == 3


def test_retry_after_is_obeyed(server: FakeServer, fake: perp.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[int, float | None]] = []
    monkeypatch.setattr("perp._sync.http.pause_before", lambda attempt, after: waits.append((attempt, after)) or 0.0)
    server.then_refuse(429, "RATE_LIMITED", {"retry-after": "7"})
    server.then_refuse(503, "UNAVAILABLE")
    server.then_json(200, DOCUMENT)
    fake.venues()
    assert waits == [(1, 7.0), (2, None)]


@pytest.mark.parametrize(
    "header, seconds",
    [("7", 7.0), ("1.5", 1.5), ("0", 0.0)]
    + [("Fri, 27 Nov 1998 10:00:00 GMT", 0.0)]
    + [(text, None) for text in (None, "-5", "nan", "inf", "1e9", "soon", "Soon", "2026-11-27", "Fri, 99 Nov 2026 10:00:00 GMT")],
)
def test_what_is_no_number_of_seconds_is_no_wait(header: str | None, seconds: float | None) -> None:
    from perp._retry import seconds_in

    assert seconds_in(header) == seconds


def test_a_date_is_a_wait(server: FakeServer, fake: perp.Client) -> None:
    for seconds in (30, 7_200):
        server.then_refuse(503, "UNAVAILABLE", {"retry-after": formatdate(time() + seconds, usegmt=True)})
    with pytest.raises(perp.Unavailable) as caught:
        fake.venues()
    assert 7_100 < (caught.value.retry_after or 0) <= 7_200 and len(server.seen) == 2


def test_pauses_double_and_scatter() -> None:
    from perp._retry import pause_before

    assert all(7.0 <= pause_before(1, 7.0) <= 8.75 for _ in range(50))
    assert all(0.5 * 2**n <= pause_before(n + 1, None) <= 0.625 * 2**n for n in range(5))
    assert pause_before(50, None) <= 25.0


def test_tries_end(server: FakeServer, fake: perp.Client) -> None:
    for _ in range(4):
        server.then_refuse(503, "UNAVAILABLE")
    with pytest.raises(perp.Unavailable):
        fake.venues()
    assert len(server.seen) == 4


def test_a_wait_of_hours_is_told_at_once(server: FakeServer, fake: perp.Client) -> None:
    server.then_refuse(429, "RATE_LIMITED", {"retry-after": "40000", "x-service-limit": "requests_per_day"})
    with pytest.raises(perp.RateLimited) as caught:
        fake.venues()
    assert (caught.value.limit, caught.value.retry_after, len(server.seen)) == ("requests_per_day", 40_000.0, 1)


def test_what_is_wrong_is_not_asked_again(server: FakeServer, fake: perp.Client) -> None:
    for status in (400, 401, 402, 403, 404, 409, 500):
        server.then_refuse(status, "X")
        with pytest.raises(perp.ApiError):
            fake.venues()
    assert len(server.seen) == 7


def test_an_answer_that_a_proxy_spoilt_is_an_error_of_this_client(server: FakeServer, fake: perp.Client, tmp_path: Path) -> None:
    def spoilt(status: int) -> Any:
        return lambda handler: handler.send(status, b"no gzip", {"content-encoding": "gzip"})

    for _ in range(4):
        server.then(spoilt(200))
    with pytest.raises(perp.ConnectionFailed, match="/v2/venues"):
        fake.venues()
    assert len(server.seen) == 4, "it is asked again"
    server.then(lambda handler: handler.send(200, b'{"items":['))
    with pytest.raises(perp.ApiError, match="BAD_ANSWER"):
        fake.venues()
    with pytest.raises(perp.ConnectionFailed):
        server.then(spoilt(503))
        fake_once = perp.Client("sk_test", server.base_url, retries=0)
        next(iter(fake_once.live("base = BTC")))
    file: Any = {"listing": "v:S", "venue": "v", "venue_symbol": "S", "layer": "mark", "day": "2026-01-10", "bytes": 9, "sha256": "0"}
    for url in ("http://[", "nowhere:/x"):
        server.then_json(302, {"url": url, "sha256": "0", "bytes": 9})
        with pytest.raises(perp.ConnectionFailed):
            fake_once.archive.download([file], tmp_path)


def test_a_paid_call_whose_answer_cannot_be_read_is_not_paid_again(server: FakeServer) -> None:
    server.then_refuse(402, "PAYMENT_REQUIRED")
    server.then(lambda handler: handler.send(200, b"no gzip", {"content-encoding": "gzip"}))
    client = perp.Client(None, server.base_url, payer=lambda headers, body: {"payment-signature": "signed"})
    with pytest.raises(perp.ConnectionFailed, match="paid for"):
        client.snapshots("base = BTC")
    assert len(server.seen) == 2


def test_a_body_that_breaks_off_is_asked_again(server: FakeServer, fake: perp.Client) -> None:
    server.then(lambda handler: handler.send(200, b'{"evaluated_at"', announced=9_000))
    server.then_json(200, DOCUMENT)
    assert fake.venues().items == []


def test_a_body_that_does_not_come_in_time(server: FakeServer) -> None:
    import threading

    may_end = threading.Event()

    def hold(handler: object) -> None:
        may_end.wait(60)

    server.then(hold)  # type: ignore[arg-type]
    try:
        with pytest.raises(perp.ConnectionFailed, match="/v2/venues"):
            perp.Client("sk_x", server.base_url, timeout=0.2, retries=0).venues()
    finally:
        may_end.set()


def test_an_answer_of_somebody_else(server: FakeServer, fake: perp.Client) -> None:
    """A proxy's page, or the address of another program: refused or not, it is one error with the address to check."""
    for status in (413, 200):
        server.then(lambda handler: handler.send(status, b"<html>Hello</html>"))
        with pytest.raises(perp.ApiError, match="<html>Hello.*\n.*Check the base URL") as caught:
            fake.venues()
        assert (caught.value.code, caught.value.status) == ("BAD_ANSWER", status)
    server.then(lambda handler: handler.send(200, b"<html>Hello</html>"))
    with pytest.raises(perp.ApiError, match="BAD_ANSWER"):
        list(fake.history(interval="1m", start="2026-01-10", end="2026-01-11").pages())


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_is_an_error_that_names_its_address(server: FakeServer, fake: perp.Client, status: int) -> None:
    for ask in (fake.venues, fake.snapshots, lambda: next(iter(fake.live()))):
        server.then(lambda handler: handler.send(status, b"moved", {"location": "https://api.example/v2"}))
        with pytest.raises(perp.ApiError, match="leads to https://api.example/v2") as caught:
            ask()
        assert (caught.value.code, caught.value.status) == ("BAD_ANSWER", status)
    assert len(server.seen) == 3


@pytest.mark.parametrize("body", [b'{"errors": ["no upstream"]}', b'{"errors": "x"}', b'{"errors": [{"code": 7}]}', b'{"errors": 1}', b"[]"])
def test_errors_of_somebody_else(server: FakeServer, fake: perp.Client, body: bytes) -> None:
    server.then(lambda handler: handler.send(502, body))
    server.then_json(200, DOCUMENT)
    assert fake.venues().items == []
    server.then(lambda handler: handler.send(403, body))
    with pytest.raises(perp.ApiError, match="BAD_ANSWER"):
        fake.venues()


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "http://a b", "http://a\nb"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="Write http://"):
        perp.Client("sk_x", address)


@pytest.mark.parametrize("key", ["sk_secret\ny", "“sk_secret”", "sk_secret y"])
def test_what_is_no_key_is_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="the API key") as caught:
        perp.Client(key, "http://127.0.0.1:1")
    assert "sk_secret" not in str(caught.value)


def test_no_key_is_none_of_the_environment(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERP_API_KEY", "sk_environment")
    for key in ("", None):
        server.then_json(200, DOCUMENT)
        perp.Client(key, server.base_url).venues()
    assert [headers.get("authorization") for _, _, headers, _ in server.seen] == [None, "Bearer sk_environment"]


def test_the_line_break_behind_a_key_and_an_address_is_none_of_them(server: FakeServer) -> None:
    server.then_json(200, DOCUMENT)
    assert perp.Client("sk_test\r\n", server.base_url + "/\n").venues().items == []
    assert server.seen[0][2]["authorization"] == "Bearer sk_test"


def test_payments(server: FakeServer) -> None:
    """The payer is called once, the request is sent once more, and nothing is ever repeated above it."""
    seen: list[bytes] = []

    def pay(headers: object, body: bytes) -> dict[str, str]:
        seen.append(body)
        return {"PAYMENT-SIGNATURE": "signed"}

    client = perp.Client(base_url=server.base_url, payer=pay)
    server.then_refuse(402, "PAYMENT_REQUIRED")
    server.then_json(200, {**DOCUMENT, "missing": []})
    assert client.snapshots("base = BTC").items == []
    first, second = server.seen
    assert first[3] == second[3] and second[2]["PAYMENT-SIGNATURE"] == "signed" and "authorization" not in first[2]
    server.then_refuse(402, "PAYMENT_REQUIRED")
    server.then_refuse(503, "UNAVAILABLE")
    with pytest.raises(perp.Unavailable):
        client.snapshots()
    assert (len(server.seen), len(seen)) == (4, 2)
