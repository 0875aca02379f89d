"""How answers look in a notebook: statuses in colour, ages, and no figure where there is none."""

from __future__ import annotations

import re

import perp
from perp._display import age_text, answer_html, figure_text
from tests.conftest import BTC, END, START


def test_snapshots(client: perp.Client) -> None:
    html = client.snapshots(layers=["mark", "oi"], freshness="60s")._repr_html_()
    assert 'color:#1a7f37;font-weight:600">present' in html and 'color:#9a6700;font-weight:600">stale' in html
    assert "316 ms" in html and "15 m" in html
    stale = next(row for row in re.findall(r"<tr>.*?</tr>", html) if ">stale" in row)
    assert "<b>" not in stale, "no number stands beside what is not current"
    assert "5 items" not in html or html.count("<tr>") <= 32


def test_others(client: perp.Client) -> None:
    assert "best bid" in client.books(BTC)._repr_html_()
    assert "live" in client.venues()._repr_html_()
    assert "BTC-PERP" in client.screen("any(venues where mark > 0)", freshness="604800s").first_page()._repr_html_()
    assert "pro_plus" in client.account()._repr_html_()
    lazy = client.history(BTC, interval="1m", start=START, end=END)
    assert "nothing is asked yet" in lazy._repr_html_()
    assert "2 items" in repr(client.snapshots(BTC))


def test_nothing_of_an_answer_is_markup() -> None:
    """A venue names its listings and assets itself; `select quote` has such a name as a figure."""
    bad = "<img src=x>"
    state = {"status": bad, "reason": bad, "age_ms": 1, "values": {bad: bad}, "units": {bad: bad}}
    known = {"venue": bad, "symbol": bad, "venue_symbol": bad, "name": bad, "state": bad}
    figure = {"value": bad, "unit": "code", "age_ms": 1}
    documents = {
        "snapshots": {"items": [{**known, "layers": {bad: state}}]},
        "books": {"items": [{**known, "status": bad, "age_ms": 1, "bids": [[bad, bad]], "asks": []}]},
        "venues": {"items": [{**known, "listings": 1, "listings_collected": 1}]},
        "screen": {"instruments": [{"instrument": bad, "result": bad, "values": {bad: figure}, "venues": [{**known, "values": {}}]}]},
        "agent_state": {"rules": [{**known, "reason": bad, "previous_state": bad, "since": bad, "matched_total": 1}]},
        "account": {bad: bad},
    }
    for name, document in documents.items():
        assert "<img" not in answer_html(name, document), name


def test_words() -> None:
    assert [age_text(ms) for ms in (None, 5, 4_200, 180_000, 7_200_000, 5 * 86_400_000)] == ["-", "5 ms", "4.2 s", "3 m", "2 h", "5 d"]
    assert [figure_text(value) for value in (1.5e-7, 60000, 0.25, None, -1e-20)] == ["0.00000015", "60000", "0.25", "-", "0"]
