"""Limits and housekeeping of the server process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("hard", "connections", "soft_after", "warns"),
    [(5000, 1000, 1256, False), (500, 1000, 500, True), (5000, 10, 300, False)],
)
def test_open_file_limit_is_raised_as_far_as_allowed(hard: int, connections: int, soft_after: int, warns: bool) -> None:
    """In a subprocess: a hard limit cannot be raised again."""
    code = (
        "import resource; from semblance.service.process.server import raise_file_limit; "
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (300, {hard})); warning = raise_file_limit({connections}); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], warning)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    soft, _, warning = ran.stdout.strip().partition(" ")
    assert int(soft) == soft_after
    assert ("SEMBLANCE_MAX_CONNECTIONS" in warning) == warns


FRAGMENTED_PROCESS = """
import gc, json, sys, time
from pathlib import Path
from semblance.service.process import server

def resident_mb():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024

server.TRIM_INTERVAL_S = 0.2
blocks = [b"x" * 10_000 + bytes(i % 7) for i in range(20_000)]
full = resident_mb()
blocks = blocks[::50]  # the rest lies between gaps
fragmented = resident_mb()
server.tune_interpreter()
time.sleep(1)
trimmed, frozen = resident_mb(), gc.get_freeze_count()
print(json.dumps([full, fragmented, trimmed, frozen, len(gc.get_objects()), sys.getswitchinterval()]))
"""


def test_tuning_trims_freed_memory_and_freezes_loaded_objects() -> None:
    ran = subprocess.run([sys.executable, "-c", FRAGMENTED_PROCESS], capture_output=True, text=True, check=True)
    full, fragmented, trimmed, frozen, tracked, switch_s = json.loads(ran.stdout)
    assert full - fragmented < 100, "the allocator keeps freed memory, or this test shows nothing"
    assert full - trimmed > 150
    assert frozen > 5_000 > tracked
    assert switch_s < 0.005, "Python's default"


REUSING_PROCESS = """
import resource, sys
import numpy as np
from semblance.service.process import server

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        several = [np.ones(500_000, np.uint8) for _ in range(8)]
        del several
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "tuned":
    server.tune_interpreter()
faults()
print(faults())
"""


def test_tuning_keeps_freed_memory_between_trims() -> None:
    pages = 50 * 8 * 500_000 // 4096
    untuned, tuned = (
        int(subprocess.run([sys.executable, "-c", REUSING_PROCESS, how], capture_output=True, check=True).stdout)
        for how in ("untuned", "tuned")
    )
    assert untuned > pages / 2, "the allocator keeps freed memory, or this test shows nothing"
    assert tuned < pages / 10
