"""Somebody who stores and deletes documents, and notes what was acknowledged."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx2

from tests.soak.traffic.caller import caller
from tests.soak.traffic.ledger import Ledger, State
from tests.soak.traffic.tally import Tally, failure_in, failure_of
from tests.support.servers.word_models import sentence

TIMEOUT_S = 45.0
PAUSE_S = 0.05
PAUSE_AFTER_FAILURE_S = 0.5  # else an outage leaves no document of which it is known what it holds
AT_ONCE = 100  # documents in a request that fills up what is missing
MISSING = 0.05  # share of its documents that a writer lets be missing


class Writer:
    """Writes to its own documents, of which nearly all exist at any time, until it is told to stop."""

    def __init__(
        self, url: str, ids: Sequence[str], ledger: Ledger, tally: Tally, stop: threading.Event, seed: int
    ) -> None:
        self._url = url  # of the documents
        self._ids = ids
        self._ledger = ledger
        self._tally = tally
        self._stop = stop
        self._chance = random.Random(seed)

    def run(self) -> None:
        """Write until told to stop."""
        with httpx2.Client(timeout=TIMEOUT_S, headers=caller()) as http:
            pause_s = PAUSE_S
            while not self._stop.wait(pause_s):
                pause_s = PAUSE_S if self._write(http) else PAUSE_AFTER_FAILURE_S

    def _write(self, http: httpx2.Client) -> bool:
        """One write of some kind to documents of which it is known what they hold; whether it was answered."""
        known = [doc_id for doc_id in self._ids if not self._ledger.is_open(doc_id)]
        missing = [doc_id for doc_id in known if self._ledger.now(doc_id) is None]
        if len(missing) > MISSING * len(self._ids):
            return self._send("upsert", http, self._texts(missing[:AT_ONCE]))
        if held := [doc_id for doc_id in known if self._ledger.now(doc_id) is not None]:
            kind = self._chance.choice(("upsert", "upsert lines", "delete"))
            some = self._chance.sample(
                held, min(len(held), 1 if kind == "delete" else self._chance.choice((1, 1, 3, 8)))
            )
            return self._send(kind, http, dict.fromkeys(some) if kind == "delete" else self._texts(some))
        return False

    def _texts(self, ids: Sequence[str]) -> dict[str, State]:
        """A text for each, such as no document ever had."""
        return {doc_id: f"{sentence(self._chance)} {self._chance.getrandbits(48):x}" for doc_id in ids}

    def _send(self, kind: str, http: httpx2.Client, change: dict[str, State]) -> bool:
        sends: dict[str, Callable[[httpx2.Client, dict[str, State]], str | None]] = {
            "upsert": self._upsert,
            "upsert lines": self._upsert_lines,
            "delete": self._delete,
        }
        self._ledger.attempt(change)
        began = time.monotonic()
        try:
            failure = sends[kind](http, change)
        except httpx2.HTTPError as error:
            failure = failure_in(error)
        self._tally.count(kind, began, failure)
        return failure is None

    def _upsert(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        documents = [{"id": doc_id, "text": text} for doc_id, text in change.items()]
        answer = http.post(self._url, json={"documents": documents})
        if answer.is_success:
            self._ledger.acknowledge(change, answer.json()["version"])
        return failure_of(answer)

    def _upsert_lines(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        """Each line of the answer acknowledges the lines up to one of ours."""
        lines = [json.dumps({"id": doc_id, "text": text}) + "\n" for doc_id, text in change.items()]
        rest = [*change.items()]
        with http.stream(
            "POST", self._url, content="".join(lines), headers={"content-type": "application/x-ndjson"}
        ) as answer:
            if not answer.is_success:
                answer.read()
                return failure_of(answer)
            acknowledged = 0
            for line in answer.iter_lines():
                said: Any = json.loads(line)
                if "error" in said:
                    return f"in the stream {said['error']}"
                if "done" not in said:
                    upto = said["through_line"] - acknowledged
                    self._ledger.acknowledge(dict(rest[:upto]), said["version"])
                    rest, acknowledged = rest[upto:], said["through_line"]
        if rest:
            self._tally.wrong.append(f"a stream was done before {len(rest)} of its lines were answered")
        return None

    def _delete(self, http: httpx2.Client, change: dict[str, State]) -> str | None:
        [doc_id] = change
        answer = http.delete(f"{self._url}/{doc_id}")
        if answer.status_code == 404:
            self._ledger.refused(change)
            self._tally.wrong.append(f"{doc_id} was acknowledged, and could not be deleted: {answer.text[:200]}")
        elif answer.is_success:
            self._ledger.acknowledge(change, answer.json()["version"])
        return failure_of(answer)
