"""Run the notebooks in docs/notebooks and keep what they show; run by scripts/docs.

python -m docs.run_notebooks
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.support.running_service import running_service

FOLDER = Path(__file__).parent / "notebooks"
ADDRESS = "http://127.0.0.1:8000"


def read(file: Path) -> NotebookNode:
    """A notebook as it is kept."""
    notebook: NotebookNode = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def executed(file: Path, url: str) -> NotebookNode:
    """A notebook with the outputs that its cells have now.

    Args:
        file: the notebook.
        url: address of a service with the sample, in place of that in the notebook.

    Raises:
        CellExecutionError: a cell fails.
    """
    notebook = read(file)
    shown = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        cell.source = cell.source.replace(ADDRESS, url)
    NotebookClient(notebook, timeout=120, record_timing=False).execute()
    for cell, source in zip(notebook.cells, shown, strict=True):
        cell.source = source
    notebook.metadata.language_info = {"name": "python"}  # not the version that ran it
    return notebook


if __name__ == "__main__":
    with running_service(sample="1") as address:
        for each in sorted(FOLDER.glob("*.ipynb")):
            nbformat.write(executed(each, address), each)  # type: ignore[no-untyped-call]
