#!/usr/bin/env python3
"""Prints examples/*.ipynb from the scripts beside them (cells begin with `# %%`), without outputs; with --check only compares."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"
MARK = "# %%"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cells_of(script: str) -> list[dict[str, Any]]:
    cells = []
    for number, part in enumerate(script.split(f"\n{MARK}")[1:]):
        kind, _, body = part.partition("\n")
        is_words = kind.strip() == "[markdown]"
        lines = body.strip("\n").split("\n")
        text = "\n".join(line.removeprefix("# ").removeprefix("#") for line in lines) if is_words else "\n".join(lines)
        cell: dict[str, Any] = {"cell_type": "markdown" if is_words else "code", "id": f"cell-{number}", "metadata": {}}
        if not is_words:
            cell |= {"execution_count": None, "outputs": []}
        cells.append({**cell, "source": text.splitlines(keepends=True)})
    return cells


def print_notebook(script: str) -> str:
    document = {"cells": cells_of(script), "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    wrong = []
    for path in sorted(EXAMPLES.glob("*.py")):
        printed, target = print_notebook(path.read_text("utf-8")), path.with_suffix(".ipynb")
        if "--check" not in arguments:
            target.write_text(printed, "utf-8")
        elif not target.exists() or target.read_text("utf-8") != printed:
            wrong.append(target.name)
    for name in wrong:
        print(f"examples/{name} is not what its script prints: run tools/notebooks.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
