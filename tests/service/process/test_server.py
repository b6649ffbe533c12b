"""Limits and housekeeping of the server process, each in a process of its own, and how it ends itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from semblance.service.process.readiness import Draining
from tests.support.project import PROJECT
from tests.support.waiting import CEILING_S


def printed(code: str) -> Any:
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=CEILING_S, check=True)
    return json.loads(ran.stdout)


LIMITED = """
import json, resource
from semblance.service.process.server import raise_file_limit

states = []
for hard, connections in ((5000, 10), (5000, 1000), (500, 1000)):  # a hard limit cannot be raised again
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    warning = raise_file_limit(connections)
    states.append([resource.getrlimit(resource.RLIMIT_NOFILE)[0], warning])
print(json.dumps(states))
"""


def test_open_file_limit_is_raised_as_far_as_allowed() -> None:
    unneeded, raised, (least, warning) = printed(LIMITED)
    assert [unneeded, raised, least] == [[300, None], [1256, None], 500]
    assert "SEMBLANCE_MAX_CONNECTIONS" in warning


FRAGMENTED = """
import gc, json, sys
from pathlib import Path
from semblance.service.process import server
from tests.support.waiting import until

def resident_mb():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024

server.TRIM_INTERVAL_S = 0.05
blocks = [b"x" * 10_000 + bytes(i % 7) for i in range(20_000)]
full = resident_mb()
blocks = blocks[::50]  # the rest lies between gaps
fragmented = resident_mb()
server.tune_interpreter()
until(lambda: full - resident_mb() > 150, "the memory in the gaps")
print(json.dumps([full - fragmented, gc.get_freeze_count(), len(gc.get_objects()), sys.getswitchinterval()]))
"""


def test_tuning_trims_freed_memory_and_freezes_loaded_objects() -> None:
    freed_mb, frozen, tracked, switch_s = printed(FRAGMENTED)
    assert freed_mb < 100, "the allocator keeps freed memory, or this test shows nothing"
    assert frozen > 5_000 > tracked
    assert switch_s < 0.005, "Python's default"


REUSING = """
import json, resource
import numpy as np
from semblance.service.process import server

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        several = [np.ones(500_000, np.uint8) for _ in range(8)]
        del several
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first, untuned = faults(), faults()
server.tune_interpreter()
first, tuned = faults(), faults()
print(json.dumps([untuned, tuned]))
"""


def test_tuning_keeps_freed_memory_between_trims() -> None:
    pages = 50 * 8 * 500_000 // 4096
    untuned, tuned = printed(REUSING)
    assert untuned > pages / 2, "the allocator keeps freed memory, or this test shows nothing"
    assert tuned < pages / 10


def test_repeated_failures_send_one_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second signal would cut off running requests."""
    signals: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", signals.append)
    draining = Draining()
    for _ in range(3):
        draining.fail()
    assert draining.failed
    assert signals == [signal.SIGTERM]
