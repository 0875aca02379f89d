"""Executes examples/*.ipynb against the service at PERP_BASE_URL, each cell by a real kernel; a line for each."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parent.parent / "examples"

for path in sorted(EXAMPLES.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    printed = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    if not printed:
        sys.exit(f"{path.name} printed nothing")
    print(f"ok {path.name}, {len(printed)} outputs")
