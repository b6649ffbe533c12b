"""The committed parts of the panel are those that the data gives."""

from __future__ import annotations

from pathlib import Path

from benchmarks.quality.panel_parts import as_json, parts
from semblance_lab.evaluation.datasets.panel_parts import PARTS_FILE, listed_parts
from tests.support.project import PROJECT


def test_the_committed_file_is_made_from_the_data(data: Path) -> None:
    lists = parts(data)
    assert (PROJECT / "lab" / "semblance_lab" / "evaluation" / PARTS_FILE).read_text("utf-8") == as_json(lists)
    assert listed_parts() == {name: frozenset(hashes) for name, hashes in lists.items()}
