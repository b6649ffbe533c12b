"""Every row of the threat model names an existing test."""

from __future__ import annotations

import re

from tests.support.project import PROJECT

THREATS = (PROJECT / "docs" / "threats.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in THREATS.splitlines()
    if line.startswith("|") and not line.startswith(("| threat |", "|---", "| **"))
]


def test_every_threat_has_a_defense_and_an_existing_test() -> None:
    assert len(ROWS) > 30
    for threat, defense, test in ROWS:
        assert threat
        assert defense, threat
        named = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", test)
        assert named is not None, f"{threat}: {test!r} names no test"
        assert f"def {named[2]}(" in (PROJECT / named[1]).read_text("utf-8"), f"{threat}: {test} does not exist"


def test_every_threat_has_one_row() -> None:
    threats = [threat for threat, _, _ in ROWS]
    assert sorted(set(threats)) == sorted(threats)
