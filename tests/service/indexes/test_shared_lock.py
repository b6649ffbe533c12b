"""Readers share the lock, a writer has it alone, and none starves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress

from semblance.service.indexes.shared_lock import SharedLock
from tests.support.waiting import CEILING_S, until


class Holder:
    """Takes the lock in a thread of its own, and holds it until it is released."""

    def __init__(self, pool: ThreadPoolExecutor, mode: Callable[[], AbstractContextManager[None]]) -> None:
        self.inside, self._leave = threading.Event(), threading.Event()
        self.ended: Future[None] = pool.submit(self._hold, mode)

    def _hold(self, mode: Callable[[], AbstractContextManager[None]]) -> None:
        with mode():
            self.inside.set()
            self._leave.wait(CEILING_S)

    def release(self) -> None:
        self._leave.set()
        self.ended.result(CEILING_S)


def test_readers_share_the_lock_and_a_writer_has_it_alone() -> None:
    lock = SharedLock()
    with ThreadPoolExecutor(4) as pool:
        readers = [Holder(pool, lock.reading) for _ in range(2)]
        until(lambda: all(each.inside.is_set() for each in readers), "readers side by side")
        writers = [Holder(pool, lock.writing) for _ in range(2)]
        until(lambda: lock._waiting_writers == 2)
        for each in readers:
            assert not any(writer.inside.is_set() for writer in writers)
            each.release()
        until(lambda: any(writer.inside.is_set() for writer in writers))
        first, second = sorted(writers, key=lambda writer: not writer.inside.is_set())
        assert not second.inside.is_set()
        first.release()
        until(second.inside.is_set)
        second.release()


def test_new_readers_wait_for_a_waiting_writer() -> None:
    """Or it would starve while readers overlap."""
    lock = SharedLock()
    with ThreadPoolExecutor(3) as pool:
        reader = Holder(pool, lock.reading)
        until(reader.inside.is_set)
        writer = Holder(pool, lock.writing)
        until(lambda: lock._waiting_writers == 1)
        late = Holder(pool, lock.reading)
        until(lambda: lock._waiting_readers == 1)
        reader.release()
        until(writer.inside.is_set)
        assert not late.inside.is_set()
        writer.release()
        until(late.inside.is_set)
        late.release()


def test_waiting_readers_are_before_the_next_writer() -> None:
    """Or they would starve while a thread writes continuously."""
    lock = SharedLock()
    with ThreadPoolExecutor(4) as pool:
        writer = Holder(pool, lock.writing)
        until(writer.inside.is_set)
        readers = [Holder(pool, lock.reading) for _ in range(2)]
        until(lambda: lock._waiting_readers == 2)
        following = Holder(pool, lock.writing)
        until(lambda: lock._waiting_writers == 1)
        writer.release()
        until(lambda: all(each.inside.is_set() for each in readers))
        assert not following.inside.is_set()
        for each in readers:
            each.release()
        until(following.inside.is_set)
        following.release()


def test_an_exception_releases_the_lock() -> None:
    lock = SharedLock()
    for mode in (lock.reading, lock.writing):
        with suppress(KeyError), mode():
            raise KeyError
    with ThreadPoolExecutor(1) as pool:
        writer = Holder(pool, lock.writing)
        until(writer.inside.is_set)
        writer.release()
