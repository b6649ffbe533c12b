"""Time of work on a device, and what the device could do at most."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeAlias

import torch

Run: TypeAlias = Callable[[], object]


def median_seconds(runs: Mapping[str, Run], device: str, rounds: int) -> dict[str, float]:
    """Name -> seconds of the median round; in turn, so that none has the quieter time. The first round is left out."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            wait(device)
            began = time.perf_counter()
            run()
            wait(device)
            times[name].append(time.perf_counter() - began)
    return {name: median(took[1:]) for name, took in times.items()}


def wait(device: str) -> None:
    """Until the device has done all that it was given."""
    if device != "cpu":
        torch.cuda.synchronize()


def matrix_peak(device: str, side: int) -> float:
    """Operations a second of a square bfloat16 product of random numbers: the most that a network could reach."""
    a, b = (torch.randn(side, side, device=device).bfloat16() for _ in range(2))
    products = 10

    def multiply() -> None:
        for _ in range(products):
            torch.mm(a, b)

    return products * 2 * side**3 / median_seconds({"product": multiply}, device, 5)["product"]


def copy_rate(device: str, numbers: int) -> float:
    """Bytes a second of a copy within the device, those read and those written; of a quarter of what is free."""
    if device != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        numbers = min(numbers, free // 4 // 4)
    source = torch.randn(numbers, device=device)
    target = torch.empty_like(source)
    return 8 * numbers / median_seconds({"copy": lambda: target.copy_(source)}, device, 9)["copy"]
