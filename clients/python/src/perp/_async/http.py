"""Requests: the key in a header, repeats where they help, payment where a payer is given, errors as exceptions."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any, AsyncIterator, Mapping, NamedTuple

import httpx2

from .. import __version__
from .._errors import ApiError, ConnectionFailed, class_of
from .._payment import Payer
from .._retry import RETRIED, pause_before, seconds_in

log = logging.getLogger("perp")

# A wait longer than this raises an exception instead of sleeping.
LONGEST_WAIT_S = 60.0
# Heartbeats of a stream come every 15 s.
SILENCE_S = 45.0
JSON = "application/json"
PARQUET = "application/vnd.apache.parquet"
EVENT_STREAM = "text/event-stream"
# What an answer of each type begins and ends with.
_EDGES: Mapping[str, tuple[bytes, bytes]] = {JSON: (b"{", b"}"), PARQUET: (b"PAR1", b"PAR1")}


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class AsyncHttp:
    """One connection pool with a key."""

    def __init__(
        self, key: str | None, base_url: str, *, timeout: float, retries: int, payer: Payer | None = None
    ) -> None:
        self.base_url = base_url.strip().rstrip("/")
        if re.fullmatch(r"https?://[^/\s]\S*", self.base_url) is None:
            raise ValueError(f"base_url is not an address: {base_url!r}. Write http://127.0.0.1:8080.")
        self.retries = retries
        self._payer = payer
        headers = {"user-agent": f"perp-market-data-python/{__version__}"}
        if key is not None:
            headers["authorization"] = f"Bearer {_checked(key)}"
        self._client = httpx2.AsyncClient(base_url=self.base_url, headers=headers, timeout=timeout)
        # Without the key: links of files lead elsewhere, and a store may answer them with another address.
        self._bare = httpx2.AsyncClient(timeout=httpx2.Timeout(timeout, read=SILENCE_S), follow_redirects=True)

    async def aclose(self) -> None:
        await self._client.aclose()
        await self._bare.aclose()

    async def get(self, path: str, params: Mapping[str, Any] | None = None, *, moved: bool = False) -> Reply:
        return await self._send("GET", path, params=_written(params or {}), moved=moved)

    async def post(self, path: str, body: Mapping[str, Any], *, accept: str = JSON) -> Reply:
        given = {name: value for name, value in body.items() if value is not None}
        content = json.dumps(given, ensure_ascii=False).encode()
        headers = {"content-type": JSON, "accept": accept}
        return await self._send("POST", path, accept=accept, headers=headers, content=content, query=_query_of(given))

    async def _send(
        self, method: str, path: str, *, accept: str = JSON, query: str | None = None, moved: bool = False, **parts: Any
    ) -> Reply:
        attempt = 0
        while True:
            attempt += 1
            try:
                reply = await self._once(method, path, **parts)
            except httpx2.RequestError as failure:
                if attempt > self.retries:
                    raise ConnectionFailed(f"{method} {self.base_url}{path}: {_words_of(failure)}") from failure
                await self._wait(attempt, None, _words_of(failure))
                continue
            is_answer = reply.status < 300 or (moved and reply.status < 400)
            if is_answer and _is_whole(reply.content, accept):
                return reply
            error = error_of(reply, query)
            wait = error.retry_after
            tries_left = attempt <= self.retries and reply.status in RETRIED
            if not tries_left or (wait is not None and wait > LONGEST_WAIT_S):
                raise error
            await self._wait(attempt, wait, error.code)

    async def _wait(self, attempt: int, retry_after: float | None, reason: str) -> None:
        pause = pause_before(attempt, retry_after)
        log.info("%s: try %d follows in %.1f s", reason, attempt + 1, pause)
        await asyncio.sleep(pause)

    async def _once(self, method: str, path: str, **parts: Any) -> Reply:
        """One request; where it is answered 402 and a payer is set, the same once more with a payment."""
        answer = await self._client.request(method, path, **parts)
        if answer.status_code == 402 and self._payer is not None:
            signed = self._payer(dict(answer.headers), answer.content)
            parts = {**parts, "headers": {**parts.get("headers", {}), **signed}}
            try:
                answer = await self._client.request(method, path, **parts)
            except httpx2.RequestError as error:
                # What became of the payment is not known: another try would sign another one.
                raise ConnectionFailed(f"{method} {path} was paid for and no answer came: {_words_of(error)}") from error
        return Reply(answer.status_code, answer.headers, answer.content)

    async def events(self, params: Mapping[str, Any], last_id: str | None) -> AsyncIterator[bytes]:
        """Bytes of the stream as they come. Raises ApiError when it is refused, ConnectionFailed when it breaks."""
        headers = {"accept": EVENT_STREAM, "accept-encoding": "identity"}
        if last_id is not None:
            headers["last-event-id"] = last_id
        timeout = httpx2.Timeout(10, read=SILENCE_S)
        query = _written(params)
        try:
            async with self._client.stream("GET", "/v2/stream", params=query, headers=headers, timeout=timeout) as answer:
                if answer.status_code != 200:
                    raise error_of(Reply(answer.status_code, answer.headers, await answer.aread()), None)
                kind = answer.headers.get("content-type", "no media type")
                if not kind.lower().startswith(EVENT_STREAM):
                    raise error_of(Reply(answer.status_code, answer.headers, f"{kind} instead of {EVENT_STREAM}".encode()), None)
                async for piece in answer.aiter_raw():
                    yield piece
        except httpx2.RequestError as error:
            raise ConnectionFailed(f"the stream: {_words_of(error)}") from error

    async def file(self, url: str, begin: int) -> AsyncIterator[tuple[int, bytes]]:
        """Pieces of a file with their places, from `begin` on, or from 0 where the range is ignored. Raises ConnectionFailed when it breaks."""
        headers = {"accept-encoding": "identity"} | ({} if begin == 0 else {"range": f"bytes={begin}-"})
        try:
            async with self._bare.stream("GET", url, headers=headers) as answer:
                if answer.status_code not in (200, 206):
                    raise error_of(Reply(answer.status_code, answer.headers, await answer.aread()), None)
                at = begin if answer.status_code == 206 else 0
                async for piece in answer.aiter_raw():
                    yield at, piece
                    at += len(piece)
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise ConnectionFailed(f"the file: {_words_of(error)}") from error


def _checked(key: str) -> str:
    """What no header can have is refused here: the error of a request would show the key."""
    if re.fullmatch(r"[\x21-\x7e]+", key) is None:
        raise ValueError("the API key has a character that no key has, such as a space, a line break or a curly quote")
    return key


def _is_whole(content: bytes, accept: str) -> bool:
    """Whether it may be an answer of this type, not a proxy's page or the beginning of one."""
    begin, end = _EDGES[accept]
    return content.startswith(begin) and content.rstrip().endswith(end)


