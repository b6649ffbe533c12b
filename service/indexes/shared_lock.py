"""A lock that many may read under, or one write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Readers share, a writer is alone, and neither starves: after a writer come all readers who waited, then the next.

    Where writers go first, readers wait for as long as one thread writes again and again, as catching up with a large
    store does. Not reentrant.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turn = 0  # of the writers; a reader who has to wait does so until it moves on
        self._reading = 0
        self._writing = False
        self._waiting_readers = 0
        self._waiting_writers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold it together with other readers."""
        with self._changed:
            if self._writing or self._waiting_writers:
                turn = self._turn
                self._waiting_readers += 1
                self._changed.wait_for(lambda: self._turn != turn)  # the writer that ends has counted us as reading
            else:
                self._reading += 1
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold it alone."""
        with self._changed:
            self._waiting_writers += 1
            self._changed.wait_for(lambda: not self._writing and not self._reading)
            self._waiting_writers -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._turn += 1
                self._reading, self._waiting_readers = self._waiting_readers, 0
                self._changed.notify_all()
