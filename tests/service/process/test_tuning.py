"""Python's housekeeping in the process of the service."""

from __future__ import annotations

import json
import subprocess
import sys

IN_A_PROCESS = """
import gc, json, sys, time
from pathlib import Path
from semblance.service.process import tuning

def resident_mb():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024

tuning.TRIMMED_EVERY_S = 0.2
blocks = [b"x" * 10_000 + bytes(i % 7) for i in range(20_000)]
full = resident_mb()
blocks = blocks[::50]  # what is left lies between gaps
holey = resident_mb()
tuning.settle()
time.sleep(1)
trimmed, loaded = resident_mb(), gc.get_freeze_count()
print(json.dumps([full, holey, trimmed, loaded, len(gc.get_objects()), sys.getswitchinterval()]))
"""


def test_memory_between_gaps_is_given_back_and_what_was_loaded_is_never_searched_for_garbage_again() -> None:
    said = subprocess.run([sys.executable, "-c", IN_A_PROCESS], capture_output=True, text=True, check=True).stdout
    full, holey, trimmed, frozen, searched, turn_s = json.loads(said)
    assert full - holey < 100, "the system's allocator keeps what was freed, or this test shows nothing"
    assert full - trimmed > 150
    assert frozen > 5_000 > searched
    assert turn_s < 0.005, "Python's own"
