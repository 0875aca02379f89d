"""Valid use: `mypy --strict` reports nothing."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import perp
from perp import dql as q


def use(client: perp.Client) -> None:
    for item in client.snapshots({"base": ["BTC"]}, layers=["mark"], units="base", freshness={"mark": "60s"}):
        mark: float | None = item["layers"]["mark"]["values"]["mark"]
        print(mark)
    history = client.history(q_where, interval="1m", start=date(2026, 1, 10), end=datetime.now(timezone.utc))
    for row in history:
        print(row["venue"].upper(), row["values"].get("mark"), row["source"] == "live")
    client.history(at=["2026-01-10", date(2026, 1, 11)])
    client.history(raw=True, last=timedelta(hours=1))
    client.candles(timeframe="1h", last="2d", price_type="index")
    for event in client.live(layers=["trade", "book"], depth=5):
        if event["event"] == "update":
            print(event["data"]["state"]["values"])
        elif event["event"] == "gap":
            print(event["data"]["reason"].upper())
    query = q.query(q.any((q.mark > 1) & (q.status(q.bid) == "present")) & (q.count(q.oi > 0) >= 2), timeframe="1h")
    print(client.dql.check(query).cost + 1)


q_where = perp.where(base="BTC")


async def use_async(client: perp.AsyncClient) -> None:
    answer = await client.snapshots()
    print(answer.data["evaluated_at"].upper())
    async for row in client.candles(timeframe="1m", last="1h"):
        print(row["close"])
