"""Put processes under pressure: a busy neighbor, one core, or a quota of CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KINDS = ("idle", "neighbor", "pinned", "quota-50", "quota-100", "quota-150")  # quotas in percent of a core
_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_BUSY = "while True: pass"


@contextmanager
def confined(kind: str) -> Iterator[None]:
    """Processes started in the block stay on one core, or within a quota, if that is the kind of pressure.

    Raises:
        OSError: control groups cannot be changed here.
    """
    if kind == "pinned":
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        yield
        os.sched_setaffinity(0, before)
    elif kind.startswith("quota-"):
        with _group(int(kind.removeprefix("quota-"))):
            yield
    else:
        yield


@contextmanager
def beside(kind: str) -> Iterator[None]:
    """Keep a core busy during the block, if that is the kind of pressure."""
    if kind != "neighbor":
        yield
        return
    neighbor = subprocess.Popen([sys.executable, "-c", _BUSY])
    os.sched_setaffinity(neighbor.pid, {min(os.sched_getaffinity(0))})
    try:
        yield
    finally:
        neighbor.kill()
        neighbor.wait()


@contextmanager
def _group(percent: int) -> Iterator[None]:
    """Move this process into a control group with a quota, and back."""
    second = (_ROOT / "cgroup.controllers").exists()  # version 2
    root = _ROOT if second else _ROOT / "cpu"
    group = root / f"semblance-{percent}-{os.getpid()}"
    group.mkdir()
    quota_us = percent * _PERIOD_US // 100
    if second:
        (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (root / "cgroup.procs").write_text(str(os.getpid()))
