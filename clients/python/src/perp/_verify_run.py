"""Runs the published verifier, which stands beside this file as it is given to strangers, and keeps its report."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from . import _verify


@dataclass(frozen=True)
class Verification:
    """What the verifier said, step by step. True when everything that was checked holds."""

    ok: bool
    report: str

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.report

    @property
    def failed(self) -> list[str]:
        """Steps that do not hold."""
        lines = self.report.splitlines()
        return [line[5:].split(":", 1)[0] for line in lines if line.startswith("FAIL ")]

    @property
    def on_chain(self) -> bool:
        """Whether the chain was asked, too."""
        return self.ok and self.report.splitlines()[-1].startswith("VERIFIED")


def verify_files(paths: Sequence[str | Path], *, rpc: str | None = None) -> Verification:
    """Proof answers, or an answer for a day followed by all final archive files of one table."""
    arguments = [os.fspath(path) for path in paths] + ([] if rpc is None else ["--rpc", rpc])
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code: int = _verify.main(arguments)  # type: ignore[no-untyped-call]
    if code == 2:
        raise ValueError(complained.getvalue().strip().splitlines()[0])
    return Verification(code == 0, said.getvalue().rstrip())


def verify_proof(content: bytes, rpc: str | None) -> Verification:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "proof.json")
        path.write_bytes(content)
        return verify_files([path], rpc=rpc)
