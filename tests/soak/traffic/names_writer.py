"""Client that creates, switches and deletes aliases, and replaces the glossary of the collection."""

from __future__ import annotations

import random
import threading
from functools import partial

import httpx2

from tests.soak.traffic.names import ALIASES, EMPTY, GLOSSARY
from tests.soak.traffic.request_log import failure_of, new_client
from tests.soak.traffic.target import Target

PAUSE_S = 0.2


class NamesWriter:
    """Writes to aliases and the glossary until `stop` is set."""

    def __init__(self, target: Target, stop: threading.Event, seed: int) -> None:
        self._target = target
        self._names, self._log = target.names, target.log
        self._stop = stop
        self._rng = random.Random(seed)

    def run(self) -> None:
        with new_client(self._target.url) as http:
            while not self._stop.wait(PAUSE_S):
                name = self._rng.choice((GLOSSARY, *self._rng.sample(ALIASES, 3)))
                if name not in self._names.open:
                    self._write(http, name)

    def close(self) -> None:
        """Write once more to the open names, in a healthy deployment that has completed all writes."""
        with new_client(self._target.url) as http:
            for name in sorted(self._names.open):
                self._write(http, name)

    def _write(self, http: httpx2.Client, name: str) -> None:
        value: str | None = f"term{self._rng.getrandbits(32):x}"  # which no text has
        if name != GLOSSARY:
            deleted = [None] if name in self._names.now and name not in self._names.open else []
            value = self._rng.choice([self._target.collection, EMPTY, *deleted])
        self._log.send("glossary" if name == GLOSSARY else "alias", partial(self._send, http, name, value))

    def _send(self, http: httpx2.Client, name: str, value: str | None) -> str | None:
        self._names.open.add(name)
        if name == GLOSSARY:
            groups = [{"kind": "equal", "terms": [value, "a phrase"]}]
            answer = http.put(f"/collections/{self._target.collection}/glossary", json={"groups": groups})
        elif value is None:
            answer = http.delete(f"/aliases/{name}")
        else:
            answer = http.put(f"/aliases/{name}", json={"collection": value})
        if answer.is_success:
            self._names.acknowledge(name, value)
        return failure_of(answer)
