"""Worker processes of Ray below a process, to be killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

BUSY = b"ray::_in_worker"  # how Ray names a process while it runs a task of service/cli/batches/engines.py


def busy_workers(ancestor: int) -> list[int]:
    """Processes below `ancestor` that run a task now."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return [pid for pid in parents if _is_below(pid, ancestor, parents) and _name(pid).startswith(BUSY)]


def kill_workers(driver: subprocess.Popen[str], count: int, rng: random.Random, most_s: float) -> list[int]:
    """Kill `count` different workers of a running command, each after a random time up to `most_s`; returns them."""
    killed: list[int] = []
    while len(killed) < count and driver.poll() is None:
        if busy := [pid for pid in busy_workers(driver.pid) if pid not in killed]:
            time.sleep(rng.uniform(0, most_s))
            victim = rng.choice(busy)
            if _name(victim).startswith(BUSY):
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
        time.sleep(0.05)
    return killed


def _is_below(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        if pid == ancestor:
            return True
        pid = parents[pid]
    return False


def _name(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
