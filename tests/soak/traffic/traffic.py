"""Readers and writers in threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Self

from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.reader import REFUSED_BY_THIN, WEIGHTS, Reader
from tests.soak.traffic.request_log import RequestLog
from tests.soak.traffic.writer import Writer

READERS = 3
WRITERS = 2
IDS_PER_WRITER = 300


class Traffic:
    """A mixed load on one collection while the block runs.

    Args:
        url: URL of the load balancer.
        collection: name of the collection.
        ledger: acknowledged writes.
        seed: seed of all random choices.
        thin: whether the replicas keep no copy.
    """

    def __init__(self, url: str, collection: str, ledger: Ledger, seed: int, *, thin: bool = False) -> None:
        self.log = RequestLog()
        self._url = url
        self._collection = collection
        self._ledger = ledger
        self._kinds = {kind: weight for kind, weight in WEIGHTS.items() if not (thin and kind in REFUSED_BY_THIN)}
        self._rng = random.Random(seed)
        self._no_writes, self._no_reads = threading.Event(), threading.Event()
        self._writers: list[threading.Thread] = []
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        readers = [
            Reader(self._url, self._collection, self._ledger, self.log, self._no_reads, self._rng.getrandbits(32))
            for _ in range(READERS)
        ]
        self._readers = [_start(partial(reader.run, self._kinds)) for reader in readers]
        self._start_writers()
        return self

    def __exit__(self, *_: object) -> None:
        self._no_reads.set()
        self._stop_writers()
        for reader in self._readers:
            reader.join()

    @contextmanager
    def without_writers(self) -> Iterator[None]:
        """Stop the writers while the block runs."""
        self._stop_writers()
        yield
        self._start_writers()

    def _start_writers(self) -> None:
        documents = f"{self._url}/collections/{self._collection}/documents"
        self._no_writes.clear()
        writers = [
            Writer(documents, _ids_of(i), self._ledger, self.log, self._no_writes, self._rng.getrandbits(32))
            for i in range(WRITERS)
        ]
        self._writers = [_start(writer.run) for writer in writers]

    def _stop_writers(self) -> None:
        self._no_writes.set()
        for writer in self._writers:
            writer.join()


def _start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _ids_of(writer: int) -> list[str]:
    return [f"w{writer}-{i}" for i in range(IDS_PER_WRITER)]
