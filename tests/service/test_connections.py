"""How many files may be open, of which connections are most."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("hard", "connections", "soft_after", "told"),
    [(5000, 1000, 1256, False), (500, 1000, 500, True), (5000, 10, 300, False)],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(
    hard: int, connections: int, soft_after: int, told: bool
) -> None:
    """In a process of its own: a hard limit can't be raised again."""
    code = (
        "import resource; from service.server.connections import allow_files; "
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (300, {hard})); said = allow_files({connections}); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], said)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    soft, _, said = ran.stdout.strip().partition(" ")
    assert int(soft) == soft_after
    assert ("SEMBLANCE_MAX_CONNECTIONS" in said) == told
