"""Short work inline, long work in a thread: chosen by the duration of earlier work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

from semblance.service.turns import in_thread

INLINE_S = 0.0005  # longest work that may block the event loop; a round trip to a thread costs a fifth of it

Result = TypeVar("Result")


class Offload:
    """Chooses between inline and thread by the duration of earlier work of the same kind.

    The first work of a kind goes to a thread. After that, time is taken to grow with size, at the pace of the slowest
    recent work: a slow run counts at once, faster ones lower the estimate gradually.

    Args:
        clock: in seconds, of work in the event loop.
        thread_clock: CPU time of the current thread in seconds; excludes waits for the interpreter's lock.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, thread_clock: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock = clock
        self._thread_clock = thread_clock
        self._pace: dict[str, float] = {}  # seconds of computation per unit of size

    async def run(self, kind: str, size: float, work: Callable[[], Result]) -> Result:
        """The result of `work`.

        Args:
            kind: its kind, such as the scores of one measure.
            size: its size, in the unit that its time grows with.
            work: the function to call.
        """
        if size * self._pace.get(kind, math.inf) > INLINE_S:
            return await in_thread(self._timed, kind, size, work, self._thread_clock)
        return self._timed(kind, size, work, self._clock)

    def _timed(self, kind: str, size: float, work: Callable[[], Result], clock: Callable[[], float]) -> Result:
        began = clock()
        result = work()
        pace = (clock() - began) / max(size, 1)
        self._pace[kind] = max(pace, (pace + self._pace.get(kind, pace)) / 2)
        return result
