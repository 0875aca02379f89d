"""Follows the service at PERP_BASE_URL from an instant on; a line of JSON for each reading: source, symbol, layer, receipt, status, figures.

usage: run_follow.py WHERE LAYERS SINCE
"""

from __future__ import annotations

import json
import logging
import sys

import perp
from perp._rows import figures_of

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s %(message)s")
logging.getLogger("httpx2").setLevel(logging.WARNING)


def main(where: str, layers: str, since: str) -> None:
    history = perp.Client().history(where, layers=layers.split(","), raw=True, start=since)  # type: ignore[arg-type]

    def note(gap: object) -> None:
        print(json.dumps({"gap": gap}), flush=True)

    for row in history.then_live(on_gap=note):
        if row["received_at"] is not None and figures_of(row) and row.get("change") != "status":
            figures = {name: figure for name, figure in figures_of(row).items() if figure is not None}
            told = [row["source"], row["venue_symbol"], row["layer"], row["received_at"], row["status"], len(figures)]
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
