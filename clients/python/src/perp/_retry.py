"""When to retry, and how long to wait before: the wait that the service requests, else a pause that doubles."""

from __future__ import annotations

import random
import re
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

# Statuses of an answer that means "not now".
RETRIED = frozenset({429, 502, 503, 504})
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0
# Of a stream, until the service has sent its own (ST-02).
FIRST_RETRY_S = 3.0
# A shorter wait is none for whoever comes back for as long as the service is away.
LEAST_ASKED_S = 1.0
# Many clients that were refused together come back apart.
JITTER = 0.25


def pause_before(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait before try number `attempt` (1 is the first repeat)."""
    base = retry_after if retry_after is not None else min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempt - 1, 64))
    return base * (1 + JITTER * random.random())


def lasting_wait(retry_after: float | None) -> float | None:
    """The wait that a service requests of one that comes back without end.

    `Retry-After: 0`, or a date that the clock here has passed, states none: requests would follow each other without a pause.
    """
    return retry_after if retry_after is not None and retry_after >= LEAST_ASKED_S else None


def pause_before_return(attempt: int, retry_s: float) -> float:
    """Seconds that a stream which was open waits before try number `attempt`: by chance up to what the service requested by `retry`, twice as long each time.

    Readers that were sent away together do not come back together (D-470).
    """
    return random.random() * min(max(retry_s, 0.001) * 2.0 ** min(attempt - 1, 64), max(retry_s, LONGEST_PAUSE_S))


_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
# What else has a date in it for the parser, such as `-5`, has no name of a day.
_DATE = re.compile(r"[A-Z][a-z]{2}.*")


def seconds_in(header: str | None) -> float | None:
    """Of `Retry-After`: a number of seconds, as this service writes it, or a date, as a proxy may. Anything else (`-5`, `nan`) is no wait."""
    if header is None:
        return None
    if _SECONDS.fullmatch(header) is not None:
        return float(header)
    try:
        moment = parsedate_to_datetime(header) if _DATE.fullmatch(header) is not None else None
    except ValueError:
        return None
    if moment is None:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or timezone.utc) - datetime.now(timezone.utc)).total_seconds())
