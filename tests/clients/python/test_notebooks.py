"""The notebooks of the documentation run, and show what they have shown before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from semblance.service.rendering.html.help_pages import HelpPages
from tests.support.project import PROJECT

NOTEBOOKS = sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+\.\d+")


def shown(notebook: Any) -> Iterator[Mapping[str, Any]]:
    """What each cell shows: its kinds of output, and the texts of text and HTML."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            data = [output.get("data") or {"text/plain": output.text} for output in cell.outputs]
            yield {
                kind: BeautifulSoup(text, "html.parser").get_text(" ") for each in data for kind, text in each.items()
            }


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_shows_what_it_has_shown_before(file: Path, url: str) -> None:
    from docs.run_notebooks import executed, read  # which takes two seconds

    kept, now = ([*shown(each)] for each in (read(file), executed(file, url)))
    masked = [[{kind: NUMBER.sub("#", text) for kind, text in cell.items()} for cell in run] for run in (kept, now)]
    assert masked[1] == masked[0], "run scripts/docs"
    for before, after in zip(kept, now, strict=True):
        for kind, text in before.items():
            expected = [float(each) for each in NUMBER.findall(text)]
            assert [float(each) for each in NUMBER.findall(after[kind])] == pytest.approx(expected, abs=2e-3)


def test_notebooks_draw_explanations_and_are_pages_of_the_help() -> None:
    from docs.run_notebooks import read

    assert [file.stem for file in NOTEBOOKS] == ["honest-cache", "search-my-folder", "why-alike"]
    pages = [cell["text/html"] for cell in shown(read(NOTEBOOKS[2])) if "text/html" in cell]
    assert any("by rcmd_words" in page and "kitten" in page for page in pages)
    page = BeautifulSoup(HelpPages(PROJECT).html("docs/notebooks/why-alike", "style.css") or "", "html.parser")
    assert [each.get_text() for each in page.select("h1")] == ["Why are these two alike?"]
    assert any("kitten = cat" in block.get_text() for block in page.select("pre"))
