"""Writes that are based on what was read before: done again where another writer came in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from semblance.service.errors import Overtaken, WriteConflict

ATTEMPTS = 5

Result = TypeVar("Result")


async def undisturbed(attempt: Callable[[], Awaitable[Result]], what: str) -> Result:
    """What the first attempt comes to that no other writer disturbs.

    What was encoded before is in the cache by then, but for background work, which encodes it again.

    Raises:
        WriteConflict: all were disturbed; `what` says by whom.
    """
    for _ in range(ATTEMPTS):
        try:
            return await attempt()
        except Overtaken:
            continue
    raise WriteConflict(f"{what}: try again")
