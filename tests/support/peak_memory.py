"""The most memory that a piece of work takes at any moment, on the CPU or a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import torch

T = TypeVar("T")
PROCESS = Path("/proc/self")


class PeakMemory:
    """Bytes beyond those in use when it was made.

    On a GPU what its allocator gave out, on the CPU the memory of the whole process: measure in a process of its own
    (`in_own_process`), where nothing else happens and torch has worked before.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        if device == "cpu":
            (PROCESS / "clear_refs").write_text("5")  # the peak begins anew
            self._before = _of_status("VmRSS")
        else:
            torch.cuda.reset_peak_memory_stats(device)
            self._before = torch.cuda.memory_allocated(device)

    def bytes(self) -> int:
        """The peak until now."""
        peak = _of_status("VmHWM") if self._device == "cpu" else torch.cuda.max_memory_allocated(self._device)
        return peak - self._before


def in_own_process(work: Callable[[], T]) -> T:
    """What `work`, which can be pickled, returns in a fresh process whose freed memory goes back at once."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(1 << 16)  # else glibc keeps more and more for itself
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(work).result()
    finally:
        del os.environ["MALLOC_MMAP_THRESHOLD_"]


def free_bytes(device: str) -> int:
    """What a process may still take."""
    if device == "cpu":
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(torch.cuda.mem_get_info(device)[0])


def _of_status(name: str) -> int:
    lines = (PROCESS / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024
