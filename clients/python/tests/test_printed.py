"""What is printed from another source is what that source prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent


def check(*words: str) -> None:
    done = subprocess.run([sys.executable, *words], cwd=HOME, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_sync_is_printed_from_async() -> None:
    check("tools/unasync.py", "--check")


def test_notebooks_are_printed_from_scripts() -> None:
    check("tools/notebooks.py", "--check")


@pytest.mark.parametrize("tool", ["unasync", "notebooks"])
def test_a_tool_finds_what_differs(tool: str, tmp_path: Path) -> None:
    """The same tool over a copy in which one word was changed."""
    import shutil

    copy = tmp_path / "python"
    shutil.copytree(HOME, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    changed = {"unasync": "src/perp/_sync/client.py", "notebooks": "examples/funding_arbitrage.ipynb"}
    path = copy / changed[tool]
    path.write_text(path.read_text("utf-8").replace("the", "teh", 1), "utf-8")
    done = subprocess.run([sys.executable, str(copy / f"tools/{tool}.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 1 and Path(changed[tool]).name in done.stderr
