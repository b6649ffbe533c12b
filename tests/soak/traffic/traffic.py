"""Readers and writers in threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Self

from tests.soak.traffic.names_writer import NamesWriter
from tests.soak.traffic.reader import BY_ALIAS, PAUSE_S, WEIGHTS, Reader
from tests.soak.traffic.target import Target
from tests.soak.traffic.writer import Writer

READERS = 3
WRITERS = 2
IDS_PER_WRITER = 300


class Traffic:
    """A mixed load on one collection while the block runs.

    Args:
        target: the collection.
        seed: seed of all random choices.
        weights: how often each kind of read is sent; with searches by alias, aliases and glossary are written, too.
        readers: number of readers.
        ids: number of documents of each writer.
        pause_s: pause of a reader between two requests.
    """

    def __init__(
        self,
        target: Target,
        seed: int,
        weights: Mapping[str, int] = WEIGHTS,
        readers: int = READERS,
        ids: int = IDS_PER_WRITER,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._target = target
        self._weights = weights
        self._count, self._ids, self._pause_s = readers, ids, pause_s
        self._rng = random.Random(seed)
        self._no_writes, self._no_reads = threading.Event(), threading.Event()
        self._writers: list[threading.Thread] = []
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        seeds = [self._rng.getrandbits(32) for _ in range(self._count)]
        readers = [Reader(self._target, self._no_reads, seed, self._pause_s) for seed in seeds]
        self._readers = [_start(partial(reader.run, self._weights)) for reader in readers]
        self._start_writers()
        return self

    def __exit__(self, *_: object) -> None:
        self._no_reads.set()
        self._stop_writers()
        for reader in self._readers:
            reader.join()

    @contextmanager
    def without_writers(self) -> Iterator[None]:
        self._stop_writers()
        yield
        self._start_writers()

    def _start_writers(self) -> None:
        self._no_writes.clear()
        ids = [[f"w{writer}-{i}" for i in range(self._ids)] for writer in range(WRITERS)]
        writers = [Writer(self._target, own, self._no_writes, self._rng.getrandbits(32)) for own in ids]
        self._writers = [_start(writer.run) for writer in writers]
        if BY_ALIAS in self._weights:
            names = NamesWriter(self._target, self._no_writes, self._rng.getrandbits(32))
            self._writers.append(_start(names.run))

    def _stop_writers(self) -> None:
        self._no_writes.set()
        for writer in self._writers:
            writer.join()


def _start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
