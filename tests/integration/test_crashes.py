"""A process killed at each step of a commit, a snapshot or a rebuild loses no acknowledged write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.nightly), 13], ids="at every step {}".format)
def test_a_kill_loses_no_acknowledged_write(every: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.integration.crashing_writes", str(tmp_path), str(every)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    *crashes, end = process.stdout.splitlines()
    assert end == "survived", process.stdout[-200:] + process.stderr[-3000:]
    assert set(crashes) == {"crashed"}
    assert len(crashes) > 200 / every
