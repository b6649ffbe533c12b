"""Threads beside the event loop: offloading, deadlines, delivery of results to futures."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

INLINE_S = 0.0005  # longest work that may block the event loop; a round trip to a thread costs a fifth of it

Result = TypeVar("Result")

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


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
            return await asyncio.to_thread(self._timed, kind, size, work, self._thread_clock)
        return self._timed(kind, size, work, self._clock)

    def _timed(self, kind: str, size: float, work: Callable[[], Result], clock: Callable[[], float]) -> Result:
        began = clock()
        result = work()
        pace = (clock() - began) / max(size, 1)
        self._pace[kind] = max(pace, (pace + self._pace.get(kind, pace)) / 2)
        return result


def with_deadline(act: Callable[[], Result], seconds: float) -> Callable[[], Result]:
    """Wrap `act` for another thread, where `expired` turns true `seconds` from now."""
    at = time.monotonic() + seconds

    def run() -> Result:
        token = _deadline.set(at)
        try:
            return act()
        finally:
            _deadline.reset(token)

    return run


def expired() -> bool:
    """Whether the deadline of the work in this thread has passed."""
    return time.monotonic() > _deadline.get()


@dataclass(frozen=True, slots=True)
class Completion:
    """Result or error for one future."""

    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        """Set the future, unless it is cancelled; call this in its event loop."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(_as_exception(self.error))


def _as_exception(error: BaseException) -> Exception:
    """Wrap panics of native libraries: a plain BaseException would end the event loop."""
    if isinstance(error, Exception):
        return error
    failure = RuntimeError("a library panicked")
    failure.__cause__ = error
    return failure


def deliver(completions: Iterable[Completion]) -> None:
    """Resolve futures; each loop is woken once, since waking costs more than resolving."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Completion]] = {}
    for completion in completions:
        by_loop.setdefault(completion.future.get_loop(), []).append(completion)
    for loop, group in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so no caller waits
            loop.call_soon_threadsafe(_resolve_all, group)


def _resolve_all(completions: list[Completion]) -> None:
    for completion in completions:
        completion.resolve()
