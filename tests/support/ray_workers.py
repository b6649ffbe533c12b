"""Processes of Ray below a process: workers to be killed, and how its cluster is reached."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

from tests.support.servers.server_process import command_line, environment_of, process_tree

ADDRESS = "--gcs-address="  # option of the process that starts workers
BUSY = "ray::_in_worker"  # how Ray names a process while it runs a task of service/cli/batches/engines.py


def busy_workers(ancestor: int) -> list[int]:
    return [pid for pid in process_tree(ancestor) if _is_busy(pid)]


def local_cluster(driver: subprocess.Popen[str]) -> tuple[str, str]:
    """Address and token of the cluster that a running command has started, once it runs a task."""
    while driver.poll() is None:
        for pid in process_tree(driver.pid):
            addresses = [option for option in command_line(pid) if option.startswith(ADDRESS)]
            environment = dict(entry.split("=", 1) for entry in environment_of(pid) if "=" in entry)
            if addresses and "RAY_AUTH_TOKEN" in environment and busy_workers(driver.pid):
                return addresses[0].removeprefix(ADDRESS), environment["RAY_AUTH_TOKEN"]
        time.sleep(0.05)  # between two looks, for as long as the command runs
    raise RuntimeError("the command ended before it had started a cluster")


def kill_workers(driver: subprocess.Popen[str], count: int, rng: random.Random, most_s: float) -> list[int]:
    """Kill `count` different workers of a running command, each after a random time up to `most_s`; returns them."""
    killed: list[int] = []
    while len(killed) < count and driver.poll() is None:
        if busy := [pid for pid in busy_workers(driver.pid) if pid not in killed]:
            time.sleep(rng.uniform(0, most_s))  # a worker may die at any moment of its task
            victim = rng.choice(busy)
            if _is_busy(victim):
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
        time.sleep(0.05)  # between two looks, for as long as the command runs
    return killed


def _is_busy(pid: int) -> bool:
    return "".join(command_line(pid)).startswith(BUSY)
