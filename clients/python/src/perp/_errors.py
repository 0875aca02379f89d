"""What can go wrong, as one small tree: catch `PerpError` for all of it, or the branch you can do something about."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence


class PerpError(Exception):
    """Everything this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Pools of processes bring an exception to their caller by pickle, which would call `__init__` with the message alone.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[PerpError], args: tuple[Any, ...], members: Mapping[str, Any]) -> PerpError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class ApiError(PerpError):
    """The service refused. `code` is stable, `message` may be reworded, `hint` is what to send instead."""

    def __init__(
        self,
        status: int,
        errors: Sequence[Mapping[str, Any]],
        *,
        receipt: str | None = None,
        retry_after: float | None = None,
        limit: str | None = None,
        query: str | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        first = errors[0] if errors else {}
        self.status = status
        self.errors = [dict(error) for error in errors]
        self.code: str = str(first.get("code", f"HTTP_{status}"))
        self.message: str = str(first.get("message", "The service gave no reason."))
        self.hint: str | None = first.get("hint")
        self.position: Mapping[str, int] | None = first.get("position")
        self.path: str | None = first.get("path")
        self.receipt = receipt
        self.retry_after = retry_after
        self.limit = limit
        self.query = query
        self.body = dict(body or {})
        super().__init__(self.message)

    def __str__(self) -> str:
        lines: list[str] = []
        for error in self.errors or [{"code": self.code, "message": self.message}]:
            lines.append(f"{error.get('code')}: {error.get('message')}")
            lines.extend(_underlined(self.query, error.get("position")))
            if error.get("path"):
                lines.append(f"  at {error['path']}")
            if error.get("hint"):
                lines.append(f"  hint: {error['hint']}")
        if self.limit is not None:
            lines.append(f"  limit: {self.limit}")
        if self.retry_after is not None:
            lines.append(f"  retry after: {self.retry_after:g} s")
        if self.receipt is not None:
            lines.append(f"  receipt: {self.receipt}")
        return "\n".join(lines)


# Where lines end in positions; str.splitlines() also ends them at characters that a text may contain, such as U+2028.
_LINE_END = re.compile(r"\r\n|\n|\r")


def _underlined(query: str | None, position: Mapping[str, int] | None) -> list[str]:
    """The line of the text that is wrong, with the wrong part marked below it."""
    if query is None or position is None:
        return []
    lines = _LINE_END.split(query)
    line, column = position["line"] - 1, position["column"] - 1
    text = lines[line] if line < len(lines) else ""
    marks = "^" * max(1, min(position["length"], len(text) - column))
    return [f"  {text}", f"  {' ' * column}{marks}"]


class RequestError(ApiError):
    """400: the request is wrong in itself. Repeating it changes nothing."""


class QueryError(RequestError):
    """400 with a `DQL_` code: a query or a selection is wrong, at `position` or `path`."""


class LimitError(RequestError):
    """400 `DQL_LIMIT` or `DQL_COMPLEXITY`: too many listings, rows, bytes, or too costly a query. The hint has what fits."""


class AuthError(ApiError):
    """401: no key, or one that is not accepted."""


class PaymentRequired(ApiError):
    """402: the call costs something. `body` has the offers."""


class PlanError(ApiError):
    """403: valid, but beyond the plan of the key."""


class NotFound(ApiError):
    """404: there is nothing under this name, or no anchor yet."""


class AnchorChanged(ApiError):
    """409: stored rows no longer give the posted root."""


class RateLimited(ApiError):
    """429: a limit of the plan is used up, `limit` names it, `retry_after` is the wait in seconds."""


class Unavailable(ApiError):
    """5xx: the service cannot answer now. Worth another try."""


class ConnectionFailed(PerpError):
    """No answer came: the address is wrong, the network is down, or the time is over."""


class StreamEnded(PerpError):
    """The service ended the stream for good: its key or plan has ended. `reason` is the service's own word."""

    def __init__(self, reason: str, errors: Sequence[Mapping[str, Any]] = ()) -> None:
        self.reason = reason
        self.errors = [dict(error) for error in errors]
        said = "; ".join(f"{error.get('code')}: {error.get('message')}" for error in self.errors)
        super().__init__(f"the stream has ended: {reason}{f' ({said})' if said else ''}")


class Mismatch(PerpError):
    """What came is not what was announced: the SHA-256 of a file or of an answer differs."""

    def __init__(self, what: str, expected: str, found: str) -> None:
        self.what, self.expected, self.found = what, expected, found
        super().__init__(f"{what} has another SHA-256\n  expected {expected}\n  found    {found}")


class MissingExtra(PerpError, ImportError):
    """A package for tables, progress or payment is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'perp-market-data[{extra}]'")


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: RequestError,
    401: AuthError,
    402: PaymentRequired,
    403: PlanError,
    404: NotFound,
    409: AnchorChanged,
    429: RateLimited,
}
_LIMITS = ("DQL_LIMIT", "DQL_COMPLEXITY")


def class_of(status: int, code: str) -> type[ApiError]:
    """The branch of the tree that an answer belongs to."""
    if status == 400 and code in _LIMITS:
        return LimitError
    if status == 400 and code.startswith("DQL_") and code not in ("DQL_JSON_SCHEMA", "DQL_VERSION"):
        return QueryError
    if status >= 500:
        return Unavailable
    return _BY_STATUS.get(status, RequestError)
