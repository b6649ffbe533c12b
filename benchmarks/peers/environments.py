"""Environments of other people's software, each made from the registries when it is first needed.

`<name>.txt` beside this module pins every version that one of them holds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.figures import RESULTS

FOLDER = RESULTS / "peers"
PINS = Path(__file__).parent
STAMP = "installed"  # in an environment: what it was made of; absent if pip did not come to its end
# what only our own processes are told; the service sets the first where it is imported
OURS_ALONE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PYTHONPATH")
QUIET = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}


def environment(name: str, packages: Sequence[str]) -> Path:
    """The Python of the environment `name`, with these packages, as pip's requirements name them.

    It is made anew if it was made of anything else.

    Raises:
        RuntimeError: pip failed; the message holds the end of what it said.
    """
    folder, pins = FOLDER / name, PINS / f"{name}.txt"
    python, stamp = folder / "bin" / "python", folder / STAMP
    wanted = hashlib.sha256("\n".join([*packages, pins.read_text("utf-8")]).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return python
    print(f"making {folder} of {', '.join(packages)} (some minutes, once) ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    quiet = ("--quiet", "--disable-pip-version-check", "--constraint", str(pins))
    run([str(python), "-m", "pip", "install", *quiet, *packages])
    stamp.write_text(wanted, "utf-8")
    return python


def variables(**more: str) -> dict[str, str]:
    """What a child that is not our service is told: to take the threads that it thinks best, and to ask no registry."""
    ours = {name: value for name, value in os.environ.items() if name not in OURS_ALONE}
    return ours | QUIET | more


def run(command: Sequence[str]) -> None:
    """Run a program of theirs to its end.

    Raises:
        RuntimeError: it failed; the message holds the end of what it said.
    """
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=variables())
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {ran.stderr[-2000:]}")
