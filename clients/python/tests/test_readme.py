"""Every block of the README and of the recipes runs, in order, unchanged."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
RECIPES = README.parent.parent.parent / "docs" / "guides" / "recipes.md"


def blocks_of(path: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_every_block(base_url: str, key: str, now: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERP_API_KEY", key)
    monkeypatch.setenv("PERP_BASE_URL", base_url)
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(README)
    assert len(blocks) == 9
    scope: dict[str, object] = {"__name__": "readme"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"README block {number}", "exec"), scope)
    assert (tmp_path / "spread.png").stat().st_size > 5_000
    assert scope["marks"].isna().any(axis=None) and len(scope["marks"]) == 60  # type: ignore[attr-defined]
    assert scope["paths"], "the archive has files"
    assert os.environ["PERP_API_KEY"] == key


def test_recipes(
    base_url: str, key: str, now: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PERP_API_KEY", key)
    monkeypatch.setenv("PERP_BASE_URL", base_url)
    at = datetime.datetime.fromtimestamp(now / 1_000_000, datetime.timezone.utc)

    class Stopped(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return at

    monkeypatch.setattr(datetime, "datetime", Stopped)
    blocks = blocks_of(RECIPES)
    assert len(blocks) == 5
    scope: dict[str, object] = {"__name__": "recipes"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"recipe block {number}", "exec"), scope)
    assert scope["rates"], "the screen has found something"
    told = capsys.readouterr().out
    assert "connection_lost" in told, "the hole of the hour has its cause"
