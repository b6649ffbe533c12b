"""A service that is killed at random moments; `python -m tests.soak.crashes` is the longer form."""

from __future__ import annotations

from rich.console import Console

from tests.soak.crashes import run


def test_killed_at_random_moments_it_keeps_what_it_acknowledged() -> None:
    outcome = run(kills=4, seed=3, console=Console(quiet=True))  # raises if anything is not as it was said
    assert outcome.kills == 4
    assert outcome.writes_acknowledged > 10
    assert outcome.searches > 10
    assert outcome.documents_at_the_end > 10
    assert outcome.largest_score_difference < 1e-5
