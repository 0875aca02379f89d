"""Files of closed days: what there is, what it costs, and the files themselves, whole or not at all."""

from __future__ import annotations

import time
import hashlib
import json
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Iterator, Callable, Iterable, List, Literal, Union
from urllib.parse import quote

from .. import types as shapes
from .._asked import ArchiveLayer, Where, where_text
from .._errors import ApiError, ConnectionFailed, Mismatch
from .._instants import Instant, format_day
from .._progress import Bar, open_bar
from .._retry import RETRIED, pause_before
from .http import LONGEST_WAIT_S, Http, Reply, log
from .results import ArchiveFiles

Format = Literal["parquet", "csv", "jsonl"]
_ENDINGS = {"parquet": ".parquet", "csv": ".csv.zst", "jsonl": ".jsonl.zst"}
Files = Union[Iterable[shapes.ArchiveFile], ArchiveFiles]
NameFile = Callable[[shapes.ArchiveFile, Format], Union[str, Path]]


@dataclass(frozen=True)
class Cost:
    """What a download would take. `bytes` is of the Parquet files; `usdc` is the price without a key."""

    files: int
    bytes: int
    usdc: Decimal
    not_included: int
    not_sold: int


def default_name(file: shapes.ArchiveFile, format: Format) -> Path:
    """`funding/2026-01-10/binance/BTCUSDT.parquet`; what a file name cannot hold is percent-encoded."""
    layer, day, venue = (_part(file["layer"]), _part(file["day"]), _part(file["venue"]))
    return Path(layer, day, venue, _part(file["venue_symbol"]) + _ENDINGS[format])


def _part(text: str) -> str:
    """A name inside its folder, whatever the list says: neither a path nor `..`."""
    name = quote(text, safe=" -_.~")
    return name if name.strip(".") else name.replace(".", "%2E")


class Archive:
    """`client.archive`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self,
        where: Where | None = None,
        *,
        layer: ArchiveLayer | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
    ) -> ArchiveFiles:
        """Files, one for each listing, layer and day; `start` and `end` are days, both inside. It costs nothing."""
        params = {"where": where_text(where), "layer": layer, "from": _day(start), "to": _day(end), "limit": 1_000}

        def ask(cursor: str | None) -> Reply:
            return self._http.get("/v2/archive", {**params, "cursor": cursor})

        return ArchiveFiles(self._http, ask)

    def cost(self, files: Files) -> Cost:
        """Adds up a list before anything is fetched."""
        count, size, price, outside, unsold = 0, 0, Decimal(0), 0, 0
        for file in _each(files):
            count, size = count + 1, size + file["bytes"]
            price += Decimal(file["price_usdc"] or "0")
            outside += not file["included"]
            unsold += file["price_usdc"] is None
        return Cost(count, size, price, outside, unsold)

    def download(
        self,
        files: Files,
        folder: Union[str, Path],
        *,
        format: Format = "parquet",
        name: NameFile = default_name,
        progress: bool | None = None,
    ) -> List[Path]:
        """Fetches files into a folder. What is there with the right hash stays; what broke off is continued.

        A file has its name only when its SHA-256 is right. Raises Mismatch when it is not.
        """
        wanted = [file for file in _each(files)]
        bar = open_bar(sum(file["bytes"] for file in wanted), "archive", unit="B", wanted=progress)
        paths = []
        for file in wanted:
            path = Path(folder, name(file, format))
            if format == "parquet" and path.exists() and _hash_of(path) == file["sha256"]:
                bar.update(file["bytes"])
            else:
                self._fetch(file, path, format, bar)
            paths.append(path)
        bar.close()
        return paths

    def _fetch(self, file: shapes.ArchiveFile, path: Path, format: Format, bar: Bar) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        link = self._link(file, format)
        if path.exists() and _hash_of(path) == link["sha256"]:
            bar.update(link["bytes"])
            return
        attempt = 0
        begun_as: str | None = None
        while True:
            held = part.stat().st_size if part.exists() else 0
            begun_as = link["sha256"] if held == 0 else begun_as
            if held >= link["bytes"]:
                found = _hash_of(part)
                if found == link["sha256"]:
                    break
                part.unlink()
                if begun_as == link["sha256"]:
                    raise Mismatch(str(path), link["sha256"], found)
                # Another version of the file was begun, which has been replaced since.
                continue
            try:
                self._add(link["url"], part, bar)
                if part.stat().st_size <= held:
                    raise ConnectionFailed(f"{path}: the file ended after {held} of {link['bytes']} bytes")
            except (ConnectionFailed, ApiError) as error:
                attempt += 1
                may_help = isinstance(error, ConnectionFailed) or error.status in RETRIED
                if not may_help or attempt > self._http.retries:
                    raise
                wait = error.retry_after if isinstance(error, ApiError) else None
                if wait is not None and wait > LONGEST_WAIT_S:
                    raise
                pause = pause_before(attempt, wait)
                log.info("%s: it is continued in %.1f s", error, pause)
                time.sleep(pause)
                # A link lives for a quarter of an hour.
                link = self._link(file, format)
        os.replace(part, path)

    def _add(self, url: str, part: Path, bar: Bar) -> None:
        """Adds what the part lacks; a server that ignores the range begins it anew."""
        with open(part, "ab") as out:
            for at, piece in self._http.file(url, out.tell()):
                if at == 0:
                    out.seek(0)
                    out.truncate()
                out.write(piece)
                bar.update(len(piece))

    def _link(self, file: shapes.ArchiveFile, format: Format) -> shapes.ArchiveFileAnswer:
        listing = quote(file["listing"], safe="")
        path = f"/v2/archive/{listing}/{file['layer']}/{file['day']}"
        reply = self._http.get(path, {"format": format}, moved=True)
        link: shapes.ArchiveFileAnswer = json.loads(reply.content)
        return link


def _each(files: Files) -> Iterator[shapes.ArchiveFile]:
    if isinstance(files, ArchiveFiles):
        for file in files:
            yield file
    else:
        for file in files:
            yield file


def _day(value: Instant | None) -> str | None:
    return None if value is None else format_day(value)


def _hash_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


