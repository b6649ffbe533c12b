"""Readers-writer lock without starvation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Shared by readers, exclusive to a writer; after a writer, all waiting readers run first.

    If writers had priority, readers would starve while a thread writes continuously, as one that applies many changes
    does. Not reentrant.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turn = 0  # counts writers; a reader that has to wait waits for the next turn
        self._reading = 0
        self._writing = False
        self._waiting_readers = 0
        self._waiting_writers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        with self._changed:
            if self._writing or self._waiting_writers:
                turn = self._turn
                self._waiting_readers += 1
                self._changed.wait_for(lambda: self._turn != turn)  # the writer has counted us in `_reading`
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
        """Hold the lock exclusively."""
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
