"""Readers share, a writer is alone, and neither waits for ever."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from semblance.service.indexes.shared_lock import SharedLock


def test_readers_hold_it_together() -> None:
    lock, inside = SharedLock(), threading.Barrier(3, timeout=10)

    def read() -> int:
        with lock.reading():
            return inside.wait()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda _: read(), range(3))) == [0, 1, 2]


def test_a_writer_is_alone() -> None:
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


def test_readers_without_a_pause_do_not_keep_a_writer_out() -> None:
    lock, done = SharedLock(), threading.Event()

    def read() -> None:
        while not done.is_set():
            with lock.reading():
                time.sleep(0.01)

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        time.sleep(0.05)  # by now they overlap all the time
        try:
            writer = pool.submit(_enter, lock)
            writer.result(timeout=10)
        finally:
            done.set()
        for reader in readers:
            reader.result(timeout=10)


def test_a_writer_without_a_pause_lets_a_reader_in_after_one_turn() -> None:
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


def test_an_exception_lets_go() -> None:
    lock = SharedLock()
    for mode in (lock.reading, lock.writing):
        with suppress(KeyError), mode():
            raise KeyError
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_enter, lock).result(timeout=10)


def _enter(lock: SharedLock) -> None:
    with lock.writing():
        pass