def error_of(reply: Reply, query: str | None) -> ApiError:
    """A refusal as an exception; an answer that is none of this service is BAD_ANSWER."""
    try:
        body = json.loads(reply.content)
        errors = body["errors"]
        # Other programs have errors, too, such as a list of texts.
        is_own = all(isinstance(error["code"], str) and isinstance(error["message"], str) for error in errors)
    except (ValueError, TypeError, LookupError):
        body, errors, is_own = {}, [], False
    if not is_own or not errors:
        begin = " ".join(reply.content[:80].decode(errors="replace").split())
        to = reply.headers.get("location")
        leads = "" if to is None else f"which leads to {to}, "
        message = f"The answer is not of this service: status {reply.status}, {leads}{begin}"
        errors = [{"code": "BAD_ANSWER", "message": message, "hint": "Check the base URL, and any proxy on the way."}]
    return class_of(reply.status, errors[0]["code"])(
        reply.status,
        errors,
        receipt=reply.headers.get("x-service-receipt"),
        retry_after=seconds_in(reply.headers.get("retry-after")),
        limit=reply.headers.get("x-service-limit"),
        query=query,
        body=body if isinstance(body, dict) else {},
    )


def _query_of(body: Mapping[str, Any]) -> str | None:
    """The text that positions of errors count in, where there is only one."""
    texts = [text for text in (body.get("query"), body.get("where")) if isinstance(text, str)]
    return texts[0] if len(texts) == 1 else None


def _written(params: Mapping[str, Any]) -> dict[str, str]:
    """As a query string has it."""
    words = {True: "true", False: "false"}
    return {
        name: words[value] if isinstance(value, bool) else str(value)
        for name, value in params.items()
        if value is not None
    }


def _words_of(error: Exception) -> str:
    return str(error) or type(error).__name__
