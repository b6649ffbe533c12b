"""Threads beside the event loop: deadlines, delivery of results to futures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")
Value = TypeVar("Value")

SWITCH_S = 0.001  # between turns of threads that want the interpreter, a fifth of the default

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))
_needed: ContextVar[Callable[[], bool]] = ContextVar("needed", default=lambda: True)


def with_deadline(act: Callable[[], Result], seconds: float) -> Callable[[], Result]:
    """Wrap `act` for another thread, where `expired` turns true `seconds` from now."""
    return _with_value(_deadline, time.monotonic() + seconds, act)


class CallerLeft(Exception):
    """No caller waits for the result of the work in this thread. Never reaches a client."""


def while_needed(act: Callable[[], Result], needed: Callable[[], bool]) -> Callable[[], Result]:
    """Wrap `act` for another thread, where `stop_if_left` raises once it is not needed any more."""
    return _with_value(_needed, needed, act)


def _with_value(variable: ContextVar[Value], value: Value, act: Callable[[], Result]) -> Callable[[], Result]:
    def run() -> Result:
        token = variable.set(value)
        try:
            return act()
        finally:
            variable.reset(token)

    return run


def stop_if_left() -> None:
    """Raise CallerLeft if the work in this thread is not needed any more.

    To be called between the parts of long work.
    """
    if not _needed.get()():
        raise CallerLeft


def until_left(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts of long work. Raises CallerLeft, as `stop_if_left`, before the next one."""
    for part in parts:
        stop_if_left()
        yield part


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
