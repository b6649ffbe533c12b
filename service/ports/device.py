"""Device of an index; a separate module, so that GPU rows need only torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """Device of the engines that can search on a GPU.

    Attributes:
        name: returns its name in torch. It may take seconds, so only engines that use a device call it.
        on_lost: called when the device has failed: no later call in this process can succeed.
    """

    name: Callable[[], str] = lambda: "cpu"
    on_lost: Callable[[], None] = lambda: None


ON_CPU = Device()
