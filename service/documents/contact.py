"""Whether a database server answers, as those who ask it find out; and since when it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Contact:
    """Kept by the connections to one database, read by whoever must say how it stands. Safe in any thread.

    Args:
        patience_s: a question that has waited for so long counts as unanswered, although it still waits.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._waiting: dict[int, float] = {}  # when each question that waits was asked
        self._next = 0
        self._failed = False
        self._answered = time.monotonic()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A question, for the time of the block."""
        with self._lock:
            self._next += 1
            number = self._next
            self._waiting[number] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._waiting[number]

    def note(self, *, answered: bool) -> bool:
        """What came of the last question; whether that is news."""
        with self._lock:
            news = self._failed == answered
            self._failed = not answered
            if answered:
                self._answered = time.monotonic()
            return news

    @property
    def holds(self) -> bool:
        """Whether the last question was answered, and none waits too long."""
        with self._lock:
            oldest = min(self._waiting.values(), default=None)
            late = oldest is not None and time.monotonic() - oldest > self._patience_s
            return not self._failed and not late

    @property
    def seconds_since_answer(self) -> float:
        """Since the last answer, or since the start if there was none."""
        return time.monotonic() - self._answered
