"""Readers and writers at work."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.reader import Reader
from tests.soak.traffic.tally import Tally
from tests.soak.traffic.writer import Writer

READERS = 3
WRITERS = 2
IDS_PER_WRITER = 300


class Traffic:
    """A mixed load on one collection for as long as the block runs.

    Args:
        url: where requests go.
        collection: its name.
        ledger: what it holds.
        seed: what chance decides comes from here.
    """

    def __init__(self, url: str, collection: str, ledger: Ledger, seed: int) -> None:
        self.tally = Tally()
        self._url = url
        self._collection = collection
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._no_writes, self._no_reads = threading.Event(), threading.Event()
        self._writers: list[threading.Thread] = []
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        readers = [
            Reader(self._url, self._collection, self._ledger, self.tally, self._no_reads, self._chance.getrandbits(32))
            for _ in range(READERS)
        ]
        self._readers = [_started(reader.run) for reader in readers]
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        self._no_reads.set()
        self._stop_writing()
        for reader in self._readers:
            reader.join()

    @contextmanager
    def without_writers(self) -> Iterator[None]:
        """No write is under way while the block runs."""
        self._stop_writing()
        yield
        self._write()

    def _write(self) -> None:
        documents = f"{self._url}/collections/{self._collection}/documents"
        self._no_writes.clear()
        writers = [
            Writer(documents, owned(i), self._ledger, self.tally, self._no_writes, self._chance.getrandbits(32))
            for i in range(WRITERS)
        ]
        self._writers = [_started(writer.run) for writer in writers]

    def _stop_writing(self) -> None:
        self._no_writes.set()
        for writer in self._writers:
            writer.join()


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def owned(writer: int) -> list[str]:
    """The documents of a writer."""
    return [f"w{writer}-{i}" for i in range(IDS_PER_WRITER)]
