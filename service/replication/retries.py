"""Optimistic concurrency: repeat a read-compute-write sequence after a conflict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from semblance.service.errors import OptimisticConflict, WriteConflict

ATTEMPTS = 5

Result = TypeVar("Result")


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[Result]], conflict: str, attempts: int = ATTEMPTS
) -> Result:
    """Return the result of the first attempt without a conflicting write.

    A retry finds its texts in the cache, except in background work, which encodes them again.

    Raises:
        WriteConflict: every attempt conflicted; `conflict` describes how.
    """
    for _ in range(attempts):
        try:
            return await attempt()
        except OptimisticConflict:
            continue
    raise WriteConflict(f"{conflict}; retry")
