"""Waits that end when a condition holds: the only place where tests sleep between two looks at something.

No verdict depends on how long a wait takes. The ceiling only ends a hang, with a message that says what was awaited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeVar, overload

CEILING_S: Final = 120.0
PAUSE_S: Final = 0.01

Value = TypeVar("Value")


def until(look: Callable[[], Value], awaited: str = "") -> Value:
    """Look until the value is true, and return it.

    Args:
        look: returns a value, true when the condition holds.
        awaited: the condition in words, for the message of a hang.

    Raises:
        AssertionError: the condition did not hold within CEILING_S; the message holds the last value.
    """
    for pause_s in _pauses():
        if value := look():
            return value
        time.sleep(pause_s)  # between two looks
    raise AssertionError(f"still waiting for {awaited or look}: {value!r}")


@overload
async def eventually(look: Callable[[], Awaitable[Value]], awaited: str = "") -> Value: ...


@overload
async def eventually(look: Callable[[], Value], awaited: str = "") -> Value: ...


async def eventually(look: Callable[[], Value | Awaitable[Value]], awaited: str = "") -> Value:
    """The same in an event loop, which runs meanwhile; `look` may be a coroutine function."""
    for pause_s in _pauses():
        value = look()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        await asyncio.sleep(pause_s)  # between two looks
    raise AssertionError(f"still waiting for {awaited or look}: {value!r}")


def _pauses() -> Iterator[float]:
    """The time to wait before each further look."""
    ends = time.monotonic() + CEILING_S  # only ends a hang
    while time.monotonic() < ends:  # likewise
        yield PAUSE_S
