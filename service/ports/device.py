"""Where an index searches; a separate module, so that GPU rows need only torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """Device of the engines that can search on a GPU, and cores of those that cannot.

    Attributes:
        name: returns its name in torch. It may take seconds, so only engines that use a device call it.
        on_lost: called when the device has failed: no later call in this process can succeed.
        cores: most cores of the CPU on which one search runs.
    """

    name: Callable[[], str] = lambda: "cpu"
    on_lost: Callable[[], None] = lambda: None
    cores: int = 1


ON_CPU = Device()
