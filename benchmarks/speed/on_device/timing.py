"""Timing of work on a device, and the peak rates of the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeAlias

import torch

Run: TypeAlias = Callable[[], object]


def median_seconds(runs: Mapping[str, Run], device: str, rounds: int) -> dict[str, float]:
    """Seconds of the median round by name; runs alternate, and a first round is a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            synchronize(device)
            start_s = time.perf_counter()
            run()
            synchronize(device)
            times[name].append(time.perf_counter() - start_s)
    return {name: median(seconds[1:]) for name, seconds in times.items()}


def synchronize(device: str) -> None:
    """Wait until the device has completed all work."""
    if device != "cpu":
        torch.cuda.synchronize()


def matrix_peak(device: str, side: int) -> float:
    """Operations per second of a square bfloat16 product: an upper bound for networks."""
    a, b = (torch.randn(side, side, device=device).bfloat16() for _ in range(2))
    products = 10

    def multiply() -> None:
        for _ in range(products):
            torch.mm(a, b)

    return products * 2 * side**3 / median_seconds({"product": multiply}, device, 5)["product"]


def copy_rate(device: str, numbers: int) -> float:
    """Bytes read and written per second by a copy in at most a quarter of the free memory."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        numbers = min(numbers, free // 4 // 4)
    source = torch.randn(numbers, device=device)
    target = torch.empty_like(source)
    return 8 * numbers / median_seconds({"copy": lambda: target.copy_(source)}, device, 9)["copy"]
