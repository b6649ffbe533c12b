"""Every line of the threat model names a test that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.project import PROJECT

THREATS = (PROJECT / "docs" / "threats.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in THREATS.splitlines()
    if line.startswith("|") and not line.startswith(("| threat |", "|---", "| **"))
]


def named_in(file: Path) -> set[str]:
    """The names of the tests in a file."""
    found = ast.walk(ast.parse(file.read_text("utf-8")))
    return {each.name for each in found if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")}


def test_every_threat_has_a_defence_and_a_test_that_exists() -> None:
    assert len(ROWS) > 30
    for threat, defence, tested in ROWS:
        assert threat
        assert defence, threat
        named = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", tested)
        assert named is not None, f"{threat}: {tested!r} names no test"
        assert (PROJECT / named[1]).is_file(), f"{threat}: there is no {named[1]}"
        assert named[2] in named_in(PROJECT / named[1]), f"{threat}: {named[1]} has no {named[2]}"


def test_no_threat_and_no_test_stands_there_twice() -> None:
    for column in (0, 2):
        cells = [row[column] for row in ROWS]
        assert sorted(set(cells)) == sorted(cells)
