"""Reports each test's outcome as a line of JSON on stderr, for the test runner of the project."""

from __future__ import annotations

import json
import sys
from typing import Any


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        text = "" if report.outcome == "passed" else str(report.longreprtext)
        print(json.dumps({"name": report.nodeid, "outcome": report.outcome, "text": text}), file=sys.__stderr__, flush=True)
