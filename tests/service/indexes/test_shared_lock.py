"""Readers share the lock, a writer has it alone, and none starves."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from semblance.service.indexes.shared_lock import SharedLock


def test_readers_share_the_lock() -> None:
    lock, inside = SharedLock(), threading.Barrier(3, timeout=10)

    def read() -> int:
        with lock.reading():
            return inside.wait()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda _: read(), range(3))) == [0, 1, 2]


def test_a_writer_is_exclusive() -> None:
    lock, state, torn = SharedLock(), [0, 0], []

    def write() -> None:
        for _ in range(200):
            with lock.writing():
                state[0] += 1
                time.sleep(0)  # let others run in between
                state[1] += 1

    def read() -> None:
        for _ in range(500):
            with lock.reading():
                first = state[0]
                time.sleep(0)
                torn.append(first != state[1])

    with ThreadPoolExecutor(6) as pool:
        for future in [pool.submit(work) for work in (write, write, read, read, read, read)]:
            future.result(timeout=60)
    assert state == [400, 400]
    assert len(torn) == 2000
    assert not any(torn)


def test_continuous_readers_do_not_starve_a_writer() -> None:
    lock, done = SharedLock(), threading.Event()

    def read() -> None:
        while not done.is_set():
            with lock.reading():
                time.sleep(0.01)

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        time.sleep(0.05)  # by now the readers overlap
        try:
            writer = pool.submit(_enter, lock)
            writer.result(timeout=10)
        finally:
            done.set()
        for reader in readers:
            reader.result(timeout=10)


def test_a_continuous_writer_does_not_starve_readers() -> None:
    lock, done, turns = SharedLock(), threading.Event(), [0]

    def write() -> None:
        while not done.is_set():
            with lock.writing():
                turns[0] += 1
                time.sleep(0.01)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        waited = []
        try:
            for _ in range(20):
                before = turns[0]
                with lock.reading():
                    waited.append(turns[0] - before)
        finally:
            done.set()
        writer.result(timeout=10)
    assert max(waited) <= 2


def test_an_exception_releases_the_lock() -> None:
    lock = SharedLock()
    for mode in (lock.reading, lock.writing):
        with suppress(KeyError), mode():
            raise KeyError
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_enter, lock).result(timeout=10)


def _enter(lock: SharedLock) -> None:
    with lock.writing():
        pass
