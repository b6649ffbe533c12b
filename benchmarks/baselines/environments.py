"""Virtual environments of third-party software, created on first use.

`<name>.txt` beside this module pins all versions of an environment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.results import RESULTS

FOLDER = RESULTS / "peers"
PINS = Path(__file__).parent
STAMP = "installed"  # file in an environment: digest of its requirements; absent if the installation is incomplete
# set only for our own processes; the service sets the first when it is imported
OUR_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PYTHONPATH")
QUIET = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}


def environment(name: str, packages: Sequence[str]) -> Path:
    """Python of the environment `name` with these requirements, created or updated if necessary.

    Raises:
        RuntimeError: pip failed; the message holds the end of its output.
    """
    folder, pins = FOLDER / name, PINS / f"{name}.txt"
    python, stamp = folder / "bin" / "python", folder / STAMP
    digest = hashlib.sha256("\n".join([*packages, pins.read_text("utf-8")]).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text("utf-8") == digest:
        return python
    print(f"creating {folder} with {', '.join(packages)} (some minutes, once) ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    run_command([sys.executable, "-m", "venv", str(folder)])
    quiet = ("--quiet", "--disable-pip-version-check", "--constraint", str(pins))
    run_command([str(python), "-m", "pip", "install", *quiet, *packages])
    stamp.write_text(digest, "utf-8")
    return python


def child_environment(**more: str) -> dict[str, str]:
    """Environment of a third-party process: default threads, no access to model hubs."""
    inherited = {name: value for name, value in os.environ.items() if name not in OUR_VARIABLES}
    return inherited | QUIET | more


def run_command(command: Sequence[str]) -> None:
    """Run a third-party program to its end.

    Raises:
        RuntimeError: it failed; the message holds the end of its output.
    """
    completed = subprocess.run(command, capture_output=True, text=True, check=False, env=child_environment())
    if completed.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {completed.stderr[-2000:]}")
