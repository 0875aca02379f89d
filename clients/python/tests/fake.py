"""A server with scripted answers: refusals, half bodies, streams that break."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Mapping

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *_: Any) -> None:
        return None

    def _take(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), body))
        self.server.answers.popleft()(self)

    do_GET = do_POST = _take

    def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None, *, announced: int | None = None) -> None:
        """With `announced` more than there is, the body breaks off."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)
        if announced is not None:
            self.close_connection = True

    def stream(self, pieces: list[bytes]) -> None:
        """Server-sent events until the connection is closed."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True


class FakeServer:
    def __init__(self) -> None:
        self._server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.answers = self.answers = deque[Answer]()
        self._server.seen = self.seen = []
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

    def then(self, answer: Answer) -> None:
        self.answers.append(answer)

    def then_json(self, status: int, document: Any, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(document, separators=(",", ":")).encode()
        self.then(lambda handler: handler.send(status, body, {"content-type": "application/json", **(headers or {})}))

    def then_refuse(self, status: int, code: str, headers: Mapping[str, str] | None = None, **error: Any) -> None:
        self.then_json(status, {"errors": [{"code": code, "message": f"It is {code}.", **error}]}, headers)

    def then_events(self, *events: tuple[str, str, Any], head: bytes = b"", tail: bytes = b"") -> None:
        """Events `(id, name, data)` behind a piece that begins the first, then a piece that no event ends."""
        frames = [f"id: {at}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode() for at, name, data in events]
        self.then(lambda handler: handler.stream([head, *frames, tail]))
