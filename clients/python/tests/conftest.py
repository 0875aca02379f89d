"""The servers of the tests: an API over real engines at PERP_TEST_URL, with a clock that is stopped; or a server of their own that misbehaves."""

from __future__ import annotations

import os
import random
from itertools import cycle
from typing import Iterator

import pytest

import perp
from tests.fake import FakeServer

# The day that the API has closed, and the part of it that has rows.
DAY = "2026-01-10"
START, END = f"{DAY}T00:00:00Z", f"{DAY}T00:30:00Z"
BTC = "base = BTC and quote = USDT"


def _required(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise pytest.UsageError(f"{name} is not set: `npm test -- clients/python` starts the API and runs these tests")
    return value


@pytest.fixture(scope="session")
def base_url() -> str:
    return _required("PERP_TEST_URL")


@pytest.fixture(scope="session")
def keys() -> Iterator[str]:
    return cycle(_required("PERP_TEST_KEYS").split(","))


@pytest.fixture
def key(keys: Iterator[str]) -> str:
    """A key whose limits are not used up."""
    return next(keys)


@pytest.fixture
def client(key: str, base_url: str) -> Iterator[perp.Client]:
    with perp.Client(key, base_url) as client:
        yield client


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> int:
    """The API's clock is stopped, and the client's too."""
    micros = int(_required("PERP_TEST_NOW"))
    for module in ("perp._asked", "perp._async.follow", "perp._sync.follow"):
        monkeypatch.setattr(f"{module}.now_micros", lambda: micros)
    return micros


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
def fake(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> perp.Client:
    """A client of the server that misbehaves; it does not pause between tries."""
    monkeypatch.setattr("perp._sync.http.pause_before", lambda attempt, retry_after: 0.0)
    monkeypatch.setattr("perp._sync.follow.pause_before", lambda attempt, retry_after: 0.0)
    monkeypatch.setattr("perp._sync.follow.pause_before_return", lambda attempt, retry_s: 0.0)
    monkeypatch.setattr("perp._sync.archive.pause_before", lambda attempt, retry_after: 0.0)
    return perp.Client("sk_test", server.base_url, retries=3)


@pytest.fixture
def seed() -> random.Random:
    """Random input that can be had again: PERP_SEED=..."""
    number = int(os.environ.get("PERP_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"PERP_SEED={number}")
    return random.Random(number)
