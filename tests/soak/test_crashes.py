"""Kill a service at random moments; `python -m tests.soak.crashes` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from tests.soak.crashes import run


@pytest.mark.slow
def test_acknowledged_writes_survive_random_kills(small: Path) -> None:
    # raises Violation if a write is lost
    report = run(kills=2, seed=3, console=Console(quiet=True), models=f"small={small}")
    assert report.kills == 2
    assert report.writes_acknowledged > 10
    assert report.searches > 10
    assert report.documents_at_the_end > 10
    assert report.largest_score_difference < 1e-5
