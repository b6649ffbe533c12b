"""What the process does so that no request waits for Python's housekeeping, and memory stays flat under load."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time

SWITCH_S = 0.001
TRIMMED_EVERY_S = 10.0


def settle() -> None:
    """Call this once when all is loaded, before the first request.

    What is loaded stays to the end: the garbage collector need not look at its half a million objects ever again, which
    takes it a fifth of a second each time. And threads take turns five times as often as Python would have them, since
    with half a dozen of them computing, the event loop waits for as many turns before it may answer.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        threading.Thread(target=_trim, args=(libc,), name="upkeep", daemon=True).start()


def _trim(libc: ctypes.CDLL) -> None:
    """Give memory back that glibc keeps: between results that live on, freed tensors leave gaps of all sizes.

    A batch rarely finds one that fits, so that without this memory doubles within minutes. Serving large blocks by mmap
    instead would cost a quarter of the throughput, in page faults.
    """
    while True:
        time.sleep(TRIMMED_EVERY_S)
        libc.malloc_trim(0)
