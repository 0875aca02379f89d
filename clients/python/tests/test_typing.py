"""Runs mypy over the package, the examples and valid use, and finds each wrong use refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parent.parent


def mypy(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *words], cwd=HOME, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_nothing_is_wrong() -> None:
    assert mypy("src/perp") == ""
    assert mypy("examples", "tests/typing_right.py") == ""


def test_each_wrong_use_is_a_type_error() -> None:
    path = HOME / "tests/typing_wrong.py"
    expected = {number for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if "# wrong: " in line}
    told = mypy("--show-column-numbers", str(path))
    found = {int(line) for line in re.findall(r"typing_wrong\.py:(\d+):\d+: error", told)}
    assert len(expected) > 40
    assert found == expected, f"not refused: {sorted(expected - found)}; refused besides: {sorted(found - expected)}\n{told}"
