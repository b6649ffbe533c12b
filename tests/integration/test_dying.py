"""A process that dies at any step of a commit, a snapshot or a rebuild loses nothing that it acknowledged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_whatever_step_a_process_dies_at_nothing_acknowledged_is_lost_and_all_fits_together(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.integration.dying_writes", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *deaths, end = done.stdout.splitlines()
    assert end == "survived", done.stdout[-200:] + done.stderr[-3000:]
    assert set(deaths) == {"dead"}
    assert len(deaths) > 150
