"""Work that takes a moment is done at once; what takes longer, in a thread, so that it holds up nobody."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import TypeVar

TURN_S = 0.0005  # that work may keep the event loop; going to a thread and back costs everybody about a fifth of it

Result = TypeVar("Result")


class Aside:
    """Knows from what was done before how long work of a kind takes.

    The first of a kind goes to a thread. From then on time is taken to grow with size, by the pace of the slowest
    lately: one that was slow counts at once, those that are quicker little by little.
    """

    def __init__(self) -> None:
        self._pace: dict[str, float] = {}  # seconds of computing for each unit of size

    async def do(self, kind: str, size: float, act: Callable[[], Result]) -> Result:
        """What `act` returns.

        Args:
            kind: what work it is, such as one measure's scores.
            size: how much of it, in whatever its time grows with.
            act: the work itself.
        """
        if size * self._pace.get(kind, math.inf) > TURN_S:
            # what a thread waits for the interpreter is no part of the work
            return await asyncio.to_thread(self._paced, kind, size, act, time.thread_time)
        return self._paced(kind, size, act, time.perf_counter)

    def _paced(self, kind: str, size: float, act: Callable[[], Result], clock: Callable[[], float]) -> Result:
        began = clock()
        result = act()
        pace = (clock() - began) / max(size, 1)
        self._pace[kind] = max(pace, (pace + self._pace.get(kind, pace)) / 2)
        return result
