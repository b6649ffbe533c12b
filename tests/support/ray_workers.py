"""Worker processes of Ray below a process, to be killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

from tests.support.servers.server_process import command_line, process_tree

BUSY = "ray::_in_worker"  # how Ray names a process while it runs a task of service/cli/batches/engines.py


def busy_workers(ancestor: int) -> list[int]:
    """Processes below `ancestor` that run a task now."""
    return [pid for pid in process_tree(ancestor) if _is_busy(pid)]


def kill_workers(driver: subprocess.Popen[str], count: int, rng: random.Random, most_s: float) -> list[int]:
    """Kill `count` different workers of a running command, each after a random time up to `most_s`; returns them."""
    killed: list[int] = []
    while len(killed) < count and driver.poll() is None:
        if busy := [pid for pid in busy_workers(driver.pid) if pid not in killed]:
            time.sleep(rng.uniform(0, most_s))
            victim = rng.choice(busy)
            if _is_busy(victim):
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
        time.sleep(0.05)
    return killed


def _is_busy(pid: int) -> bool:
    return "".join(command_line(pid)).startswith(BUSY)
