"""Until when somebody waits for what a thread does: work that nobody waits for any more must not take effect."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result")

_until: ContextVar[float] = ContextVar("until", default=float("inf"))


def bounded(act: Callable[[], Result], seconds: float) -> Callable[[], Result]:
    """`act` for another thread, which asks by `passed` whether it is still waited for, from now on."""
    until = time.monotonic() + seconds

    def run() -> Result:
        token = _until.set(until)
        try:
            return act()
        finally:
            _until.reset(token)

    return run


def passed() -> bool:
    """Whether nobody waits any more for what this thread does."""
    return time.monotonic() > _until.get()
