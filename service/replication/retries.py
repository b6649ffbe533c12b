"""Failures that are retried: conflicts of writes, and their traces in the log."""

from __future__ import annotations

import errno
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from semblance.service.errors import OptimisticConflict, StoreFailed, StoreFull, WriteConflict

ATTEMPTS = 5

Result = TypeVar("Result")


def log_failure(log: logging.Logger, what: str, error: Exception) -> None:
    """Log a failure with its traceback, except that of a full or failing disk."""
    of_disk = isinstance(error, StoreFull | StoreFailed) or getattr(error, "errno", None) == errno.ENOSPC
    log.error("%s: %s", what, error, exc_info=None if of_disk else error)


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
