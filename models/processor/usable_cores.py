"""The number of cores that this process may keep busy."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")  # a line `number:controllers:path` for each hierarchy of control groups


def usable_cores() -> int:
    """Cores that the process may run on, at most its quota of CPU time, rounded up.

    With more threads than that, all of them stand still together when the quota of a period is used up.
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [math.ceil(quota) for group in _groups() if (quota := _quota(group)) is not None]
    return max(1, min(affinity, *quotas)) if quotas else affinity


def _groups() -> Iterator[Path]:
    """Folders of its control group for CPU time and of those around it, whose quotas apply, too."""
    try:
        lines = [line.split(":", 2) for line in _OWN.read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in lines:
        if not controllers or "cpu" in controllers.split(","):  # none is named for version 2
            for each in (Path(path), *Path(path).parents):
                yield _ROOT / controllers / str(each).lstrip("/")


def _quota(group: Path) -> float | None:
    """Cores' worth of CPU time that a control group may use; None without a limit."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):  # of version 2, and of version 1
        try:
            limit, period = " ".join((group / name).read_text() for name in names).split()
            return None if limit in ("max", "-1") else float(limit) / float(period)
        except (OSError, ValueError, ZeroDivisionError):  # no such file, or none of this form
            continue
    return None
