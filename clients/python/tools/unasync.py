#!/usr/bin/env python3
"""Prints src/perp/_sync from src/perp/_async, word by word; with --check only compares. The async source is the one to edit."""
from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src/perp"
SOURCE, TARGET = PACKAGE / "_async", PACKAGE / "_sync"
RULES = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\bimport asyncio\b", "import time"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\ba(close|read|iter_raw)\b", r"\1"),
    (r"\bAsync([A-Z]\w*)", r"\1"),
]


def print_sync(text: str) -> str:
    for pattern, words in RULES:
        text = re.sub(pattern, words, text)
    return text


def main(arguments: list[str]) -> int:
    printed = {path.name: print_sync(path.read_text("utf-8")) for path in sorted(SOURCE.glob("*.py"))}
    printed["__init__.py"] = '"""Printed from perp._async by tools/unasync.py: do not edit."""\n'
    if "--check" not in arguments:
        TARGET.mkdir(exist_ok=True)
        for name, text in printed.items():
            (TARGET / name).write_text(text, "utf-8")
        return 0
    found = {path.name: path.read_text("utf-8") for path in sorted(TARGET.glob("*.py"))}
    wrong = sorted(name for name in {*printed, *found} if printed.get(name) != found.get(name))
    for name in wrong:
        print(f"_sync/{name} is not what _async/{name} prints: run tools/unasync.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
