"""Instants as the service writes and reads them: RFC 3339 in UTC, to the microsecond."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Union

Instant = Union[str, date, datetime]
Duration = Union[str, timedelta]

_DURATION = re.compile(r"(0|[1-9][0-9]{0,8})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_ASKED = re.compile(rf"{_LOCAL.pattern}(Z|[+-][0-9]{{2}}:[0-9]{{2}})|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def parse_instant(text: str) -> datetime:
    """A member such as `received_at` as an aware datetime, exact to the microsecond."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)


def format_instant(value: Instant) -> str:
    """What the service takes. A datetime without a time zone is refused: local times are a common mistake."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone: use datetime(..., tzinfo=timezone.utc)")
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    raise ValueError(f"{value!r} is not an instant: write '2026-01-15T12:00:00Z', a date, or a datetime with a time zone")


def format_day(value: Instant) -> str:
    """The UTC day of an instant, whatever its zone; what is no instant with a zone stays as it is, for the service to read."""
    if isinstance(value, str) and not ("T" in value and _ASKED.fullmatch(value)):
        return value
    return from_micros(to_micros(value))[:10]


def to_micros(value: Instant) -> int:
    """Microseconds since 1970."""
    return _micros_of(format_instant(value))


def asked_micros(value: Instant) -> int:
    """Likewise, of an argument: a text that the service would refuse is refused (N-03), as a datetime without a zone is."""
    if isinstance(value, str) and _ASKED.fullmatch(value) is None:
        if _LOCAL.fullmatch(value):
            raise ValueError(f"{value!r} has no time zone: add Z if it is UTC")
        raise ValueError(f"{value!r} is not an instant: write '2026-01-15T12:00:00Z' with at most six digits of a second, or a date")
    return to_micros(value)


@lru_cache(maxsize=4_096)
def _micros_of(text: str) -> int:
    """Rows of many listings have the same instants."""
    return (parse_instant(text) - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> str:
    """As the service writes it: milliseconds where they are enough."""
    moment = _EPOCH + micros * _MICROSECOND
    digits = "milliseconds" if micros % 1_000 == 0 else "microseconds"
    return moment.isoformat(timespec=digits).replace("+00:00", "Z")


def seconds_of(duration: Duration) -> int:
    """`90s`, `1h` or a timedelta of whole seconds."""
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
        if seconds != int(seconds) or seconds < 0:
            raise ValueError(f"{duration!r} is not a whole number of seconds")
        return int(seconds)
    found = _DURATION.fullmatch(duration)
    if found is None:
        raise ValueError(f"{duration!r} is not a duration: write 30s, 5m, 1h or 2d")
    return int(found[1]) * _SECONDS[found[2]]


def format_duration(duration: Duration) -> str:
    """In the largest unit that divides it: 60m is 1h."""
    seconds = seconds_of(duration)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def now_micros() -> int:
    return (datetime.now(timezone.utc) - _EPOCH) // _MICROSECOND
