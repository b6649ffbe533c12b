"""Every row of the threat model names an existing test."""

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


def names_of_tests(file: Path) -> set[str]:
    """Names of the tests in a file."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    functions = (each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return {each.name for each in functions if each.name.startswith("test_")}


def test_every_threat_has_a_defense_and_an_existing_test() -> None:
    assert len(ROWS) > 30
    for threat, defense, test in ROWS:
        assert threat
        assert defense, threat
        named = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", test)
        assert named is not None, f"{threat}: {test!r} names no test"
        assert (PROJECT / named[1]).is_file(), f"{threat}: {named[1]} does not exist"
        assert named[2] in names_of_tests(PROJECT / named[1]), f"{threat}: {named[1]} has no {named[2]}"


def test_threats_and_tests_are_unique() -> None:
    for column in (0, 2):
        cells = [row[column] for row in ROWS]
        assert sorted(set(cells)) == sorted(cells)
