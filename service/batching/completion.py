"""From a thread back to those who wait in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What somebody waits for: a result, or why there is none."""

    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        """In its event loop: wake who waits, unless they left."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(_failure(self.error))


def _failure(error: BaseException) -> Exception:
    """What those who wait can handle: some libraries panic with what is no Exception, which would end an event loop."""
    if isinstance(error, Exception):
        return error
    failure = RuntimeError("a library panicked")
    failure.__cause__ = error
    return failure


def send_home(outcomes: Iterable[Outcome]) -> None:
    """Settle all of them: each event loop is woken once, since waking one takes longer than settling."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome.future.get_loop(), []).append(outcome)
    for loop, some in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, some)


def _settle(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        outcome.settle()
