"""Device of an index; apart from the other ports, so that rows on a GPU need torch alone (benchmarks/speed/gpu.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """Where those engines search that can do so on a GPU.

    Attributes:
        name: says how torch calls it. Only an engine that needs to know asks, for the answer may take seconds.
        on_lost: called when it has failed for good: no later call in this process can succeed.
    """

    name: Callable[[], str] = lambda: "cpu"
    on_lost: Callable[[], None] = lambda: None


ON_CPU = Device()
