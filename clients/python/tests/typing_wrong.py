"""Wrong use: every line marked `# wrong` is a type error, and no other line is."""

from __future__ import annotations

import perp
from perp import dql as q

client = perp.Client()
rows = client.history(interval="1m", last="1h")

client.snapshots(layers=["marks"])  # wrong: no such layer
client.snapshots(layers="mark")  # wrong: a list
client.snapshots(units="usd")  # wrong: no such unit
client.snapshots({"coin": "BTC"})  # wrong: no name of a selection
client.snapshots("base = BTC", ["mark"])  # wrong: layers has a name
client.books(depth="5")  # wrong: a number
client.history(last="1h")  # wrong: which rows?
client.history(interval="1m", at="2026-01-10")  # wrong: one or the other
client.history(interval="7m", last="1h")  # wrong: no such interval
client.history(at="2026-01-10", start="2026-01-10")  # wrong: instants have no window
client.history(raw=False, last="1h")  # wrong: raw is requested or left out
client.candles(last="1h")  # wrong: which timeframe?
client.candles(timeframe="7m", last="1h")  # wrong: no such timeframe
client.candles(timeframe="1h", last="1h", price_type="bid")  # wrong: no such price
client.liquidations(last="1h", side="buy")  # wrong: the side of a position
client.live(layers=["stats", "depth"])  # wrong: no such layer
client.archive.list(layer="book")  # wrong: not archived
client.archive.download([], "x", format="zip")  # wrong: no such format
client.snapshots().to_pandas(exact="yes")  # wrong: true or false
client.snapshots().data["evaluated"]  # wrong: no such member
client.account().data["plan"]["price"]  # wrong: no such member
next(iter(rows))["value"]  # wrong: no such member
[row for row in rows if row["source"] == "now"]  # wrong: never so
client.screen(3)  # wrong: no query
client.snapshots()["items"] + 1 if False else len(client.snapshots()) + "1"  # wrong: a number
q.query(q.mark > 0)  # wrong: a venue's figure belongs in any, all, count
q.any(q.mark)  # wrong: no condition
q.any(q.any(q.mark > 0))  # wrong: they do not nest
q.any(q.max(q.mark) > 0)  # wrong: they do not nest
q.any((q.mark > 0) & q.index)  # wrong: no condition
q.any(q.mark > 0) & (q.mark > 0)  # wrong: other scopes
q.venue > "binance"  # wrong: names have no order
q.status(q.max(q.bid))  # wrong: of a field
q.age(q.sma(q.close, 20))  # wrong: of a field
q.sma(q.close, 20, "7m")  # wrong: no such timeframe
q.depth_bid("20bps")  # wrong: no such band
q.query(q.any(q.mark > 0), order_by=[q.mark])  # wrong: an order is of instruments
q.query(q.any(q.mark > 0), order=[q.instrument])  # wrong: order_by
q.where(coin="BTC")  # wrong: no name of a selection
perp.Client(key=1)  # wrong: text
perp.Client(retry=3)  # wrong: retries
perp.AsyncClient().snapshots().data  # wrong: awaited
