"""A client with occasional small requests, to measure what others do to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import httpx2

from tests.support.waiting import CEILING_S

PAUSE_S = 0.02  # between requests


class Call(NamedTuple):
    """Start, seconds and status of a request; status 0 means no response."""

    start: float
    seconds: float
    status: int


class NormalClient:
    """Compares two texts that are not cached, and searches every other time if the service has a collection."""

    def __init__(self, url: str, key: str = "", *, searches: bool = True) -> None:
        self.calls: list[Call] = []
        self._url = url
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._searches = searches

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send requests while the block runs."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _run(self, stop: threading.Event) -> None:
        with httpx2.Client(base_url=self._url, timeout=CEILING_S, headers=self._headers) as http:
            while not stop.wait(PAUSE_S):
                number, start = len(self.calls), time.monotonic()
                text = f"How do I get parcel number {number} back?"
                is_search = self._searches and number % 2 == 1
                body = {"query": text} if is_search else {"pairs": [{"a": text, "b": f"Where is number {number}?"}]}
                try:
                    status = http.post("/search" if is_search else "/similarity", json=body).status_code
                except httpx2.TransportError:
                    status = 0
                self.calls.append(Call(start, time.monotonic() - start, status))
