#!/usr/bin/env python3
"""Measures by hand what the client does with rows, files and events once they are here: processor seconds, best of three.

usage: speed.py [ROWS]
"""
from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Iterator

import pandas
import pyarrow
import pyarrow.parquet

import perp
from perp._instants import from_micros
from perp._sse import Splitter
from perp._tables import Table, history_spec, rows_of_document

EVENTS = 20_000
BEGIN = 1_768_000_000_000_000
LISTING = {"venue": "binance", "venue_symbol": "BTCUSDT", "instrument": "BTC-PERP", "quote": "USDT"}


def row_of(n: int) -> dict[str, Any]:
    at = from_micros(BEGIN + n * 10_000_000)
    stamps = {"venue_ts": at, "received_at": at, "age_ms": 12, "venue_age_ms": 12, "valid_until": None}
    values = {"basis": -0.0000099648401893, "index": 97007.55271853, "mark": 97006.58605377 + n}
    return {"at": at, "status": "present", **stamps, "horizon_source": "documented", "anchor": "venue", "values": values}


def seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    """As the service writes it: figures as text, instants and counts as such."""
    flat = [{**LISTING, "layer": "mark", **{k: v for k, v in row.items() if k != "values"}} for row in rows]
    columns = {name: [row[name] for row in flat] for name in flat[0]}
    for name in ("at", "venue_ts", "received_at", "valid_until"):
        instants = [None if text is None else perp.parse_instant(text) for text in columns[name]]
        columns[name] = pyarrow.array(instants, pyarrow.timestamp("us", "UTC"))
    for name in rows[0]["values"]:
        columns[f"values.{name}"] = [f"{Decimal(repr(row['values'][name])):f}" for row in rows]
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out, compression="zstd")
    return out.getvalue()


SERVER = '''
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
body = sys.stdin.buffer.read()
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(body)
server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
'''


@contextmanager
def served(events: bytes) -> Iterator[str]:
    """Another process sends these bytes as a stream."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(events)
    server.stdin.close()
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()


def live_seconds(base_url: str) -> float:
    def read() -> None:
        with perp.Client("k", base_url).live() as stream:
            for number, _ in enumerate(stream, 1):
                if number == EVENTS:
                    return

    return seconds(read)


def main(count: int) -> None:
    rows = [row_of(n) for n in range(count)]
    document = json.dumps({"items": [{**LISTING, "layers": {"mark": {"rows": rows}}}]}).encode()
    lines = "\n".join(json.dumps({**LISTING, "layer": "mark", **row, **row["values"], "values": None}) for row in rows)
    file, spec = as_parquet(rows), history_spec(["mark"])
    report = {
        f"{count} rows of Parquet ({len(file)} bytes) to pandas": lambda: Table(spec, [file]).to_pandas(),
        f"{count} rows of Parquet to pandas, exact": lambda: Table(spec, [file]).to_pandas(exact=True),
        f"{count} rows of Parquet to polars": lambda: Table(spec, [file]).to_polars(),
        f"{count} rows of JSON ({len(document)} bytes) to pandas": lambda: Table(spec, [rows_of_document("history", document)]).to_pandas(),
        "the same bytes by pandas.read_json, which leaves the rows as objects": lambda: pandas.read_json(io.BytesIO(document)),
        f"{count} rows of JSON by pandas.read_json of flat lines ({len(lines)} bytes)": lambda: pandas.read_json(io.StringIO(lines), lines=True),
    }
    with tempfile.TemporaryDirectory() as folder:
        day = Path(folder, "day.parquet")
        day.write_bytes(as_parquet(rows[:8_640]))
        report["a day's file of 8640 rows to polars"] = lambda: perp.read_archive(day).to_polars()
        for what, work in report.items():
            print(f"{seconds(work):8.3f} s  {what}")
    event = {**LISTING, "layer": "mark", "rev": 1, "change": "value", "state": {**rows[0], "units": {"mark": "quote"}}}
    stream = f"id: QOucqiLWwHQ.hod93ji6sk\nevent: update\ndata: {json.dumps(event)}\n\n".encode() * EVENTS
    pieces = [stream[at : at + 65_536] for at in range(0, len(stream), 65_536)]
    with served(stream) as base_url:
        print(f"{EVENTS / live_seconds(base_url):8.0f} events a processor second of a stream, as live() gives them")

    def read() -> None:
        splitter = Splitter()
        for piece in pieces:
            for frame in splitter.feed(piece):
                json.loads(frame.text)

    print(f"{EVENTS / seconds(read):8.0f} events a processor second, split and decoded alone")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
