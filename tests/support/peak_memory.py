"""Peak memory of a piece of work, on the CPU or a GPU."""

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
    """Peak memory in bytes since construction.

    On a GPU it is what the allocator handed out. On the CPU it is the memory of the whole process: measure in a
    process (`run_in_subprocess`) that does nothing else and has used torch before.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        if device == "cpu":
            (PROCESS / "clear_refs").write_text("5")  # resets the peak
            self._before = _status_bytes("VmRSS")
        else:
            torch.cuda.reset_peak_memory_stats(device)
            self._before = torch.cuda.memory_allocated(device)

    def bytes(self) -> int:
        peak = _status_bytes("VmHWM") if self._device == "cpu" else torch.cuda.max_memory_allocated(self._device)
        return peak - self._before


def run_in_subprocess(work: Callable[[], T]) -> T:
    """Run picklable `work` in a new process that returns freed memory to the system at once."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(1 << 16)  # otherwise glibc retains more and more
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(work).result()
    finally:
        del os.environ["MALLOC_MMAP_THRESHOLD_"]


def free_bytes(device: str) -> int:
    if device == "cpu":
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(torch.cuda.mem_get_info(device)[0])


def _status_bytes(name: str) -> int:
    lines = (PROCESS / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024
