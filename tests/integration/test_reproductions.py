"""Claims of papers on the command line: the table, and the same in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import semblance

FIELDS = {"where", "says", "protocol", "ours", "tolerance", "verdict"}


@pytest.mark.parametrize("paper", ["origin", "twitter4sse"])
def test_claims_of_a_paper_are_printed_and_written(data: Path, tmp_path: Path, paper: str) -> None:
    file = tmp_path / "found" / "claims.json"
    ran = semblance("evaluate", "--reproduce", paper, "--json", str(file), "--draws", "100", SEMBLANCE_DATA=str(data))
    assert ran.returncode == 0, ran.stderr
    written = json.loads(file.read_text("utf-8"))
    assert list(written) == [paper]
    assert written[paper]
    counts = {"holds": 0, "does not hold": 0, "not decidable here": 0}
    for claim in written[paper]:
        assert set(claim) == FIELDS
        assert all(isinstance(value, str) and value for value in claim.values())
        counts[claim["verdict"]] += 1
    title, _, table = ran.stdout.partition("\n")
    assert title.rstrip() == f"{paper}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}"
    assert max(map(len, table.splitlines())) > 200, "a table that is not on a terminal is not wrapped"
    heads = [cell.strip() for cell in table.splitlines()[1].split("┃")[1:-1]]
    assert heads == ["where", "claim", "protocol here", "ours", "tolerance", "verdict"]
    assert all(claim["verdict"] in table for claim in written[paper])


def test_missing_sets_of_a_paper_end_with_a_message(tmp_path: Path) -> None:
    for where, message in (({}, "pass --data"), ({"SEMBLANCE_DATA": str(tmp_path)}, f"is not in {tmp_path}")):
        ran = semblance("evaluate", "--reproduce", "dynamax", **where)
        assert ran.returncode == 1
        assert "sts12" in ran.stderr
        assert message in ran.stderr
