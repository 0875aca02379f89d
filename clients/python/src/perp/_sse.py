"""Server-sent events out of bytes, without input or output: what a cut line or a cut event leaves behind waits for more."""

from __future__ import annotations

import re
from typing import NamedTuple, get_args, get_type_hints

from . import types as shapes

# Names may be added to the stream: an event that is not one of these is left aside.
EVENTS = frozenset(get_args(get_type_hints(message)["event"])[0] for message in get_args(shapes.StreamEvent))


class Frame(NamedTuple):
    """One event as it came."""

    name: str
    id: str | None
    text: str


class Splitter:
    """Takes bytes in any pieces, gives whole events. An event that the end of the stream cuts is never given."""

    def __init__(self, most: int = 16 << 20) -> None:
        self._rest = b""
        self._most = most
        # Milliseconds of the last `retry`.
        self.retry: int | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Events that are whole now."""
        blocks = (self._rest + data).replace(b"\r\n", b"\n").split(b"\n\n")
        self._rest = blocks.pop()
        if len(self._rest) > self._most:
            raise ValueError(f"an event is longer than {self._most} bytes")
        frames = [self._frame_of(block) for block in blocks]
        return [frame for frame in frames if frame is not None]

    def _frame_of(self, block: bytes) -> Frame | None:
        """None for a block without data, such as a comment."""
        name, event_id, lines = "message", None, []
        for line in block.decode("utf-8").split("\n"):
            field, _, value = line.partition(":")
            if value.startswith(" "):
                value = value[1:]
            if field == "data":
                lines.append(value)
            elif field == "event":
                name = value
            elif field == "id" and "\0" not in value:
                event_id = value
            elif field == "retry" and re.fullmatch("[0-9]{1,9}", value):
                self.retry = int(value)
        return Frame(name, event_id, "\n".join(lines)) if lines else None
