"""Work in threads, done in turns: no caller waits for the backlog of another."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from semblance.models.processor.usable_cores import usable_cores
from semblance.service.callers import current_caller
from semblance.service.errors import NotReady, Overloaded
from semblance.service.threads import Completion, deliver, while_needed

MAX_WAITING = 1024  # tasks of all callers together; each has an equal share, and all of it while alone
RETRY_AFTER_S = 1
INLINE_S = 0.0005  # longest work that may block the event loop; a round trip to a thread costs a fifth of it

Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class ByCaller(Generic[Item]):
    """Waiting items of callers, who take turns, each with its items in order. Not thread-safe."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Item]] = {}  # in the order of the callers' turns

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def counts(self) -> dict[str, int]:
        """Number of items of each caller that has any."""
        return {caller: len(items) for caller, items in self._waiting.items()}

    def add(self, caller: str, item: Item) -> None:
        """Add an item, the caller's last."""
        self._waiting.setdefault(caller, deque()).append(item)

    def take(self, may: Callable[[str], bool] | None = None) -> tuple[str, Item] | None:
        """The next item of the first caller that may have a turn, who then comes last; or None."""
        caller = next(filter(may, self._waiting) if may else iter(self._waiting), None)
        if caller is None:
            return None
        items = self._waiting.pop(caller)
        item = items.popleft()
        if items:
            self._waiting[caller] = items
        return caller, item

    def keep(self, needed: Callable[[Item], bool]) -> None:
        """Drop all other items."""
        kept = {caller: deque(filter(needed, items)) for caller, items in self._waiting.items()}
        self._waiting = {caller: items for caller, items in kept.items() if items}


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A call with its context, and the future of its result."""

    act: Callable[[], Any]
    context: Context
    future: asyncio.Future[Any]

    @property
    def needed(self) -> bool:
        """Whether its caller still waits."""
        return not self.future.done()

    def completed(self) -> Completion:
        """Do it."""
        try:
            return Completion(self.future, self.context.run(while_needed(self.act, lambda: self.needed)))
        except BaseException as error:  # noqa: BLE001 - including panics of native libraries
            return Completion(self.future, error=error)


class TurnThreads:
    """Threads that work for all callers in turns.

    No caller occupies all of them: one is left to others who may come. Work whose caller has left is dropped; if it has
    begun, it ends where it calls `stop_if_left`.

    Args:
        threads: number of threads, started with the first work; one alone serves a caller at a time.
        name: of the threads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._waiting = ByCaller[_Work]()
        self._running: dict[str, int] = {}  # number of tasks of each caller
        self._most = max(1, threads - 1)  # of one caller
        self._wake = threading.Condition()
        self._closing = False
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]

    async def run(self, act: Callable[Arguments, Result], *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Call `act` in a thread, and return its result.

        Raises:
            Overloaded: too much work of this caller is waiting.
            NotReady: the threads are closed.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        work, caller = _Work(lambda: act(*args, **named), copy_context(), future), current_caller()
        with self._wake:
            self._admit(caller)
            self._waiting.add(caller, work)
            self._wake.notify()
            if not self._threads[0].ident:
                for thread in self._threads:
                    thread.start()
        return await future

    def close(self, wait: bool = True) -> None:
        """Reject what waits, and end the threads after what they are doing; wait for that."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        for thread in self._threads:
            if wait and thread.ident:
                thread.join()

    def _admit(self, caller: str) -> None:
        """Raise unless a caller may have more work wait."""
        if self._closing:
            raise NotReady()
        counts = self._waiting.counts
        if sum(counts.values()) < MAX_WAITING:
            return
        self._waiting.keep(lambda work: work.needed)
        counts = self._waiting.counts
        own, share = counts.get(caller, 0), MAX_WAITING // len({caller, *counts})
        if sum(counts.values()) >= MAX_WAITING and own >= share:
            raise Overloaded(f"{own:,} tasks of this caller are waiting already: try again later", RETRY_AFTER_S)

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            caller, work = taken
            if work.needed:
                deliver([Completion(work.future, error=NotReady()) if self._closing else work.completed()])
            with self._wake:
                self._running[caller] -= 1
                if not self._running[caller]:
                    del self._running[caller]
                self._wake.notify_all()
            del taken, work  # else an idle thread would keep what it worked on, such as a whole index

    def _next(self) -> tuple[str, _Work] | None:
        """Wait for the next work; None at the end."""
        with self._wake:
            while (taken := self._waiting.take(self._may_run)) is None:
                if self._closing and not self._waiting:
                    return None
                self._wake.wait()
            self._running[taken[0]] = self._running.get(taken[0], 0) + 1
            return taken

    def _may_run(self, caller: str) -> bool:
        return self._running.get(caller, 0) < self._most


_COMPUTING = TurnThreads(usable_cores() + 1, "compute")
_DRAWING = TurnThreads(2, "draw")

in_thread = _COMPUTING.run
"""Compute in a thread, as `asyncio.to_thread` does, in turns of the callers."""

draw = _DRAWING.run
"""Draw in a thread of its own: a large picture takes a second, for which no search waits."""


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
